"""Published benchmarks of closed loops, models built from bodies and joints: reference solutions of other programs."""

import json
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from mechanics.loops.reference import LoopWorld
from symbody.mechanics.assembly.numeric import Numeric
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.rows.constraint_rows import constraints
from symbody.mechanics.verbs.assemble import assemble

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"


def shared(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip("the reference data are not here")
    return path


def gap(mech: sb.Mechanism, q: np.ndarray) -> float:
    """The largest residual of the loops, m or rad, at positions (k, nq)."""
    return float(np.abs(Numeric(constraints(build_tree(mech))).h(q)).max())


# -- Test Set for IVP Solvers


@pytest.mark.parametrize("options", [{"rtol": 1e-11}, {"step": 1e-5}], ids=["adaptive", "rk4"])
def test_andrews_squeezer_ends_where_published(options):
    """7 bodies, 3 loops: after 0.03 s, 2.5 turns of the crank (reference by PSIDE at 1e-14)."""
    data = json.loads(shared("dae_testset_mechanics/andrews.json").read_text())
    first = dict(zip(data["y_names"], data["y0_t0"], strict=True))
    last = dict(zip(data["y_names"], data["y_reference_t_end"], strict=True))
    mech = sb.load("andrews_squeezer")
    torque = data["parameters_SI"]["mom"]
    joints = ["beta", "Theta", "gamma", "delta", "Phi", "epsilon", "Omega"]
    traj = sb.simulate(mech, 0.03, q0={n: first[n] for n in joints}, inputs={"beta": torque}, **options)
    assert traj.t[-1] == 0.03
    found = {n: traj[f"q.{n}"][-1] for n in joints}
    assert found == pytest.approx({n: last[n] for n in joints}, abs=1e-6, rel=0)
    rates = {n: traj[f"qd.{n}"][-1] for n in joints}
    assert rates == pytest.approx({n: last[f"d_{n}"] for n in joints}, rel=1e-6)
    assert gap(mech, traj.q) <= 1e-10
    # multipliers: forces on the other side of each pin, so with the opposite sign
    tau = np.array([torque if n == "beta" else 0.0 for n in traj.labels["tau"]])
    lam = sb.forward_dynamics(mech, "base", lam=True).compile()(traj.q[-1], traj.qd[-1], tau).lam
    assert -lam == pytest.approx([last[f"lambda{k}"] for k in range(1, 7)], rel=1e-5)


def car_axis(p: dict[str, float], slider: bool) -> sb.Mechanism:
    """Two point masses on springs, held at the distance L by a rod; the right spring stands on a moving wheel.

    The left mass moves across the axis, which turns about the left wheel: as a slider on it, or by an equation that
    depends on time.
    """
    k, height = p["M"] * p["eps"] ** 2 / 2, f"{p['r']}*sin({p['w']}*t)"
    angle = f"atan2({height}, sqrt({p['L'] ** 2} - ({height})^2))"
    b = sb.Mechanism.builder("car_axis", gravity=[0, -p["g"], 0])
    b.body("ground").body("axis", frames={"wheel": [p["L"], 0, 0]}).body("left", mass=k).body("right", mass=k)
    b.joint("ground", "fixed", "world", "ground").joint("axis", "revolute", "world", "axis", mode="driven", value=angle)
    if slider:
        b.joint("left", "prismatic", "axis", "left", axis="y", mode="passive")
    else:
        b.joint("left", "translation2", "world", "left", mode="passive")
        b.coupling("across", f"q.left.1*sqrt({p['L'] ** 2} - ({height})^2) + q.left.2*{height}")
    b.joint("right", "translation2", "world", "right", mode="passive")
    b.cut("rod", "rod", "left", "right", length=p["L"])
    b.force("spring_left", "spring_damper", ["ground", "left"], stiffness=1.0, length=p["L0"])
    b.force("spring_right", "spring_damper", [("axis", "wheel"), "right"], stiffness=1.0, length=p["L0"])
    return b.sensor("left", "left").sensor("right", "right").done()


@pytest.mark.parametrize("slider", [True, False], ids=["slider", "equation"])
def test_car_axis_ends_where_published(slider):
    """Index 3, with driven positions and a constraint that depends on time (reference of the test set at t = 3)."""
    data = json.loads(shared("dae_testset_mechanics/car_axis.json").read_text())
    mech = car_axis(data["parameters"], slider)
    start = {"left": 0.5, "right": [1.0, 0.5]} if slider else {"left": [0.0, 0.5], "right": [1.0, 0.5]}
    # across the axis the left mass is carried along: -0.5 = -0.5 m times the rate 1 rad/s of the axis
    rates = {"left": 0.0, "right": [-0.5, 0.0]} if slider else {"left": [-0.5, 0.0], "right": [-0.5, 0.0]}
    traj = sb.simulate(mech, data["t_end"], q0=start, qd0=rates, rtol=1e-11, outputs=["p.left", "p.right"])
    assert traj.outcome.ok
    found = [*traj["p.left"][-1, :2], *traj["p.right"][-1, :2]]
    assert found == pytest.approx(data["y_reference_t_end"][:4], abs=1e-6)


# -- IFToMM library


UPRIGHT = {"upright0": -1.0, "upright1": -1.0, "upright2": -1.0, "across1": 1.0, "across2": 1.0}
STEPS = [{"step": 1e-3}, {"rtol": 1e-10}]
MORE_STEPS = [{"step": 5e-4}, {"step": 7e-4}, {"step": 2e-3}, {"rtol": 1e-8}, {"rtol": 1e-12}]


@pytest.mark.parametrize("options", [*STEPS, *(pytest.param(o, marks=pytest.mark.slow) for o in MORE_STEPS)])
def test_n_four_bar_turns_through_its_singular_positions(options):
    """A02: ten times all bars lie in one line, where the mobility is 3 instead of 1; the motion goes straight on."""
    record = np.load(shared("iftomm_mechanisms/n_four_bar_N2.npz"))
    traj = sb.simulate(
        sb.load("n_four_bar"), 10.0, qd0=UPRIGHT, outputs=["energy"], samples=record["t"], **options
    )  # fmt: skip
    assert traj.outcome.ok
    assert [e.name for e in traj.events].count("singular position") == 10
    angle = traj["q.upright0"]
    top = np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    error = np.linalg.norm(top - np.stack([record["x"], record["y"]], axis=1), axis=1)
    assert error[-1] <= 1e-5
    assert np.ptp(traj["energy"]) <= 1e-5
    assert angle[-1] == pytest.approx(-31.7506, abs=1e-4)
    # accelerations stay finite and bounded through the positions
    assert np.abs(traj.qdd).max() < 15


def test_bricard_moves_as_published():
    """A04: six hinges that should be rigid by counting; one constraint is found redundant, the mobility is 1."""
    record = np.load(shared("iftomm_mechanisms/bricard.npz"))
    mech = sb.load("bricard")
    world = LoopWorld(mech)
    system = sb.forward_dynamics(mech, "base")
    assert "1 redundant constraint left out" in system.origins["partition"]
    assert (world.rank(np.zeros(5)), world.mobility(np.zeros(5))) == (4, 1)
    traj = sb.simulate(mech, 10.0, 1e-3, outputs=["energy", "p.P3"], samples=record["t"])
    assert np.linalg.norm(traj["p.P3"] - record["points"][:, 3], axis=1).max() <= 5e-5
    assert np.ptp(traj["energy"]) <= 1e-4
    assert gap(mech, traj.q) <= 1e-10


# -- legs with closed loops


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cassie_like", "digit_like"])
def test_legs_accelerate_along_their_loops(name):
    """Random torques: the reduced equations satisfy J qdd + bias = 0 and equal the Lagrange multiplier solution."""
    records = json.loads(shared("closed_loop_urdf/closure_reference.json").read_text())
    (record,) = [r for r in records if r["name"] == name]
    folder = SHARED / "closed_loop_urdf"
    mech = sb.load(folder / f"{name}.urdf", loops=folder / f"{name}.yaml")
    numeric = Numeric(constraints(build_tree(mech)))
    world = LoopWorld(mech)
    q = np.zeros(mech.nq)
    q[[world.first[joint][0] for joint in record["joints"]]] = record["q_closed"]
    assert np.abs(numeric.h(q)).max() <= 1e-10
    assert world.rank(q) == record["constraint_rank"]
    assert world.mobility(q) == record["mobility"]
    own = assemble(mech)
    assert np.abs(numeric.h(own)).max() < 1e-12
    rng = np.random.default_rng(5)
    kernel = sb.forward_dynamics(mech, "base").compile()
    tree = sb.forward_dynamics(mech, "order_n", loops=False).compile()
    for position in (q, own):
        J = numeric.J(position)
        qd = rng.normal(size=mech.nv)
        qd -= np.linalg.lstsq(J, J @ qd, rcond=None)[0]
        tau = rng.normal(size=mech.nv)
        qdd = kernel(position, qd, tau)
        # some bodies are so light (1e-6 kg) that accelerations are huge: residuals count relative to them
        scale = 1 + np.abs(qdd).max()
        assert np.abs(J @ qdd + numeric.bias(position, qd)).max() < 1e-9 * scale
        # multipliers: free acceleration, and what constraint forces add to it (by the tree without loops)
        free = tree(position, qd, tau)
        added = np.array([tree(position, qd, tau + row) - free for row in J]).T
        lam = np.linalg.lstsq(J @ added, -(J @ free + numeric.bias(position, qd)), rcond=None)[0]
        assert np.abs(free + added @ lam - qdd).max() < 1e-9 * (scale + np.abs(free).max())


# -- Whipple's bicycle


def rolling(speed: float) -> dict[str, float]:
    return {"contact.1": speed, "front_contact.1": speed, "rear_spin": -speed / 0.3, "front_spin": -speed / 0.35}


def test_bicycle_has_the_published_matrices_and_eigenvalues_at_every_speed():
    """Meijaard and others 2007: M s^2 + v C1 s + g K0 + v^2 K2 in lean and steer."""
    data = json.loads(shared("whipple_bicycle/benchmark_bicycle.json").read_text())
    mech, g = sb.load("whipple_bicycle"), data["parameters"]["g"]
    assert len(data["eigenvalues"]) >= 10
    for speed, published in data["eigenvalues"].items():
        v = float(speed)
        linear = sb.linearize(mech, qd0=rolling(v), independent=["lean", "steer", "rear_spin"])
        wanted = np.array([complex(*s) for s in published])
        found = np.linalg.eigvals(linear.A)
        assert max(np.abs(found - s).min() for s in wanted) < 1e-9
        rows = [linear.speeds.index(n) for n in ("lean", "steer")]
        columns = [linear.coordinates.index(n) for n in ("lean", "steer")]
        stiffness = g * np.array(data["K0"]) + v**2 * np.array(data["K2"])
        for mine, theirs, at in (
            (linear.M, np.array(data["M"]), rows),
            (linear.B, v * np.array(data["C1"]), rows),
            (linear.K, stiffness, columns),
        ):
            np.testing.assert_allclose(mine[np.ix_(rows, at)], theirs, atol=1e-10 * np.abs(theirs).max() + 1e-12)


def test_bicycle_keeps_its_energy_in_free_motion():
    """Pushed sideways at 5 m/s: wheels that roll without slip do no work, and keep to the ground."""
    mech = sb.load("whipple_bicycle")
    traj = sb.simulate(mech, 5.0, 1e-3, qd0={**rolling(5.0), "lean": 0.5}, outputs=["energy"])
    assert np.abs(traj["q.lean"]).max() > 0.05
    assert np.ptp(traj["energy"]) < 1e-9 * traj["energy"][0]
    numeric = Numeric(constraints(build_tree(mech)))
    assert gap(mech, traj.q) < 1e-9
    slip = np.einsum("kij,kj->ki", numeric.J(traj.q), traj.qd)
    assert np.abs(slip).max() < 1e-9
