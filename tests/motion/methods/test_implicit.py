"""Implicit methods of fixed step: order, invariants, numerical damping, quaternions, constraints."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import symbody as sb
from helpers.stretches import Held, stretch, stretch_on
from symbody.basics.errors import DefinitionError, ModelError, NameLookupError
from symbody.model.build.builder import Builder
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.of_mechanism import mechanism_flow
from symbody.motion.flow.of_system import system_flow
from symbody.motion.march.march_ports import STEP_LENGTH
from symbody.motion.methods.implicit_step import LIKE, ORDERS, RATE, Residual, start_system, step_system
from symbody.motion.methods.implicit_stepper import ImplicitFixed, StepMarch, balance_of
from symbody.motion.trajectory.outcome import Outcome

METHODS = tuple(ORDERS)


class OfTime(Held):
    """Signals that are a function of time."""

    def __init__(self, function):
        super().__init__(*function(0.0))
        self.function, self.moving = function, [function]

    def at(self, t, values):
        return np.array(self.function(t), dtype=float)

    def grid(self, values, start, end, instants):
        times = np.unique([start, end, *instants])
        return times, np.array([self.function(t) for t in times], dtype=float)


def march(flow, method, x0, h, end, feed=None, **options):
    """State at the end."""
    newton = {k: options.pop(k) for k in ("rho_inf", "tolerance") if k in options}
    driver = ImplicitFixed(flow, method, feed or Held(), 0.0, h, newton=newton, **options)
    leg = stretch(driver, 0.0, np.array(x0, dtype=float), end, np.array([end]))
    assert leg.outcome is Outcome.FINISHED
    return leg.x_end


def unsolved(mech):
    """The equations of motion as they stand before they are solved for the accelerations."""
    return balance_of(mechanism_flow(mech, balance=True))


@cache
def oscillator(stiffness=1.0, damping=0.0) -> Flow:
    with sb.Graph():
        q, v = sb.symbols("q v", role="state")
        rates = {"q_dot": v, "v_dot": -stiffness * q - damping * v}
        system = sb.System("oscillator", inputs={"q": q, "v": v}, outputs=rates, states={"q": "q_dot", "v": "v_dot"})
    return system_flow(system).replace(second=(("q", "v"),))


@cache
def driven_pendulum() -> Flow:
    """Pendulum with an effort u and a filter z of first order: q'' = -sin q + u + z / 2, z' = -2 z + q t."""
    with sb.Graph():
        q, v, z = sb.symbols("q v z", role="state")
        t, u = sb.symbol("t", "time"), sb.symbol("u")
        rates = {"q_dot": v, "v_dot": -sb.sin(q) + u + z / 2, "z_dot": -2 * z + q * t}
        inputs = {"q": q, "v": v, "z": z, "t": t, "u": u}
        states = {"q": "q_dot", "v": "v_dot", "z": "z_dot"}
        return system_flow(sb.System("pendulum", inputs=inputs, outputs=rates, states=states)).replace(
            second=(("q", "v"),)
        )


def slope(steps, errors):
    """Order by regression of log error on log step."""
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


# -- order


@pytest.mark.parametrize("method", METHODS)
def test_the_declared_order_is_reached(method):
    """Autonomous and constant input: against SciPy at tolerances of 1e-13."""
    flow = driven_pendulum()
    reference = solve_ivp(
        lambda t, x: [x[1], -np.sin(x[0]) + 0.3 + x[2] / 2, -2 * x[2] + x[0] * t],
        (0, 2), [1.0, 0.5, -0.2], method="DOP853", rtol=1e-13, atol=1e-14,
    ).y[:, -1]  # fmt: skip
    steps = [2 / n for n in (40, 80, 160)]
    errors = [np.abs(march(flow, method, [1.0, 0.5, -0.2], h, 2.0, Held(0.3)) - reference).max() for h in steps]
    assert slope(steps, errors) == pytest.approx(ORDERS[method], abs=0.1)


