"""Outputs of a model: what every verb gives at a few stored states, as named arrays, and how far two sets are apart.

The states come from the unchanged sources once; whatever is changed then sees the same numbers. Of closed mechanisms
only what does not depend on the choice of partition is taken with the automatic one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

STATES = 3
CANDIDATES = 12  # closed positions from which the states are taken
TIME = 0.37  # s
EFFECT = 1e-9  # relative to the largest entry of an output: a change above it is an effect
SMALLEST = 1e-3  # what counts as the largest entry where all are smaller
MOVED = 1e-2  # m, rad: how far guesses of closed coordinates are off
# the same where a state moves to the nearest closed one, which is defined to the first order of the way: the second
# order depends on the path of the iteration, and stays below EFFECT
LITTLE = 1e-6

Arrays = dict[str, np.ndarray]


@dataclass
class Point:
    """States of a model. q (n, nq), qd, qdd, tau (n, nv) of the tree; closed_q, closed_qd of the closed mechanism.

    guess        closed_q moved by MOVED
    independent  names of the independent velocities; increments: driven ones among them
    lone         whether no row is redundant, so that the cuts have unique reactions
    """

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    driven: list[int]
    closed_q: np.ndarray | None = None
    closed_qd: np.ndarray | None = None
    guess: np.ndarray | None = None
    independent: tuple[str, ...] = ()
    increments: tuple[str, ...] = ()
    lone: bool = True


def make_point(mech: Any) -> Point:
    """States for a model, by the sources that are imported."""
    import symbody as sb
    from symbody.mechanics.formalisms.solve_accelerations import driven_velocities
    from symbody.mechanics.formalisms.tree import build_tree
    from symbody.model.record.coordinates import checked

    rng = np.random.default_rng(5)
    q = np.array([checked(mech, row) for row in rng.uniform(-1, 1, (STATES, mech.nq))])
    qd, qdd, tau = (rng.uniform(-1, 1, (STATES, mech.nv)) for _ in range(3))
    point = Point(q, qd, qdd, tau, list(driven_velocities(build_tree(mech))))
    if not (mech.cuts or mech.couplings):
        return point
    guesses = [checked(mech, row) for row in rng.uniform(-1, 1, (CANDIDATES, mech.nq))]
    found = []
    for guess in guesses:
        try:
            found.append(sb.assemble(mech, guess, time=TIME))
        except sb.SymbodyError:
            continue
    chosen = sb.partition(mech)
    names = [chosen.names[1][k] for k in chosen.independent]
    point.independent = tuple(n for n, k in zip(names, chosen.independent) if k not in point.driven)
    point.increments = tuple(names)
    point.lone = not chosen.redundant
    closed = np.array(found)
    moved = np.array([checked(mech, row) for row in closed + MOVED * rng.uniform(-1, 1, closed.shape)])
    system = sb.closure(mech, partition=_partition(point))
    speeds = rng.uniform(-1, 1, (len(closed), mech.nv))
    near = _evaluate(system, {"q": moved, "qd": speeds, "t": TIME})
    there = _evaluate(system, {"q": closed, "qd": speeds, "t": TIME})
    # away from dead centres: a guess near a closed position leads back to it, at a moderate speed
    back = np.abs(near["q"] - closed).max(axis=-1) + np.abs(there["qd"]).max(axis=-1) * MOVED
    best = np.argsort(np.where(np.isfinite(back), back, np.inf))[:STATES]
    if len(best) < STATES or not np.isfinite(back[best]).all():
        raise ValueError(f"{mech.name} of the panel has too few closed positions; choose other numbers.")
    point.closed_q, point.closed_qd, point.guess = there["q"][best], there["qd"][best], moved[best]
    return point


def _partition(point: Point) -> Any:
    return list(point.independent) or "auto"


# -- evaluation


def _number(name: str, shape: tuple[int, ...], centre: float) -> np.ndarray:
    digest = hashlib.sha256(name.encode()).digest()
    return np.full(shape, centre - 0.5 + int.from_bytes(digest[:4], "big") / 2**32)


def _evaluate(system: Any, known: Mapping[str, Any]) -> Arrays:
    """Outputs of a System by the interpreter; inputs and parameters without a value get one from their name."""
    system = system.with_events() if system.guards else system
    # modes of force elements take their values in turn
    known = {n: np.resize([0.0, 1.0, -1.0], len(known["q"])) for n in system.inputs if n.startswith("m_")} | dict(known)
    inputs = {n: known[n] if n in known else _number(n, a.shape, 0.0) for n, a in system.inputs.items()}
    given: dict[str, Any] = {}
    for name, array in system.parameters.items():
        value = system.default(name)
        given[name] = _number(name, array.shape, 1.0) if value is None else np.reshape(value, array.shape)
    result = system.compile("python")(**inputs, parameters=given)
    names = list(system.outputs)
    parts = [result] if len(names) == 1 else [getattr(result, n) for n in names]
    return {n: np.asarray(x) for n, x in zip(names, parts, strict=True)}


def _tree(system: Any, point: Point) -> Arrays:
    known = {"q": point.q, "qd": point.qd, "qdd": point.qdd, "tau": point.tau, "t": TIME}
    return _evaluate(system, {**known, "qdd_driven": point.qdd[:, point.driven]})


def _closed(system: Any, point: Point, **given: Any) -> Arrays:
    known = {"q": point.closed_q, "qd": point.closed_qd, "qdd": point.qdd, "tau": point.tau, "t": TIME}
    return _evaluate(system, {**known, "qdd_driven": point.qdd[:, point.driven], **given})


# -- tasks


Task = Callable[[Any, Point], Arrays]


def _by(verb: str, formalism: str, **options: Any) -> Task:
    def task(mech: Any, point: Point) -> Arrays:
        import symbody as sb

        more = {} if formalism == "auto" else {"preset": "none"}
        return _tree(getattr(sb, verb)(mech, formalism=formalism, loops=False, **more, **options), point)

    return task


def _wrenches(mech: Any, point: Point) -> Arrays:
    import symbody as sb

    bodies = [mech.bodies[-1].name, mech.bodies[0].name]
    system = sb.inverse_dynamics(mech, formalism="newton_euler", loops=False, wrenches=bodies, preset="none")
    return _tree(system, point)


def _kinematics(mech: Any, point: Point) -> Arrays:
    import symbody as sb

    frames = [b.name for b in mech.bodies] + [f"{b.name}.{f}" for b in mech.bodies for f in b.frames]
    return _tree(sb.kinematics(mech, frames, loops=False, preset="none"), point)


def _relative(mech: Any, point: Point) -> Arrays:
    import symbody as sb

    first, last = mech.bodies[0].name, mech.bodies[-1].name
    if first == last:
        return {}
    system = sb.kinematics(mech, last, reference=first, scheme="regressive", loops=False, preset="none")
    other = sb.kinematics(mech, first, reference=last, scheme="progressive", loops=False, preset="none")
    return {**_tree(system, point), **_tree(other, point)}


def _energy(mech: Any, point: Point) -> Arrays:
    import symbody as sb

    return _tree(sb.energy(mech, loops=False, preset="none"), point)


def _reactions(mech: Any, point: Point) -> Arrays:
    import symbody as sb

    names = [j.name for j in mech.joints if j.parent != "world" or j.kind != "fixed"]
    return _tree(sb.reactions(mech, names, loops=False, preset="none"), point)


def _regressor(mech: Any, point: Point) -> Arrays:
    import symbody as sb
    from symbody.mechanics.verbs.identifiable_parameters import parameter_values

    return {**_tree(sb.regressor(mech, preset="none"), point), "pi": parameter_values(mech)}


def _rates(mech: Any, point: Point) -> Arrays:
    """q_dot = N(q) qd."""
    import symbody as sb
    from symbody.mechanics.formalisms.frame_kinematics import kinematic_map
    from symbody.mechanics.formalisms.tree import build_tree
    from symbody.symbolic.expr.arrays import matmul

    tree = build_tree(mech)
    q_dot = matmul(kinematic_map(tree), tree.qd)
    return _tree(sb.System("rates", inputs={"q": tree.q, "qd": tree.qd}, outputs={"q_dot": q_dot}), point)


def _linear(mech: Any, point: Point) -> Arrays:
    import symbody as sb

    if any(j.kind in ("ball", "free") for j in mech.joints):
        return {}
    inputs = {"tau": point.tau[0], "t": TIME}
    model = sb.linearize(mech, q0=point.q[0], qd0=point.qd[0], inputs=inputs, loops="open")
    return {"K": np.asarray(model.K), "B": np.asarray(model.B), "M": np.asarray(model.M), "U": np.asarray(model.U)}


def _closed_by(verb: str, formalism: str, **options: Any) -> Task:
    def task(mech: Any, point: Point) -> Arrays:
        import symbody as sb

        more = {} if formalism == "auto" else {"preset": "none", "partition": _partition(point)}
        found = _closed(getattr(sb, verb)(mech, formalism=formalism, **more, **options), point)
        # multipliers of redundant rows, and which of them are left out, are a choice
        return {n: x for n, x in found.items() if n != "lam"}

    return task


def _augmented(mech: Any, point: Point) -> Arrays:
    import symbody as sb

    system = sb.forward_dynamics(mech, formalism="newton_euler", formulation="augmented", preset="none")
    return {n: x for n, x in _closed(system, point).items() if n != "lam"}


def _closure(mech: Any, point: Point) -> Arrays:
    import symbody as sb

    timed = (
        any(j.mode == "driven" for j in mech.joints) or "t" in sb.closure(mech, _partition(point), preset="none").inputs
    )
    system = sb.closure(mech, _partition(point), preset="none", velocities=not timed)
    return _closed(system, point, q=point.guess)


def _closed_kinematics(mech: Any, point: Point) -> Arrays:
    import symbody as sb

    return _closed(sb.kinematics(mech, preset="none", partition=_partition(point)), point)


def _closed_energy(mech: Any, point: Point) -> Arrays:
    import symbody as sb

    return _closed(sb.energy(mech, preset="none", partition=_partition(point)), point)


def _closed_reactions(mech: Any, point: Point) -> Arrays:
    import symbody as sb

    if not point.lone:
        return {}
    return _closed(sb.reactions(mech, preset="none", partition=_partition(point)), point)


def _projection(mech: Any, point: Point) -> Arrays:
    from symbody.mechanics.verbs.closed_dynamics import projection

    assert point.closed_q is not None
    assert point.guess is not None
    near = point.closed_q + LITTLE / MOVED * (point.guess - point.closed_q)
    return _closed(projection(mech, preset="none"), point, q=near)


def _assembly(mech: Any, point: Point) -> Arrays:
    import symbody as sb

    assert point.guess is not None
    fixed = [j.name for j in mech.joints if j.name in point.increments]
    if len(fixed) < len(point.increments):
        return {}  # parts of joints are free: which closed position is taken is a choice
    return {"q": np.array([sb.assemble(mech, row, time=TIME, fixed=fixed) for row in point.guess])}


def _closed_linear(mech: Any, point: Point) -> Arrays:
    import symbody as sb

    if any(j.kind in ("ball", "free") for j in mech.joints):
        return {}
    assert point.closed_q is not None
    assert point.closed_qd is not None
    inputs = {"tau": point.tau[0], "t": TIME}
    options = {"independent": list(point.increments)} if point.increments else {}
    model = sb.linearize(mech, q0=point.closed_q[0], qd0=point.closed_qd[0], inputs=inputs, **options)
    return {"K": np.asarray(model.K), "B": np.asarray(model.B), "M": np.asarray(model.M), "U": np.asarray(model.U)}


TREE: dict[str, Task] = {
    "inverse newton_euler": _by("inverse_dynamics", "newton_euler"),
    "kinematics": _kinematics,
    "kinematics relative": _relative,
    "energy": _energy,
    "inverse base": _by("inverse_dynamics", "base"),
    "inverse barycentric": _by("inverse_dynamics", "barycentric"),
    "inverse screw": _by("inverse_dynamics", "screw"),
    "semi_explicit newton_euler": _by("semi_explicit", "newton_euler"),
    "forward base": _by("forward_dynamics", "base"),
    "forward order_n": _by("forward_dynamics", "order_n"),
    "inverse runtime": _by("inverse_dynamics", "newton_euler", parameters="runtime"),
    "forward runtime": _by("forward_dynamics", "order_n", parameters="runtime"),
    "wrenches": _wrenches,
    "reactions": _reactions,
    "regressor": _regressor,
    "rates": _rates,
    "linearize": _linear,
    "inverse lagrange": _by("inverse_dynamics", "lagrange"),
}
CLOSED: dict[str, Task] = {
    "closed forward": _closed_by("forward_dynamics", "newton_euler"),
    "closure": _closure,
    "closed inverse": _closed_by("inverse_dynamics", "newton_euler"),
    "closed semi_explicit": _closed_by("semi_explicit", "newton_euler"),
    "augmented": _augmented,
    "closed kinematics": _closed_kinematics,
    "closed energy": _closed_energy,
    "closed reactions": _closed_reactions,
    "projection": _projection,
    "assembly": _assembly,
    "closed linearize": _closed_linear,
}
COSTLY: dict[str, Task] = {
    "inverse auto": _by("inverse_dynamics", "auto", budget=8, finalists=1),
    "semi_explicit auto": _by("semi_explicit", "auto", budget=8, finalists=1),
    "forward auto": _by("forward_dynamics", "auto", budget=8, finalists=1),
}
CLOSED_COSTLY: dict[str, Task] = {"closed forward auto": _closed_by("forward_dynamics", "auto")}
TASKS: dict[str, Task] = {**TREE, **CLOSED, **COSTLY, **CLOSED_COSTLY}


def task_names(mech: Any) -> list[str]:
    """Tasks of a model, the cheap ones first."""
    closed = bool(mech.cuts or mech.couplings)
    names = [*TREE, *(CLOSED if closed else ()), *(CLOSED_COSTLY if closed else COSTLY)]
    return [n for n in names if n != "inverse lagrange" or mech.nv <= 4]


def run_task(name: str, mech: Any, point: Point) -> Arrays:
    return TASKS[name](mech, point)


def differences(old: Arrays, new: Arrays) -> dict[str, float]:
    """Output -> relative change, of outputs that changed by more than EFFECT; inf where a shape or a name differs."""
    out: dict[str, float] = {}
    for name in {**old, **new}:
        if name not in old or name not in new or np.shape(old[name]) != np.shape(new[name]):
            out[name] = float("inf")
            continue
        a, b = np.asarray(old[name]), np.asarray(new[name])
        both = np.isnan(a) & np.isnan(b)
        far = np.where(both, 0.0, np.abs(a - b))
        size = max(float(np.max(np.abs(a), where=np.isfinite(a), initial=0.0)), SMALLEST)
        change = float(np.max(far, initial=0.0)) / size
        if not change <= EFFECT:
            out[name] = change if np.isfinite(change) else float("inf")
    return out
