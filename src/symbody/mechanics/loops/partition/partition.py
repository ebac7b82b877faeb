"""Partition of the coordinates of closed loops into independent ones, q_u, and dependent ones, q_v.

J_v must be square, regular and well conditioned; how much code the reduced equations need depends on the choice as well
(robotran 3.12, 4.6). Four ways: from structure (heuristic), from numbers (pivoting), by hand, or automatically: the
cheapest choice by predicted operations among those that are well conditioned at sampled closed configurations.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, NameLookupError, nearest, word_argument
from symbody.mechanics.assembly.assembly import closed_samples
from symbody.mechanics.assembly.constraints import Constraints, Turned
from symbody.mechanics.assembly.numeric import Numeric
from symbody.mechanics.assembly.redundancy import independent_set, regular_samples, scaled
from symbody.mechanics.loops.closing.elimination import Elimination, elimination
from symbody.mechanics.loops.closing.factors import CLOSED, TAIL, Spare
from symbody.mechanics.loops.partition.branches import Branch, branch_of, redundancy_text
from symbody.mechanics.loops.partition.explorer import Explorer
from symbody.mechanics.loops.partition.heuristic import sparse_choice
from symbody.mechanics.loops.partition.partition_search import PartitionProblem, kinds_of, mass_pattern, ranked_choices
from symbody.mechanics.loops.partition.pivoting import numeric_choice
from symbody.mechanics.loops.partition.predicted import predicted_cost
from symbody.mechanics.loops.partition.structure import Block, block_triangular, match, unmatched
from symbody.model.record.coordinates import part_of, sliding, velocity_labels, velocity_owners, with_mode

METHODS = ("auto", "heuristic", "pivoting")
CONDITION = 1e3  # of J_v, scaled, at the worst sample: above it another choice is preferred
SAMPLES = 12


@dataclass(frozen=True, eq=False)
class Partition:
    """Which velocities are independent, and how the dependent ones follow.

    independent   velocity indices q_u: those that are chosen, driven ones, and those that no constraint contains
    dependent     velocity indices q_v, ascending
    blocks        diagonal blocks in the order of solution; rows index `Constraints.rows`, columns are velocity indices
    pivots        block number -> (row, column) places inside the block in the order of elimination. Those chosen from
                  samples serve blocks above size 3, but for their last two unknowns: these, and smaller blocks, are
                  solved by formulas that divide by a determinant alone
    spare         block number -> for each of its pivots the rows that may take its place at run time, where no static
                  pivot is safe in every position; the largest entry is taken, of equals that of the lowest row
    given         numbers of the blocks whose order was given by hand: all their pivots are eliminated, however small
                  the block. What these leave, up to size 3, is solved by a formula
    redundant     rows that were left out
    open          rows of switched loops that are regarded as open
    position      blocks that find coordinates: rows with an h alone. Same as `blocks` unless there are constraints on
                  velocities only; then the coordinates of dependent velocities that are not in them are states.
                  position_pivots, position_spare: as `pivots` and `spare`
    condition     at the worst regular sample, scaled: largest singular value of J by the smallest of J_v; or nan
    least         the same at the best sample
    explanation   sentences: why this choice
    names         of all constraints, and of all velocities
    turned        rows that are closed turned over by half a turn on its branch: what `Constraints.facing` takes
    """

    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    blocks: tuple[Block, ...]
    pivots: dict[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    redundant: tuple[int, ...] = ()
    open: tuple[int, ...] = ()
    position: tuple[Block, ...] = ()
    position_pivots: dict[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    condition: float = float("nan")
    explanation: str = ""
    least: float = float("nan")
    given: frozenset[int] = frozenset()
    names: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    spare: dict[int, Spare] = field(default_factory=dict)
    position_spare: dict[int, Spare] = field(default_factory=dict)
    turned: Turned = ()

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """Rows that are solved, in the order of the blocks."""
        return tuple(r for b in self.blocks for r in b.rows)

    @property
    def row_order(self) -> tuple[str, ...]:
        """Constraints by name in the order of solution, block by block."""
        return tuple(self.names[0][r] for r in self.rows)

    @property
    def column_order(self) -> tuple[str, ...]:
        """Dependent velocities by name in the order of solution, block by block."""
        return tuple(self.names[1][c] for b in self.blocks for c in b.columns)

    @property
    def pivot_order(self) -> tuple[tuple[str, str], ...]:
        """(constraint, velocity) of each pivot in the order of elimination; none of blocks that formulas solve."""
        out = []
        for k, block in enumerate(self.blocks):
            order = self.pivots.get(k, ())
            if k not in self.given:
                order = order[: block.size - TAIL] if block.size > CLOSED else ()
            out += [(self.names[0][block.rows[r]], self.names[1][block.columns[c]]) for r, c in order]
        return tuple(out)


def choose_partition(
    found: Constraints,
    method: str | Sequence[str] = "auto",
    samples: Any = None,
    parameters: Mapping[str, float] | None = None,
    q: Any = None,
    seed: int = 0,
    condition: float = CONDITION,
    closed: Collection[str] = (),
    rank: int | None = None,
    time: float = 0.0,
    branch: Branch | None = None,
    rows: Sequence[int] | None = None,
) -> Partition:
    """A Partition by "auto", "heuristic", "pivoting", or with the independent joints given by name.

    Of a joint with several velocities "joint.2" is the second one, "joint" stands for all. It holds on the branch of
    the position q, or of the assembled one.
    samples: (k, nq) closed configurations; by default some are found around the guess q, and with () structure alone
    decides. condition: what "auto" accepts. closed: switched loops that are closed. rank: number of independent
    constraints on the branch of the samples, where it is known. branch: that of q, where it is known. rows: those that
    are kept, `rank` of them, where they are known.
    """
    _check_method(found, method, closed)
    asked = _Request(samples, parameters, q, seed, condition, closed, rank, time, branch, rows)
    problem, numbers, redundant, words, explorer, turned = _prepared(found, asked)
    dependent = _dependent(found, problem, method, words)
    return _made(found, problem, numbers, redundant, dependent, words, explorer, turned)


def partition_candidates(
    found: Constraints,
    count: int,
    samples: Any = None,
    parameters: Mapping[str, float] | None = None,
    seed: int = 0,
    condition: float = CONDITION,
    q: Any = None,
    time: float = 0.0,
    branch: Branch | None = None,
) -> tuple[Partition, ...]:
    """The automatic Partition, then others whose programs are worth counting.

    Up to `count` in all of the least predicted costs, and the choice by structure if it keeps to the condition.
    """
    asked = _Request(samples, parameters, q, seed, condition, (), None, time, branch)
    problem, numbers, redundant, words, explorer, turned = _prepared(found, asked)
    ranked, text = ranked_choices(problem, count)
    barred = [i for i in range(problem.pattern.shape[1]) if i not in problem.candidates]
    structural = sparse_choice(problem.pattern, barred)
    if -1 not in structural and condition_of(problem.numbers, structural) <= condition:
        ranked.append(structural)
    distinct = dict.fromkeys(tuple(sorted(c)) for c in ranked)
    return tuple(_made(found, problem, numbers, redundant, [*c], [*words, text], explorer, turned) for c in distinct)


@dataclass(frozen=True, eq=False)
class _Request:
    """What a choice is made from: the arguments of `choose_partition`."""

    samples: Any
    parameters: Mapping[str, float] | None
    q: Any
    seed: int
    condition: float
    closed: Collection[str]
    rank: int | None
    time: float
    branch: Branch | None
    rows: Sequence[int] | None = None


def _prepared(
    found: Constraints, asked: _Request
) -> tuple[PartitionProblem, np.ndarray, list[int], list[str], Explorer | None, Turned]:
    """(PartitionProblem, J (k, m, nv) at regular samples, redundant rows, what there is to say, where to look on,
    rows that are turned over)."""
    shut = [i for i, r in enumerate(found.rows) if r.switch is None or r.loop in asked.closed]
    words: list[str] = []
    numbers, branch, explorer, turned = _sampled(found, asked, shut, words)
    even = scaled(numbers, sliding(found.tree.mechanism))
    if not len(numbers) or not shut:
        redundant: list[int] = []
    elif branch is None:
        assert asked.rank is not None
        kept = set(asked.rows or [shut[i] for i in independent_set(even[:, shut], min(asked.rank, len(shut)))])
        redundant = [i for i in shut if i not in kept]
        words += [redundancy_text(found, redundant)] if redundant else []
    else:
        redundant = list(branch.redundant)
        words += branch.notes
    rows = [i for i in shut if i not in redundant]
    regular = regular_samples(even[:, rows])
    if not regular.all() and (regular.any() or branch is None):
        # there no choice of columns is better than another
        words.append(f"{int((~regular).sum())} of {len(regular)} samples are singular configurations, left aside.")
        even, numbers = even[regular], numbers[regular]
    elif branch is not None and not regular.any():
        numbers = Numeric(found, asked.parameters, asked.time).J(branch.positions[:SAMPLES])
        even = scaled(numbers, sliding(found.tree.mechanism))
        regular = regular_samples(even[:, rows])
        even, numbers = even[regular], numbers[regular]
    return _problem(found, rows, even[:, rows], asked.condition), numbers, redundant, words, explorer, turned


def _made(
    found: Constraints,
    problem: PartitionProblem,
    numbers: np.ndarray,
    redundant: list[int],
    dependent: list[int],
    words: list[str],
    explorer: Explorer | None,
    turned: Turned,
) -> Partition:
    blocks = _blocks(found, problem, dependent)
    order = _pivots(found, blocks, numbers, explorer)
    position = _position(found, problem, blocks)
    taken = {c for b in blocks for c in b.columns}
    independent = tuple(i for i in range(len(found.tree.qd)) if i not in taken)
    conditions = conditions_of(problem.numbers, dependent) if len(numbers) else np.array([np.nan])
    worst = float(conditions.max())
    kept = {*problem.rows, *redundant}
    located = order if position is blocks else _pivots(found, position, numbers, explorer)
    return Partition(
        independent,
        tuple(sorted(dependent)),
        blocks,
        {k: e.pivots for k, e in order.items()},
        tuple(redundant),
        tuple(i for i in range(len(found.rows)) if i not in kept),
        position,
        {k: e.pivots for k, e in located.items()},
        worst,
        " ".join([*words, _summary(found, problem, independent, blocks, worst)]),
        least=float(conditions.min()),
        names=(found.names, velocity_labels(found.tree.mechanism)),
        spare={k: e.spare for k, e in order.items() if any(e.spare)},
        position_spare={k: e.spare for k, e in located.items() if any(e.spare)},
        turned=turned,
    )


def condition_of(J: np.ndarray, dependent: Sequence[int]) -> float:
    """The largest of `conditions_of`."""
    return float(conditions_of(J, dependent).max())


def conditions_of(J: np.ndarray, dependent: Sequence[int]) -> np.ndarray:
    """(k,) largest singular values of scaled J (k, m, n) by the smallest of its dependent columns."""
    if not J.size:
        return np.ones(1)
    whole, part = (np.linalg.svd(x, compute_uv=False) for x in (J, J[:, :, list(dependent)]))
    with np.errstate(divide="ignore"):
        out: np.ndarray = whole[:, 0] / part[:, -1]
    return out


# -- steps of the choice


def _check_method(found: Constraints, method: Any, closed: Collection[str]) -> None:
    if isinstance(method, str):
        word_argument("partition", method, METHODS, also=", or a list of the independent joints", error=ModelError)
    switched = {r.loop for r in found.rows if r.switch is not None}
    for name in closed:
        if name not in switched:
            raise NameLookupError(f"{name!r} is no switched loop. {nearest(name, switched)}")


def _sampled(
    found: Constraints, asked: _Request, shut: Sequence[int], words: list[str]
) -> tuple[np.ndarray, Branch | None, Explorer | None, Turned]:
    """((k, m, nv) numbers of J at closed configurations, their Branch, what finds others, rows that are turned over);
    k = 0 if there are none.

    There is no Branch if the rank is known.
    """
    none = np.zeros((0, len(found.rows), len(found.tree.qd)))
    samples = asked.samples
    if samples is not None and len(samples) == 0:
        words.append("Structure alone decided: no samples were asked for.")
        return none, None, None, ()
    try:
        numeric = Numeric(found, asked.parameters, asked.time)
    except ModelError as error:
        words.append(f"Structure alone decided: {error}")
        return none, None, None, ()
    branch, start = asked.branch, asked.q if samples is None else np.atleast_2d(np.asarray(samples, dtype=float))[0]
    if branch is None and (asked.rank is None or samples is None):
        branch = branch_of(found, start, asked.parameters, asked.closed, asked.seed, asked.time, others=samples is None)
    if branch is None:  # samples are known
        turned = Numeric(found.select(shut), asked.parameters, asked.time).turned(start)
    else:
        turned = branch.turned
    found = found.facing(turned)
    if samples is None and branch is not None:
        if asked.q is None and not branch.singular:
            samples = closed_samples(found, SAMPLES, None, asked.parameters, asked.seed, asked.time)
        else:  # positions about one that was given may lie on other branches
            samples = branch.positions[:: max(1, len(branch.positions) // SAMPLES)][:SAMPLES]
    positions = np.atleast_2d(np.asarray(samples, dtype=float))
    explorer = Explorer(found, positions, shut, asked.parameters, asked.time)
    return numeric.J(positions), branch, explorer, turned


def _problem(found: Constraints, rows: list[int], numbers: np.ndarray, condition: float) -> PartitionProblem:
    mechanism = found.tree.mechanism
    pattern = found.pattern[rows]
    barred = with_mode(mechanism, "driven")
    candidates = [i for i in range(pattern.shape[1]) if i not in barred and pattern[:, i].any()]
    short = unmatched(pattern[:, candidates])
    if short:
        names = ", ".join(found.rows[rows[i]].name for i in short)
        raise ModelError(
            f"{mechanism.name} has more constraints than joints that could satisfy them: nothing is left for {names}. "
            "Free driven joints, or remove constraints."
        )
    return PartitionProblem(
        rows,
        candidates,
        pattern,
        kinds_of(found, rows),
        mass_pattern(found.tree),
        numbers,
        condition,
        frozenset(i for i, part in part_of(mechanism).items() if not part.motion.plain),
        tuple(k for k, i in enumerate(rows) if found.rows[i].h is None),
        frozenset(with_mode(mechanism, "actuated")),
    )


def _dependent(found: Constraints, p: PartitionProblem, method: str | Sequence[str], words: list[str]) -> list[int]:
    if not isinstance(method, str):
        words.append("The independent joints were given.")
        return _given(found, p, method)
    if method == "auto":
        ranked, text = ranked_choices(p)
        words.append(text)
        return sorted(ranked[0])
    if method == "pivoting":
        if not len(p.numbers):
            raise ModelError(
                "partition='pivoting' needs closed configurations, and there are none: give parameters their defaults."
            )
        words.append("The best conditioned columns of J at the samples are dependent (QR with pivoting).")
        return sorted(p.candidates[k] for k in numeric_choice(p.numbers[:, :, p.candidates]))
    words.append("The sparsest choice by the pattern of J (robotran 3.12).")
    barred = [i for i in range(p.pattern.shape[1]) if i not in p.candidates]
    return sorted(sparse_choice(p.pattern, barred))


def _given(found: Constraints, p: PartitionProblem, joints: Sequence[str]) -> list[int]:
    """Dependent velocities: all that constraints contain but those of the joints named."""
    names = velocity_labels(found.tree.mechanism)
    wholes: dict[str, list[int]] = {}
    for i, joint in enumerate(velocity_owners(found.tree.mechanism)):
        wholes.setdefault(joint, []).append(i)
        wholes.setdefault(names[i], [i])
    free: set[int] = set()
    for joint in joints:
        if joint not in wholes:
            raise NameLookupError(f"the partition names {joint!r}, which is no joint. {nearest(str(joint), wholes)}")
        free.update(wholes[joint])
    out = [i for i in p.candidates if i not in free]
    if len(out) != len(p.rows):
        wanted, listed = len(p.candidates) - len(p.rows), [names[i] for i in p.candidates if i in free]
        raise ModelError(
            f"the partition names {len(listed)} of the joints in loops ({', '.join(listed) or 'none'}); {wanted} of "
            f"them are independent. Choose {wanted} of {', '.join(names[i] for i in p.candidates)}."
        )
    return out


def _blocks(found: Constraints, p: PartitionProblem, dependent: list[int]) -> tuple[Block, ...]:
    pattern = p.pattern[:, dependent]
    short = unmatched(pattern)
    if short:
        names = velocity_labels(found.tree.mechanism)
        rows = ", ".join(found.rows[p.rows[i]].name for i in short)
        raise ModelError(
            f"the constraints {rows} cannot be solved for the dependent joints "
            f"{', '.join(names[i] for i in dependent)}: J_v is singular by structure. Choose other independent joints."
        )
    return tuple(
        Block(tuple(p.rows[r] for r in b.rows), tuple(dependent[c] for c in b.columns), b.after)
        for b in block_triangular(pattern)
    )


def _position(found: Constraints, p: PartitionProblem, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Blocks of the rows with an h, for as many of the dependent coordinates; the others are known at that time."""
    if not p.velocity_rows:
        return blocks
    dependent = sorted(c for b in blocks for c in b.columns)
    rows = [k for k in range(len(p.rows)) if k not in p.velocity_rows]
    if len(p.numbers):
        columns = [dependent[k] for k in numeric_choice(p.numbers[:, rows][:, :, dependent])]
    else:
        columns = sorted(dependent[k] for k in match(p.pattern[np.ix_(rows, dependent)]) if k >= 0)
    return tuple(
        Block(tuple(p.rows[rows[r]] for r in b.rows), tuple(columns[c] for c in b.columns), b.after)
        for b in block_triangular(p.pattern[np.ix_(rows, columns)])
    )