@pytest.mark.parametrize("method", ["midpoint", "sdirk2", "generalized_alpha"])
def test_moving_inputs_keep_order_two(method):
    flow = driven_pendulum()
    reference = solve_ivp(
        lambda t, x: [x[1], -np.sin(x[0]) + np.cos(3 * t) + x[2] / 2, -2 * x[2] + x[0] * t],
        (0, 2), [1.0, 0.5, -0.2], method="DOP853", rtol=1e-13, atol=1e-14,
    ).y[:, -1]  # fmt: skip
    feed = OfTime(lambda t: [np.cos(3 * t)])
    steps = [2 / n for n in (40, 80, 160)]
    errors = [np.abs(march(flow, method, [1.0, 0.5, -0.2], h, 2.0, feed) - reference).max() for h in steps]
    assert slope(steps, errors) == pytest.approx(2, abs=0.15)


def test_the_step_says_where_signals_are_read():
    assert step_system(driven_pendulum(), "midpoint").clocks == {"u": 0.5}
    assert step_system(driven_pendulum(), "generalized_alpha").clocks == {"u": 1.0}


# -- invariants


def test_midpoint_keeps_quadratic_invariants_of_a_linear_motion():
    """E = (v^2 + w^2 q^2) / 2, at a step of half a period's radian, over 20 000 steps."""
    x = march(oscillator(4.0), "midpoint", [1.0, 0.3], 0.5, 10_000.0)
    assert (x[1] ** 2 + 4 * x[0] ** 2) == pytest.approx(0.3**2 + 4, rel=1e-9)


@cache
def pendulum() -> Flow:
    with sb.Graph():
        q, v = sb.symbols("q v", role="state")
        rates = {"q_dot": v, "v_dot": -sb.sin(q)}
        return system_flow(
            sb.System("plain", inputs={"q": q, "v": v}, outputs=rates, states={"q": "q_dot", "v": "v_dot"})
        )


def test_midpoint_keeps_the_energy_of_a_pendulum_bounded_for_a_long_time():
    """Symplectic: the error of the energy oscillates with h^2 and does not grow; that of sdirk2 grows with time."""

    def errors(method):
        driver = ImplicitFixed(pendulum(), method, Held(), 0.0, 0.1)
        leg = stretch(driver, 0.0, np.array([2.0, 0.0]), 2000.0, np.arange(1, 2001) * 1.0)
        assert leg.outcome.ok
        return leg.x[:, 1] ** 2 / 2 - np.cos(leg.x[:, 0]) + np.cos(2.0)

    midpoint, sdirk = np.abs(errors("midpoint")), np.abs(errors("sdirk2"))
    assert midpoint[:1000].max() < 2e-3
    assert midpoint[1000:].max() < 1.05 * midpoint[:1000].max()
    assert sdirk[-1] > 1.8 * sdirk[999]


@cache
def top() -> tuple:
    """A heavy unsymmetrical body on a ball joint (quaternion)."""
    inertia = [0.011, 0.001, 0.017, -0.0005, 0.0008, 0.008]
    builder = Builder("top").body("rotor", mass=1.5, com=[0.02, -0.01, 0.12], inertia=inertia)
    mech = builder.joint("ball", "ball", "world", "rotor").done()
    return mech, mechanism_flow(mech)


def test_midpoint_keeps_the_length_of_a_quaternion_without_projection():
    _, flow = top()
    x0 = [1.0, 0.0, 0.0, 0.0, 1.0, -2.0, 8.0]
    x = march(flow.replace(project=None), "midpoint", x0, 0.02, 4.0, Held(0, 0, 0))
    assert np.linalg.norm(x[:4]) == pytest.approx(1, abs=1e-11)


