"""Runs of trees and Systems by every method, with every kind of input, in batches, resumed."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import symbody as sb
from benchmarks.same_results import Result, result

RESULTS: list[Result] = []
FIXED = ("euler", "semi_implicit_euler", "heun", "rk4", "verlet", "symplectic4", "bogacki_shampine", "dopri5", "dopri8")
IMPLICIT = ("implicit_euler", "midpoint", "sdirk2", "sdirk3", "generalized_alpha")
ADAPTIVE = ("bogacki_shampine", "dopri5", "dopri8", "radau", "bdf", "lsoda")
SUNDIALS = ("cvode", "ida")


def chain(n: int = 3) -> sb.Mechanism:
    """Uniform rods that swing about y, with springs, dampers and a parameter."""
    make = sb.Mechanism.builder(f"chain{n}")
    make.parameter("k", 2.0)
    for k in range(1, n + 1):
        make.body(f"rod{k}", mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 0))
        parent, place = ("world", 0) if k == 1 else (f"rod{k - 1}", -1.0)
        laws = {"stiffness": "k", "viscous": 0.1} if k == n else {}
        make.joint(f"j{k}", "revolute", parent, f"rod{k}", position=(0, 0, place), axis="y", **laws)
    return make.done()


def brick() -> sb.Mechanism:
    """A free body with three different moments of inertia."""
    make = sb.Mechanism.builder("brick").body("brick", mass=2.0, inertia=(0.1, 0.2, 0.27))
    return make.joint("base", "free", "world", "brick").done()


def crank() -> sb.Mechanism:
    """A crank that turns by a law of time and carries a pendulum with dry friction."""
    make = sb.Mechanism.builder("crank")
    make.body("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.05, 0.05))
    make.body("bob", mass=1.0, com=(0, 0, -0.5), inertia=(0.05, 0.05, 0.01))
    make.joint("crank", "revolute", "world", "arm", axis="z", mode="driven", value="0.3*sin(4*t)")
    return make.joint("swing", "revolute", "arm", "bob", position=(1, 0, 0), axis="x", coulomb=0.02).done()


def state(motion: Any, *more: str) -> np.ndarray:
    """t, q, qd and what else is named, side by side; of a run that reached its end."""
    if not motion.outcome.ok:
        raise RuntimeError(f"{motion.outcome.name}: {motion.notes}")
    columns = [motion.t, motion.q, motion.qd, *(motion[n] for n in more)]
    return np.column_stack([np.asarray(c).reshape(len(motion.t), -1) for c in columns])


SWING = {"q0": {"j1": 1.0, "j2": -0.3}, "qd0": {"j3": 0.5}}


def chain_run(method: str, **options: Any) -> np.ndarray:
    return state(sb.simulate(chain(), 0.5, method=method, formalism="base", **SWING, **options))


for name in (*FIXED, *IMPLICIT):
    result(RESULTS, f"chain by {name}, fixed steps")(lambda name=name: chain_run(name, step=0.005))
for name in ADAPTIVE:
    made = result(RESULTS, f"chain by {name}, adaptive", "tolerance", 2e-6)
    made(lambda name=name: chain_run(name, rtol=1e-8, samples=51))
if find_spec("sksundae") is not None:
    for name in SUNDIALS:
        made = result(RESULTS, f"chain by {name}, adaptive", "tolerance", 1e-5)
        made(lambda name=name: chain_run(name, rtol=1e-8, samples=51))
for name in ("newton_euler", "barycentric", "order_n", "screw", "lagrange"):
    made = result(RESULTS, f"chain by {name}, rk4")
    made(lambda name=name: state(sb.simulate(chain(), 0.3, step=0.01, method="rk4", formalism=name, **SWING)))


@result(RESULTS, "free brick by rk4")
def _brick() -> np.ndarray:
    return state(sb.simulate(brick(), 1.0, step=0.01, method="rk4", formalism="base", qd0=[1, 2, 3, 0.1, 0, 2]))


@result(RESULTS, "free brick by symplectic4")
def _brick_split() -> np.ndarray:
    return state(sb.simulate(brick(), 1.0, step=0.01, method="symplectic4", formalism="base", qd0=[1, 2, 3, 0.1, 0, 2]))


@result(RESULTS, "free brick by sdirk3")
def _brick_implicit() -> np.ndarray:
    return state(sb.simulate(brick(), 0.5, step=0.01, method="sdirk3", formalism="base", qd0=[1, 2, 3, 0.1, 0, 2]))


@result(RESULTS, "satellite arm by rk4 with energies and reactions")
def _satellite() -> np.ndarray:
    mech, outputs = sb.load("satellite_arm"), ["energy", "com", "reactions"]
    qd0 = np.linspace(-0.3, 0.4, mech.nv)
    motion = sb.simulate(mech, 0.3, step=0.01, method="rk4", formalism="base", qd0=qd0, outputs=outputs)
    return state(motion, "energy", "com", *(n for n in motion.values if n.startswith("reaction")))


@result(RESULTS, "puma560 by rk4 with expressions as inputs")
def _puma() -> np.ndarray:
    mech = sb.load("puma560")
    inputs = {j.name: f"-40*(q.{j.name} - 0.2*sin(3*t)) - 4*qd.{j.name}" for j in mech.joints}
    motion = sb.simulate(mech, 0.5, step=0.005, method="rk4", formalism="base", inputs=inputs, outputs=["energy"])
    return state(motion, "energy", "qdd", "tau")


@result(RESULTS, "driven crank with dry friction by rk4")
def _crank() -> np.ndarray:
    motion = sb.simulate(
        crank(), 1.0, step=0.005, method="rk4", formalism="base", q0={"swing": 0.4}, outputs=["energy", "power"]
    )
    return state(motion, "energy", "power")


@result(RESULTS, "motorcycle by rk4")
def _motorcycle() -> np.ndarray:
    return state(sb.simulate(sb.load("motorcycle"), 0.05, step=0.001, method="rk4", formalism="base"))


@result(RESULTS, "human by dopri8", "tolerance", 1e-6)
def _human() -> np.ndarray:
    return state(sb.simulate(sb.load("human"), 0.2, method="dopri8", rtol=1e-9, formalism="base", samples=11))


@result(RESULTS, "table held and sampled Python controller by rk4")
def _sampled() -> np.ndarray:
    inputs: dict[str, Any] = {
        "j1": ([0.0, 0.2, 0.4], [1.0, -1.0, 0.5], "hold"),
        "j2": lambda t, q, qd: -3.0 * q[1] - 0.3 * qd[1],
        "j3": ([0.0, 0.5], [0.0, 1.0]),
    }
    motion = sb.simulate(chain(), 0.5, step=0.005, method="rk4", formalism="base", inputs=inputs, period=0.02, **SWING)
    return state(motion, "tau")


@result(RESULTS, "System as controller by dopri5", "tolerance", 1e-6)
def _controller() -> np.ndarray:
    q, z = sb.symbols("q z")
    law = sb.System(
        "pi", inputs={"q.j1": q, "z": z}, states={"z": "z_dot"}, outputs={"tau.j1": -5 * q - 2 * z, "z_dot": q}
    )
    return state(
        sb.simulate(chain(), 1.0, method="dopri5", rtol=1e-9, samples=51, formalism="base", inputs=law, **SWING), "z"
    )


@result(RESULTS, "van der Pol's System by radau", "tolerance", 1e-5)
def _van_der_pol() -> np.ndarray:
    x, v = sb.symbols("x v")
    system = sb.System(
        "van_der_pol",
        inputs={"x": x, "v": v},
        states={"x": "x_dot", "v": "v_dot"},
        outputs={"x_dot": v, "v_dot": 5 * (1 - x**2) * v - x},
    )
    motion = sb.simulate(system, 5.0, states0={"x": 2.0}, method="radau", rtol=1e-8, samples=51)
    return np.column_stack([motion.t, motion["x"], motion["v"]])


# -- batches


def starts(n: int, size: int) -> np.ndarray:
    return 0.3 * np.sin(1.0 + np.arange(n * size)).reshape(n, size)


@result(RESULTS, "batch of chains by rk4, with parameters")
def _batch() -> np.ndarray:
    motion = sb.simulate(
        chain(), 0.3, step=0.01, method="rk4", formalism="base", q0=starts(7, 3), parameters={"k": np.linspace(1, 3, 7)}
    )
    return np.concatenate([motion.q, motion.qd], axis=-1)


@result(RESULTS, "batch of chains by dopri5, adaptive", "tolerance", 1e-6)
def _batch_adaptive() -> np.ndarray:
    motion = sb.simulate(chain(), 0.3, method="dopri5", rtol=1e-9, samples=7, formalism="base", q0=starts(5, 3))
    return np.concatenate([motion.q, motion.qd], axis=-1)


@result(RESULTS, "batch of bricks by verlet")
def _batch_bricks() -> np.ndarray:
    motion = sb.simulate(brick(), 0.3, step=0.01, method="verlet", formalism="base", qd0=starts(4, 6))
    return np.concatenate([motion.q, motion.qd], axis=-1)


# -- resumed


@result(RESULTS, "chain by rk4, resumed")
def _resumed() -> np.ndarray:
    return state(sb.resume(sb.simulate(chain(), 0.3, step=0.01, method="rk4", formalism="base", **SWING), 0.3))


@result(RESULTS, "chain by dopri8, resumed", "tolerance", 1e-6)
def _resumed_adaptive() -> np.ndarray:
    first = sb.simulate(chain(), 0.3, method="dopri8", rtol=1e-9, samples=7, formalism="base", **SWING)
    return state(sb.resume(first, 0.3))[-1]


@result(RESULTS, "chain by sdirk2, resumed from a file")
def _resumed_file() -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.ckpt"
        sb.simulate(chain(), 0.2, step=0.01, method="sdirk2", formalism="base", checkpoint=path, **SWING)
        return state(sb.resume(path, 0.2))
