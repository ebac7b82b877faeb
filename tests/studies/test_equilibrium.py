"""States of rest against closed forms: pendulums with springs, hanging chains, vehicles on their wheels, mechanisms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

import symbody as sb
from symbody.basics.errors import SymbodyError
from symbody.show.cli.commands.new import starter
from symbody.studies.linear.linearize import linearize
from symbody.studies.steady.equilibrium import equilibrium
from symbody.studies.steady.steady_solver import SteadyOutcome

G = 9.81


def pendulum(stiffness=0.0, rest=0.0, viscous=0.0):
    """Mass 2 kg at 0.5 m below a hinge about y; q = 0 hangs down."""
    build = sb.Mechanism.builder("pendulum")
    build.body("bob", mass=2.0, com=[0, 0, -0.5])
    build.joint("hinge", "revolute", "world", "bob", axis="y", stiffness=stiffness, rest=rest, viscous=viscous)
    return build.done()


def chain(n, length, sag_height):
    """n equal rods from the world; the last point is a ball on the ground plane of a cut to (x, 0, 0)."""
    build = sb.Mechanism.builder("chain")
    rod = length / n
    parent, at = "world", [0, 0, 0]
    for k in range(n):
        build.body(f"rod{k}", mass=rod, com=[rod / 2, 0, 0], inertia=[0, rod**3 / 12, rod**3 / 12],
                   frames={"end": [rod, 0, 0]})  # fmt: skip
        build.joint(f"hinge{k}", "revolute", parent, f"rod{k}", axis="y", position=at, mode="passive")
        parent, at = f"rod{k}", [rod, 0, 0]
    build.body("post", frames={"top": [sag_height, 0, 0]})
    build.joint("foot", "fixed", "world", "post")
    build.cut("tie", "rows", (f"rod{n - 1}", "end"), ("post", "top"), rows=("x", "z"))
    return build.done()


def test_spring_pendulum_rests_where_its_moments_balance():
    found = equilibrium(pendulum(4.0, 1.2), q0=[0.5])
    wanted = brentq(lambda x: 4.0 * (x - 1.2) + 2.0 * G * 0.5 * np.sin(x), 0, 2)
    assert found.ok
    assert found.stable
    assert found.q == pytest.approx([wanted], abs=1e-12)
    # small motions: m l^2 q'' = -(k + m g l cos q) q
    stiffness = 4.0 + 2.0 * G * 0.5 * np.cos(wanted)
    assert np.sort(np.abs(found.eigenvalues.imag)) == pytest.approx([np.sqrt(stiffness / 0.5)] * 2)
    # m g z of the mass and k (q - rest)^2 / 2 of the spring; the reference height is the hinge
    assert found.potential == pytest.approx(-2 * G * 0.5 * np.cos(wanted) + 2.0 * (wanted - 1.2) ** 2)


def test_given_effort_holds_a_pendulum_at_an_angle():
    found = equilibrium(pendulum(), q0=[0.1], inputs={"tau": [3.0]})
    assert found.q == pytest.approx([np.arcsin(3.0 / (2 * G * 0.5))])
    assert found.tau == pytest.approx([3.0])


def test_effort_beyond_the_weight_has_no_equilibrium():
    found = equilibrium(pendulum(), inputs={"tau.hinge": 30.0}, starts=3)
    assert not found.ok
    assert found.outcome is SteadyOutcome.NOT_CONVERGED
    assert "hinge" in found.sentence


def test_nearest_equilibrium_may_be_unstable_and_downhill_is_stable():
    near = equilibrium(pendulum(), q0=[3.0])
    assert near.ok
    assert near.stable is False
    assert near.q == pytest.approx([np.pi])
    assert near.eigenvalues.real.max() == pytest.approx(np.sqrt(G / 0.5))
    down = equilibrium(pendulum(), q0=[3.0], stable=True)
    assert down.stable
    assert np.sin(down.q) == pytest.approx(0, abs=1e-12)
    assert np.cos(down.q[0]) > 0
    left = equilibrium(pendulum(), q0=[np.pi], stable=True)  # starts at the very top
    assert left.stable
    assert np.cos(left.q[0]) == pytest.approx(1)


def test_fixed_joint_is_held_by_the_effort_that_inverse_dynamics_gives():
    mech = sb.load("panda")
    q = np.array([0.3, -0.4, 0.2, -1.5, 0.1, 1.2, 0.5])
    found = equilibrium(mech, q0=q, fixed=[j.name for j in mech.joints if j.kind != "fixed"])
    weight = sb.inverse_dynamics(mech, "newton_euler").compile()(q, np.zeros(7), np.zeros(7))
    assert found.ok
    assert np.allclose(found.tau, weight, atol=1e-11)
    assert np.array_equal(found.q, q)


def test_driven_joint_stands_where_its_law_says():
    build = sb.Mechanism.builder("two")
    build.body("first", mass=1.0, com=[0, 0, -1.0])
    build.body("second", mass=3.0, com=[0, 0, -0.5])
    build.joint("drive", "revolute", "world", "first", axis="y", mode="driven", value="0.3 + 0*t")
    build.joint("swing", "revolute", "first", "second", axis="y", position=[0, 0, -1], mode="passive")
    found = equilibrium(build.done())
    assert found.q == pytest.approx([0.3, -0.3])  # the second hangs straight down
    assert found.effort("drive") == pytest.approx((1.0 + 3.0) * G * np.sin(0.3))


def test_free_body_on_three_springs_keeps_its_quaternion_and_carries_its_weight():
    build = sb.Mechanism.builder("table")
    feet = {f"f{k}": [np.cos(a), np.sin(a), 0] for k, a in enumerate(2 * np.pi * np.arange(3) / 3)}
    build.body("top", mass=6.0, com=[0.1, 0.05, 0], inertia=[1, 1, 2], frames=feet)
    build.joint("free", "free", "world", "top", position=[0, 0, 1.0], mode="passive")
    build.body("ground", frames={n: [*p[:2], 0] for n, p in feet.items()})
    build.joint("floor", "fixed", "world", "ground")
    for n in feet:
        build.force(f"s_{n}", "spring_damper", [("ground", n), ("top", n)], stiffness=2000.0, damping=0.0, length=1.0)
    mech = build.done()
    found = equilibrium(mech)
    assert found.ok
    assert found.stable is not None
    assert np.linalg.norm(found.q[3:]) == pytest.approx(1)
    values = linearize(mech, outputs=[f"s_{n}_F" for n in feet], **found.point)
    forces = values.y0
    # nearly vertical springs: they share the weight by the levers of the centre of mass
    assert forces.sum() == pytest.approx(6.0 * G, rel=1e-4)
    moments = sum(f * np.array(p[:2]) for f, p in zip(forces, feet.values()))
    assert moments == pytest.approx(6.0 * G * np.array([0.1, 0.05]), rel=2e-3)


def test_hanging_chain_has_the_least_potential():
    n, length, span = 6, 1.5, 1.0
    mech = chain(n, length, span)
    found = equilibrium(mech, stable=True, q0=[0.6, -0.1, -0.1, -0.2, -0.3, -0.3])
    assert found.ok
    assert found.stable
    angles = np.cumsum(found.q)  # of the rods below the horizontal
    rod = length / n

    # oracle: heights of the rods' middles, minimised by SLSQP
    def height(a):
        drop = np.concatenate([[0], np.cumsum(rod * np.sin(a))])
        return -np.mean((drop[1:] + drop[:-1]) / 2)

    bound = [{"type": "eq", "fun": lambda a: rod * np.cos(a).sum() - span},
             {"type": "eq", "fun": lambda a: rod * np.sin(a).sum()}]  # fmt: skip
    oracle = minimize(height, np.linspace(0.9, -0.9, n), constraints=bound, tol=1e-14)
    assert angles == pytest.approx(oracle.x, abs=1e-5)
    # each end carries half of the weight
    vertical = found.multipliers[list(found.rows).index("tie.z")]
    assert abs(vertical) == pytest.approx(length * G / 2, rel=1e-9)


def test_four_bar_holds_its_crank_by_virtual_work():
    mech = sb.load("four_bar")
    found = equilibrium(mech, q0={"crank": 0.6}, fixed=["crank"])
    assert found.ok
    energy = lambda angle: equilibrium(mech, q0={"crank": angle}, fixed=["crank"], eigenvalues=False).potential  # noqa: E731
    step = 1e-4
    assert found.effort("crank") == pytest.approx((energy(0.6 + step) - energy(0.6 - step)) / (2 * step), rel=1e-6)


def test_eigenvalues_are_those_of_linearize():
    for name in ("slider_crank", "motorcycle"):
        mech = sb.load(name)
        found = equilibrium(mech)
        peer = np.linalg.eigvals(linearize(mech, **found.point).A)
        assert len(peer) == len(found.eigenvalues)
        scale = np.abs(peer).max()
        for x in peer:  # pairs of zeros spread by the root of the rounding
            assert np.abs(found.eigenvalues - x).min() < 2e-6 * scale


def test_motorcycle_stands_upright_on_both_wheels():
    mech = sb.load("motorcycle")
    found = equilibrium(mech)
    assert found.ok
    assert found.stable is False
    q = dict(zip(found.labels, found.q))
    assert [q[n] for n in ("y", "yaw", "roll", "steer", "rider_lean")] == pytest.approx([0] * 5, abs=1e-9)
    forces = linearize(mech, outputs=["rear_tyre_Fz", "front_tyre_Fz"], **found.point).y0
    assert forces.sum() == pytest.approx(total_mass(mech) * G, rel=1e-9)
    assert (forces > 0).all()


@pytest.mark.slow
def test_car_stands_symmetrically_on_four_wheels():
    mech = sb.load("car")
    found = equilibrium(mech)
    assert found.ok
    assert found.stable
    wheels = [f"{w}_tyre_Fz" for w in ("fl", "fr", "rl", "rr")]
    forces = linearize(mech, outputs=wheels, **found.point).y0
    assert forces.sum() == pytest.approx(total_mass(mech) * G, rel=1e-8)
    assert forces[0] == pytest.approx(forces[1])
    assert forces[2] == pytest.approx(forces[3])
    assert found.q[[0, 1, 3]] == pytest.approx([0, 0, 0], abs=1e-6)  # x, y and yaw are free, and stay


def test_suspension_deflects_by_the_weight_over_the_stiffness():
    build = sb.Mechanism.builder("quarter_car")
    build.body("sprung", mass=400.0)
    build.body("unsprung", mass=40.0)
    build.joint("wheel", "prismatic", "world", "unsprung", axis="z", stiffness=2e5, mode="passive")
    build.joint("strut", "prismatic", "unsprung", "sprung", axis="z", stiffness=2e4, viscous=1e3, mode="passive")
    found = equilibrium(build.done())
    assert found.q == pytest.approx([-440 * G / 2e5, -400 * G / 2e4], rel=1e-10)
    assert found.stable


def test_internal_states_come_to_rest_too():
    build = sb.Mechanism.builder("lift")
    build.body("load", mass=5.0)
    build.joint("lift", "prismatic", "world", "load", axis="z", stiffness=300.0, position=[0, 0, 1], mode="passive")
    # force 2 u through a lag: the state x_jack follows it
    build.force("jack", "actuator", ["world", "load"], gain=2.0, time_constant=0.3)
    found = equilibrium(build.done(), inputs={"u_jack": 30.0})
    assert found.ok
    assert found.states["x_jack"] == pytest.approx(60.0)
    assert found.q == pytest.approx([(60.0 - 5.0 * G) / 300.0])
    assert found.eigenvalues.real.min() == pytest.approx(-1 / 0.3)


def test_link_spring_is_part_of_the_potential():
    build = sb.Mechanism.builder("hanger")
    build.body("load", mass=5.0)
    build.joint("lift", "prismatic", "world", "load", axis="z", position=[0, 0, -1], mode="passive")
    build.force("spring", "spring_damper", ["world", "load"], stiffness=400.0, damping=0.0, length=1.0)
    found = equilibrium(build.done())
    sag = 5.0 * G / 400.0
    assert found.q == pytest.approx([-sag])
    assert found.potential == pytest.approx(-5.0 * G * (1 + sag) + 200.0 * sag**2)


def test_bicycle_with_rolling_wheels_is_at_rest_upright():
    found = equilibrium(sb.load("whipple_bicycle"))
    assert found.ok
    assert found.stable is False
    # capsize at rest: Meijaard et al. 2007, Table 2 has real parts 3.13164 and 5.53094 1/s at v = 0
    growing = np.sort(found.eigenvalues.real)[-2:]
    assert growing == pytest.approx([3.131643247906656, 5.530943717653932], rel=1e-9)


def test_other_parameters_move_the_equilibrium_and_stay_with_it():
    build = sb.Mechanism.builder("scale")
    build.parameter("m", 1.0)
    build.body("pan", mass="m")
    build.joint("slide", "prismatic", "world", "pan", axis="z", stiffness=100.0, mode="passive")
    mech = build.done()
    found = equilibrium(mech, parameters={"m": 3.0})
    assert found.q == pytest.approx([-3.0 * G / 100.0])
    linear = linearize(mech, **found.point)
    assert np.allclose(linear.M, [[3.0]])


def test_unknown_names_are_refused_with_a_hint():
    with pytest.raises(SymbodyError, match="hinge"):
        equilibrium(pendulum(), fixed=["hinje"])
    with pytest.raises(SymbodyError, match="parameter"):
        equilibrium(pendulum(), parameters={"mass": 1})


def total_mass(mech):
    kernel = sb.energy(mech, loops=False).compile()
    q = np.zeros(mech.nq)
    return float(kernel(q, np.zeros(mech.nv), np.zeros(mech.nv)).mass)


@pytest.mark.parametrize("strut", [20000, 25000, 13000])
def test_balance_of_weights_and_springs_that_is_exact_is_found_where_it_stands(half_car, strut):
    # the file's springs are preloaded for q = 0: what is left there is the rounding of forces that cancel
    found = equilibrium(half_car, parameters={"ks": strut})
    assert found.ok
    assert found.stable
    assert found.q == pytest.approx(np.zeros(4), abs=1e-12)


def test_springs_against_each_other_without_gravity_are_in_balance():
    build = sb.Mechanism.builder("between", gravity=(0, 0, 0))
    build.body("posts", frames={"left": [-1, 0, 0], "right": [1, 0, 0]})
    build.joint("ground", "fixed", "world", "posts")
    build.body("block", mass=1.0)
    build.joint("slide", "prismatic", "world", "block", axis="x", mode="passive")
    for side, k in (("left", 700.0), ("right", 1300.0)):  # 490 N each way
        build.force(side, "spring_damper", points=(f"posts.{side}", "block"), stiffness=k, length=1 - 490 / k)
    found = equilibrium(build.done())
    assert found.ok
    assert found.q == pytest.approx([0.0], abs=1e-14)


@pytest.fixture
def half_car(tmp_path):
    """The file of `symbody new half_car --kind vehicle`."""
    path = tmp_path / "half_car.yaml"
    path.write_text(starter("vehicle", "half_car"))
    return sb.load(path)