@pytest.mark.parametrize("method", ["midpoint", "sdirk3", "generalized_alpha"])
@pytest.mark.parametrize("form", ["rates", "residual"])
def test_quaternion_joints_keep_the_order(method, form):
    """The top against DOP853 on the rates of the generated model (themselves tested against Pinocchio)."""
    mech, flow = top()
    residual = unsolved(mech) if form == "residual" else None
    x0 = np.array([1.0, 0.0, 0.0, 0.0, 1.0, -2.0, 8.0])
    forward = sb.forward_dynamics(mech, "newton_euler").compile()

    def rates(t, x):
        w, (a, b, c, d) = x[4:], x[:4] / 2
        turn = np.array([[-b, -c, -d], [a, -d, c], [d, a, -b], [-c, b, a]]) @ w
        return np.concatenate([turn, forward(x[:4], w, np.zeros(3))])

    reference = solve_ivp(rates, (0, 0.6), x0, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    steps = [0.6 / n for n in (60, 120, 240)]
    errors = [
        np.abs(march(flow, method, x0, h, 0.6, Held(0, 0, 0), residual=residual) - reference).max() for h in steps
    ]
    assert slope(steps, errors) == pytest.approx(ORDERS[method], abs=0.12)


# -- forms


@pytest.mark.parametrize("method", METHODS)
def test_the_residual_form_gives_the_motion_of_the_rates(method):
    """M qdd + c - tau = 0 solved inside the step, or rates that are solved for qdd: the same step."""
    mech = sb.load("pendulum3")
    flow = mechanism_flow(mech)
    x0 = [0.5, -0.4, 0.9, 1.0, 0.0, -1.0]
    a = march(flow, method, x0, 0.01, 0.3, Held(0.1, 0.0, -0.1))
    b = march(flow, method, x0, 0.01, 0.3, Held(0.1, 0.0, -0.1), residual=unsolved(mech))
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", ["midpoint", "sdirk2", "generalized_alpha"])
def test_prescribed_joints_follow_their_law_in_the_residual_form(method):
    """A pendulum on a cart that is shaken: the cart by its law, the pendulum against its textbook equation."""
    builder = Builder("shaken").body("cart", mass=2).body("bob", mass=1, com=(0, 0, -0.5), inertia=(0.01, 0.01, 0.01))
    builder.joint("rail", "prismatic", "world", "cart", axis="x", mode="driven", value="0.2*sin(5*t)")
    mech = builder.joint("pin", "revolute", "cart", "bob", axis="y").done()
    flow = mechanism_flow(mech)
    # (I + m l^2) q'' = -m g l sin q + m l cos q * x'', q about y turns the bob from -z to -x
    law = lambda t: -5.0 * np.sin(5 * t)  # noqa: E731
    textbook = lambda t, x: [x[1], (-9.81 * 0.5 * np.sin(x[0]) + 0.5 * np.cos(x[0]) * law(t)) / 0.26]  # noqa: E731
    reference = solve_ivp(textbook, (0, 1), [0.4, 0.0], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    steps, errors = [0.01, 0.005, 0.0025], []
    for h in steps:
        residual = unsolved(mech)
        x = march(flow, method, [0.0, 0.4, 1.0, 0.0], h, 1.0, Held(0, 0), residual=residual)
        assert x[0] == pytest.approx(0.2 * np.sin(5), abs=1e-12)
        errors.append(np.abs(x[[1, 3]] - reference).max())
    assert slope(steps, errors) == pytest.approx(2, abs=0.15)


def test_the_residual_form_is_the_smaller_program():
    mech = sb.load("pendulum5")
    flow = mechanism_flow(mech)
    explicit, implicit = (step_system(flow, "midpoint", r).count() for r in (None, unsolved(mech)))
    assert sum(c.total for c in implicit.blocks) < 0.7 * sum(c.total for c in explicit.blocks)


def test_positions_are_no_unknowns():
    """q = q0 + h/2 qd inside the step: the Newton matrix has the size of the velocities."""
    step = step_system(mechanism_flow(sb.load("pendulum3")), "midpoint")
    assert {len(n.data.unknowns) for n in step.graph.others.values() if n.op == "solve"} == {3}


# -- generalized alpha


def amplification(rho, product):
    """(3, 3) matrix of one step of generalized_alpha on q'' = -w^2 q with h w = product, memory included."""
    flow = oscillator(1.0)
    step = step_system(flow, "generalized_alpha", rho_inf=rho)
    kernel = step.compile("python")
    names = [n for n in step.inputs if n not in ("t", STEP_LENGTH)]
    columns = []
    for k in range(len(names)):
        unit = {n: float(i == k) for i, n in enumerate(names)}
        found = kernel(**unit, t=0.0, **{STEP_LENGTH: product})._asdict()
        columns.append([float(found[n]) for n in names])
    # q_dot of the memory satisfies the equation of motion: v_dot = -q, which leaves q, v, v_like
    matrix, (q, v, dot, like) = np.array(columns).T, (names.index(n) for n in ("q", "v", "v" + RATE, "v" + LIKE))
    embed = np.zeros((4, 3))
    embed[q, 0], embed[v, 1], embed[like, 2], embed[dot, 0] = 1, 1, 1, -1
    return (matrix @ embed)[[q, v, like]]


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8, 0.9, 1.0])
def test_high_frequencies_are_damped_by_rho_inf(rho):
    """Chung and Hulbert 1993: the characteristic polynomial of a step tends to (x + rho_inf)^3.

    At h w = 1e4 it is there but for O((h w)^-2) and roundings of (h w)^2.
    """
    scale = np.array([1, 1e4, 1e8])  # q, h v, h^2 a: the same eigenvalues, entries of the same size
    found = np.poly(amplification(rho, 1e4) * scale[:, None] / scale)
    np.testing.assert_allclose(found, [1, 3 * rho, 3 * rho**2, rho**3], atol=5e-7)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_the_spectral_radius_never_exceeds_one(rho):
    """Unconditionally stable on the undamped oscillator."""
    radii = [np.abs(np.linalg.eigvals(amplification(rho, w))).max() for w in np.geomspace(1e-3, 1e4, 40)]
    assert max(radii) < 1 + 1e-9


