"""Loops of measured or exported data, which close but for small gaps: the Mechanism with loops that close exactly.

CAD programs write positions and angles with seven digits or so. A loop whose equations are independent closes all the
same, by turning its joints a little. One with redundant equations (a planar four-bar that is welded to itself in
space) does not: what the joints cannot take up stays open. Then

1. frames of cuts that do not coincide at an assembled position are moved onto each other, by the tolerance at most;
2. equations that follow from the others to within the tolerance are left out, so that the others can hold exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from symbody.basics.errors import ModelError, SolveError, wrong_argument
from symbody.mechanics.assembly.assembly import close, closed_samples, free_velocities
from symbody.mechanics.assembly.constraints import ConstraintRow, Constraints
from symbody.mechanics.assembly.numeric import Numeric
from symbody.mechanics.assembly.redundancy import SAMPLED, redundant_rows
from symbody.mechanics.formalisms.frames import Frame, frame
from symbody.mechanics.formalisms.tree import Tree, build_tree
from symbody.mechanics.formalisms.vec3 import axis_vector
from symbody.mechanics.loops.rows.chains import direction, point
from symbody.mechanics.loops.rows.constraint_rows import CLOSED, constraints, cut_frames
from symbody.mechanics.loops.rows.coupling_rows import coupling_rows
from symbody.mechanics.loops.rows.cut_rows import XYZ, cut_rows
from symbody.mechanics.loops.rows.structural_zeros import without_zeros
from symbody.model.record.coordinates import sliding
from symbody.model.record.mechanism import WORLD, Body, Cut, Mechanism, Placement
from symbody.model.record.numbers import frozen_array
from symbody.model.record.snapping import snapped
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols

LARGEST = 1e-3  # m and rad: a larger gap is no rounding of data
SAMPLES = 10
ROUNDED = 30  # times the tolerance, over a length: a relative singular value of J that counts as rounding of the data
EXACT = 1e-12  # m and rad: closed


def close_gaps(mechanism: Mechanism, tolerance: float = 1e-6) -> Mechanism:
    """The Mechanism whose loops close exactly where they close to the tolerance (m and rad); notes say what changed.

    It is the same record where all loops close already. SolveError: a loop stays open by more than the tolerance.
    """
    if not isinstance(tolerance, (int, float)) or not 0 < tolerance <= LARGEST:
        raise wrong_argument("tolerance", tolerance, f"m and rad, above 0 and {LARGEST:g} at most", error=ModelError)
    if not mechanism.cuts:
        return mechanism
    rows = _Rows.of(mechanism)
    rows.check(tolerance)
    samples = closed_samples(rows.moving, SAMPLES, tolerance=tolerance)
    numeric, free = Numeric(rows.moving), free_velocities(mechanism)
    exact = all(close(numeric, q, free).closed for q in samples)
    if exact and all(abs(gap) < CLOSED for gap in rows.constant.values()):
        return mechanism
    moved = _moved(mechanism, samples[0])
    return moved if exact else _without_redundant(moved, samples, tolerance)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of all cuts and couplings that joints can change, and the gaps of those that none can."""

    moving: Constraints
    constant: dict[str, float]
    units: dict[str, str]

    @staticmethod
    def of(mechanism: Mechanism) -> _Rows:
        tree = build_tree(mechanism)
        rows = [
            r for cut in mechanism.cuts for r in without_zeros(tree, list(cut_rows(tree, cut, *cut_frames(tree, cut))))
        ]
        rows += [r for coupling in mechanism.couplings for r in coupling_rows(tree, coupling)]
        still = [r for r in rows if not r.J and r.h is not None]
        gaps = {r.name: _numbers(tree, [r.h])[0] for r in still}
        return _Rows(Constraints(tuple(r for r in rows if r.J), tree), gaps, {r.name: r.unit for r in still})

    def check(self, tolerance: float) -> None:
        for name, gap in self.constant.items():
            if abs(gap) > tolerance:
                raise _too_open(self.moving.tree.mechanism, name, gap, self.units[name], tolerance)


def _too_open(mechanism: Mechanism, row: str, gap: float, unit: str, tolerance: float) -> SolveError:
    origin = next((c.origin for c in mechanism.cuts if row.startswith(f"{c.name}.")), "")
    where = f"{origin}: " if origin else ""
    return SolveError(
        f"{where}{mechanism.name} does not close to the tolerance {tolerance:g}: {row} stays open by {abs(gap):.3g} "
        f"{unit}. Correct the points and axes of the loop, or give a larger tolerance."
    )


