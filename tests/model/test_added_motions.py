"""Motions, kinds of joints and bodies with coordinates that are added as one row, and then work everywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import symbody as sb
from contracts.test_motion_rows import SPHERE, TRACK
from symbody.basics.errors import DefinitionError, ModelError
from symbody.extend import (
    Motion,
    Setting,
    add_joint_kind,
    add_motion,
    joint_kinds,
    motions,
    remove_joint_kind,
    remove_motion,
)
from symbody.model.files.yaml_writer import write
from symbody.model.record.coordinates import (
    checked,
    coordinate_labels,
    coordinate_units,
    increment,
    neutral,
    retract,
    velocity_labels,
)
from symbody.model.record.mechanism import Force
from symbody.model.spatial.scalar import cos, sin

FORMALISMS = ("newton_euler", "barycentric", "base", "order_n", "screw")
COASTER = """
name: coaster
bodies:
  post: {mass: 3, com: [0.1, 0.3, -0.2], inertia: [0.5, 0.6, 0.7]}
  car: {mass: 2, com: [0.1, 0.2, 0.05], inertia: [0.3, 0.2, 0.4], frames: {nose: [0.5, 0, 0]}}
  arm: {mass: 1, com: [0, -0.4, 0.1], inertia: [0.02, 0.03, 0.04]}
joints:
  base: {kind: revolute, parent: world, child: post, axis: y}
  ride: {kind: coaster, parent: post, child: car, pitch: 0.7, position: [0.1, 0.2, 0.3], viscous: 0.2}
  swing: {kind: revolute, parent: car, child: arm, axis: [0.6, 0, 0.8], position: [0.1, 0, 0]}
