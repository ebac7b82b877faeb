"""Bundled models: all load, say where they come from, and reproduce published numbers through Pinocchio."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from helpers.pinocchio_models import numbers, to_pinocchio
from symbody.model.load import FOLDER, bundled_names, load
from symbody.model.record.coordinates import has_coordinates
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.numbers import number_of
from symbody.show.drawing.show import body_poses
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.walk import free_symbols

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"
PATTERNS = {
    # name: degrees of freedom, number of parameters without gravity
    "puma_robotran": (6, 5 + 4 + 13),
    "puma_medusa": (6, 4 + 6 * 10),
    "general_6r": (6, 5 * 2 + 5 + 4 + 6 * 10),
    "pendulum5": (5, 4 + 5 * 3),
    "motorcycle_tree": (13, 4 * 2 + 2 + 7 + 5 * (2 + 4) + 2 * 3 + 1),
    "rx90": (6, 2 + 6 * 10),
    "rx90_simple": (6, 2 + 6 * 5),
    "stanford": (6, 1 + 6 * 10),
    "stanford_simple": (6, 1 + 6 * 5),
}


@pytest.fixture
def pin():
    return pytest.importorskip("pinocchio")


def test_the_public_list():
    names = bundled_names()
    assert set(names) >= {
        "puma560", "stanford_arm", "panda", "ur5", "pendulum2", "pendulum3", "pendulum4", "pendulum5", "motorcycle",
        "acma_h80", "satellite_arm", "human",
        "four_bar", "slider_crank", "three_loops", "three_rrr_1", "three_rrr_2", "three_rrr_3", "three_rrr_3_centre",
        "three_rrr_4", "andrews_squeezer", "n_four_bar", "bricard", "delta", "delta_light", "stewart", "stewart_light",
        "multi_link_suspension", "car", "car_lane_change", "bogie", "whipple_bicycle",
    }  # fmt: skip
    assert not any("/" in n or (n in PATTERNS and n != "pendulum5") for n in names)


@pytest.mark.parametrize("name", bundled_names())
def test_a_bundled_model_is_documented_and_complete(name):
    model = load(name)
    assert model.name == name
    assert len(model.source) > 20
    assert (FOLDER / f"{name}.yaml").read_text(encoding="utf-8").startswith("# ")
    moving = {s: 0.0 for s in free_symbols(model.values()) if s.data.role in ("time", "coordinate", "velocity")}
    defaults = {s: s.data.default for s in model.parameters.values()}
    assert None not in defaults.values()
    assert all(math.isfinite(x) for x in evaluate(list(model.values()), defaults | moving))
    assert all(p.data.origin.startswith((f"{name}.yaml:", "parts/")) for p in model.parameters.values())
    assert all(np.isfinite(p).all() for pose in body_poses(model).values() for p in pose)


@pytest.mark.parametrize("name", bundled_names())
def test_masses_and_offsets_of_bundled_models_are_symbols(name):
    """A number that is written into a body or an offset is 0; every other one is a parameter."""
    model = load(name)
    for node in (x for b in model.bodies for x in (b.mass, *b.com, *b.inertia.flat)):
        assert node.op != "const" or node.data == 0
    for node in (x for j in model.joints for x in j.placement.position):
        assert node.op != "const" or node.data == 0


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_has_the_parameters_of_its_definition(name):
    model = load(f"patterns/{name}")
    nv, count = PATTERNS[name]
    assert model.nv == nv
    assert len(model.parameters) == count + 1  # and gravity
    assert [number_of(x) for x in model.gravity] == [0, 0, -9.81]
    assert str(model.gravity[2]) == "-g"


def test_the_pattern_of_medusa_reproduces_its_reference_vector(pin):
    """medusa.md, 4.3: i = 1..6, q = 0.1 i, qd = 0.2 i, qdd = 0.3 i, gravity 9.81."""
    model = to_pinocchio(load("patterns/puma_medusa"))
    i = np.arange(1, 7)
    tau = pin.rnea(model, model.createData(), 0.1 * i, 0.2 * i, 0.3 * i)
    expected = [0.1186225068, -24.7953961607, 17.6756011461, 1.2905083067, 3.1611573956, 2.8700538823]
    np.testing.assert_allclose(tau, expected, atol=1e-9)


def test_puma560_has_its_published_gravity_load_and_inertia(pin):
    """Robotics toolbox at qn, four decimals; the inertia includes the rotors."""
    model = to_pinocchio(load("puma560"))
    data = model.createData()
    qn = np.array([0, math.pi / 4, math.pi, 0, math.pi / 4, 0])
    gravity = pin.computeGeneralizedGravity(model, data, qn)
    np.testing.assert_allclose(gravity, [0, 31.6399, 6.0351, 0, 0.0283, 0], atol=1e-4)
    mass = pin.crba(model, data, qn)
    mass = np.triu(mass) + np.triu(mass, 1).T
    expected = [
        [3.6594, -0.4044, 0.1006, -0.0025, 0, 0],
        [-0.4044, 4.4137, 0.3509, 0, 0.0024, 0],
        [0.1006, 0.3509, 0.9378, 0, 0.0015, 0],
        [-0.0025, 0, 0, 0.1925, 0, 0],
        [0, 0.0024, 0.0015, 0, 0.1713, 0],
        [0, 0, 0, 0, 0, 0.1941],
    ]
    np.testing.assert_allclose(mass, expected, atol=1e-4)


def test_puma560_friction_is_the_published_one():
    """tau_f = B G^2 qd + |G| Tc at the joint: rne(qd = 1) with and without friction differ by it."""
    puma = load("puma560")
    published = [(0.00148, -62.6111, 0.395), (0.000817, 107.815, 0.126), (0.00138, -53.7063, 0.132)]
    for joint, (b, g, tc) in zip(puma.joints, published):
        assert number_of(joint.viscous) == pytest.approx(b * g * g)
        assert number_of(joint.coulomb) == pytest.approx(abs(g) * tc)


@pytest.mark.parametrize(("name", "locked"), [("ur5", ()), ("panda", ("panda_finger_joint1", "panda_finger_joint2"))])
def test_robots_agree_with_their_urdf(name, locked, pin):
    path = SHARED / "urdf" / f"{name}.urdf"
    if not path.is_file():
        pytest.skip("the shared URDF files are not here")
    ours, theirs = to_pinocchio(load(name)), pin.buildModelFromUrdf(str(path))
    if locked:  # the fingers are not part of ours: remove their masses and hold them
        for joint in locked:
            theirs.inertias[theirs.getJointId(joint)] = pin.Inertia.Zero()
        theirs = pin.buildReducedModel(theirs, [theirs.getJointId(j) for j in locked], pin.neutral(theirs))
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v, a = rng.normal(size=(3, ours.nq))
        tau = pin.rnea(ours, ours.createData(), q, v, a)
        reference = pin.rnea(theirs, theirs.createData(), q, v, a)
        np.testing.assert_allclose(tau, reference, atol=1e-9 * np.abs(reference).max())


def test_acma_h80_reaches_the_published_pose():
    """medusa.md, 4.4: q1 = 10 cm, q2..q6 = pi/4 lead to (25 sqrt 2, 50 + 25 sqrt 2, 10) cm."""
    pose = body_poses(load("acma_h80"), [0.1] + [math.pi / 4] * 5)["link6"]
    np.testing.assert_allclose(pose[1], [0.25 * math.sqrt(2), 0.5 + 0.25 * math.sqrt(2), 0.1], atol=1e-15)


def test_the_motorcycle_stands_on_its_wheels():
    """At q = 0 both wheel centres are about a radius above the ground, a wheelbase of about 1.5 m apart."""
    bike = load("motorcycle")
    poses = body_poses(bike)
    rear, front = poses["rear_wheel"][1], poses["front_wheel"][1]
    for wheel, symbol in ((rear, "Rr"), (front, "Rf")):
        assert abs(wheel[2] - bike.parameters[symbol].data.default) < 0.05
        assert wheel[1] == 0
    assert 1.4 < front[0] - rear[0] < 1.65
    assert [f.kind for f in bike.forces] == ["spring_damper", "tyre", "tyre"]
    assert sum(has_coordinates(j) for j in bike.joints) == bike.nv == 13


def test_the_human_has_the_mass_and_height_of_a_man():
    human = load("human")
    assert total_mass(human) == pytest.approx(73, rel=2e-3)
    poses = body_poses(human)
    head = poses["head"][1][2] + human.parameters["L_head"].data.default
    assert 1.6 < head - poses["left_foot"][1][2] < 1.8
    assert human.nv == 33


def test_the_satellite_floats_freely():
    satellite = load("satellite_arm")
    assert [number_of(x) for x in satellite.gravity] == [0, 0, 0]
    assert (satellite.nq, satellite.nv) == (13, 12)


def total_mass(model: Mechanism) -> float:
    return float(sum(numbers([b.mass])[0] for b in model.bodies))