def _numbers(tree: Tree, nodes: Sequence[object], q: np.ndarray | None = None) -> list[float]:
    """Values of nodes at q, with parameters at their defaults and at time 0."""
    table: dict[Node, float] = {} if q is None else dict(zip(tree.q, map(float, q), strict=True))
    real = [n for n in nodes if isinstance(n, Node)]
    for s in free_symbols(real):
        if s not in table:
            if s.data.role != "time" and s.data.default is None:
                raise ModelError(
                    f"parameter {s.data.name!r} of {tree.mechanism.name} has no value, so that gaps are not known. "
                    "Give it a default."
                )
            table[s] = 0.0 if s.data.role == "time" else s.data.default
    found = iter(evaluate(real, table) if real else [])
    return [float(next(found)) if isinstance(n, Node) else float(n) for n in nodes]  # type: ignore[arg-type]


# -- frames that coincide


def _moved(mechanism: Mechanism, q: np.ndarray) -> Mechanism:
    """Cut frames moved onto each other where they do not coincide at q."""
    tree = build_tree(mechanism)
    bodies = dict(mechanism.body_of)
    cuts, notes = [], []
    for cut in mechanism.cuts:
        side = 0 if cut.second[0] == WORLD else 1
        found = None if cut.kind == "rod" else _gap(tree, cut, q, side)
        if found is None:
            cuts.append(cut)
            continue
        body = bodies[(cut.first, cut.second)[side][0]]
        name = f"{cut.name}_closed".replace(".", "_")
        while name in body.frames:
            name += "_"
        bodies[body.name] = replace(body, frames={**body.frames, name: _placed(mechanism, body, cut, side, found)})
        end = (body.name, name)
        cuts.append(replace(cut, second=end) if side else replace(cut, first=end))
        shift, turn = found.shift, found.turn
        notes.append(
            f"{cut.origin or cut.name}: loop {cut.name!r} was closed by moving its frame on {body.name!r} by "
            f"{np.linalg.norm(shift):.3g} m and {np.linalg.norm(turn - np.eye(3)) / np.sqrt(2):.3g} rad"
        )
    return mechanism.replace(bodies=tuple(bodies.values()), cuts=tuple(cuts), notes=(*mechanism.notes, *notes))


@dataclass(frozen=True, eq=False)
class _Gap:
    """What moves a frame onto its partner, in the axes of its body: shift (3,) m, and turn (3, 3)."""

    shift: np.ndarray
    turn: np.ndarray


def _gap(tree: Tree, cut: Cut, q: np.ndarray, side: int) -> _Gap | None:
    """Gap at one of the frames of a cut, in the directions that the cut closes; None where they are closed exactly."""
    first, second, base = cut_frames(tree, cut)
    here, there = (second, first) if side else (first, second)

    def turned(f: Frame) -> np.ndarray:
        axes = [direction(tree, f, base, axis_vector(k, 1)).value for k in range(3)]
        return np.array(_numbers(tree, [x for a in axes for x in a], q)).reshape(3, 3).T

    def placed(f: Frame) -> np.ndarray:
        return np.array(_numbers(tree, list(point(tree, f, base, False).value), q))

    own = turned(frame(tree, (cut.first, cut.second)[side][0]))
    moves, turns = _closed_directions(cut)
    axes = turned(first)
    gap = axes @ (axes.T @ (placed(there) - placed(here)) * moves)
    small = axes.T @ turned(second)  # the second frame in the axes of the first: a small turn in what is closed
    angles = np.array([small[2, 1] - small[1, 2], small[0, 2] - small[2, 0], small[1, 0] - small[0, 1]]) / 2 * turns
    if max(np.abs(gap).max(), np.abs(angles).max()) < EXACT:
        return None
    back = axes @ _turn(-angles if side else angles) @ axes.T  # in the axes of the ancestor
    return _Gap(own.T @ gap, own.T @ back @ own)


def _turn(w: np.ndarray) -> np.ndarray:
    """(3, 3) rotation by the vector w."""
    from scipy.spatial.transform import Rotation

    out: np.ndarray = Rotation.from_rotvec(w).as_matrix()
    return out


def _closed_directions(cut: Cut) -> tuple[np.ndarray, np.ndarray]:
    """(3,) and (3,) of 0 and 1: along and about which axes of the first frame a cut closes."""
    rows = _rows_of(cut)
    if rows is None:  # universal: its one turn is no axis of the first frame
        return np.ones(3), np.zeros(3)
    return np.array([float(k in rows) for k in range(3)]), np.array([float(k + 3 in rows) for k in range(3)])


