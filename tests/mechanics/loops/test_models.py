"""Bundled closed-loop models close, have their freedoms and published motions; the oracle agrees with Pinocchio."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from mechanics.loops.reference import LoopWorld
from symbody.model.files import mjcf

SHARED = Path(__file__).parents[3] / ".." / "shared" / "data"
MODELS = {  # velocities, constraints, redundant ones, degrees of freedom, whether q = 0 is closed
    "four_bar": (3, 2, 0, 1, True),
    "slider_crank": (3, 2, 0, 1, False),
    "three_loops": (7, 6, 0, 1, True),
    "three_rrr_1": (9, 6, 0, 3, True),
    "three_rrr_2": (9, 6, 0, 3, True),
    "three_rrr_3": (12, 9, 0, 3, True),
    "three_rrr_3_centre": (12, 9, 0, 3, True),
    "three_rrr_4": (9, 6, 0, 3, True),
    "andrews_squeezer": (7, 6, 0, 1, False),
    "n_four_bar": (5, 4, 0, 1, True),
    "bricard": (5, 5, 1, 1, True),
    "delta": (12, 9, 0, 3, False),
    "delta_light": (12, 9, 0, 3, False),
    "stewart": (24, 18, 0, 6, False),
    "stewart_light": (24, 18, 0, 6, False),
    "multi_link_suspension": (12, 10, 0, 2, True),
    "car": (54, 40, 0, 14, True),
    "car_lane_change": (55, 40, 0, 9, True),
    "bogie": (23, 7, 0, 16, True),
    "whipple_bicycle": (12, 9, 0, 3, True),
}


def shared(path: str) -> Path:
    if not (SHARED / path).exists():
        pytest.skip("the reference data are not here")
    return SHARED / path


def closed(name: str, seed: int = 3, spread: float = 0.08) -> tuple[LoopWorld, np.ndarray, np.ndarray]:
    """A bundled model in a closed configuration near home, with velocities that its constraints allow."""
    world, rng = LoopWorld(sb.load(name)), np.random.default_rng(seed)
    home = world.assemble()
    q = world.assemble(home + rng.uniform(-spread, spread, world.nq))
    return world, q, world.project(q, rng.uniform(-1, 1, world.nv))


# -- mobility


@pytest.mark.parametrize("name", MODELS)
def test_a_bundled_mechanism_closes_with_its_freedoms(name):
    nv, count, redundant, freedoms, at_zero = MODELS[name]
    world, q, qd = closed(name)
    assert (world.nv, len(world.names)) == (nv, count)
    assert (np.abs(world.residual(world.neutral())).max() < 1e-15) == at_zero
    assert np.abs(world.residual(q)).max() < 1e-12
    assert np.abs(world.jacobian(q) @ qd).max() < 1e-12
    assert count - world.rank(q) == redundant
    assert world.mobility(q) == freedoms


def test_every_bundled_mechanism_with_loops_is_in_the_table():
    from symbody.model.load import bundled_names

    found = {n for n in bundled_names() if (m := sb.load(n)).cuts or m.couplings}
    assert found == set(MODELS)


def test_documented_closed_positions():
    slider = LoopWorld(sb.load("slider_crank"))
    assert np.abs(slider.residual(np.array([0, -np.arcsin(0.28), 0]))).max() < 1e-15
    delta = LoopWorld(sb.load("delta"))
    q = np.zeros(12)
    q[[1, 4, 7]] = np.arcsin(0.6)
    assert np.abs(delta.residual(q)).max() < 1e-15
    stewart = LoopWorld(sb.load("stewart"))
    q = stewart.assemble(hold=range(18, 24))  # the platform at home: pistons at 0
    assert np.abs(q[[2, 5, 8, 11, 14, 17]]).max() < 1e-13


def test_four_bars_have_three_freedoms_where_all_bars_lie_flat():
    world = LoopWorld(sb.load("n_four_bar"))
    flat = np.array([-1, -1, -1, 1, 1]) * np.pi / 2
    assert np.abs(world.residual(flat)).max() < 1e-15
    assert world.mobility(flat) == 3


def test_the_robotran_car_has_as_many_freedoms_as_independent_joints():
    """car_43.mbs: 10 ball cuts, of whose 30 equations 2 are redundant; 28 joints are marked dependent."""
    world = LoopWorld(sb.load(shared("robotran_models/car_43.mbs")))
    q = world.assemble()
    modes = [j.mode for j in world.mech.joints]
    assert (len(world.names), world.rank(q)) == (30, 28)
    assert (world.mobility(q), world.rank(q)) == (modes.count("actuated"), modes.count("passive"))


# -- structure


def columns(world: LoopWorld, q: np.ndarray) -> dict[str, set[int]]:
    """Row -> coordinates (from 1) that it depends on, at a position in which none vanishes by chance."""
    return {name: {int(k) + 1 for k in np.flatnonzero(np.abs(row) > 1e-9)}
            for (name, _), row in zip(world.names, world.jacobian(q))}  # fmt: skip


def test_structure_of_the_three_loops():
    """ROBOTRAN thesis, Fig. 2.6."""
    world, q, _ = closed("three_loops")
    found = columns(world, q)
    for loop, expected in {"loop1": {1, 2, 3}, "loop2": {1, 5, 6}, "loop3": {2, 4, 5, 7}}.items():
        assert found[f"{loop}.x"] | found[f"{loop}.y"] == expected


@pytest.mark.parametrize(("name", "cut"), [("three_rrr_1", "base"), ("three_rrr_2", "hand")])
def test_structure_of_the_manipulator_cut_at_bodies(name, cut):
    """ROBOTRAN thesis, section 2.7: positions do not depend on the hinge in which the body is cut, its turn does."""
    found = columns(*closed(name)[:2])
    for loop, own, last in ((f"{cut}2", {4, 5}, 6), (f"{cut}3", {7, 8}, 9)):
        assert found[f"{loop}.x"] | found[f"{loop}.y"] == {1, 2, 3} | own
        assert found[f"{loop}.rz"] == {1, 2, 3} | own | {last}


def test_structure_of_the_bogie():
    """ROBOTRAN thesis, Tables 4.1 and 4.2: the dependent coordinates of each row."""
    world, q, _ = closed("bogie")
    dependent = {23, 21, 22, 7, 8, 11, 12}
    found = {name: c & dependent for name, c in columns(world, q).items()}
    assert found == {
        "knee": {23}, "rear_rod.rod": {21}, "guide.x": {23, 22, 7, 8}, "guide.y": {23, 22, 7, 8},
        "front_rod.rod": {21, 7, 8}, "front_tie.rod": {22, 11}, "rear_tie.rod": {23, 22, 7, 8, 12},
    }  # fmt: skip


def test_suspensions_of_the_car_touch_only_themselves():
    world, q, _ = closed("car")
    corners: dict[str, set[int]] = {c: set() for c in ("fl", "fr", "rl", "rr")}
    for name, found in columns(world, q).items():
        corners[name[:2]] |= found
    assert [len(c) for c in corners.values()] == [11] * 4  # of 12: not the spin
    assert sum(len(c) for c in corners.values()) == len(set().union(*corners.values()))


def test_the_car_stands_near_its_equilibrium():
    """Weight, struts and four tyres at their design penetration leave little along any freedom."""
    world = LoopWorld(sb.load("car"))
    q = np.zeros(54)
    mass, c = world.equations(q, q)
    poses, twists = world.poses(q.astype(complex))
    load = world.values["kt"] * (world.values["Rt"] - world.values["h0"])
    force = world.springs(q, q) - c
    for corner in ("fl", "fr", "rl", "rr"):
        force += world.frame(poses, twists, (f"{corner}_wheel", ""))[3].real[2] * load
    free = np.linalg.svd(world.jacobian(q))[2][40:]
    weight = -9.81 * mass[2, 2]
    assert np.abs(free @ force).max() < 5e-3 * abs(weight)


# -- motions that are published


def test_andrews_squeezer_starts_and_ends_as_published():
    """Accelerations at t = 0 and t = 0.03 s of the Test Set for IVP solvers."""
    data = json.loads(shared("dae_testset_mechanics/andrews.json").read_text())
    world = LoopWorld(sb.load("andrews_squeezer"))
    names = [j.name for j in world.mech.joints if j.name != "ground"]
    torque = np.zeros(7)
    torque[0] = data["parameters_SI"]["mom"]
    for column, digits in (("y0_t0", 1e-10), ("y_reference_t_end", 1e-6)):
        y = dict(zip(data["y_names"], data[column]))
        q, qd, qdd = (np.array([y[stem + n] for n in names]) for stem in ("", "d_", "dd_"))
        assert np.abs(world.residual(q)).max() < 1e-15
        found, lam = world.acceleration(q, qd, torque)
        assert np.abs(found - qdd).max() < digits * np.abs(qdd).max()
        # multipliers of the published equations are forces along world axes, of the other sign
        for k, body in enumerate(("K3", "K4", "K6")):
            r, *_ = world.frame(*world.poses(q.astype(complex)), (body, "P"))
            published = [y[f"lambda{2 * k + 1}"], y[f"lambda{2 * k + 2}"]]
            force = r.real[:2, :2] @ lam[2 * k : 2 * k + 2]
            assert -force == pytest.approx(published, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("speed", ["0.0", "4.0", "7.0", "10.0"])
def test_the_benchmark_bicycle_has_the_published_eigenvalues(speed):
    """Lean and steer about upright rolling (Meijaard and others 2007)."""
    data = json.loads(shared("whipple_bicycle/benchmark_bicycle.json").read_text())
    world, v = LoopWorld(sb.load("whipple_bicycle")), float(speed)
    at = {name: place[1] for name, place in world.first.items()}
    lean, steer, spin = at["lean"], at["steer"], at["rear_spin"]

    def accelerations(state: np.ndarray) -> np.ndarray:
        q = np.zeros(12)
        q[[lean, steer]] = state[:2]
        q = world.assemble(q, hold=[0, 1, at["heading"], lean, steer, spin, at["front_spin"]])
        given = np.vstack([world.jacobian(q), np.eye(12)[[lean, steer, spin]]])
        qd = np.linalg.solve(given, np.r_[np.zeros(9), state[2:], -v / world.values["rR"]])
        return world.acceleration(q, qd)[0][[lean, steer]]

    step, matrix = 1e-3, np.zeros((4, 4))
    matrix[:2, 2:] = np.eye(2)
    for k, unit in enumerate(step * np.eye(4)):
        near, far = ((accelerations(i * unit) - accelerations(-i * unit)) / (2 * i * step) for i in (1, 2))
        matrix[2:, k] = (4 * near - far) / 3
    found = np.sort_complex(np.linalg.eigvals(matrix))
    published = np.sort_complex([complex(*e) for e in data["eigenvalues"][speed]])
    assert np.abs(found - published).max() < 1e-9


def test_bricard_starts_to_fall_as_published():
    """IFToMM A04: place of the joint P3 after 0.05 s from rest, by acceleration and its first change."""
    record = np.load(shared("iftomm_mechanisms/bricard.npz"))
    world = LoopWorld(sb.load("bricard"))
    q, qd, step = np.zeros(5), np.zeros(5), 1e-3
    for _ in range(50):  # midpoint rule, projected
        qdd, _ = world.acceleration(q, qd)
        middle, rate = world.assemble(q + step / 2 * qd), qd + step / 2 * qdd
        rate = world.project(middle, rate)
        qdd, _ = world.acceleration(middle, rate)
        q = world.assemble(q + step * rate)
        qd = world.project(q, qd + step * qdd)
    place = world.poses(q.astype(complex))[0]["bar4"][1].real
    times, points = record["t"], record["points"]
    assert place == pytest.approx(points[np.argmin(np.abs(times - 0.05)), 3], abs=2e-6)


# -- one mechanism, several models


def test_four_modellings_of_the_manipulator_move_alike():
    """The same state of the same mechanism: equal accelerations of the joints that all of them have."""
    first, q4, qd4 = closed("three_rrr_4")
    shared_q = {"q1": 0, "q2": 1, "q4": 2, "q5": 3, "q7": 4, "q8": 5}  # names in three_rrr_2 and 3 -> place in model 4
    expected, _ = first.acceleration(q4, qd4)
    turn = q4[8], qd4[8]
    for name in ("three_rrr_2", "three_rrr_3", "three_rrr_3_centre"):
        world = LoopWorld(sb.load(name))
        q, qd = np.zeros(world.nq), np.zeros(world.nv)
        for joint, k in shared_q.items():
            place = world.first[joint][0]
            q[place], qd[place] = q4[k], qd4[k]
        for wrist, pair in (("q3", (0, 1)), ("q6", (2, 3)), ("q9", (4, 5))):
            place = world.first[wrist][0]
            q[place], qd[place] = turn[0] - sum(q4[list(pair)]), turn[1] - sum(qd4[list(pair)])
        if world.nv == 12:  # the platform's own coordinates
            q[9:], qd[9:] = q4[6:], qd4[6:]
        assert np.abs(world.residual(q)).max() < 1e-12
        assert np.abs(world.jacobian(q) @ qd).max() < 1e-12
        found, _ = world.acceleration(q, qd)
        for joint, k in shared_q.items():
            assert found[world.first[joint][0]] == pytest.approx(expected[k], abs=1e-9)
    world = LoopWorld(sb.load("three_rrr_1"))  # arms 2 and 3 from the other end: angles of opposite sign
    q, qd = np.zeros(9), np.zeros(9)
    for out, state, angle in ((q, q4, turn[0]), (qd, qd4, turn[1])):
        out[:3] = state[0], state[1], angle - state[0] - state[1]
        for k, (upper, fore) in ((3, (2, 3)), (6, (4, 5))):
            out[k : k + 3] = state[upper] + state[fore] - angle, -state[fore], -state[upper]
    assert np.abs(world.residual(q)).max() < 1e-12
    found, _ = world.acceleration(q, qd)
    assert [found[0], found[1], -found[5], -found[4]] == pytest.approx(list(expected[:4]), abs=1e-9)


# -- the oracle itself


@pytest.mark.parametrize(
    "name", ["four_bar", "bricard", "stewart", "multi_link_suspension", "bogie", "whipple_bicycle"]
)
def test_rates_of_the_oracle_are_derivatives_along_a_motion(name):
    """J qd is the slope of h, and J qdd + bias the curvature, along q(t) = q + t qd + t^2/2 qdd."""
    world, q, qd = closed(name)
    qdd, _ = world.acceleration(q, qd)
    rows = world.holonomic

    def h(t: float) -> np.ndarray:
        return world.residual(q + t * qd + t * t / 2 * qdd)[rows]

    step = 1e-3
    slope = (8 * (h(step) - h(-step)) - (h(2 * step) - h(-2 * step))) / (12 * step)
    curve = (16 * (h(step) + h(-step)) - (h(2 * step) + h(-2 * step)) - 30 * h(0)) / (12 * step**2)
    assert np.abs(slope - (world.jacobian(q) @ qd)[rows]).max() < 1e-9
    assert np.abs(curve).max() < 1e-7  # the accelerations keep the loops closed


@pytest.mark.parametrize("name", ["four_bar", "three_rrr_4", "bricard", "delta", "stewart"])
def test_the_oracle_agrees_with_constrained_dynamics_of_pinocchio(name):
    pin = pytest.importorskip("pinocchio")
    from helpers.pinocchio_oracle import Peer

    world, q, qd = closed(name)
    mech = world.mech.replace(forces=())
    torque = np.random.default_rng(1).uniform(-5, 5, world.nv)
    expected, _ = world.acceleration(q, qd, torque)
    peer = Peer(mech)
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for cut in mech.cuts:
        ends = [peer.model.frames[peer.frame(f"{b}.{f}" if f else b)] for b, f in (cut.first, cut.second)]
        places = [[e.placement for e in ends]]
        if cut.kind == "revolute":  # two balls on its axis
            shift = pin.SE3(np.eye(3), 0.5 * np.eye(3)["xyz".index(cut.axis)])
            places.append([e.placement * shift for e in ends])
        kind = pin.ContactType.CONTACT_6D if any(r > 2 for r in cut.rows) else pin.ContactType.CONTACT_3D
        for first, second in places:
            joints, local = (ends[0].parentJoint, ends[1].parentJoint), pin.ReferenceFrame.LOCAL
            models.append(pin.RigidConstraintModel(kind, peer.model, joints[0], first, joints[1], second, local))
            datas.append(models[-1].createData())
    pin.initConstraintDynamics(peer.model, peer.data, models, datas)
    state = peer.q(q), peer.v(qd), peer.v(torque)
    settings = pin.ProximalSettings(1e-14, 1e-10, 1000)
    found = pin.constraintDynamics(peer.model, peer.data, *state, models, datas, settings)
    assert np.abs(peer.back(found) - expected).max() < 1e-8 * max(1, np.abs(expected).max())


def test_the_oracle_has_the_constraints_of_mujoco(tmp_path):
    """A four-bar with <connect>: the same forbidden velocities, and the same mass matrix."""
    mujoco = pytest.importorskip("mujoco")
    bar = '<geom type="capsule" fromto="0 0 0 {0}" size=".02" mass="1"/>'
    path = tmp_path / "four_bar.xml"
    path.write_text(
        f"""<mujoco><compiler angle="radian" autolimits="true"/><worldbody>
        <body name="crank"><joint name="a" axis="0 1 0"/>{bar.format("0 0 .2")}
        <body name="coupler" pos="0 0 .2"><joint name="b" axis="0 1 0"/>{bar.format(".5 0 .1")}</body></body>
        <body name="rocker" pos=".5 0 0"><joint name="c" axis="0 1 0"/>{bar.format("0 0 .3")}</body></worldbody>
        <equality><connect body1="rocker" body2="coupler" anchor="0 0 .3"/></equality></mujoco>""",
        encoding="utf-8",
    )
    world = LoopWorld(mjcf.read(path))
    assert np.abs(world.residual(np.zeros(3))).max() < 1e-15
    q = world.assemble(np.array([0.4, 0, 0]), hold=[0])
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    theirs = data.efc_J.reshape(-1, 3)[:3]
    for rows in (np.vstack([theirs, world.jacobian(q)]), world.jacobian(q), theirs):
        assert np.linalg.matrix_rank(rows, tol=1e-9) == 2
    mass = np.zeros((3, 3))
    mujoco.mj_fullM(model, data, mass)
    assert world.equations(q, np.zeros(3))[0] == pytest.approx(mass, abs=1e-9)
