"""Linearised equations: derivatives against complex steps of other equations, and against known physics."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import symbody as sb
from symbody.basics.errors import ModelError, NameLookupError, ShapeError
from symbody.mechanics.formalisms.frame_kinematics import kinematic_map
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.verbs.certify.states import States
from symbody.model.load import bundled_names
from symbody.model.record.coordinates import retract, transport, velocity_labels
from symbody.studies.linear.linear_system import linear_system
from symbody.studies.linear.linearize import Linearizer, linearize
from symbody.studies.linear.reduction import LinearClosure, constrained, partition
from symbody.symbolic.expr.arrays import matmul

STEP = 1e-30  # of complex steps


def rates(mech):
    """The System (q, qd) -> q_dot = N(q) qd."""
    tree = build_tree(mech)
    q_dot = matmul(kinematic_map(tree), tree.qd) if len(tree.qd) else tree.qd
    return sb.System("rates", inputs={"q": tree.q, "qd": tree.qd}, outputs={"q_dot": q_dot})


def random_positions(mech, count, rng):
    """(count, nq) coordinates in [-1, 1] with unit quaternions."""
    return States(mech, count, seed=int(rng.integers(2**31))).q


def tangent_directions(mech, q):
    """(nv, nq) rates of q for each unit velocity."""
    kernel = rates(mech).compile("python")
    return np.array([kernel(q, e) for e in np.eye(mech.nv)])


class Oracle:
    """tau(q, qd, qdd) of another formalism, run by the interpreter of Programs in complex numbers."""

    def __init__(self, mech, formalism):
        self.system = sb.inverse_dynamics(mech, formalism, loops=False, preset="none")
        self.kernel = self.system.compile("python")

    def derivative(self, name, point, directions):
        """(size, directions) derivative of an output along {argument: direction}, by complex steps, all at once."""
        zeros = {n: np.zeros(a.shape) for n, a in self.system.inputs.items()}
        inputs = {}
        for n in zeros:
            at = np.asarray(point.get(n, zeros[n]), dtype=float)
            inputs[n] = np.array([at + 1j * STEP * np.asarray(d.get(n, zeros[n])) for d in directions])
        found = self.kernel(**inputs)
        outputs = dict(zip(self.system.outputs, [found] if len(self.system.outputs) == 1 else found))
        return np.imag(outputs[name]).reshape(len(directions), -1).T / STEP


def a_state(mech, seed=3):
    """A state with everything in motion; a vehicle on its wheels."""
    rng = np.random.default_rng(seed)
    q, qd, qdd = random_positions(mech, 1, rng)[0], rng.uniform(-1, 1, mech.nv), rng.uniform(-1, 1, mech.nv)
    if mech.name == "motorcycle":
        q, qd = 0.05 * q, 0.2 * qd
        q[2] = -0.01  # tyres pressed into the road
        qd[0], qd[[7, 12]] = 20.0, 20.0 / 0.3
    return q, qd, qdd


# two cars of 54 velocities differ in their steering alone
BUNDLED = [pytest.param(n, marks=pytest.mark.slow) if n == "car_lane_change" else n for n in bundled_names()]


@pytest.mark.parametrize("name", BUNDLED)
def test_matrices_equal_complex_step_derivatives(name):
    mech = sb.load(name)
    q, qd, qdd = a_state(mech)
    model = Linearizer(mech, loops="open")
    linear = model.at(q, qd, qdd)
    oracle = Oracle(mech, "newton_euler" if mech.nv > 30 else "screw")
    point, zero = {"q": q, "qd": qd, "qdd": qdd}, np.zeros(mech.nv)
    along_q = [{"q": d} for d in tangent_directions(mech, q)]
    free = [k for k, label in enumerate(model.equations.labels) if label in linear.coordinates]
    expected = {
        "M": oracle.derivative("tau", point, [{"qdd": e} for e in np.eye(mech.nv)]),
        "B": oracle.derivative("tau", point, [{"qd": e} for e in np.eye(mech.nv)]),
        "K": oracle.derivative("tau", point, along_q),
        "K2": oracle.derivative("tau", {**point, "qdd": zero}, along_q),
    }
    for which, matrix in expected.items():
        found = getattr(linear, which)
        assert np.abs(found - matrix[np.ix_(free, free)]).max() <= 1e-9 * max(1.0, np.abs(matrix).max()), which
    np.testing.assert_allclose(linear.K1 + linear.K2, linear.K, rtol=0, atol=0)
    np.testing.assert_allclose(linear.U1 + linear.U2, linear.U, rtol=0, atol=0)
    motors = [n.removeprefix("tau.") for n in linear.inputs]
    np.testing.assert_array_equal(linear.U, -np.eye(linear.size)[:, [linear.coordinates.index(n) for n in motors]])


def test_a_parameter_as_input_enters_the_mass_matrix():
    mech = sb.load("pendulum2")
    name = next(iter(mech.parameters))
    q, qd, qdd = a_state(mech)
    linear = linearize(mech, q, qd, qdd, vary=[name])
    assert linear.inputs[-1] == name
    h = 1e-6 * linear.u0[-1]
    oracle = sb.inverse_dynamics(mech, "lagrange").compile()

    def tau(value, accelerations):
        return oracle(q, qd, accelerations, parameters={name: value})

    for found, accelerations in ((linear.U, qdd), (linear.U2, 0 * qdd)):
        slope = (tau(linear.u0[-1] + h, accelerations) - tau(linear.u0[-1] - h, accelerations)) / (2 * h)
        np.testing.assert_allclose(found[:, -1], slope, rtol=1e-7, atol=1e-8)
    assert np.abs(linear.U1[:, -1]).max() > 1e-3


def with_actuators():
    """A cart with a pendulum on a ball joint, driven through lags and a spring between two points."""
    return (
        sb.Mechanism.builder("crane")
        .body("cart", mass=3.0, frames={"hook": [0, 0, 0.2]})
        .body("load", mass=1.5, com=[0, 0.05, -0.7], inertia=[0.1, 0.12, 0.05], frames={"tip": [0, 0, -1]})
        .joint("rail", "prismatic", "world", "cart", axis="x", viscous=0.4)
        .joint("cable", "ball", "cart", "load", viscous=0.05, mode="passive")
        .force("drive", "joint", ["cart"], law="actuator", time_constant=0.2, gain=2.0)
        .force("string", "spring_damper", [("cart", "hook"), ("load", "tip")], stiffness=40.0, damping=1.0, length=1.0)
        .force("wind", "point_force", [("load", "tip")])
        .sensor("eye", "load", "tip")
        .done()
    )


def test_inputs_and_internal_states_of_force_elements():
    mech = with_actuators()
    q, qd, qdd = a_state(mech)
    others = {"u_drive": 0.7, "F_wind": np.array([0.3, -0.2, 0.5]), "x_drive": 0.4}
    linear = linearize(mech, q, qd, qdd, inputs={"u_drive": 0.7, "F_wind": others["F_wind"]}, states={"x_drive": 0.4})
    assert linear.inputs == ("tau.rail", "u_drive", "F_wind.1", "F_wind.2", "F_wind.3")
    assert linear.internal == ("x_drive",)
    assert linear.states[-1] == "x_drive"
    oracle = Oracle(mech, "lagrange")
    point = {"q": q, "qd": qd, "qdd": qdd, **others}
    units = [{"u_drive": 1.0}, *({"F_wind": e} for e in np.eye(3))]
    np.testing.assert_allclose(linear.U[:, 1:], oracle.derivative("tau", point, units), atol=1e-12)
    np.testing.assert_allclose(linear.F, oracle.derivative("tau", point, [{"x_drive": 1.0}]), atol=1e-12)
    np.testing.assert_allclose(linear.Zu[:, 1:], oracle.derivative("x_drive_dot", point, units), atol=1e-12)
    np.testing.assert_allclose(linear.Zz, oracle.derivative("x_drive_dot", point, [{"x_drive": 1.0}]), atol=1e-12)
    along_q = [{"q": d} for d in tangent_directions(mech, q)]
    np.testing.assert_allclose(linear.K, oracle.derivative("tau", point, along_q), atol=1e-10)
    np.testing.assert_allclose(linear.u0[1:], [0.7, 0.3, -0.2, 0.5])


@pytest.mark.parametrize("name", ["satellite_arm", "crane"])
def test_state_matrix_carries_small_deviations_along_the_motion(name):
    """Two neighbouring motions, integrated: their difference in increments follows A, also while bodies turn."""
    mech = with_actuators() if name == "crane" else sb.load(name)
    q, qd, _ = a_state(mech, 5)
    linear = linearize(mech, q, qd)
    forward, rate = sb.forward_dynamics(mech, "newton_euler").compile(), rates(mech).compile()
    n, nq = mech.nv, mech.nq
    extra = {name: np.zeros(a.shape) for name, a in forward_inputs(mech).items()}
    np.testing.assert_allclose(linear.qdd0, accelerations(forward, q, qd, extra), atol=1e-9)

    def f(t, x):
        given = {**extra, "x_drive": x[-1]} if "x_drive" in extra else extra
        found = forward(q=x[:nq], qd=x[nq : nq + n], tau=np.zeros(n), **given)
        qdd, *rest = found if isinstance(found, tuple) else (found,)
        return np.concatenate([rate(x[:nq], x[nq : nq + n]), qdd, *(np.atleast_1d(r) for r in rest)])

    h, eps = 1e-3, 1e-5
    start = np.concatenate([q, qd, np.zeros(len(linear.internal))])
    rng = np.random.default_rng(1)
    d = rng.normal(size=len(linear.states))

    def end(sign):
        x = start.copy()
        x[:nq] = retract(mech, q, sign * eps * d[:n])
        x[nq:] += sign * eps * d[n:]
        return solve_ivp(f, (0, h), x, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]

    middle, plus, minus = end(0), end(1), end(-1)
    # increments of the two ends about the middle one: raw differences through the inverse of N
    directions = tangent_directions(mech, middle[:nq])
    dq = np.linalg.lstsq(directions.T, (plus - minus)[:nq], rcond=None)[0] / (2 * eps)
    deviation = np.concatenate([dq, (plus - minus)[nq:] / (2 * eps)])
    # the slope of the deviation is A d; what is left is of second order in h
    slope = (deviation - d) / h
    assert np.abs(slope - linear.A @ d).max() < 30 * h * max(1.0, np.abs(linear.A @ d).max())
    if np.abs(linear.T).max() > 0:  # without the transport of increments it is another matrix
        wrong = linear.replace(T=0 * linear.T).A @ d
        assert np.abs(slope - wrong)[:n].max() > 10 * np.abs(slope - linear.A @ d)[:n].max()


def forward_inputs(mech):
    system = sb.forward_dynamics(mech, "newton_euler")
    return {n: a for n, a in system.inputs.items() if n not in ("q", "qd", "tau")}


def accelerations(forward, q, qd, extra):
    found = forward(q=q, qd=qd, tau=np.zeros(len(qd)), **extra)
    return found[0] if isinstance(found, tuple) else found


def test_transport_is_the_turning_of_increments():
    mech = sb.load("satellite_arm")
    rng = np.random.default_rng(0)
    q, qd, d = random_positions(mech, 1, rng)[0], rng.normal(size=mech.nv), rng.normal(size=mech.nv)
    # q0 moves with qd, its neighbour with the same velocity: in child axes the increment turns by -ad(qd)
    h, eps = 1e-4, 1e-5
    plus, minus = (retract(mech, retract(mech, q, sign * eps * d), h * qd) for sign in (1, -1))
    directions = tangent_directions(mech, retract(mech, q, h * qd))
    dq = np.linalg.lstsq(directions.T, plus - minus, rcond=None)[0] / (2 * eps)
    np.testing.assert_allclose((dq - d) / h, transport(mech, qd) @ d, atol=1e-3)


# -- outputs


def test_outputs_by_name_and_by_text():
    mech = with_actuators()
    q, qd, _ = a_state(mech)
    wanted = ["q.rail", "qd", "p.eye", "v.eye", "a.eye", "string_F", "x_drive", "u_drive", "2*sin(q.rail)*qd.rail"]
    linear = linearize(mech, q, qd, outputs=wanted)
    assert linear.outputs[:2] == ("q.rail", "qd.rail")
    assert linear.outputs[5:8] == ("p.eye.x", "p.eye.y", "p.eye.z")
    kinematics = sb.kinematics(mech, "eye", quantities=["p", "v", "a"]).compile("python")
    along_q = tangent_directions(mech, q)
    p_q = np.array([kinematics(q + 1j * STEP * d, qd, linear.qdd0).p_eye.imag / STEP for d in along_q]).T
    rows = {n: k for k, n in enumerate(linear.outputs)}
    at = rows["p.eye.x"]
    np.testing.assert_allclose(linear.C[at : at + 3, : mech.nv], p_q, atol=1e-12)
    assert linear.y0[0] == q[0]
    np.testing.assert_allclose(linear.y0[at : at + 3], kinematics(q, qd, linear.qdd0).p_eye, atol=1e-12)
    v_q = np.array([kinematics(q + 1j * STEP * d, qd, linear.qdd0).v_eye.imag / STEP for d in along_q]).T
    at = rows["v.eye.x"]
    np.testing.assert_allclose(linear.C[at : at + 3, : mech.nv], v_q, atol=1e-12)
    # an acceleration feels inputs at once
    at = rows["a.eye.x"]
    assert np.abs(linear.D[at : at + 3]).max() > 0.1
    forward = sb.forward_dynamics(mech, "order_n").compile("python")
    x_rest = {"u_drive": 0.0, "F_wind": np.zeros(3), "x_drive": 0.0}
    push = forward(q=q, qd=qd, tau=np.zeros(mech.nv), **{**x_rest, "F_wind": np.array([1j * STEP, 0, 0])})[0]
    shifted = kinematics(q, qd, push).a_eye.imag / STEP
    np.testing.assert_allclose(linear.D[at : at + 3, linear.inputs.index("F_wind.1")], shifted, atol=1e-10)
    text = linear.outputs.index(wanted[-1])
    assert linear.C[text, 0] == pytest.approx(2 * np.cos(q[0]) * qd[0])
    assert linear.D[rows["u_drive"], linear.inputs.index("u_drive")] == 1
    named = linearize(mech, q, qd, outputs={"reach": "q.rail + 1", "eye": "p.eye"})
    assert named.outputs == ("reach", "eye.1", "eye.2", "eye.3")


def test_symbolic_matrices_are_the_numeric_ones():
    mech = sb.load("pendulum3")
    q, qd, qdd = a_state(mech)
    system = linearize(mech, symbolic=True, outputs=[f"q.{names(mech)[0]}", "qdd"])
    assert isinstance(system, sb.System)
    numeric = linearize(mech, q, qd, qdd, outputs=[f"q.{names(mech)[0]}", "qdd"])
    kernel = system.compile("python")
    found = kernel(**{n: {"q": q, "qd": qd, "qdd": qdd, "tau": np.zeros(3)}[n] for n in system.inputs})
    for name in ("M", "B", "K1", "K2", "K", "U", "A", "B_ss", "C", "D"):
        np.testing.assert_allclose(getattr(found, name), getattr(numeric, name), atol=1e-9, err_msg=name)


def test_symbolic_poles_of_a_spinning_top_are_those_of_eulers_and_poissons_equations():
    """w' = J^-1 (J w x w + r x m g), g' = g x w in body axes: the poles of a top about its upright spin."""
    mass, r, J = 1.0, np.array([0, 0, 0.3]), np.diag([0.3 + 0.09, 0.4 + 0.09, 0.5])
    spin = np.array([0, 0, 10.0])

    def rate(x):
        w, g = x[:3], x[3:]
        return np.concatenate([np.linalg.solve(J, np.cross(J @ w, w) + np.cross(r, mass * g)), np.cross(g, w)])

    x0 = np.concatenate([spin, [0, 0, -9.81]])
    slopes = np.array([rate(x0 + 1j * STEP * e).imag / STEP for e in np.eye(6)]).T
    top = sb.Mechanism.builder("top").body("b", mass=1, com=r, inertia=[0.3, 0.4, 0.5])
    system = linearize(top.joint("j", "ball", "world", "b").done(), symbolic=True)
    made = system.compile("python")(
        **{n: {"q": [1, 0, 0, 0], "qd": spin, "qdd": np.zeros(3), "tau": np.zeros(3)}[n] for n in system.inputs}
    )
    found, expected = (np.sort_complex(np.linalg.eigvals(a).round(6)) for a in (made.A, slopes))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("name", ["satellite_arm", "three_kinds"])
def test_symbolic_matrices_of_moving_quaternions_are_the_numeric_ones(name):
    """The numeric ones are compared with integrated neighbours of a motion above."""
    mech = sb.load(name) if name == "satellite_arm" else three_kinds()
    q, qd, qdd = a_state(mech)
    numeric = linearize(mech, q, qd, qdd)
    assert np.abs(numeric.T).max() > 0.1
    system = linearize(mech, symbolic=True)
    given = {"q": q, "qd": qd, "qdd": qdd, "tau": np.zeros(mech.nv), "t": 0.0}
    found = system.compile("python")(**{n: given[n] for n in system.inputs})
    for matrix in ("A", "B_ss", "C", "D"):
        wanted = getattr(numeric, matrix)
        np.testing.assert_allclose(getattr(found, matrix), wanted, atol=1e-8 * max(1, np.abs(wanted).max()))


def three_kinds():
    """A free body that carries a ball joint and a driven slide."""
    b = sb.Mechanism.builder("three_kinds")
    for name in ("base", "head", "tip"):
        b.body(name, mass=1.2, com=[0.1, -0.05, 0.2], inertia=[0.3, 0.4, 0.5])
    b.joint("float", "free", "world", "base").joint("neck", "ball", "base", "head", position=[0.2, 0, 0.1])
    return b.joint("rail", "prismatic", "head", "tip", axis="y", mode="driven", value=0.2).done()


def test_symbolic_matrices_refuse_what_they_do_not_offer():
    with pytest.raises(ModelError, match="hold its driven joints"):
        linearize(three_kinds(), symbolic=True, driven="input")


def names(mech):
    return [j.name for j in mech.joints]


# -- driven joints


def test_driven_joint_is_held_or_an_input():
    """A pendulum on a rail whose motion is prescribed: l th'' + g th = -x'' (small angles)."""
    length, g = 0.8, 9.81
    mech = (
        sb.Mechanism.builder("shaken")
        .body("cart", mass=1.0)
        .body("bob", mass=2.0, com=[0, 0, -length])
        .joint("rail", "prismatic", "world", "cart", axis="x", mode="driven", value="0.1*sin(3*t)")
        .joint("pivot", "revolute", "cart", "bob", axis="y")
        .done()
    )
    held = linearize(mech, inputs={"t": np.pi / 6})
    assert held.coordinates == ("pivot",)
    assert held.qdd0[0] == pytest.approx(-0.9)
    linear = linearize(mech, driven="parts", qdd0=[0, 0])
    assert linear.inputs == ("tau.pivot", "q.rail", "qd.rail", "qdd.rail")
    np.testing.assert_allclose(linear.A, [[0, 1], [-g / length, 0]], atol=1e-12)
    # about +y a positive angle swings the bob to -x, so that the rail's acceleration turns it forward
    np.testing.assert_allclose(linear.B_ss[1], [1 / (2.0 * length**2), 0, 0, 1 / length], atol=1e-12)


# -- constraints


def bead(mass=1.3, gravity=9.81):
    """A point in the x-z plane."""
    return (
        sb.Mechanism.builder("bead", gravity=[0, 0, -gravity])
        .body("slide", mass=0.0)
        .body("bead", mass=mass)
        .joint("x", "prismatic", "world", "slide", axis="x")
        .joint("z", "prismatic", "slide", "bead", axis="z")
        .done()
    )


def test_rod_constraint_gives_the_pendulum():
    """h = x^2 + z^2 - l^2 = 0: the stiffness is all geometric, -d(J^T lam)/dq, and omega^2 = g / l."""
    length, g = 0.7, 9.81
    linear = linearize(bead(gravity=g), q0=[0, -length], qdd0=[0, 0], inputs={"tau": [0, 0]})
    J = np.array([[0, -2 * length]])
    lam = linear.residual[1] / J[0, 1]
    closed = constrained(linear, LinearClosure(J, geometric=2 * lam * np.eye(2)))
    assert closed.coordinates == ("x",)
    np.testing.assert_allclose(closed.multipliers, [lam])
    omega = np.abs(np.linalg.eigvals(closed.A).imag).max()
    assert omega == pytest.approx(np.sqrt(g / length), rel=1e-12)


def test_rod_in_steady_rotation_keeps_its_rates():
    """A bead on a circle in weightlessness at constant speed: neighbouring motions neither grow nor come back."""
    length, speed = 0.7, 2.0
    mech = bead(gravity=0.0)
    q, qd, qdd = np.array([0, -length]), np.array([speed, 0]), np.array([0, speed**2 / length])
    linear = linearize(mech, q, qd, qdd, inputs={"tau": [0, 0]})
    J = np.array([2 * q])
    lam = float(linear.residual @ q) / (2 * length**2)
    closure = LinearClosure(
        J,
        geometric=2 * lam * np.eye(2),
        velocity_q=2 * qd[None],
        acceleration_q=2 * qdd[None],
        acceleration_v=4 * qd[None],
    )
    closed = constrained(linear, closure)
    # exact: x = l sin(phi), phi' = w: x'' = -w^2 x + (...) ; at phi = 0 the increment (dx, dx') has dx'' = -w^2 dx
    np.testing.assert_allclose(closed.A, [[0, 1], [-((speed / length) ** 2), 0]], atol=1e-10)


def test_permanent_and_intermittent_constraints():
    """Two pendulums on one axis, geared 2:1 always and tied to a stop now and then (SYMOFROS: none, PC, IC)."""
    builder = sb.Mechanism.builder("geared")
    for name in ("left", "right"):
        builder.body(name, mass=1.0, com=[0, 0, -1.0])
        builder.joint(f"{name}_axis", "revolute", "world", name, axis="y")
    builder.coupling("gear", "q.left_axis + 2*q.right_axis")
    builder.coupling("stop", "q.left_axis", switched=True)
    mech = builder.done()
    assert linearize(mech, loops="open").size == 2
    permanent = linearize(mech, loops="permanent", independent=["left_axis"])
    # left turns by 1, right by -1/2: m l^2 (1 + 1/4) both in inertia and in stiffness, so that omega^2 = g / l
    np.testing.assert_allclose(permanent.M, [[1.25]])
    np.testing.assert_allclose(permanent.A, [[0, 1], [-9.81, 0]], atol=1e-12)
    assert linearize(mech, loops="closed").size == 0
    stopped = linearize(mech, loops=["stop"])
    assert stopped.coordinates == ("right_axis",)


def test_a_mechanism_whose_motion_is_all_prescribed():
    mech = (
        sb.Mechanism.builder("shaker")
        .body("table", mass=2.0)
        .joint("rail", "prismatic", "world", "table", axis="x", mode="driven", value="sin(2*t)")
        .done()
    )
    linear = linearize(mech, driven="parts", outputs=["qdd", "p.table"])
    assert linear.size == 0
    assert linear.A.shape == (0, 0)
    np.testing.assert_array_equal(linear.D[:2], [[0, 0, 1], [1, 0, 0]])
    np.testing.assert_allclose(linear.u0, [0, 2, 0])
    linear = linearize(mech, driven="input", outputs=["qdd", "p.table"])
    np.testing.assert_array_equal(np.hstack([linear.D, linear.D1, linear.D2])[:2], [[0, 0, 1], [1, 0, 0]])
    np.testing.assert_allclose(linear.u0, [0])


def test_redundant_constraints_are_found():
    J = np.array([[1.0, 1, 0, 0], [2, 2, 0, 0], [0, 0, 1, 1]])
    kept, dependent, rows = partition(J)
    assert (len(kept), len(dependent), len(rows)) == (2, 2, 2)
    assert np.linalg.matrix_rank(J[np.ix_(rows, dependent)]) == 2
    with pytest.raises(ModelError, match="rank 2"):
        partition(J, [0])


class Linkage:
    """Accelerations of a mechanism with loops whose cuts join points, from M, c and Jacobians of the points."""

    def __init__(self, mech, independent):
        self.mech, self.kept = mech, independent
        self.rest = [k for k in range(mech.nv) if k not in independent]
        self.ends = [tuple(f"{b}.{f}" if f else b for b, f in (c.first, c.second)) for c in mech.cuts]
        names = sorted({n for pair in self.ends for n in pair})
        system = sb.kinematics(mech, names, quantities=["p", "v", "J", "Jd"], loops=False)
        self.inputs, self.outputs = list(system.inputs), list(system.outputs)
        self.points = system.compile()
        self.equations = sb.semi_explicit(mech, "newton_euler", loops=False).compile()

    def gaps(self, q, qd):
        given = {"q": q, "qd": qd, "qdd": np.zeros(self.mech.nv)}
        found = dict(zip(self.outputs, self.points(**{n: given[n] for n in self.inputs})))
        name = lambda text: text.replace(".", "_")  # noqa: E731
        h = np.concatenate([found[f"p_{name(a)}"] - found[f"p_{name(b)}"] for a, b in self.ends])
        J, Jd = (
            np.vstack([(found[f"{k}_{name(a)}"] - found[f"{k}_{name(b)}"])[3:] for a, b in self.ends])
            for k in ("J", "Jd")
        )
        return h, J, Jd

    def __call__(self, q, y, yd):
        """qdd of the independent coordinates at their values y, yd; q is near the closed configuration."""
        q, qd = np.array(q), np.zeros(self.mech.nv)
        q[self.kept], qd[self.kept] = y, yd
        for _ in range(8):
            h, J, _ = self.gaps(q, qd)
            q[self.rest] -= np.linalg.lstsq(J[:, self.rest], h, rcond=None)[0]
        _, J, _ = self.gaps(q, qd)
        qd[self.rest] = -np.linalg.lstsq(J[:, self.rest], J[:, self.kept] @ yd, rcond=None)[0]
        _, J, Jd = self.gaps(q, qd)
        mass, c = self.equations(q, qd)
        matrix = np.block([[mass, -J.T], [J, np.zeros((len(J), len(J)))]])
        right = np.concatenate([-c, -Jd @ qd])
        return np.linalg.lstsq(matrix, right, rcond=1e-12)[0][: self.mech.nv][self.kept]


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "three_loops", "n_four_bar", "delta", "stewart"])
def test_closed_loops_equal_differences_of_the_reduced_motion(name):
    mech = sb.load(name)
    rng = np.random.default_rng(4)
    start = rng.uniform(-0.1, 0.1, mech.nv)
    if name == "stewart":
        start = Linearizer(mech).at().q0 + 0.01 * start
    linear = linearize(mech, q0=start, qd0=rng.uniform(-1, 1, mech.nv))
    kept = [velocity_labels(mech).index(n) for n in linear.coordinates]
    linkage = Linkage(mech, kept)
    h, J, _ = linkage.gaps(linear.q0, linear.qd0)
    assert np.abs(h).max() < 1e-10
    assert np.abs(J @ linear.qd0).max() < 1e-10
    assert linear.size == mech.nv - np.linalg.matrix_rank(J, tol=1e-9)
    y, yd = linear.q0[kept], linear.qd0[kept]
    np.testing.assert_allclose(linkage(linear.q0, y, yd), linear.qdd0[kept], rtol=1e-7, atol=1e-7)
    n, eps = linear.size, 1e-5
    for k in range(2 * n):
        e = np.zeros(2 * n)
        e[k] = eps
        plus, minus = (linkage(linear.q0, y + s * e[:n], yd + s * e[n:]) for s in (1, -1))
        slope = (plus - minus) / (2 * eps)
        np.testing.assert_allclose(linear.A[n:, k], slope, rtol=1e-6, atol=1e-6 * np.abs(linear.A[n:]).max())


@pytest.mark.parametrize("speed", [0.5, 4.0, 5.0, 8.0])
def test_bicycle_equals_the_published_benchmark(speed):
    """Meijaard, Papadopoulos, Ruina and Schwab 2007, eq. (A): M s^2 + v C1 s + g K0 + v^2 K2 for lean and steer."""
    M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
    K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
    K2 = np.array([[0, 76.59734589573222], [0, 2.65431523794604]])
    C1 = np.array([[0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
    mech = sb.load("whipple_bicycle")
    rolling = {"contact.1": speed, "front_contact.1": speed, "rear_spin": -speed / 0.3, "front_spin": -speed / 0.35}
    linear = linearize(mech, qd0=rolling, independent=["lean", "steer", "rear_spin"])
    assert linear.notes == ()
    assert linear.speeds == ("lean", "steer", "rear_spin") or set(linear.speeds) == {"lean", "steer", "rear_spin"}
    low = -np.linalg.solve(M, np.hstack([9.81 * K0 + speed**2 * K2, speed * C1]))
    expected = np.linalg.eigvals(np.vstack([np.hstack([np.zeros((2, 2)), np.eye(2)]), low]))
    found = np.linalg.eigvals(linear.A)
    for s in expected:
        assert np.abs(found - s).min() < 1e-6 * (1 + abs(s))
    # all other motions are neutral: place, heading, speed
    rest = sorted(found, key=lambda s: np.abs(expected - s).min())[len(expected) :]
    np.testing.assert_allclose(rest, 0, atol=1e-4)


def test_parallelogram_swings_as_a_pendulum():
    """A bar on two parallel massless rods moves without turning: omega^2 = g / l."""
    length, g = 0.6, 9.81
    mech = (
        sb.Mechanism.builder("swing", gravity=[0, -g, 0])
        .body("rod1", frames={"end": [0, -length, 0]})
        .body("bar", mass=2.0, com=[0.3, 0, 0], inertia=[0, 0, 0.1], frames={"end": [1.0, 0, 0]})
        .body("rod2", frames={"end": [0, -length, 0]})
        .joint("first", "revolute", "world", "rod1")
        .joint("second", "revolute", "rod1", "bar", position=[0, -length, 0], mode="passive")
        .joint("third", "revolute", "world", "rod2", position=[1.0, 0, 0], mode="passive")
        .cut("loop", "ball", ("rod2", "end"), ("bar", "end"))
        .done()
    )
    linear = linearize(mech, independent=["first"])
    assert linear.coordinates == ("first",)
    np.testing.assert_allclose(linear.A, [[0, 1], [-g / length, 0]], atol=1e-10)
    assert linear.E is not None
    np.testing.assert_allclose(linear.E[:, 0], [1, -1, 1], atol=1e-12)
    assert linearize(mech, q0=[0, 0, 0.01], independent=["first"]).notes[0].startswith("q0 was moved")
    named = linearize(mech, q0={"third": 0.01}, independent=["first"])
    np.testing.assert_allclose(named.q0, [0.01, -0.01, 0.01], atol=1e-12)
    assert not any("was moved" in note for note in named.notes)
    with pytest.raises(NameLookupError, match="no loop"):
        linearize(mech, loops=["lop"])


@pytest.mark.parametrize("model", ["four_bar", "slider_crank"])
def test_joints_that_are_named_stay_as_in_a_simulation(model):
    mech = sb.load(model)
    joint = mech.joints[0].name
    for angle in (0.9, 1.6):
        linear = linearize(mech, q0={joint: angle}, qd0={joint: 0.7})
        start = sb.simulate(mech, 1e-3, 1e-3, q0={joint: angle}, qd0={joint: 0.7})
        np.testing.assert_allclose(linear.q0, start.q[0], atol=1e-10)
        np.testing.assert_allclose(linear.qd0, start.qd[0], atol=1e-10)
        assert (linear.q0[0], linear.qd0[0]) == (angle, 0.7)
        assert not any("q0 was moved" in note for note in linear.notes)


def test_more_names_than_degrees_of_freedom_are_met_as_nearly_as_possible():
    mech = sb.load("four_bar")
    linear = linearize(mech, q0=dict(zip((j.name for j in mech.joints), (0.9, 0.1, 0.2))))
    assert any("q0 was moved" in note for note in linear.notes)


@pytest.mark.parametrize("verb", [linearize, sb.equilibrium, sb.modes, lambda mech: sb.trim(mech, ["foot"])])
def test_a_model_without_moving_joints_has_no_small_motions(verb):
    statue = sb.Mechanism.builder("statue").body("stone", mass=1.0).joint("foot", "fixed", "world", "stone").done()
    with pytest.raises(ModelError, match="statue has no joint that moves"):
        verb(statue)


def test_an_unknown_input_is_answered_with_the_names_of_efforts():
    arm = sb.load("pendulum2")
    joint = arm.joints[-1].name
    for verb in (linearize, sb.equilibrium):
        with pytest.raises(NameLookupError, match=rf"'tau\.{joint}'"):
            verb(arm, inputs={f"tau_{joint}": 1.0})
        with pytest.raises(NameLookupError, match=rf"'tau\.{joint}'"):
            verb(arm, inputs={"motor": 1.0})


# -- Systems


def test_any_system_with_states():
    x, v, u, k = sb.symbols("x v u k")
    system = sb.System(
        "oscillator",
        inputs={"x": x, "v": v, "u": u},
        outputs={"x_dot": v, "v_dot": u - k * sb.sin(x) - v * v, "energy": v * v / 2 - k * sb.cos(x)},
        parameters={"k": k},
        states={"x": "x_dot", "v": "v_dot"},
        defaults={"k": 4.0},
    )
    made = linear_system(system, {"x": 0.3, "v": 0.5}, {"u": 1.0})
    np.testing.assert_allclose(made.A, [[0, 1], [-4 * np.cos(0.3), -1.0]])
    np.testing.assert_allclose(made.B, [[0], [1]])
    np.testing.assert_allclose(made.C, [[4 * np.sin(0.3), 0.5]])
    assert made.outputs == ("energy",)
    assert made.inputs == ("u",)


def test_retraction_is_the_exponential_map():
    mech = sb.load("satellite_arm")
    rng = np.random.default_rng(2)
    q, d = random_positions(mech, 1, rng)[0], rng.normal(size=mech.nv)
    # a constant velocity for unit time: qdot = N(q) qd
    kernel = rates(mech).compile()
    end = solve_ivp(lambda t, x: kernel(x, d), (0, 1), q, rtol=1e-12, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(retract(mech, q, d), end, atol=1e-9)
    twist = np.zeros((4, 4))
    twist[:3, :3] = [[0, -d[2], d[1]], [d[2], 0, -d[0]], [-d[1], d[0], 0]]
    twist[:3, 3] = d[3:6]
    body = sb.kinematics(mech, mech.joints[0].child, quantities=["R", "p"]).compile()
    start, finish = body(q), body(retract(mech, q, d))
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = start[0], start[1]
    moved = pose @ expm(twist)
    np.testing.assert_allclose(finish[0], moved[:3, :3], atol=1e-12)
    np.testing.assert_allclose(finish[1], moved[:3, 3], atol=1e-12)


# -- refusals and notes


def test_notes_say_what_the_operating_point_is():
    mech = sb.load("pendulum2")
    assert linearize(mech).notes == ()
    assert "Not an equilibrium" in linearize(mech, q0=[0.3, 0.2]).notes[0]
    assert "does not satisfy" in linearize(mech, q0=[0.3, 0.2], qdd0=[0, 0], inputs={"tau": [0, 0]}).notes[0]
    held = linearize(mech, q0=[0.3, 0.2], qdd0=[0, 0])
    assert held.notes == ()
    expected = sb.inverse_dynamics(mech, "lagrange").compile()(held.q0, held.qd0, held.qdd0)
    np.testing.assert_allclose(held.u0, expected, atol=1e-12)


def test_wrong_operating_points_are_refused_by_name():
    mech = sb.load("pendulum2")
    first = mech.joints[0].name
    with pytest.raises(ModelError, match=f"q0 of pendulum2 is not finite at {first}"):
        linearize(mech, q0=[np.nan, 0])
    with pytest.raises(NameLookupError, match="Did you mean"):
        linearize(mech, q0={first + "x": 0.1})
    with pytest.raises(ShapeError, match="q0 has 3 numbers"):
        linearize(mech, q0=[0, 0, 0])
    with pytest.raises(NameLookupError, match="no input 'u_motor'"):
        linearize(mech, inputs={"u_motor": 1})
    with pytest.raises(NameLookupError, match="no parameter"):
        linearize(mech, parameters={"nothing": 1})
    with pytest.raises(NameLookupError, match=r"output 'q\.nowhere'"):
        linearize(mech, outputs=["q.nowhere"])
    with pytest.raises(ModelError, match="driven="):
        linearize(mech, driven="maybe")


def test_parameters_change_the_model():
    mech = sb.load("pendulum2")
    name = next(n for n in mech.parameters if n.startswith("m"))
    assert States(mech, 1).parameters(sb.inverse_dynamics(mech, "newton_euler"))
    heavy = linearize(mech, parameters={name: 50.0})
    assert np.abs(heavy.M - linearize(mech).M).max() > 1