def _rows_of(cut: Cut) -> tuple[int, ...] | None:
    """The rows (x, y, z, rx, ry, rz by number) that a cut has as one of kind "rows"; None where it is no such."""
    along = [k for k in range(3) if XYZ[k] != cut.axis]
    turns = {
        "solid": (0, 1, 2, 3, 4, 5),
        "ball": (0, 1, 2),
        "revolute": (0, 1, 2, *(3 + k for k in along)),
        "prismatic": (*along, 3, 4, 5),
        "cylindrical": (*along, *(3 + k for k in along)),
        "rows": tuple(sorted(cut.rows)),
    }
    return turns.get(cut.kind)


def _placed(mechanism: Mechanism, body: Body, cut: Cut, side: int, gap: _Gap) -> Placement:
    """The frame of a cut on a body, moved by a gap; its position keeps its parameters."""
    graph, name = mechanism.graph, (cut.first, cut.second)[side][1]
    old = body.frames.get(name)
    position = [graph.zero] * 3 if old is None else list(old.position)
    turn = np.eye(3)
    if old is not None:
        turn = np.array([float(x) for x in evaluate(list(old.rotation.flat), {})]).reshape(3, 3)
    rotation = snapped(gap.turn @ turn, EXACT)
    shifted = [p + float(d) if abs(d) > 0 else p for p, d in zip(position, gap.shift, strict=True)]
    return Placement(
        frozen_array([graph.number(float(x)) for x in rotation.flat], 3, 3),
        frozen_array([graph.zero + x for x in shifted], 3),
    )


# -- equations that follow from others


def _without_redundant(mechanism: Mechanism, samples: np.ndarray, tolerance: float) -> Mechanism:
    """Cuts without the rows that the others imply to within the tolerance."""
    tree = build_tree(mechanism)
    rows, owners = _single_rows(tree, mechanism.cuts)
    candidates = Constraints(tuple(rows), tree)
    numeric = Numeric(candidates)
    length = numeric.length()
    # in units of a length, but no row by its own size: one that rounding alone has made is small
    J = numeric.J(samples) * np.where(sliding(mechanism), length, 1.0)
    J /= np.array([length if row.unit == "m" else length**2 if row.unit == "m^2" else 1.0 for row in rows])[:, None]
    lost = redundant_rows(J, max(SAMPLED, ROUNDED * tolerance / min(1.0, length)))
    if not lost:
        return mechanism
    made = mechanism.replace(cuts=tuple(_shorter(mechanism.cuts, owners, lost)))
    exact = closed_samples(constraints(build_tree(made)), SAMPLES, samples[0])
    gaps = np.abs(numeric.h(exact)).max(axis=0)
    worst = int(np.argmax(gaps))
    if gaps[worst] > tolerance:
        raise _too_open(mechanism, rows[worst].name, float(gaps[worst]), rows[worst].unit, tolerance)
    notes = []
    for cut in mechanism.cuts:
        own = [k for k in lost if owners[k][0] == cut.name]
        if own:
            names = ", ".join(rows[k].name for k in own)
            notes.append(
                f"{cut.origin or cut.name}: {names} of loop {cut.name!r} follow from its other equations to "
                f"{gaps[own].max():.2g} and were left out"
            )
    return made.replace(notes=(*made.notes, *notes))


def _single_rows(tree: Tree, cuts: Iterable[Cut]) -> tuple[list[ConstraintRow], list[tuple[str, int]]]:
    """Each equation of each cut by itself, along and about the axes of its first frame; (cut, number) of each."""
    rows: list[ConstraintRow] = []
    owners: list[tuple[str, int]] = []
    for cut in cuts:
        places, single = cut_frames(tree, cut), _rows_of(cut)
        if single is None:
            found = list(cut_rows(tree, cut, *places))
            rows += found
            owners += [(cut.name, -1)] * len(found)
            continue
        for k in single:
            rows += cut_rows(tree, replace(cut, kind="rows", rows=(k,)), *places)
            owners.append((cut.name, k))
    return rows, owners


def _shorter(cuts: Sequence[Cut], owners: Sequence[tuple[str, int]], lost: Sequence[int]) -> list[Cut]:
    gone: Mapping[str, set[int]] = {cut.name: {owners[k][1] for k in lost if owners[k][0] == cut.name} for cut in cuts}
    out = []
    for cut in cuts:
        if not gone[cut.name]:
            out.append(cut)
        elif -1 in gone[cut.name]:
            raise SolveError(
                f"{cut.origin or cut.name}: loop {cut.name!r} of kind {cut.kind} follows from others but for a gap. "
                "Take it away, or correct its points."
            )
        else:
            left = tuple(k for k in _rows_of(cut) or () if k not in gone[cut.name])
            if left:
                out.append(replace(cut, kind="rows", rows=left))
    return out