"""


@pytest.fixture
def track():
    add_motion(TRACK)
    add_joint_kind("coaster", "a car on a track", ("track", ""))
    yield
    remove_joint_kind("coaster")
    remove_motion("track")


@pytest.fixture
def coaster(track, tmp_path):
    path = tmp_path / "coaster.yaml"
    path.write_text(COASTER)
    return sb.load(path)


# -- an independent derivation: Lagrange's equations of poses in numbers


def energies(mech, poses):
    """(M (nv, nv), V) of plain coordinates at q from the poses of the bodies, `poses(q)`: name -> (R, p)."""

    def at(q):
        here = poses(q)
        columns = [poses(q + 1e-30j * e) for e in np.eye(len(q))]
        mass, potential = np.zeros((len(q), len(q))), 0.0
        for body in mech.bodies:
            m, com = float(body.mass.data), np.array([float(x.data) for x in body.com])
            tensor = np.array([float(x.data) for x in body.inertia.flat]).reshape(3, 3)
            R, p = (x.real for x in here[body.name])
            rows = []
            for moved in columns:
                spin = R.T @ (moved[body.name][0].imag / 1e-30)
                w = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
                v = (moved[body.name][1] + moved[body.name][0] @ com).imag / 1e-30
                rows.append(np.concatenate([np.linalg.cholesky(tensor + 1e-300 * np.eye(3)).T @ w, np.sqrt(m) * v]))
            mass += np.array(rows) @ np.array(rows).T
            potential -= m * np.array([float(g.data) for g in mech.gravity]) @ (p + R @ com)
        return mass, potential

    return at


def lagrange(mech, poses, q, qd, qdd):
    """tau (nv,): d/dt (M qd) - d(qd M qd / 2)/dq + dV/dq by central differences of fourth order."""
    at, h = energies(mech, poses), 1e-3
    mass, _ = at(q)
    slopes = []
    for e in np.eye(len(q)):
        parts = [at(q + k * h * e) for k in (-2, -1, 1, 2)]
        weights = np.array([1, -8, 8, -1]) / (12 * h)
        slopes.append((sum(w * x[0] for w, x in zip(weights, parts)), sum(w * x[1] for w, x in zip(weights, parts))))
    rate = sum(s[0] * v for s, v in zip(slopes, qd))
    return mass @ qdd + rate @ qd - np.array([qd @ s[0] @ qd / 2 for s in slopes]) + np.array([s[1] for s in slopes])


def turned(axis, angle):
    x, y, z = np.asarray(axis) / np.linalg.norm(axis)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def after(pose, row, q, at):
    turn, shift = row.pose(list(q), at)
    return pose[0] @ (np.eye(3) if turn is None else np.array(turn)), pose[1] + pose[0] @ np.array(shift)


# -- a new motion


def test_a_new_motion_has_coordinates_labels_and_units(coaster):
    assert (coaster.nq, coaster.nv) == (3, 3)
    assert coordinate_labels(coaster) == ("base", "ride", "swing")
    assert coordinate_units(coaster) == ("rad", "m", "rad")
    assert "track" in motions()
    assert "coaster" in joint_kinds()


@pytest.mark.parametrize("formalism", FORMALISMS)
def test_a_new_motion_moves_as_its_energies_say(coaster, formalism):
    def poses(q):
        post = turned([0, 1, 0], q[0]), np.zeros(3)
        car = after((post[0], post[1] + post[0] @ [0.1, 0.2, 0.3]), TRACK, q[1:2], at)
        arm = car[0] @ turned([0.6, 0, 0.8], q[2]), car[1] + car[0] @ [0.1, 0, 0]
        return {"post": post, "car": car, "arm": arm}

    at = Setting(0, 0.7)
    rng = np.random.default_rng(2)
    for q, qd, qdd in rng.uniform(-1, 1, (3, 3, 3)):
        expected = lagrange(coaster, poses, q, qd, qdd) + np.array([0, 0.2 * qd[1], 0])
        tau = sb.inverse_dynamics(coaster, formalism).compile("python")(q, qd, qdd)
        assert tau == pytest.approx(expected, abs=1e-8)
        if formalism != "screw":
            found = sb.forward_dynamics(coaster, formalism).compile("python")(q, qd, expected)
            assert found == pytest.approx(qdd, abs=1e-7)


def test_a_new_motion_agrees_in_kinematics_and_jacobians(coaster):
    """v = J qd, a = J qdd + Jd qd, and both schemes give the same."""
    q, qd, qdd = np.random.default_rng(4).uniform(-1, 1, (3, 3))
    both = [sb.kinematics(coaster, ["arm", "car.nose"], scheme=s) for s in ("progressive", "regressive")]
    out, other = (s.compile("python")(q, qd, qdd) for s in both)
    for a, b in zip(out, other):
        assert a == pytest.approx(b, abs=1e-13)
    assert out.J_arm @ qd == pytest.approx([*out.omega_arm, *out.v_arm], abs=1e-13)
    assert out.J_arm @ qdd + out.Jd_arm @ qd == pytest.approx([*out.alpha_arm, *out.a_arm], abs=1e-13)


def test_a_new_motion_is_simulated_and_linearised(coaster):
    free = coaster.replace(joints=tuple(j if j.name != "ride" else replace(j, viscous=None) for j in coaster.joints))
    run = sb.simulate(free, 1.0, q0=[0.1, 0.3, 0.2], qd0=[0.5, 0, 0], rtol=1e-10, formalism="base", outputs=["energy"])
    assert run.outcome.ok
    assert np.ptp(run["energy"]) < 1e-7
    rest = sb.equilibrium(coaster, q0=[0.1, 0.1, 0.1], stable=False)
    assert rest.ok
    linear = sb.linearize(coaster, q0=rest.q)
    step = 1e-6
    inverse = sb.inverse_dynamics(coaster, "newton_euler").compile("python")
    for k, e in enumerate(np.eye(3)):
        slope = (inverse(rest.q + step * e, 0 * e, 0 * e) - inverse(rest.q - step * e, 0 * e, 0 * e)) / (2 * step)
        assert linear.K[:, k] == pytest.approx(slope, abs=1e-6)


def test_a_loop_closes_over_a_new_motion(track):
    """A car on a track, held by a rod: assembled, and its closed motion keeps the energy."""
    b = sb.Mechanism.builder("held", gravity=(0, -9.81, 0))
    b.body("car", 2.0, (0.1, 0.05, 0), (0.1, 0.1, 0.2), frames={"hook": (0.1, 0.2, 0)})
    b.body("bar", 1.0, (0.4, 0, 0), (0.01, 0.02, 0.03), frames={"end": (0.8, 0, 0)})
    b.joint("ride", "coaster", "world", "car", pitch=0.7)
    b.joint("hinge", "revolute", "world", "bar", (0.2, 0.9, 0), axis="z")
    mech = b.cut("rod", "rod", ("bar", "end"), ("car", "hook"), length=0.5).done()
    q = sb.assemble(mech, [0.3, -1.0])
    frames = sb.kinematics(mech, ["bar.end", "car.hook"], quantities=("p",), loops=False).compile("python")(q)
    assert np.linalg.norm(frames.p_bar_end - frames.p_car_hook) == pytest.approx(0.5, abs=1e-10)
    run = sb.simulate(mech, 0.5, q0=q, rtol=1e-10, formalism="newton_euler", outputs=["energy"])
    assert run.outcome.ok
    assert np.ptp(run["energy"]) < 1e-7


def test_the_certificate_names_what_the_reference_does_not_know(coaster):
    found = sb.verify(coaster, states=3)
    assert not found.passed
    assert any("joint 'ride' of kind 'coaster'" in x and "not transcribed" in x for x in found.refused)
    assert "every motion is transcribed in the reference" in [c.text for c in found.checks if not c.passed]
    others = [c for c in found.checks if "reference" not in c.text]
    assert len(others) >= 5
    assert all(c.passed for c in others)


def test_a_chain_with_a_motion_of_two_coordinates(track):
    """A bead on a sphere, which carries a hinge: as its energies say."""
    add_motion(SPHERE)
    add_joint_kind("bead", "on a sphere, turned about z", (SPHERE, ""), ("turn", "z"))
    try:
        b = sb.Mechanism.builder("bead").body("a", 1.5, (0.1, 0.2, 0.3), (0.1, 0.2, 0.25))
        mech = b.joint("j", "bead", "world", "a", (0.1, 0, 0.2), [("x", 0.4)]).done()
        assert coordinate_labels(mech) == ("j.1", "j.2", "j.3")
        frame = turned([1, 0, 0], 0.4), np.array([0.1, 0, 0.2])

        def poses(q):
            R, p = after(frame, SPHERE, q[:2], Setting(0))
            return {"a": (R @ turned([0, 0, 1], q[2]), p)}

        q, qd, qdd = np.random.default_rng(6).uniform(-1, 1, (3, 3))
        for formalism in FORMALISMS:
            tau = sb.inverse_dynamics(mech, formalism).compile("python")(q, qd, qdd)
            assert tau == pytest.approx(lagrange(mech, poses, q, qd, qdd), abs=1e-8)
    finally:
        remove_joint_kind("bead")
        remove_motion("sphere")


# -- a body that owns three coordinates

SHAPES = {"": (0.3, 0.2, 0.1), "tip": (0.9, 0.7, -0.4)}  # of its frames


def beam_pose(q, at):
    a, b, c = SHAPES[at.frame]
    s, k = sin(a * q[0]), cos(a * q[0])
    shift = [b * q[1] * q[1], a * q[1] + c * q[0], b * q[2] + c * q[0] * q[1]]
    return [[k, -s, 0], [s, k, 0], [0, 0, 1]], shift


def beam_twist(q, at):
    a, b, c = SHAPES[at.frame]
    s, k = sin(a * q[0]), cos(a * q[0])

    def inside(x, y, z):
        return [k * x + s * y, k * y - s * x, z]

    return (
        ([0, 0, a], inside(0, c, c * q[1])),
        ([0, 0, 0], inside(2 * b * q[1], a, c * q[0])),
        ([0, 0, 0], inside(0, 0, b)),
    )


BEAM = Motion(
    name="three_modes", text="amplitudes of three shapes", units=("",) * 3, rates=("1/s",) * 3,
    words=("bending", "stretch", "lift"), pose=beam_pose, twist=beam_twist,
)  # fmt: skip


@pytest.fixture
def beam():
    add_motion(BEAM)
    b = sb.Mechanism.builder("beam", gravity=(0.5, -1.0, -9.81))
    tip = dict(position=(1, 0.1, 0), rotation=[("x", 0.3)])
    b.body("beam", 2.0, (0.4, 0.1, 0.05), (0.1, 0.2, 0.25), frames={"tip": tip}, coordinates="three_modes")
    b.body("load", 1.0, (0.1, 0.2, -0.3), (0.02, 0.03, 0.04))
    b.joint("hinge", "revolute", "world", "beam", (0.1, 0.2, 0.3), [("y", 0.4)], axis=(0.6, 0, 0.8))
    b.joint("wrist", "revolute", "beam", "load", (0.8, 0, 0.1), axis="y")
    b.sensor("tip", "beam", "tip")
    yield b.done()
    remove_motion("three_modes")


def beam_poses(q):
    base = turned([0, 1, 0], 0.4) @ turned([0.6, 0, 0.8], q[0]), np.array([0.1, 0.2, 0.3])
    beam = after(base, BEAM, q[1:4], Setting())
    load = beam[0] @ turned([0, 1, 0], q[4]), beam[1] + beam[0] @ [0.8, 0, 0.1]
    tip = after((base[0] @ turned([1, 0, 0], 0.3), base[1] + base[0] @ [1, 0.1, 0]), BEAM, q[1:4], Setting(frame="tip"))
    return {"beam": beam, "load": load, "tip": tip}


def test_a_body_with_three_coordinates_is_in_the_state(beam):
    assert (beam.nq, beam.nv) == (5, 5)
    assert coordinate_labels(beam) == velocity_labels(beam) == ("hinge", "beam.1", "beam.2", "beam.3", "wrist")
    assert coordinate_units(beam) == ("rad", "", "", "", "rad")
    assert neutral(beam) == pytest.approx(np.zeros(5))
    q, d = np.random.default_rng(0).uniform(-1, 1, (2, 5))
    assert retract(beam, q, d) == pytest.approx(q + d)
    assert increment(beam, q, retract(beam, q, d)) == pytest.approx(d)
    slot = next(s for s in beam.slots if s.joint is None)
    assert (slot.owner, slot.iq, slot.iv, slot.nq, slot.nv) == ("beam", 1, 1, 3, 3)
    run = sb.simulate(beam, 0.3, q0={"beam": [0.1, 0.2, 0.3]}, rtol=1e-10, formalism="base", outputs=["energy"])
    assert run["q.beam.2"][0] == 0.2
    assert run.outcome.ok
    assert np.ptp(run["energy"]) < 1e-8
    assert sb.linearize(beam).states[:2] == ("q.hinge", "q.beam.1")


@pytest.mark.parametrize("formalism", FORMALISMS)
def test_a_body_with_three_coordinates_moves_as_its_energies_say(beam, formalism):
    rng = np.random.default_rng(1)
    for q, qd, qdd in 0.7 * rng.uniform(-1, 1, (2, 3, 5)):
        expected = lagrange(beam, beam_poses, q, qd, qdd)
        tau = sb.inverse_dynamics(beam, formalism).compile("python")(q, qd, qdd)
        assert tau == pytest.approx(expected, abs=1e-8)
        if formalism != "screw":
            found = sb.forward_dynamics(beam, formalism).compile("python")(q, qd, tau)
            assert found == pytest.approx(qdd, abs=1e-8)


def test_frames_of_a_body_move_by_their_own_shapes(beam):
    q, qd, qdd = np.random.default_rng(2).uniform(-0.6, 0.6, (3, 5))
    out = sb.kinematics(beam, ["tip", "load"]).compile("python")(q, qd, qdd)
    moved = beam_poses(q + 1e-30j * qd)
    for name, p, v, R in (("tip", out.p_tip, out.v_tip, out.R_tip), ("load", out.p_load, out.v_load, out.R_load)):
        assert pytest.approx(moved[name][0].real, abs=1e-14) == R
        assert p == pytest.approx(moved[name][1].real, abs=1e-14)
        assert v == pytest.approx(moved[name][1].imag / 1e-30, abs=1e-14)
    assert out.J_tip @ qdd + out.Jd_tip @ qd == pytest.approx([*out.alpha_tip, *out.a_tip], abs=1e-13)


def test_forces_act_on_frames_that_a_body_moves(beam):
    """A spring at the tip: its virtual work goes to the coordinates of the body."""
    with_spring = _with_spring(beam)
    q = np.random.default_rng(3).uniform(-0.5, 0.5, 5)
    zero = np.zeros(5)
    tau = [sb.inverse_dynamics(m, "newton_euler").compile("python")(q, zero, zero) for m in (with_spring, beam)]

    def stored(q):
        return 20.0 * (np.sqrt(np.sum(beam_poses(q)["tip"][1] ** 2)) - 0.3) ** 2

    slope = [stored(q + 1e-30j * e).imag / 1e-30 for e in np.eye(5)]
    assert tau[0] - tau[1] == pytest.approx(slope, abs=1e-11)


def _with_spring(mech):
    number = mech.graph.number
    values = {"stiffness": number(40.0), "length": number(0.3)}
    return mech.replace(forces=(Force("spring", "spring_damper", (("beam", "tip"), ("world", "")), values),))


def test_a_body_with_coordinates_is_kept_in_files(beam, tmp_path):
    write(beam, tmp_path / "beam.yaml")
    again = sb.load(tmp_path / "beam.yaml")
    assert again.body("beam").coordinates == "three_modes"
    assert again.nq == 5


def test_what_is_not_defined_of_such_a_body_is_refused(beam):
    with pytest.raises(ModelError, match="owns coordinates"):
        sb.reactions(beam, ["hinge"])
    found = sb.verify(beam, states=2)
    assert not found.passed
    assert any("body 'beam'" in x for x in found.refused)


# -- what is refused


def test_wrong_kinds_and_rows_are_refused(track):
    with pytest.raises(DefinitionError, match="already"):
        add_motion(TRACK)
    with pytest.raises(DefinitionError, match="already"):
        add_joint_kind("revolute", "again", ("turn", "u"))
    with pytest.raises(DefinitionError, match="there are turn"):
        add_joint_kind("odd", "?", ("turning", "u"))
    with pytest.raises(DefinitionError, match="expected u, x, y or z"):
        add_joint_kind("odd", "?", ("turn", ""))
    with pytest.raises(DefinitionError, match="quaternion"):
        add_joint_kind("odd", "?", ("ball", ""), ("turn", "x"))
    with pytest.raises(DefinitionError, match="was not added"):
        remove_motion("turn")
    with pytest.raises(DefinitionError, match="was not added"):
        remove_joint_kind("revolute")
    with pytest.raises(ModelError, match="expected a motion"):
        sb.Mechanism.builder("m").body("a", coordinates="wobble").joint("j", "revolute", "world", "a").done()
    b = sb.Mechanism.builder("m").body("a", 1.0, coordinates="slide")
    with pytest.raises(ModelError, match="same name"):
        b.joint("a", "revolute", "world", "a").done()


def test_a_kind_of_known_motions_is_one_line():
    """A gantry: two slides and a turn, as `planar` with other axes."""
    add_joint_kind("gantry", "two slides and a turn", ("slide", "x"), ("slide", "z"), ("turn", "y"))
    try:
        b = sb.Mechanism.builder("crane").body("a", 1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.25))
        mech = b.joint("j", "gantry", "world", "a").done()
        assert mech.nv == 3
        assert checked(mech, [0, 0, 0]).shape == (3,)
        tau = sb.inverse_dynamics(mech, "newton_euler").compile("python")(
            np.zeros(3), np.zeros(3), np.array([1.0, 0, 0])
        )
        assert tau == pytest.approx([1.0, 9.81, 0.3 - 9.81 * 0.1], abs=1e-12)
    finally:
        remove_joint_kind("gantry")
