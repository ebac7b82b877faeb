"""What is wrong with a record, said before it spoils an estimate: which signal, which joint, what to do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symbody.basics.errors import DataError
from symbody.model.record.mechanism import Joint, Mechanism
from symbody.studies.identification.series import Series

GAP = 5.0  # periods between two samples that make a gap
FAST, SLOW = 1e-5, 0.5  # s between samples of a robot's motion, beyond which the unit of time is suspicious
LOST = 0.5  # share of samples without numbers above which a record is refused
FLAT = 1e-9  # range of a signal, relative to the largest of its kind, below which it is constant
FACTORS = {
    180 / np.pi: "degrees",
    np.pi / 180: "radians where degrees were expected",
    60 / (2 * np.pi): "revolutions a minute",
    1000.0: "thousandths (mm, N mm, mA, ms)",
    1e-3: "thousands (kN m, km)",
}
ALIKE = 0.15  # relative distance from such a factor that makes it suspicious


def check_signals(series: Series) -> Series:
    """The record without samples that hold no numbers, broken where time jumps; the notes say what was found."""
    name = f"{series.source}: " if series.source else ""
    t = series.t
    if not np.all(np.isfinite(t)):
        k = int(np.flatnonzero(~np.isfinite(t))[0])
        raise DataError(f"{name}t of sample {k} is {t[k]}; expected a number. Remove such rows or give t anew.")
    back = np.flatnonzero(np.diff(t) < 0)
    if len(back):
        k = int(back[0]) + 1
        raise DataError(
            f"{name}time goes back at {len(back)} places, first from {t[k - 1]:g} to {t[k]:g} s (sample {k}); expected "
            "ascending instants. Sort the rows, or split the record there."
        )
    notes = []
    keep = np.concatenate([[True], np.diff(t) > 0])
    if not keep.all():
        notes.append(f"{int((~keep).sum())} samples with the instant of the one before were left out")
    lost = np.zeros(len(t), dtype=bool)
    for n, values in series.values.items():
        bad = ~np.isfinite(values)
        for k in np.flatnonzero(bad.any(axis=0)).tolist():
            notes.append(f"{n} of {label_of(series, k)}: {int(bad[:, k].sum())} samples hold no number")
        lost |= bad.any(axis=1)
    if lost.mean() > LOST:
        raise DataError(
            f"{name}{lost.mean():.0%} of the samples hold no number ({'; '.join(notes)}). Leave the signal out, or "
            f"mend "
            "the record."
        )
    if lost.any():
        notes.append(f"{int(lost.sum())} samples were left out, and the record is broken there")
    series = series.rows(keep & ~lost)
    jumps = np.flatnonzero(np.diff(series.t) > GAP * series.period) + 1
    fresh = [int(k) for k in jumps if k not in series.breaks]
    if fresh:
        longest = float(np.max(np.diff(series.t)))
        notes.append(f"time jumps at {len(fresh)} places, by up to {longest:g} s: the record is broken there")
        series = series.replace(breaks=tuple(sorted({*series.breaks, *fresh})))
    if len(series) > 1 and not FAST < series.period < SLOW:
        notes.append(f"samples are {series.period:g} s apart: is t in other units (ms: divide by 1000)?")
    notes += _constant(series)
    notes += _rates(series)
    return series.replace(notes=(*series.notes, *notes))


def label_of(series: Series, k: int) -> str:
    """The name of a component, or its number from 1."""
    return repr(series.labels[k]) if k < len(series.labels) else f"component {k + 1}"


def _constant(series: Series) -> list[str]:
    out = []
    for n in ("q", "tau"):
        if n in series:
            span = np.ptp(series[n], axis=0)
            for k in np.flatnonzero(span <= FLAT * max(float(span.max()), 1e-300)).tolist():
                what = "it does not move" if n == "q" else "the sensor or the column may be the wrong one"
                out.append(f"{n} of {label_of(series, k)} is constant: {what}")
    return out


def _rates(series: Series) -> list[str]:
    """A measured qd beside the slope of q: other units, other joints."""
    if "qd" not in series or "q" not in series or series["q"].shape != series["qd"].shape:
        return []
    pieces = [p for p in series.pieces if p.stop - p.start > 2]
    if not pieces:
        return []
    slope = np.vstack([np.gradient(series["q"][p], series.t[p], axis=0) for p in pieces])
    qd = np.vstack([series["qd"][p] for p in pieces])
    out = []
    slope, qd = slope - slope.mean(axis=0), qd - qd.mean(axis=0)
    size = np.linalg.norm(slope, axis=0)[:, None] * np.linalg.norm(qd, axis=0)
    match = np.abs(slope.T @ qd) / np.maximum(size, 1e-300)
    for k in range(qd.shape[1]):
        best = int(np.argmax(match[k]))
        if best != k and match[k, best] > 0.9 and match[k, k] < 0.5:
            out.append(
                f"qd of {label_of(series, best)} looks like the slope of q of {label_of(series, k)}: columns may be "
                "swapped"
            )
        elif match[k, k] > 0.9:
            ratio = float(slope[:, k] @ qd[:, k] / (slope[:, k] @ slope[:, k]))
            note = suspicious(abs(ratio))
            if note:
                out.append(f"qd of {label_of(series, k)} is {ratio:.4g} times the slope of q: {note}?")
    return out


def suspicious(ratio: float) -> str:
    """What a ratio of measured and expected size may come from; empty where nothing is suspicious."""
    if not np.isfinite(ratio) or ratio <= 0:
        return ""
    for factor, what in FACTORS.items():
        if abs(np.log(ratio / factor)) < ALIKE:
            return what
    return ""


def unit_notes(mech: Mechanism, series: Series) -> list[str]:
    """Coordinates and efforts beside the limits of the joints, which are known from the model."""
    out = []
    for k, joint in _plain(mech):
        if "q" in series and k < series["q"].shape[1]:
            span, q = joint.limits, np.abs(series["q"][:, k]).max()
            limit = max(abs(x) for x in (span.lower or 0.0, span.upper or 0.0))
            turns = joint.kind in ("revolute", "continuous")
            limit = limit or (4 * np.pi if turns else 0.0)
            if limit and q > 3 * limit:
                deg = ", or degrees: divide by 57.2958" if turns and q * np.pi / 180 <= 1.05 * limit else ""
                out.append(f"q of {joint.name!r} reaches {q:.4g}, {q / limit:.3g} times its limit: other units{deg}?")
        if "tau" in series and k < series["tau"].shape[1] and joint.limits.effort:
            tau = np.abs(series["tau"][:, k]).max()
            if tau > 5 * joint.limits.effort:
                out.append(
                    f"tau of {joint.name!r} reaches {tau:.4g}, {tau / joint.limits.effort:.3g} times its limit: other "
                    "units, or the wrong side of a gear?"
                )
    return out


def _plain(mech: Mechanism) -> list[tuple[int, Joint]]:
    """(column, joint) of joints with one coordinate."""
    return [(s.iv, s.joint) for s in mech.slots if s.joint is not None and s.nv == 1 and s.nq == 1]


def scale_notes(measured: np.ndarray, expected: np.ndarray, labels: Sequence[str]) -> list[str]:
    """Efforts beside those of the model as it is: a scale that looks like a unit is said. Both (N, n)."""
    out = []
    for k, label in enumerate(labels):
        x, y = expected[:, k], measured[:, k]
        if np.ptp(x) == 0 or np.ptp(y) == 0:
            continue
        ratio = float(np.std(y) / np.std(x))
        note = suspicious(ratio)
        if note:
            out.append(f"tau of {label!r} is {ratio:.3g} times as large as the model as it is would give: {note}?")
    return out


def best_assignment(rows: Sequence[np.ndarray], measured: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(order, share): which measured column fits each row of the model best, and the share of it that stays
    unexplained.

    rows      (N, p) columns of the regressor in the row of each joint
    measured  (N, n) efforts
    """
    from scipy.optimize import linear_sum_assignment

    n = measured.shape[1]
    share = np.ones((n, n))
    size = np.maximum(np.linalg.norm(measured, axis=0), 1e-300)
    for i, y in enumerate(rows):
        used = y[:, np.linalg.norm(y, axis=0) > 0]
        if used.shape[1] == 0:
            continue
        u, s, _ = np.linalg.svd(used / np.linalg.norm(used, axis=0), full_matrices=False)
        u = u[:, s > 1e-8 * s[0]]
        rest = measured - u @ (u.T @ measured)
        share[i] = np.linalg.norm(rest, axis=0) / size
    return linear_sum_assignment(share)[1], share


def swap_notes(rows: Sequence[np.ndarray], measured: np.ndarray, labels: Sequence[str]) -> list[str]:
    """A sentence where other columns of the record fit the joints clearly better than those under their names."""
    order, share = best_assignment(rows, measured)
    moved = [i for i in range(len(order)) if order[i] != i]
    now = sum(share[i, i] ** 2 for i in moved)
    then = sum(share[i, order[i]] ** 2 for i in moved)
    if not moved or then > 0.25 * now:
        return []
    pairs = ", ".join(f"{labels[i]!r} <- column of {labels[order[i]]!r}" for i in moved)
    return [
        f"joints may be swapped: with {pairs} the efforts fit better (unexplained share "
        f"{np.sqrt(then / len(moved)):.2g} "
        f"instead of {np.sqrt(now / len(moved)):.2g})"
    ]
