"""The table of a run, and its survivors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

GOAL = 0.98  # share of the effective mutants that must be refused


def share(records: list[dict[str, Any]]) -> float:
    """Refused among effective ones; 1 where none has an effect."""
    effective = [r for r in records if is_effective(r)]
    return sum(r["end"] == "refused" for r in effective) / len(effective) if effective else 1.0


def is_effective(record: dict[str, Any]) -> bool:
    return record["end"] in ("refused", "survived")


def table(records: list[dict[str, Any]], title: str, key: Callable[[dict[str, Any]], str]) -> str:
    rows = [f"{title:<14} {'run':>5} {'effective':>10} {'refused':>8} {'survived':>9} {'%':>6}"]
    for name in sorted({key(r) for r in records}):
        mine = [r for r in records if key(r) == name]
        rows.append(_row(name, mine))
    rows.append(_row("all", records))
    return "\n".join(rows)


def _row(name: str, records: list[dict[str, Any]]) -> str:
    effective = sum(map(is_effective, records))
    refused = sum(r["end"] == "refused" for r in records)
    percent = f"{100 * share(records):.1f}" if effective else "-"
    return f"{name:<14} {len(records):>5} {effective:>10} {refused:>8} {effective - refused:>9} {percent:>6}"


def summary(records: list[dict[str, Any]], not_reached: int) -> str:
    """Both tables, what was counted apart, and the survivors."""
    ends = Counter(r["end"] for r in records)
    apart = {
        "no effect": "no output changed",
        "import": "do not import",
        "raises": "raise elsewhere, and change no number",
        "time": "take too long",
        "memory": "take too much memory",
        "died": "end the process",
    }
    lines = [
        table(records, "folder", lambda r: r["file"].split("/")[0]),
        "",
        table(records, "operator", lambda r: r["operator"]),
        "",
    ]
    lines += [f"{ends[k]:>5} {text}" for k, text in apart.items() if ends[k]]
    lines.append(f"{not_reached:>5} not reached by any model, and not run")
    crashed = sum(r["end"] == "refused" and r.get("crashed", False) for r in records)
    if crashed:
        lines.append(f"{crashed:>5} of the refused end verify by an exception that is no sentence")
    survivors = [r for r in records if r["end"] == "survived"]
    if survivors:
        lines += ["", "Survivors"]
    for r in survivors:
        lines += ["", survivor(r)]
    return "\n".join(lines)


def survivor(record: dict[str, Any]) -> str:
    out = [f"{record['name']}  {record['file']}:{record['line']}  {record['operator']}"]
    out += [f"    {line}" for line in record["diff"].splitlines()]
    for model, tasks in record["changed"].items():
        for task, sizes in tasks.items():
            named = ", ".join(f"{n} {x:.1e}" for n, x in sorted(sizes.items(), key=lambda p: -p[1])[:4])
            out.append(f"    {model}, {task}: {named}")
    return "\n".join(out)