def test_one_step_follows_chung_and_hulbert():
    """Numbers of one step, worked out from the published formulas with NumPy."""
    rho, h, w2 = 0.6, 0.2, 9.0
    am, af = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
    gamma, beta = 0.5 - am + af, 0.25 * (1 - am + af) ** 2
    q, v, dot, like = 0.7, -0.3, -w2 * 0.7, -5.0
    # unknowns q1, v1, dot1, like1
    a = np.array([[1, 0, 0, -h * h * beta], [0, 1, 0, -h * gamma], [w2, 0, 1, 0], [0, 0, -(1 - af), 1 - am]])
    right = [q + h * v + h * h * (0.5 - beta) * like, v + h * (1 - gamma) * like, 0, af * dot - am * like]
    expected = np.linalg.solve(a, right)
    kernel = step_system(oscillator(w2), "generalized_alpha", rho_inf=rho).compile("python")
    given = {"q": q, "v": v, "v" + RATE: dot, "v" + LIKE: like}
    found = kernel(**given, t=0.0, **{STEP_LENGTH: h})._asdict()
    np.testing.assert_allclose([found[n] for n in given], expected, rtol=1e-12)


@cache
def cartesian_pendulum() -> tuple[Flow, Residual]:
    """A point on a rod of length 1 in coordinates x, y with a multiplier: index 3."""
    with sb.Graph():
        q, v, a = (np.array(sb.symbols(f"{n}1:3")) for n in "qva")
        lam = np.array([sb.symbol("lam")])
        gravity = np.array([0, -9.81])
        system = sb.System(
            "rod",
            inputs={"q": q, "v": v, "a": a, "lam": lam},
            outputs={"residual": a - gravity - lam[0] * q, "h": [(q[0] * q[0] + q[1] * q[1] - 1) / 2]},
        )
        # explicit rates, from the constraint differentiated twice: for the start alone
        force = -(v @ v + q @ gravity) / (q @ q)
        rates = sb.System(
            "rod", inputs={"q": q, "v": v}, outputs={"dq": v, "dv": gravity + force * q}, states={"q": "dq", "v": "dv"}
        )
    residual = Residual(system, velocities="v", accelerations="a", multipliers="lam", constraints="h")
    return system_flow(rates).replace(second=(("q", "v"),)), residual


