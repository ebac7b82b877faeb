"""A Trajectory in a few lines for people, and as facts for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.show.cli.common import advice, counted

if TYPE_CHECKING:
    from symbody.motion.trajectory.trajectory import Trajectory

ROWS = 12  # components of one quantity that are shown
EVENTS = 20
QUIET = ("qdd", "tau")  # recorded always; shown only if they were asked for


def trajectory_facts(traj: Trajectory, files: list[str]) -> dict[str, Any]:
    """How a run ended, its first and last values, events and statistics."""
    from symbody.motion.trajectory.columns import columns, component_labels, component_units

    quantities: dict[str, Any] = {}
    for column in columns(traj):
        name = column.quantity
        entry = quantities.setdefault(
            name,
            {
                "labels": component_labels(traj, name),
                "units": component_units(traj, name),
                "start": [],
                "end": [],
            },
        )
        place: Any = (..., *column.index)
        values = np.asarray(traj.values[name])[place]
        entry["start"].append(float(values[0]) if len(values) else None)
        entry["end"].append(float(values[-1]) if len(values) else None)
    start, end = (float(traj.t[0]), float(traj.t[-1])) if len(traj.t) else (None, None)
    seconds = float(traj.statistics.get("seconds", 0.0))
    covered = 0.0 if start is None or end is None else end - start
    return {
        "model": traj.model,
        "method": traj.method,
        "outcome": {"code": traj.outcome.name, "complete": traj.outcome.ok, "text": traj.outcome.value},
        "start": start,
        "end": end,
        "samples": len(traj.t),
        "statistics": dict(traj.statistics),
        "speed": covered / seconds if seconds > 0 else None,
        "energy": energy_drift(traj),
        "quantities": quantities,
        "events": [{"t": e.t, "name": e.name, "text": e.text} for e in traj.events],
        "notes": list(traj.notes),
        "files": files,
    }


def energy_drift(traj: Trajectory) -> dict[str, float | None] | None:
    """Total energy at the start and the end and its largest change, J; None where energies were not recorded.

    swing: the largest range of kinetic or potential energy, J, and the change relative to it; None where not known.
    """
    recorded = {
        n: np.asarray(traj.values[n], dtype=float) for n in ("energy", "kinetic", "potential") if n in traj.values
    }
    if "energy" not in recorded and len(recorded) < 2:
        return None
    energy = recorded["energy"] if "energy" in recorded else recorded["kinetic"] + recorded["potential"]
    if not energy.size:
        return None
    change = float(np.abs(energy - energy[0]).max())
    part = next((recorded[n] for n in ("kinetic", "potential") if n in recorded), None)
    swing = None if part is None else float(max(np.ptp(part), np.ptp(energy - part)))
    return {
        "start": float(energy[0]),
        "end": float(energy[-1]),
        "change": change,
        "swing": swing,
        "relative": change / swing if swing else None,
    }


def trajectory_text(facts: dict[str, Any], asked: list[str]) -> str:
    """The facts as text for people. asked: quantities whose values are shown besides coordinates and velocities."""
    lines = [f"{facts['model']}: {advice(facts['outcome']['text'])}"]
    lines += [f"note: {note}" for note in facts["notes"]]
    lines.append(_how(facts))
    lines += _table(facts, asked)
    lines += _events(facts["events"])
    energy = facts["energy"]
    if energy is not None:
        lines.append(
            f"energy: {energy['start']:.6g} J at the start, {energy['end']:.6g} J at the end, "
            f"largest change {energy['change']:.2g} J{_relative(energy)}"
        )
    lines += [f"wrote {path}" for path in facts["files"]]
    return "\n".join(lines)


def _relative(energy: dict[str, Any]) -> str:
    if energy["relative"] is None:
        return ""
    return f", {energy['relative']:.2g} of the {energy['swing']:.3g} J that kinetic or potential energy range over"


def _how(facts: dict[str, Any]) -> str:
    statistics = facts["statistics"]
    words = [facts["method"], counted(int(statistics.get("steps", 0)), "step")]
    if statistics.get("rejected"):
        words[-1] += f" ({int(statistics['rejected'])} rejected)"
    words.append(f"{statistics.get('seconds', 0.0):.3g} s of computing")
    if facts["speed"]:
        words.append(f"{facts['speed']:.3g} times as fast as the motion")
    return ", ".join(words)


def _table(facts: dict[str, Any], asked: list[str]) -> list[str]:
    shown = {n: q for n, q in facts["quantities"].items() if n not in QUIET or n in asked}
    rows: list[tuple[str, str, str, str]] = []
    for name, q in shown.items():
        entries = list(zip(q["labels"], q["units"], q["start"], q["end"]))
        most = len(entries) if len(entries) <= ROWS + 4 else ROWS
        for label, unit, first, last in entries[:most]:
            rows.append((f"{name}.{label}" if label else name, unit, _number(first), _number(last)))
        if len(entries) > most:
            rows.append((f"{name}: {len(entries) - most} more", "", "", ""))
    if not rows or facts["start"] is None:
        return ["nothing was recorded"]
    heads = ("", "unit", f"t = {facts['start']:.6g} s", f"t = {facts['end']:.6g} s")
    rows.insert(0, heads)
    a, b, c, d = (max(len(r[k]) for r in rows) for k in range(4))
    lines = [f"{name:<{a}}  {unit:<{b}}  {first:>{c}}  {last:>{d}}".rstrip() for name, unit, first, last in rows]
    return ["", *lines, ""]


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value + 0.0:.6g}"  # + 0.0: no minus before zero


def _events(events: list[dict[str, Any]]) -> list[str]:
    lines = [f"event at t = {e['t']:.6g} s: {e['name']}{': ' * bool(e['text'])}{e['text']}" for e in events[:EVENTS]]
    if len(events) > EVENTS:
        lines.append(f"and {len(events) - EVENTS} more events")
    return lines
