"""What the verbs give: evaluations of their programs, linear models, equilibria, certificates."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

import symbody as sb
from benchmarks.same_results import Result, result
from benchmarks.same_results_trees import brick, chain, crank

RESULTS: list[Result] = []
FORMALISMS = ("newton_euler", "barycentric", "base", "order_n", "screw", "lagrange")


def somewhere(n: int, phase: float = 0.0, size: float = 0.4) -> np.ndarray:
    return size * np.sin(1.0 + phase + np.arange(n))


def position(mech: sb.Mechanism) -> np.ndarray:
    """A state of a tree without quaternions, or with one free joint at its front (w, x, y, z and place)."""
    if mech.nq == mech.nv:
        return somewhere(mech.nq)
    q = somewhere(mech.nq)
    q[3:7] = [0.9, 0.1, -0.3, 0.3] / np.linalg.norm([0.9, 0.1, -0.3, 0.3])
    return q


def values(system: sb.System, *arguments: Any) -> np.ndarray:
    """All outputs of one call, one after the other."""
    found = system.compile()(*arguments)
    parts = [found] if isinstance(found, np.ndarray | float) else [getattr(found, n) for n in system.outputs]
    return np.concatenate([np.ravel(p) for p in parts])


def at(mech: sb.Mechanism, verb: Any, formalism: str) -> np.ndarray:
    arguments = [position(mech), somewhere(mech.nv, 0.5), somewhere(mech.nv, 1.5)]
    system = verb(mech, formalism, preset="standard", loops=False)
    return values(system, *arguments[: len([n for n in system.inputs if n in ("q", "qd", "qdd", "tau")])])


for name in FORMALISMS:
    result(RESULTS, f"inverse dynamics of ur5 by {name}")(
        lambda name=name: at(sb.load("ur5"), sb.inverse_dynamics, name)
    )
for name in ("newton_euler", "base", "order_n", "lagrange"):
    made = result(RESULTS, f"forward dynamics of chain by {name}")
    made(lambda name=name: at(chain(4), sb.forward_dynamics, name))
for name in ("puma560", "stanford_arm", "satellite_arm", "panda", "acma_h80"):
    result(RESULTS, f"M and c of {name}")(lambda name=name: at(sb.load(name), sb.semi_explicit, "base"))


@result(RESULTS, "kinematics of puma560's hand")
def _kinematics() -> np.ndarray:
    mech = sb.load("puma560")
    system = sb.kinematics(mech, mech.bodies[-1].name, scheme="progressive")
    return values(system, somewhere(6), somewhere(6, 0.5), somewhere(6, 1.5))


@result(RESULTS, "energy of a free brick and of a chain")
def _energy() -> np.ndarray:
    parts = [values(sb.energy(m), position(m), somewhere(m.nv, 0.5), somewhere(m.nv, 1.5)) for m in (brick(), chain())]
    return np.concatenate(parts)


@result(RESULTS, "regressor of stanford_arm")
def _regressor() -> np.ndarray:
    return values(sb.regressor(sb.load("stanford_arm")), somewhere(6), somewhere(6, 0.5), somewhere(6, 1.5))


@result(RESULTS, "base parameters of puma560", "words")
def _base_parameters() -> str:
    found = sb.base_parameters(sb.load("puma560"))
    return f"{found.count} {found.columns} {found.groups}"


@result(RESULTS, "reactions of ur5")
def _reactions() -> np.ndarray:
    return values(sb.reactions(sb.load("ur5")), somewhere(6), somewhere(6, 0.5), somewhere(6, 1.5))


@result(RESULTS, "reactions of slider_crank and its cut")
def _reactions_closed() -> np.ndarray:
    return values(sb.reactions(sb.load("slider_crank"), partition=["crank"]), [0.7, 0, 0], [2.0, 0, 0], [0.3, 0, 0])


@result(RESULTS, "efforts of a driven crank")
def _driven() -> np.ndarray:
    system = sb.driven_efforts(crank())
    sizes = {"q": 2, "qd": 2, "qdd": 2, "tau": 2}
    return values(system, *(somewhere(sizes[n], k) if n in sizes else 0.3 for k, n in enumerate(system.inputs)))


@result(RESULTS, "closure of four_bar and three_rrr_4")
def _closure() -> np.ndarray:
    first = sb.closure(sb.load("four_bar"), ["crank"], velocities=True)
    second = sb.closure(sb.load("three_rrr_4"), ["platform"])
    q = sb.assemble(sb.load("three_rrr_4"))
    qd = np.zeros(9)
    qd[6:] = [0.1, -0.2, 0.3]
    return np.concatenate([values(first, [0.7, 0.0, 0.0], [5.0, 0.0, 0.0]), values(second, q, qd)])


@result(RESULTS, "forward dynamics of four_bar, reduced and augmented")
def _closed() -> np.ndarray:
    mech = sb.load("four_bar")
    q, qd = sb.closure(mech, ["crank"]).compile()([0.7, 0.0, 0.0], [5.0, 0.0, 0.0])
    reduced = sb.forward_dynamics(mech, "base", partition=["crank"], lam=True)
    augmented = sb.forward_dynamics(mech, "base", formulation="augmented", lam=True)
    return np.concatenate([values(s, q, qd, [0.2, 0.0, 0.0]) for s in (reduced, augmented)])


@result(RESULTS, "inverse dynamics of delta by its arms")
def _closed_inverse() -> np.ndarray:
    mech = sb.load("delta")
    q = sb.assemble(mech)
    system = sb.inverse_dynamics(mech, "base", partition=["arm1", "arm2", "arm3"])
    return values(system, q, somewhere(12), somewhere(12, 0.5))


@result(RESULTS, "partitions by names and by pivoting", "words")
def _partition() -> str:
    chosen = [
        sb.partition(sb.load("four_bar"), ["crank"]),
        sb.partition(sb.load("delta"), ["arm1", "arm2", "arm3"]),
        sb.partition(sb.load("slider_crank"), "pivoting"),
        sb.partition(sb.load("three_loops"), "heuristic"),
    ]
    return "\n".join(f"{p.independent} {p.row_order} {p.column_order} {p.pivot_order} {p.spare}" for p in chosen)


@result(RESULTS, "assembled positions", "tolerance", 1e-9)
def _assembled() -> np.ndarray:
    parts = [sb.assemble(sb.load(n)) for n in ("delta", "stewart", "three_loops", "bricard", "car")]
    parts.append(sb.assemble(sb.load("slider_crank"), [2.0, 0.0, 0.0], fixed=["crank"]))
    return np.concatenate(parts)


@result(RESULTS, "C text of pendulum2, four_bar", "words")
def _text() -> str:
    systems = [
        sb.forward_dynamics(sb.load("pendulum2"), "base"),
        sb.inverse_dynamics(sb.load("puma560"), "base", preset="standard"),
        sb.forward_dynamics(sb.load("four_bar"), "base", partition=["crank"]),
    ]
    return " ".join(hashlib.sha256(s.emit(t).encode()).hexdigest()[:16] for s in systems for t in ("c", "llvm", "text"))


# -- linear models and searches


def matrices(linear: Any) -> np.ndarray:
    return np.concatenate([np.ravel(getattr(linear, n)) for n in ("M", "B", "K", "A", "B_ss", "C", "D")])


@result(RESULTS, "linear model of pendulum2", "tolerance", 1e-12)
def _linear() -> np.ndarray:
    return matrices(sb.linearize(sb.load("pendulum2"), q0=[0.4, 0.2], qd0=[0.1, -0.3], outputs=["q", "p.rod2"]))


@result(RESULTS, "linear model of a spinning brick", "tolerance", 1e-12)
def _linear_brick() -> np.ndarray:
    return matrices(sb.linearize(brick(), qd0=[0.2, 0.3, 5.0, 0, 0, 0]))


@result(RESULTS, "linear model of four_bar", "tolerance", 1e-10)
def _linear_closed() -> np.ndarray:
    return matrices(sb.linearize(sb.load("four_bar"), q0={"crank": 0.6}, qd0={"crank": 2.0}, independent=["crank"]))


@result(RESULTS, "eigenvalues of the whipple_bicycle at 4.6 m/s", "tolerance", 1e-8)
def _bicycle() -> np.ndarray:
    qd0 = {"contact": [4.6, 0.0], "front_contact": [4.6, 0.0], "rear_spin": -4.6 / 0.3, "front_spin": -4.6 / 0.35}
    linear = sb.linearize(sb.load("whipple_bicycle"), qd0=qd0)
    found = np.sort_complex(np.linalg.eigvals(linear.A))
    return np.concatenate([found.real, np.abs(found.imag)])


@result(RESULTS, "modes of the bogie and of a chain", "tolerance", 1e-8)
def _modes() -> np.ndarray:
    bogie = sb.load("bogie")
    rest = sb.equilibrium(bogie, eigenvalues=False)
    hung = sb.modes(chain(4), kind="undamped")
    return np.concatenate(
        [np.sort(sb.modes(bogie, **rest.point).frequencies), hung.frequencies, np.abs(hung.shapes).ravel()]
    )


@result(RESULTS, "equilibria", "tolerance", 1e-8)
def _equilibria() -> np.ndarray:
    found = [
        sb.equilibrium(sb.load("pendulum2"), q0=[0.4, 0.2], stable=True),
        sb.equilibrium(sb.load("motorcycle"), eigenvalues=False),
        sb.equilibrium(sb.load("four_bar"), q0={"crank": 0.5}, stable=True),
        sb.equilibrium(sb.load("multi_link_suspension"), fixed=["spin"]),
    ]
    return np.concatenate([part for e in found for part in (e.q, e.tau)])


@result(RESULTS, "sentences of equilibria", "words")
def _equilibria_words() -> str:
    cases = [("pendulum2", {"q0": [0.4, 0.2], "stable": True}), ("four_bar", {"q0": {"crank": 0.5}, "stable": True})]
    found = [sb.equilibrium(sb.load(n), **options) for n, options in cases]
    return "\n".join(f"{e.ok} {e.stable} {e.sentence}" for e in found)


@result(RESULTS, "trim of the motorcycle at 20 m/s", "tolerance", 1e-7)
def _trim() -> np.ndarray:
    mech = sb.load("motorcycle")
    rest = sb.equilibrium(mech, eigenvalues=False)
    names = ("z", "pitch", "swing", "fork", "qd.rear_spin", "qd.front_spin", "tau.rear_spin")
    found = sb.trim(mech, names, q0=rest.q, qd0={"x": 20.0, "rear_spin": 20 / 0.3, "front_spin": 20 / 0.3})
    return np.concatenate([found.q, found.qd, found.tau])


@result(RESULTS, "trim of a slider_crank at constant speed", "tolerance", 1e-8)
def _trim_closed() -> np.ndarray:
    found = sb.trim(sb.load("slider_crank"), ["tau.crank"], q0={"crank": 0.7}, qd0={"crank": 5.0})
    return np.concatenate([found.q, found.qd, found.tau])


@result(RESULTS, "inverse kinematics of ur5 and delta", "tolerance", 1e-7)
def _inverse_kinematics() -> np.ndarray:
    ur5 = sb.load("ur5")
    hand = ur5.bodies[-1].name
    place = sb.kinematics(ur5, hand, order=0).compile()(somewhere(6) + 0.5)
    goal = {hand: {"p": getattr(place, f"p_{hand}"), "R": getattr(place, f"R_{hand}")}}
    delta = sb.load("delta")
    q = sb.assemble(delta)
    found = [
        sb.inverse_kinematics(ur5, goal, q0=np.full(6, 0.4)),
        sb.inverse_kinematics(brick(), {"brick": [1, 2, 3.0]}),
    ]
    reached = sb.inverse_kinematics(delta, {"platform": q[9:12] + np.array([0.02, 0.01, -0.01])}, q0=q)
    return np.concatenate([f.q for f in [*found, reached]])


@result(RESULTS, "efforts along a motion of pendulum2", "tolerance", 1e-12)
def _along() -> np.ndarray:
    t = np.linspace(0, 1, 21)
    q = np.column_stack([np.sin(t), np.cos(2 * t) - 1])
    found = sb.inverse_along(sb.load("pendulum2"), t, q, formalism="base")
    return np.column_stack([found["tau"], found["power"], found["work"]])


@result(RESULTS, "sensitivity of pendulum2", "tolerance", 1e-6)
def _sensitivity() -> np.ndarray:
    found = sb.sensitivity(
        sb.load("pendulum2"), 0.5, ["l1", "q.joint1"], q0=[0.5, 0.0], samples=6, method="dopri8", formalism="base"
    )
    return np.concatenate([np.ravel(found.of("q", n)) for n in ("l1", "q.joint1")])


@result(RESULTS, "sensitivity of four_bar", "tolerance", 1e-5)
def _sensitivity_closed() -> np.ndarray:
    found = sb.sensitivity(
        sb.load("four_bar"), 0.1, ["m2"], qd0={"crank": 5.0}, samples=6, method="dopri8", formalism="base",
        partition=["crank"],
    )  # fmt: skip
    return np.ravel(found.of("q", "m2"))


# -- certificates


def verdict(mech: sb.Mechanism, **options: Any) -> str:
    found = sb.verify(mech, states=3, **options)
    return "\n".join([str(found.passed), *(f"{'ok' if c.passed else 'NOT'} {c.text}" for c in found.checks)])


for name in ("pendulum2", "ur5"):
    result(RESULTS, f"certificate of {name}", "words")(lambda name=name: verdict(sb.load(name)))
for name, joints in (("four_bar", ["crank"]), ("slider_crank", ["crank"])):
    made = result(RESULTS, f"certificate of {name}", "words")
    made(lambda name=name, joints=joints: verdict(sb.load(name), partition=joints))