def test_constraints_hold_to_roundings_at_index_three():
    flow, residual = cartesian_pendulum()
    assert tuple(start_system(flow, "generalized_alpha", residual).outputs) == ("v" + RATE, "v" + LIKE, "lam")
    end = solve_ivp(
        lambda t, x: [x[1], -9.81 * np.cos(x[0])], (0, 1.5), [0.0, 0.0], method="DOP853", rtol=1e-13, atol=1e-14
    ).y[:, -1]
    expected = np.array([np.cos(end[0]), np.sin(end[0])])
    steps, errors = [1.5 / n for n in (100, 200, 400)], []
    for h in steps:
        x = march(flow, "generalized_alpha", [1.0, 0.0, 0.0, 0.0], h, 1.5, residual=residual)
        assert np.hypot(*x[:2]) == pytest.approx(1, abs=1e-10)
        errors.append(np.abs(x[:2] - expected).max())
    assert slope(steps, errors) == pytest.approx(2, abs=0.15)


# -- the march


def test_a_stretch_in_two_parts_is_the_stretch_in_one():
    """The method's memory goes on where a stretch ended."""
    flow = oscillator(4.0)
    whole = ImplicitFixed(flow, "generalized_alpha", Held(), 0.0, 0.01)
    parts = ImplicitFixed(flow, "generalized_alpha", Held(), 0.0, 0.01)
    one = stretch(whole, 0.0, np.array([1.0, 0.0]), 1.0, np.array([1.0]))
    half, memory = stretch_on(parts, 0.0, np.array([1.0, 0.0]), 0.5, [])
    two = stretch(parts, 0.5, half.x_end, 1.0, [1.0], memory)
    np.testing.assert_array_equal(one.x_end, two.x_end)


def test_a_batch_moves_as_its_members_do():
    flow = oscillator(4.0)
    starts = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, 0.5]])
    together = StepMarch(flow, "generalized_alpha").fixed(None, starts, 0.0, 0.01, 50)
    for x, end in zip(starts, together.x_end):
        np.testing.assert_array_equal(StepMarch(flow, "generalized_alpha").fixed(None, x, 0.0, 0.01, 50).x_end, end)


def test_a_step_without_solution_is_an_outcome():
    """x' = x^2: at h x = 1/2 the equation of implicit Euler has no real solution left."""
    with sb.Graph():
        x = sb.symbol("x", "state")
        flow = system_flow(sb.System("blow", inputs={"x": x}, outputs={"dx": x * x}, states={"x": "dx"}))
    driver = ImplicitFixed(flow, "implicit_euler", Held(), 0.0, 0.05)
    leg = stretch(driver, 0.0, np.array([1.0]), 2.0, np.array([]))
    assert leg.outcome is Outcome.NOT_CONVERGED
    assert 0.5 < leg.t_end < 1.2


def test_discrete_states_stay_as_they_are():
    with sb.Graph():
        x, s = sb.symbols("x s", role="state")
        rates = {"dx": -s * x, "ds": 0}
        flow = system_flow(sb.System("decay", inputs={"x": x, "s": s}, outputs=rates, states={"x": "dx", "s": "ds"}))
    for method in METHODS:
        x1, s1 = march(flow, method, [1.0, 3.0], 1e-3, 0.5)
        assert s1 == 3.0
        assert x1 == pytest.approx(1.003**-500 if method == "implicit_euler" else np.exp(-1.5), rel=2e-6)


