"""Peers of the derivatives of runs: the same arm, the same steps where a peer has them, each by its own derivatives.

The arm is the PUMA 560 without friction, under constant torques. What is differentiated is w^T x where the run ends, by
the state at the start and the torques: 18 numbers.

    MuJoCo    semi-implicit Euler steps; A and B of each by mjd_transitionFD (central differences), chained backwards
    Diffrax   Dormand-Prince 5 steps of constant length over the rates as JAX source, jitted; its default adjoint
    CasADi    its integrators: "rk" (classical Runge-Kutta steps), "cvodes" (chosen steps); reverse mode
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import symbody as sb
from benchmarks.dynamics_models import Robot, robot
from benchmarks.dynamics_peers import mujoco_model
from symbody.codegen.interop.casadi_bridge import casadi_function
from symbody.motion.derivatives.function import RunFunction
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.of_mechanism import mechanism_flow

STEP, STEPS = 1e-3, 1000
TORQUES = np.array([2.0, -30.0, 10.0, 0.5, -0.3, 0.2])  # N m
Q0 = np.array([0.3, -0.8, 0.6, 0.2, -0.4, 0.1])  # rad
WEIGHTS = np.concatenate([np.linspace(1.0, 2.0, 6), np.linspace(0.5, -0.5, 6)])


@dataclass(frozen=True, eq=False)
class Peer:
    """call() gives the gradient (18,): by q, qd, torques. method: symbody's that takes the same steps.

    tolerance: of the largest component, what the peer's own errors allow
    """

    name: str
    method: str
    call: Callable[[], np.ndarray]
    tolerance: float


def arm() -> Robot:
    return robot("puma560")


def own(method: str, steps: int = STEPS) -> RunFunction:
    """The same by symbody."""
    return sb.differentiable(
        arm().mechanism, STEP * steps, ["q", "qd", "tau"], of=["q", "qd"], step=STEP, q0=Q0, method=method,
        inputs={"tau": TORQUES},
    )  # fmt: skip


def peers(steps: int = STEPS) -> list[Callable[[], Peer]]:
    """Makers of those whose packages are installed; making takes seconds."""
    from importlib.util import find_spec

    makers = {"mujoco": [mujoco_peer], "diffrax": [diffrax_peer], "casadi": [casadi_rk_peer, casadi_cvodes_peer]}
    return [lambda m=m: m(steps) for package, some in makers.items() if find_spec(package) for m in some]


def mujoco_peer(steps: int) -> Peer:
    import mujoco

    model = mujoco_model(arm(), motors=True)
    model.opt.timestep, model.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_EULER
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(model)
    A, B = np.zeros((steps, 12, 12)), np.zeros((steps, 12, 6))

    def gradient() -> np.ndarray:
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.ctrl[:] = Q0, TORQUES
        for k in range(steps):
            mujoco.mjd_transitionFD(model, data, 1e-6, 1, A[k], B[k], None, None)
            mujoco.mj_step(model, data)
        lam, torques = WEIGHTS, np.zeros(6)
        for k in reversed(range(steps)):
            torques = torques + lam @ B[k]
            lam = lam @ A[k]
        return np.concatenate([lam, torques])

    return Peer("MuJoCo, mjd_transitionFD", "semi_implicit_euler", gradient, 1e-5)


def diffrax_peer(steps: int) -> Peer:
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    flow = _flow()
    scope: dict[str, Any] = {}
    exec(flow.rates.emit("jax"), scope)  # the source that symbody emits
    rates, setup = scope[flow.rates.name], scope[f"{flow.rates.name}_setup"]
    derived = jnp.array(setup(jnp.array(scope["parameter_defaults"]))[0])

    def field(t: Any, x: Any, tau: Any) -> Any:
        return jnp.concatenate(rates(*_arguments(flow, x, t, tau), derived)[:2])

    def end(theta: Any) -> Any:
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(field), diffrax.Dopri5(), 0.0, STEP * steps, STEP, theta[:12], theta[12:],
            stepsize_controller=diffrax.ConstantStepSize(), saveat=diffrax.SaveAt(t1=True), max_steps=steps + 2,
        )  # fmt: skip
        return jnp.array(WEIGHTS) @ found.ys[0]

    compiled = jax.jit(jax.grad(end))
    theta = jnp.array(_theta())
    return Peer("Diffrax, Dopri5", "dopri5", lambda: np.asarray(compiled(theta)), 1e-9)


def _arguments(flow: Flow, x: Any, t: Any, tau: Any) -> list[Any]:
    """Inputs of the rates in their order."""
    given = {"q": x[:6], "qd": x[6:], "t": t, "tau": tau}
    return [given[n] for n in flow.rates.inputs]


def casadi_rk_peer(steps: int) -> Peer:
    options = {"number_of_finite_elements": steps, "simplify": True}
    return Peer("CasADi, integrator rk", "rk4", _casadi("rk", options, steps), 1e-9)


def casadi_cvodes_peer(steps: int) -> Peer:
    """As accurate as the derivative of 1000 steps of order 4 is."""
    options = {"abstol": 1e-10, "reltol": 1e-10}
    return Peer("CasADi, integrator cvodes", "rk4", _casadi("cvodes", options, steps), 1e-5)


def _casadi(plugin: str, options: dict[str, Any], steps: int) -> Callable[[], np.ndarray]:
    import casadi as ca

    flow = _flow()
    rates = flow.rates
    numbers = {s: float(rates.default(n)[k]) for n, a in rates.parameters.items() for k, s in enumerate(a.flat)}
    symbols = [s for n in (*flow.states, *flow.signals) for s in rates.inputs[n].flat]
    nodes = [x for rate in rates.states.values() for x in rates.output(rate).flat]
    made = casadi_function("rates", nodes, [*symbols, *numbers])
    x, tau = ca.SX.sym("x", 12), ca.SX.sym("tau", 6)
    problem = {"x": x, "p": tau, "ode": made(ca.vertcat(x, tau, ca.DM(list(numbers.values()))))}
    run = ca.integrator("run", plugin, problem, 0.0, STEP * steps, options)
    theta = ca.MX.sym("theta", 18)
    end = ca.dot(ca.DM(WEIGHTS), run(x0=theta[:12], p=theta[12:])["xf"])
    gradient = ca.Function("gradient", [theta], [ca.gradient(end, theta)])
    at = _theta()
    return lambda: np.array(gradient(at)).ravel()


def _flow() -> Flow:
    return mechanism_flow(arm().mechanism)


def _theta() -> np.ndarray:
    return np.concatenate([Q0, np.zeros(6), TORQUES])