def _pivots(
    found: Constraints, blocks: Sequence[Block], numbers: np.ndarray, explorer: Explorer | None
) -> dict[int, Elimination]:
    """Orders of elimination for least fill with pivots of good size in every position that is found."""
    out: dict[int, Elimination] = {}
    for k, block in enumerate(blocks):
        if block.size > 1:
            entries = [[found.rows[r].J.get(c, 0) for c in block.columns] for r in block.rows]
            chosen = elimination(np.array(entries, dtype=object), block, numbers, explorer)
            if chosen is not None:  # else whoever factors the block chooses again
                out[k] = chosen
    return out


def _summary(
    found: Constraints, p: PartitionProblem, independent: Sequence[int], blocks: Sequence[Block], worst: float
) -> str:
    names = velocity_labels(found.tree.mechanism)
    chosen = [names[i] for i in independent if i in p.candidates]
    sizes = ", ".join(str(b.size) for b in blocks) or "none"
    cost = predicted_cost(_full_rows(p, len(found.rows)), p.mass, list(independent), blocks)
    text = f"Independent in loops: {', '.join(chosen) or 'none'}; blocks of size {sizes}; predicted {cost.total} "
    text += f"operations (blocks {cost.blocks}, coupling {cost.coupling}, reduction {cost.reduction})"
    return text + ("." if np.isnan(worst) else f"; condition of J_v {worst:.3g} at the worst sample.")


def _full_rows(p: PartitionProblem, m: int) -> np.ndarray:
    """Kinds of entries by the row numbers of all constraints."""
    out = np.zeros((m, p.kinds.shape[1]), dtype=int)
    out[p.rows] = p.kinds
    return out