# -- refusals


def test_unknown_methods_and_options_are_named():
    flow = oscillator()
    with pytest.raises(NameLookupError, match="midpoint"):
        step_system(flow, "midpint")
    with pytest.raises(NameLookupError, match="rho_inf"):
        step_system(flow, "generalized_alpha", rho=0.5)
    with pytest.raises(DefinitionError, match="rho_inf"):
        step_system(flow, "generalized_alpha", rho_inf=1.2)


def test_constraints_need_a_method_that_takes_them():
    flow, residual = cartesian_pendulum()
    with pytest.raises(ModelError, match="generalized_alpha"):
        step_system(flow, "midpoint", residual)


# -- from any position, under any name


def spinning_top():
    """A heavy body on a ball joint at the origin; its centre of mass and inertia."""
    com, inertia = np.array([0.2, 0.0, 0.1]), np.diag([0.02, 0.03, 0.03])
    b = sb.Mechanism.builder("top").body("a", mass=1, com=list(com), inertia=list(np.diag(inertia)))
    return b.joint("j", "ball", "world", "a").done(), com, inertia


def euler_equations(com, inertia, q0, end):
    """Orientation (w, x, y, z) at the end by Euler's equations about the fixed point, in axes of the body; SciPy."""
    about = inertia + com @ com * np.eye(3) - np.outer(com, com)

    def rate(_t, s):
        w, x, y, z = s[:4]
        down = -9.81 * np.array([2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z])
        o = s[4:]
        turned = 0.5 * np.array(
            [
                -x * o[0] - y * o[1] - z * o[2],
                w * o[0] + y * o[2] - z * o[1],
                w * o[1] + z * o[0] - x * o[2],
                w * o[2] + x * o[1] - y * o[0],
            ]
        )
        return [*turned, *np.linalg.solve(about, np.cross(com, down) - np.cross(o, about @ o))]

    found = solve_ivp(rate, (0, end), [*q0, 0, 0, 0], method="DOP853", rtol=1e-12, atol=1e-13)
    return found.y[:4, -1]


@pytest.mark.parametrize("method", METHODS)
def test_a_ball_joint_starts_from_orientations_with_zeros(method):
    """The unit quaternion and quarter turns: derivatives of gravity's moment vanish there, and no pivot is one."""
    mech, com, inertia = spinning_top()
    for q0 in ([1, 0, 0, 0], [0.8, 0.6, 0, 0], [0.8, 0, 0.6, 0], [0.8, 0, 0, 0.6], [0, 0, 1, 0]):
        exact = euler_equations(com, inertia, q0, 0.3)
        run = sb.simulate(mech, 0.3, 0.005, method=method, q0=q0)
        assert run.outcome is Outcome.FINISHED
        np.testing.assert_allclose(run.q[-1], exact, atol={1: 1e-2, 2: 1e-4, 3: 1e-6}[ORDERS[method]])


@pytest.mark.parametrize("method", ["midpoint", "generalized_alpha"])
def test_a_satellite_with_an_arm_takes_steps_from_its_default_start(method):
    mech = sb.load("satellite_arm")
    run, reference = sb.simulate(mech, 0.1, 0.005, method=method), sb.simulate(mech, 0.1, rtol=1e-10)
    assert run.outcome is Outcome.FINISHED
    np.testing.assert_allclose(run.q[-1], reference.q[-1], atol=1e-3)


CHAIN = np.array([[-1.0, 0.3, 0.0, 0.0], [0.5, -0.7, 0.2, 0.0], [0.0, 0.4, -0.9, 0.1], [0.3, 0.0, 0.2, -0.4]])


