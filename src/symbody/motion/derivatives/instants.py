"""Where on a tape the instants are at which quantities are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symbody.basics.errors import DefinitionError
from symbody.motion.derivatives.tape import Piece, Steps, Tape
from symbody.motion.derivatives.ticks import Tick


@dataclass(frozen=True, eq=False)
class PieceInstant:
    """After `step` steps of a piece, and a part of the next one of length `inside` (s); piece -1: the start."""

    piece: int
    step: int
    t: float
    inside: float = 0.0


def end_of(tape: Tape) -> PieceInstant:
    """Where a run ends."""
    last = len(tape.pieces) - 1
    end = tape.pieces[last] if tape.pieces else None
    return PieceInstant(last, end.count if isinstance(end, Steps) else 0, tape.t_end)


def nodes_at(tape: Tape, instants: Sequence[float]) -> list[PieceInstant]:
    """Places of instants (s) on the tape: at ends of steps, and between them where a tolerance chose the steps."""
    out = []
    for t in instants:
        found = _node(tape, float(t))
        if found is None:
            raise DefinitionError(
                f"quantities are asked for at t = {t:.12g} s, between two steps or inside of a passage through a "
                f"singular position; expected instants at which a step ends, up to {tape.t_end:g} s."
            )
        out.append(found)
    return out


def _node(tape: Tape, t: float) -> PieceInstant | None:
    start, chosen = tape.plan.settings.start, tape.plan.settings.step is None
    if abs(t - start) <= 1e-9 * max(1.0, abs(start)):
        return _ticked(tape, PieceInstant(-1, 0, start))
    for k, piece in enumerate(tape.pieces):
        if isinstance(piece, Steps) and piece.t < t <= piece.t_end + 1e-9 * piece.h:
            step = round((t - piece.t) / piece.h)
            if abs(piece.t + step * piece.h - t) <= 1e-6 * piece.h and 0 < step <= piece.count:
                return _ticked(tape, PieceInstant(k, step, t))
            if chosen and piece.count == 1 and t < piece.t_end:
                return PieceInstant(k, 0, t, t - piece.t)
    return None


def _ticked(tape: Tape, node: PieceInstant) -> PieceInstant:
    """At an instant of ticks, values are those from then on."""
    pieces, k = tape.pieces, node.piece
    end = pieces[k] if k >= 0 else None
    if isinstance(end, Steps) and node.step < end.count:
        return node
    while k + 1 < len(pieces) and isinstance(pieces[k + 1], Tick):
        k += 1
    return node if k == node.piece else PieceInstant(k, 0, node.t)


def during(tape: Tape, node: PieceInstant) -> Piece | None:
    """The piece whose signals are those at a node: what is held there is held from then on."""
    pieces, k = tape.pieces, node.piece
    own = pieces[k] if k >= 0 else None
    if isinstance(own, Steps) and node.step < own.count:
        return own
    following = pieces[k + 1] if k + 1 < len(pieces) else None
    return following if isinstance(following, Steps) or own is None else own
