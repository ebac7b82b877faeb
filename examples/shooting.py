"""A pendulum swings up with little torque: IPOPT finds it, through CasADi, with gradients of runs of symbody.

Single shooting takes the torques alone: the whole motion is one run. Multiple shooting takes the states between shorter
runs too, and ties them together: these depend less on their torques, and the search starts from a wanted motion.

    python examples/shooting.py          needs the extra `learning` (casadi)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import symbody as sb
from symbody.motion.derivatives import casadi_function

DURATION, STEP, TORQUES = 2.0, 0.02, 20
COST = {"effort": "tau.swing^2"}
IPOPT = {"ipopt.print_level": 0, "print_time": False, "ipopt.max_iter": 300, "ipopt.tol": 1e-6}
# Runs are differentiated twice: short ones with their exact Hessians take two thirds of the iterations. One long run is
# far from convex where the search starts; there IPOPT does better with an approximation.
LONG = {**IPOPT, "ipopt.hessian_approximation": "limited-memory"}


def pendulum() -> sb.Mechanism:
    """A rod of 1 kg and 1 m that hangs on an actuated joint."""
    b = sb.Mechanism.builder("pendulum").body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 0))
    return b.joint("swing", "revolute", "world", "rod", axis="y").done()


def check(solver: Any) -> None:
    """Leave with an error unless IPOPT found an optimum."""
    stats = solver.stats()
    if not stats["success"]:
        raise SystemExit(f"IPOPT ends as {stats['return_status']}")
    print(f"  {stats['iter_count']} iterations of IPOPT")


def single_shooting() -> tuple[np.ndarray, np.ndarray, float]:
    """(times, torques, effort): all torques by one run."""
    import casadi as ca

    times = np.linspace(0, DURATION, TORQUES, endpoint=False)
    guess = 2.0 * np.sin(2 * math.pi * times / DURATION)
    run = casadi_function(
        sb.differentiable(
            pendulum(), DURATION, ["swing"], of=["q", "qd"], integrals=COST, step=STEP,
            inputs={"swing": (times, guess, "hold")},
        )
    )  # fmt: skip
    u = ca.MX.sym("u", TORQUES)
    end = run(u)
    solver = ca.nlpsol("single", "ipopt", {"x": u, "f": end[2], "g": end[:2]}, LONG)
    goal = [math.pi, 0.0]
    found = solver(x0=guess, lbg=goal, ubg=goal, lbx=-6.0, ubx=6.0)
    check(solver)
    return times, np.array(found["x"]).ravel(), float(found["f"])


def multiple_shooting(runs: int = 5) -> tuple[np.ndarray, np.ndarray, float]:
    """(times, torques, effort): several shorter runs, whose ends and starts are tied together."""
    import casadi as ca

    each, length = TORQUES // runs, DURATION / runs
    times = np.linspace(0, length, each, endpoint=False)
    run = casadi_function(
        sb.differentiable(
            pendulum(), length, ["q", "qd", "swing"], of=["q", "qd"], integrals=COST, step=STEP,
            inputs={"swing": (times, np.zeros(each), "hold")},
        )
    )  # fmt: skip
    variables: list[Any] = []
    ties: list[Any] = []
    guess: list[float] = []
    cost: Any = 0.0
    state: Any = ca.DM([0.0, 0.0])
    for k in range(runs):
        u = ca.MX.sym(f"u{k}", each)
        variables.append(u)
        guess += [1.0 if k % 2 else -1.0] * each
        end = run(ca.vertcat(state, u))
        cost = cost + end[2]
        if k + 1 == runs:
            ties.append(end[:2] - ca.DM([math.pi, 0.0]))
            break
        state = ca.MX.sym(f"x{k + 1}", 2)
        variables.append(state)
        guess += [math.pi * (k + 1) / runs, 0.0]
        ties.append(end[:2] - state)
    problem = {"x": ca.vertcat(*variables), "f": cost, "g": ca.vertcat(*ties)}
    solver = ca.nlpsol("multiple", "ipopt", problem, IPOPT)
    found = solver(x0=guess, lbg=0.0, ubg=0.0, lbx=-12.0, ubx=12.0)
    check(solver)
    values = np.array(found["x"]).ravel()
    torques = np.concatenate([values[k * (each + 2) :][:each] for k in range(runs)])
    return np.linspace(0, DURATION, TORQUES, endpoint=False), torques, float(found["f"])


def main() -> dict[str, tuple[float, sb.Trajectory]]:
    """Both ways: effort, and the motion as `simulate` gives it for the torques that were found."""
    out = {}
    for name, search in (("single", single_shooting), ("multiple", multiple_shooting)):
        times, torques, effort = search()
        motion = sb.simulate(pendulum(), DURATION, STEP, inputs={"swing": (times, torques, "hold")})
        print(f"{name} shooting: effort {effort:.3f}, ends at {motion.q[-1, 0]:.6f} rad, {motion.qd[-1, 0]:.6f} rad/s")
        out[name] = (effort, motion)
    return out


if __name__ == "__main__":
    main()