@pytest.mark.parametrize("method", [*METHODS, "ida"])
@pytest.mark.parametrize("names", [("h", "stage_h", "next_h_dot", "h_dot"), ("x", "x_dot", "x_like", "h_1")])
def test_names_of_a_model_are_its_own(method, names):
    """Steps, stages and what a method remembers have names that no state has: x' = A x against the exponential."""
    if method == "ida":
        pytest.importorskip("sksundae")
    symbols = [sb.symbol(n) for n in names]
    rates = {f"rate{k}": sum(float(a) * x for a, x in zip(row, symbols)) for k, row in enumerate(CHAIN)}
    system = sb.System("chain", inputs=dict(zip(names, symbols)), outputs=rates, states=dict(zip(names, rates)))
    start = np.array([1.0, -2.0, 0.5, 3.0])
    options = {} if method == "ida" else {"step": 0.002}
    run = sb.simulate(system, 0.5, method=method, states0=dict(zip(names, start)), **options)
    found = [np.ravel(run[n])[-1] for n in names]
    np.testing.assert_allclose(found, expm(0.5 * CHAIN) @ start, atol=3e-3 if method == "implicit_euler" else 2e-5)


def test_a_parameter_h_beside_the_step():
    """A pendulum of the length h against SciPy, and its derivative by h through a step."""
    b = sb.Mechanism.builder("arm")
    b.parameter("h", 1.3)
    mech = b.body("arm", mass=1, com=[0, 0, "-h"], inertia=[0.1, 0.1, 0.1])
    mech = mech.joint("j", "revolute", "world", "arm", axis="y").done()

    def end(h):
        rate = lambda _t, s: [s[1], -9.81 * h * np.sin(s[0]) / (0.1 + h * h)]  # noqa: E731
        return solve_ivp(rate, (0, 1), [1.0, 0.0], method="DOP853", rtol=1e-12, atol=1e-12).y[0, -1]

    for method in ("midpoint", "sdirk3", "generalized_alpha"):
        run = sb.simulate(mech, 1.0, 0.001, method=method, q0={"j": 1.0})
        assert run.q[-1, 0] == pytest.approx(end(1.3), abs=2e-5)
        f = sb.differentiable(mech, 1.0, ["h"], of=["q.j"], step=0.001, method=method, q0={"j": 1.0})
        slope = (end(1.3 + 1e-4) - end(1.3 - 1e-4)) / 2e-4
        assert f.jacobian(f.start).item() == pytest.approx(slope, rel=1e-4)


def branched():
    """A screw, a universal and a planar joint, with a spring: many terms whose order could change."""
    b = sb.Mechanism.builder("tree")
    b.body("a", mass=1.3, com=[0.1, 0.2, 0.3], inertia=[0.3, 0.4, 0.5], frames={"tip": [0.2, 0.1, 0.3]})
    b.joint("j0", "helical", "world", "a", axis="y", pitch=0.1)
    b.body("b", mass=1.3, com=[0.1, 0.2, 0], inertia=[0.4, 0.02, 0.5, -0.03, 0.01, 0.6])
    b.joint("j1", "universal", "a", "b", position=[0.2, 0.1, 0], rotation=["x", 0.3])
    b.body("c", mass=1.1, com=[0.1, 0, 0.2], inertia=[0.3, 0.4, 0.5], frames={"eye": [0.3, 0.2, 0.1]})
    b.joint("j2", "planar", "b", "c", rotation=["z", 0.4])
    b.force("f", "spring_damper", [("c", "eye"), "world"], stiffness=20, damping=0.3, length=0.2)
    return b.done()


@pytest.mark.parametrize("method", METHODS)
def test_what_is_recorded_changes_no_bit_of_the_motion(method):
    plain, watched = branched(), branched()
    for seed in range(8):
        rng = np.random.default_rng(seed)
        options = dict(q0=rng.normal(size=6), qd0=rng.normal(size=6), method=method)
        run = sb.simulate(plain, 0.1, 0.005, **options)
        for outputs in (["reactions"], ["energy", "a.c.eye"]):
            again = sb.simulate(watched, 0.1, 0.005, outputs=outputs, **options)
            np.testing.assert_array_equal(again.q, run.q)
