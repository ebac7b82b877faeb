"""Rows that are added to the table of motions, and what they must satisfy: checked in numbers before they are taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError
from symbody.model.record.elementary_motions import BUILT_IN, TABLE, Motion, Setting

STEP = 1e-30  # imaginary part of a coordinate: derivatives without cancellation (Squire and Trapp 1998)
WRONG = 1e-9  # relative difference of twist and derivative
STATES = 3


def add_motion(row: Motion) -> Motion:
    """Put a new row into the table, after a check of its sizes and of its twist against its pose."""
    if row.name in TABLE:
        raise DefinitionError(f"there is a motion {row.name!r} already; expected a new name.")
    check_motion(row)
    TABLE[row.name] = row
    return row


def remove_motion(name: str) -> None:
    """Take a row out again that was added; models that use it cannot be used any more."""
    added = [n for n in TABLE if n not in BUILT_IN]
    if name not in added:
        raise DefinitionError(f"motion {name!r} was not added; those that were are {', '.join(added) or 'none'}.")
    del TABLE[name]


def check_motion(row: Motion, frame: str = "") -> None:
    """Refuse a row whose sizes do not fit, or whose twist is not the derivative of its pose (of a body's frame)."""
    name = f"motion {row.name!r}" + (f" of frame {frame!r}" if frame else "")
    for what, wanted in (("words", row.nq),):
        if len(getattr(row, what)) != wanted:
            raise DefinitionError(f"{name} has {len(getattr(row, what))} {what}; expected one a coordinate, {wanted}.")
    if row.plain and row.nq != row.nv:
        raise DefinitionError(
            f"{name} has {row.nq} coordinates and {row.nv} velocities; expected a rate_map, velocities, retracted and "
            "difference, or as many of both."
        )
    missing = [x for x in ("velocities", "retracted", "difference") if not row.plain and getattr(row, x) is None]
    if missing:
        raise DefinitionError(f"{name} has a rate_map; expected {', '.join(missing)} as well.")
    turn, shift = row.pose(np.array(row.neutral), Setting(1, 0.5, frame))
    rest = np.concatenate([np.ravel(np.eye(3) if turn is None else turn) - np.eye(3).ravel(), np.ravel(shift)])
    if np.abs(rest.astype(float)).max() > WRONG:
        raise DefinitionError(
            f"{name} does not put the child frame on the joint frame at its neutral coordinates {row.neutral}; "
            "expected no turn and no shift there."
        )
    rng = np.random.default_rng(0)
    for _ in range(STATES):
        q = np.asarray(row.normalise(rng.uniform(-1, 1, row.nq)), dtype=float)
        at = Setting(int(rng.integers(3)), float(rng.uniform(0.1, 1)), frame)
        _check_at(row, q, at, name)


def _check_at(row: Motion, q: np.ndarray, at: Setting, name: str) -> None:
    given, made = row.twist(q, at), twist_of_pose(row, q, at)
    if len(given) != row.nv:
        raise DefinitionError(f"{name} has a twist of {len(given)} columns; expected one a velocity, {row.nv}.")
    for k, (mine, wanted) in enumerate(zip(given, made)):
        for part, a, b in zip(("angular", "linear"), mine, wanted):
            a = np.asarray(a, dtype=float)
            if a.shape != (3,) or np.abs(a - b).max() > WRONG * (1 + np.abs(b).max()):
                raise DefinitionError(
                    f"{name}: the {part} part of twist {k + 1} is {a.tolist()} at q = {q.tolist()}; its pose moves by "
                    f"{np.round(b, 12).tolist()}, in child axes."
                )
    turn = row.pose(q, at)[0]
    if (turn is not None) != row.turns:
        raise DefinitionError(
            f"{name} has turns={row.turns}; expected a rotation from its pose where it turns, else None."
        )
    if row.plain:
        return
    d = np.random.default_rng(1).uniform(-0.5, 0.5, row.nv)
    back = row.increment(q, row.retract(q, d))
    if np.abs(back - d).max() > WRONG:
        raise DefinitionError(f"{name}: apart gives {back.tolist()} back for the increment {d.tolist()}.")


def twist_of_pose(row: Motion, q: np.ndarray, at: Setting) -> list[tuple[np.ndarray, np.ndarray]]:
    """The twist that each velocity gives, in child axes, by the derivative of the pose along N(q) qd."""
    N = np.asarray(row.map_of_rates(q), dtype=float)
    here = row.pose(q, at)[0]
    R = np.eye(3) if here is None else np.asarray(here, dtype=float)
    out = []
    for k in range(row.nv):
        moved: Any = [complex(x, STEP * dx) for x, dx in zip(q, N[:, k])]
        rotation, position = row.pose(moved, at)
        rate = np.zeros((3, 3)) if rotation is None else np.imag(np.asarray(rotation, dtype=complex)) / STEP
        spin = R.T @ rate
        angular = np.array([spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1]]) / 2
        out.append((angular, R.T @ (np.imag(np.asarray(position, dtype=complex)) / STEP)))
    return out
