"""What the gradient of a run costs, beside the run: the PUMA under control, an integral, all its parameters.

    PYTHONPATH=src python -m benchmarks.derivatives_of_runs [--seconds 10] [--peers]

CPU seconds of this process, best of several; "march" is the native march of the same steps that records its end. Peers:
CasADi (`mapaccum` of the same Runge-Kutta step over the same formulas, gradient by its own reverse mode) on a part of
these steps; then MuJoCo, Diffrax and CasADi's integrators on the arm of `derivatives_peers`, by the clock, as
some of them use threads. All in this process, and their gradients are compared.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import symbody as sb
from benchmarks.derivatives_peers import STEPS, WEIGHTS, own, peers
from symbody.motion.derivatives.function import RunFunction
from symbody.motion.derivatives.linearised import Linearised
from symbody.motion.derivatives.tape import Steps

STEP = 1e-3
GAINS = {1: (400, 40), 2: (800, 80), 3: (300, 30), 4: (30, 3), 5: (30, 3), 6: (30, 3)}
ROUNDS = 5


def puma(seconds: float, parameters: int | None = None, **options: Any) -> RunFunction:
    """An integral of the motion of the PUMA along sines, by its first parameters or by all."""
    mech = sb.load("puma560")
    law = {f"joint{k}": f"{p}*(0.5*sin({1 + 0.3 * k}*t) - q.joint{k}) - {d}*qd.joint{k}" for k, (p, d) in GAINS.items()}
    names = [n for n in mech.parameters if n != "d1"][:parameters]  # the height of the base moves nothing
    return sb.differentiable(
        mech, seconds, names, integrals={"cost": "q.joint1^2 + 0.1*qd.joint2^2"}, step=STEP, inputs=law, slow=0.1,
        qd0=np.full(6, 0.3), **options,
    )  # fmt: skip


def best(call: Callable[[], Any], rounds: int = ROUNDS, clock: Callable[[], float] = time.process_time) -> float:
    """CPU seconds, or those of another clock."""
    least = math.inf
    for _ in range(rounds):
        start = clock()
        call()
        least = min(least, clock() - start)
    return least


def march(run: Linearised) -> Callable[[], Any]:
    """The native march of the run's own steps."""
    piece = run.tape.pieces[0]
    assert isinstance(piece, Steps)
    stepper: Any = run.tape.plan.stepper
    return lambda: stepper.march.fixed(stepper.method, piece.x[0], piece.t, piece.h, piece.count, piece.count)


def casadi_gradient(f: RunFunction, steps: int) -> tuple[Callable[[], Any], np.ndarray]:
    """The same integral over so many steps, and its gradient, by CasADi."""
    import casadi as ca

    from symbody.codegen.interop.casadi_bridge import casadi_function

    run = f.linearise()
    flow = run.numbers(run.first).machine.flow
    names = list(flow.rates.parameters)
    values = np.array([float(flow.rates.default(n)[0]) for n in names])
    symbols = [s for n in flow.states for s in flow.rates.inputs[n].flat]
    symbols += [flow.rates.inputs["t"].item(), *(flow.rates.parameters[n].item() for n in names)]
    nodes = [x for rate in flow.rates.states.values() for x in flow.rates.outputs[rate].flat]
    rates = casadi_function("rates", nodes, symbols)
    x, t, p = ca.MX.sym("x", flow.nx), ca.MX.sym("t"), ca.MX.sym("p", len(names))

    def field(s: Any, y: Any) -> Any:
        return rates(ca.vertcat(y, s, p))

    k1 = field(t, x)
    k2 = field(t + STEP / 2, x + STEP / 2 * k1)
    k3 = field(t + STEP / 2, x + STEP / 2 * k2)
    k4 = field(t + STEP, x + STEP * k3)
    step = ca.Function("step", [x, t, p], [x + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)])
    whole = step.mapaccum(steps)
    start = np.concatenate([run.tape.start, np.zeros(1)])
    times = STEP * np.arange(steps)[None]
    end = whole(start, times, ca.repmat(p, 1, steps))[-1, -1]
    gradient = ca.Function("gradient", [p], [ca.gradient(end, p)])
    found = dict(zip(names, np.array(gradient(values)).ravel()))
    return lambda: gradient(values), np.array([found[n] for n in f.variables.names])


def main() -> None:
    parser = argparse.ArgumentParser(description="What the gradient of a run costs, beside the run.")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument(
        "--peers", action="store_true", help="beside those of CasADi, MuJoCo and Diffrax that are installed"
    )
    asked = parser.parse_args()
    f, few = puma(asked.seconds), puma(asked.seconds, 6)
    n = f.variables.size
    run = f.linearise()
    run.vjp(np.ones(1))
    run.jacobian()
    few.gradient()
    one = best(march(run))
    whole, part = best(f.gradient), best(few.gradient)
    back = best(lambda: run.vjp(np.ones(1)))
    along = best(run.jacobian)
    gap = np.abs(run.jacobian()[0] - run.vjp(np.ones(1))).max() / np.abs(run.vjp(np.ones(1))).max()
    print(f"puma560, {asked.seconds:g} s in steps of {STEP:g} s, one integral, {n} parameters")
    print(f"  march                                {1e3 * one:8.2f} ms")
    print(f"  gradient by the adjoint, whole call  {1e3 * whole:8.2f} ms   {whole / one:6.2f} marches")
    print(f"    of it the way back                 {1e3 * back:8.2f} ms   {back / one:6.2f} marches")
    print(f"  the same by 6 parameters             {1e3 * part:8.2f} ms   {whole / part:6.2f} times less than {n}")
    print(f"  forward along {n} directions         {1e3 * along:8.2f} ms   {along / one / n:6.3f} marches a parameter")
    print(f"  adjoint and forward differ by        {gap:8.1e} of the largest component")
    if asked.peers:
        steps = 1000
        short = puma(steps * STEP)
        own = short.gradient()[1]
        call, theirs = casadi_gradient(short, steps)
        mine, peer = best(short.gradient), best(call, 2)
        gap = np.abs(own - theirs).max() / np.abs(own).max()
        print(f"  {steps} steps: CasADi {1e3 * peer:.1f} ms, symbody {1e3 * mine:.1f} ms, ratio {peer / mine:.1f};")
        print(f"  gradients differ by {gap:.1e} of the largest component")
        compare_peers()


def compare_peers() -> None:
    """The same gradient by others, a line each."""
    print(
        f"puma560 without friction, {STEPS} steps, gradient of the end state by the start and the torques (18 numbers)"
    )
    for make in peers():
        peer = make()
        f = own(peer.method)
        theirs, mine = peer.call(), f.gradient(f.start, WEIGHTS)[1]
        gap = float(np.abs(mine - theirs).max() / np.abs(theirs).max())
        assert gap <= peer.tolerance, (peer.name, gap)
        their, ours = (
            best(peer.call, ROUNDS, time.perf_counter),
            best(lambda f=f: f.gradient(f.start, WEIGHTS), ROUNDS, time.perf_counter),
        )
        print(
            f"  {peer.name:28} {1e3 * their:8.2f} ms, symbody ({peer.method}) {1e3 * ours:6.2f} ms, ratio "
            f"{their / ours:6.1f}; gradients differ by {gap:.1e}"
        )


if __name__ == "__main__":
    main()
