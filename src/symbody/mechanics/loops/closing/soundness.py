"""What must hold where loops are closed: rows closed, pivots and determinants not lost in rounding.

A status is about the whole answer: a program that says "converged" has closed its loops, and has divided by nothing
that is mere rounding of the terms it was made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from symbody.mechanics.assembly.constraints import ConstraintRow, Constraints
from symbody.mechanics.assembly.numeric import usual_unit
from symbody.mechanics.formalisms.tree import Link
from symbody.mechanics.formalisms.vec3 import times
from symbody.mechanics.loops.closing.factors import CLOSED, Factors
from symbody.mechanics.loops.partition.structure import Block
from symbody.mechanics.loops.rows.constraint_rows import cut_frames
from symbody.model.record.coordinates import parts, velocity_labels
from symbody.model.record.mechanism import Cut
from symbody.symbolic.expr.arrays import is_zero, sum_of_products
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.implicit import Condition, check_block
from symbody.symbolic.expr.magnitude import Magnitude
from symbody.symbolic.expr.node import CONST, BlockCheck, Node

OPEN = 1e-9  # rad, or units of length: a row that is farther from 0 is not closed
VANISHING = 1e-7  # of the terms that a pivot or determinant is made of: below, half of the digits are rounding
SQUARED = 1e-12  # the same of pivots of J J^T and J M^-1 J^T: where the rows of J have lost six digits
SLOPE = 1e-6  # of the sizes of its entries: a row that was left out does not follow from the others if its rate is more
BRANCH = (
    "The program is made for another branch of motion, or another way of assembly: make a partition for this one by "
    "sb.partition(mech, q=...), or give a guess nearer to the position that is meant."
)
VELOCITIES = "These joints cannot be solved for here: choose another partition=; or the mechanism is singular here."
MEETING = "Branches of motion meet here, or the mechanism is locked: start from another position."


def bounds(found: Constraints, switches: Iterable[Node] = ()) -> Magnitude:
    """Bounds of expressions of a Tree's coordinates: parts of quaternions are at most 1, and switches.

    Entries of J that belong to cuts are bounded by geometry too: axes are of unit length, and levers at most as long as
    all links together. What a chain of rotations multiplies out to is no measure of them.
    """
    tree, quaternions = found.tree, list(switches)
    for part in parts(tree.mechanism):
        quaternions += [tree.q[k] for k in part.quaternion]
    size = Magnitude(quaternions)
    for cut in tree.mechanism.cuts:
        links = _links_of(found, cut)
        reach, own = _reach(found, cut, links, size), [row for row in found.rows if row.loop == cut.name]
        rates = {k: _rates(links, k, size) for k in dict.fromkeys(k for row in own for k in row.J)}
        for row in own:
            length = tree.node(cut.length) if row.unit == "m^2" else 1
            for k, e in row.J.items():
                turn, slide = rates[k]
                moved = turn if row.unit == "rad" else sum_of_products([(turn, reach), (slide, 1)])
                if isinstance(e, Node) and not is_zero(moved):
                    size.limit(e, times(length, moved))
    return size


def _links_of(found: Constraints, cut: Cut) -> list[Link]:
    """Links between the two frames of a cut."""
    first, second, base = cut_frames(found.tree, cut)
    out = []
    for f in (first, second):
        for k in found.tree.ancestors(f.link):
            if k == base:
                break
            out.append(found.tree.links[k])
    return out


def _rates(links: Sequence[Link], k: int, size: Magnitude) -> tuple[Any, Any]:
    """Bounds of the rates of turn and of slide, 1/s and m/s, that a unit of velocity k gives to all links together."""
    turns, slides = [], []
    for link in links:
        for i, column in enumerate(link.columns):
            for factor in (size(f) for j, f in column if j == k):
                if link.motion.axial:
                    turns += [(factor, 1)] if link.motion.turns else []
                    slides += [(factor, size(link.advance))] if link.motion.slides else []
                else:
                    (slides if link.motion.slide_rates[i] else turns).append((factor, 1))
    return sum_of_products(turns), sum_of_products(slides)


def _reach(found: Constraints, cut: Cut, links: Sequence[Link], size: Magnitude) -> Any:
    """The length of all links between the two frames of a cut, m."""
    lengths = [size(x) for f in cut_frames(found.tree, cut)[:2] for x in f.position]
    for link in links:
        lengths += [size(x) for x in link.offset]
        if link.motion.slides:
            moved = [times(link.q, link.advance)] if link.motion.axial else link.displacement[1]
            lengths += [size(x) for x in moved if not is_zero(x)]
    return sum_of_products((x, 1) for x in lengths)


def sound_rows(rows: Sequence[ConstraintRow], pivots: Sequence[Any], scales: Sequence[Any]) -> list[Condition]:
    """Each pivot of J J^T or J M^-1 J^T, one a row, is more than rounding: its row follows from no others."""
    out = []
    for row, pivot, scale in zip(rows, pivots, scales, strict=True):
        words = f"a pivot vanishes: {row.name} follows from other constraints here, or binds no joint"
        out.append((BlockCheck("above", words), pivot, times(SQUARED, scale)))
    return out


def guard(name: str, conditions: Sequence[Condition], remedy: str) -> Node | None:
    """A block that checks the conditions; those on numbers hold. None without any."""
    varying = [c for c in conditions if isinstance(c[1], Node) and c[1].op is not CONST]
    if not varying:
        return None
    nodes = as_nodes([varying[0][1], *(x for _, *pair in varying for x in pair)])[1:]
    return check_block(name, list(zip((c for c, *_ in varying), nodes[::2], nodes[1::2], strict=True)), remedy)


def closed_rows(found: Constraints, blocks: Sequence[Block]) -> list[Condition]:
    """|h| <= OPEN for each row of blocks that are iterated together, a rod's by its length, lengths in `usual_unit`.

    Not for one block of up to CLOSED rows: there h = -J step to within 1e-16 / VANISHING of itself, since the
    determinant is checked, and the iteration ends where the step is small: 1e-12 (1 + |q|), |q| at most `SPAN`.
    """
    if len(blocks) == 1 and blocks[0].size <= CLOSED:
        return []
    words = f"stays {how_open(found)}"
    own = [found.rows[r] for block in blocks for r in block.rows]
    return [(BlockCheck("below", f"{row.name} {words}"), *gap(found, row)) for row in own]


def same_branch(found: Constraints, left: Sequence[int], rates: Mapping[int, Sequence[Any]]) -> list[Condition]:
    """Rows that were left out are closed, and no motion that the others allow opens them.

    rates: of each row, by the independent velocities.
    """
    size, out = bounds(found), []
    for r in left:
        row = found.rows[r]
        if row.h is not None:
            words = f"{row.name}, which was left out as redundant, stays {how_open(found)}"
            out.append((BlockCheck("below", words), *gap(found, row)))
        words = f"{row.name}, which was left out as redundant, does not follow from the other constraints here"
        limit = times(SLOPE, sum_of_products((size(e), 1) for e in row.J.values()))
        out += [(BlockCheck("below", words), rate, limit) for rate in rates[r]]
    return out


def right_side(found: Constraints, rows: Sequence[int]) -> list[Condition]:
    """Axes that a cut holds together point the same way, not opposite ways."""
    out, by_loop = [], dict[str, list[Node]]()
    for r in rows:
        row = found.rows[r]
        known = by_loop.setdefault(row.loop, [])
        # of three axes that are parallel, two that point the right way take the third with them
        if isinstance(row.side, Node) and row.side not in known and len(known) < 2:
            known.append(row.side)
            words = f"{row.loop} is closed the wrong way round, turned over by half a turn"
            out.append((BlockCheck("below", words), 1 - row.side, 0.5))
    return out


def how_open(found: Constraints) -> str:
    unit = usual_unit(found)
    return (
        f"open by more than {OPEN:g} m or rad" if unit == 1 else f"open by more than {OPEN * unit:g} m or {OPEN:g} rad"
    )


def gap(found: Constraints, row: ConstraintRow) -> tuple[Any, Any]:
    """(h, its limit): OPEN, times the length of a rod, whose h is half the difference of squares."""
    if row.unit != "m^2":
        return row.h, OPEN * usual_unit(found) if row.unit == "m" else OPEN
    length = next(cut.length for cut in found.tree.mechanism.cuts if cut.name == row.loop)
    return row.h, times(OPEN * usual_unit(found), found.tree.node(length))


def sound_factors(found: Constraints, block: Block, factors: Factors) -> list[Condition]:
    """Every pivot and determinant that the solution divides by is more than rounding."""
    names = velocity_labels(found.tree.mechanism)
    loops = ", ".join(repr(x) for x in dict.fromkeys(found.rows[r].loop for r in block.rows))
    words = f"a pivot vanishes: {loops} cannot be solved for {', '.join(names[c] for c in block.columns)} here"
    return [(BlockCheck("above", words), d.value, times(VANISHING, d.scale)) for d in factors.divisors]


def remedy(found: Constraints, rows: Sequence[int], columns: Sequence[int]) -> str:
    """What is said where Newton's iteration of a block ends without a solution."""
    names = velocity_labels(found.tree.mechanism)
    loops = ", ".join(repr(x) for x in dict.fromkeys(found.rows[r].loop for r in rows))
    joints = ", ".join(names[c] for c in columns)
    return (
        f"It closes {loops} by {joints}. Either q is too far from a closed position: give a guess nearer to one; or "
        "these joints cannot be solved for here, as at a dead point: choose another partition=; or the mechanism is "
        "singular here; or a joint has turned so often (1e4 times and more) that rounding of its angle opens the loop: "
        "take whole turns off it."
    )
