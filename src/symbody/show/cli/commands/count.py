"""`symbody count`: operations of a model's equations, by quantity and formalism, and how they grow with its size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from symbody.basics.errors import ModelError
from symbody.show.cli import options
from symbody.show.cli.common import (
    QUANTITIES,
    budget_choice,
    check_formalism,
    generate,
    load_model,
    print_json,
    quantity,
)
from symbody.show.cli.options import AS_JSON, BUDGET, LOOPS, OPTIONAL_MODEL, PARTITION
from symbody.show.cli.working import search_line

if TYPE_CHECKING:
    from symbody.model.record.mechanism import Mechanism
    from symbody.symbolic.lower.count import Counts


NAMES = ("mul", "add", "div", "total", "trig", "other", "setup", "checks")


def count(
    model: OPTIONAL_MODEL = "",
    quantities: options.QUANTITIES = None,
    formalisms: options.FORMALISMS = None,
    growth: Annotated[
        bool,
        typer.Option("--growth", help="Fit a N - b for N general revolute joints, beside published ones."),
    ] = False,
    loops: LOOPS = None,
    partition: PARTITION = None,
    budget: BUDGET = "quick",
    as_json: AS_JSON = False,
) -> None:
    """Count the operations of a model's equations: multiplications, additions and divisions of every call."""
    if growth:
        _growth(as_json)
        return
    if not model:
        raise typer.BadParameter("give a model, or --growth.", param_hint="MODEL")
    wanted = list(dict.fromkeys(quantities or QUANTITIES))
    for name in wanted:
        quantity(name)
    chosen = list(dict.fromkeys(formalisms or ("newton_euler", "base", "auto")))
    for name in chosen:
        check_formalism(name)
    from symbody.show.cli.assignments import partition_choice

    mechanism = load_model(model, loops)
    independent = partition_choice(mechanism, partition) or "auto"
    rows, refused = _rows(mechanism, wanted, chosen, independent, budget_choice(budget))
    if not rows:
        raise ModelError("\n".join(dict.fromkeys(r["reason"] for r in refused)))
    reduced = _reduction(mechanism, independent)
    if as_json:
        print_json({"model": mechanism.name, "counts": rows, "refused": refused, "reduction": reduced})
        return
    about = "setup runs once per set of parameters, checks serve the status alone"
    print(f"{mechanism.name}: operations of one call ({about})\n")
    heads = tuple(zip(NAMES, (6, 6, 5, 7, 5, 5, 6, 6)))
    iterated = any(r["blocks"] for r in rows)
    chosen_ones = any("digits_lost" in r for r in rows)
    more = "  an iteration of its loops" if iterated else ""
    lost = f" {'digits lost':>12}" if chosen_ones else ""
    print(f"{'quantity':<14} {'formalism':<13} " + " ".join(f"{h:>{w}}" for h, w in heads) + lost + more)
    for r in rows:
        sums = "".join(f"{' +' if k else '  '} {b['total']}" for k, b in enumerate(r["blocks"]))
        lost = f" {r.get('digits_lost', ''):>12}" if chosen_ones else ""
        line = f"{r['quantity']:<14} {r['formalism']:<13} " + " ".join(f"{r[h]:>{w}}" for h, w in heads) + lost + sums
        print(line.rstrip())
    if chosen_ones:
        print("\nDigits lost against Newton-Euler: log10 of the largest difference, relative to terms, over 2.2e-16.")
    for r in rows:
        if "note" in r:
            print(f"\nnote on {r['quantity']} by {r['formalism']}: {r['note']}")
    if iterated:
        print("\nLoops are closed by iteration, block by block; each iteration of a block adds the last columns.")
    if reduced:
        print(
            f"The reduction of M and c to the independent velocities ({reduced['independent']} of "
            f"{reduced['independent'] + reduced['dependent']} in all) alone: {reduced['operations']} operations, "
            f"{reduced['dense']} with full matrices."
        )
    for r in refused:
        print(f"\nnot counted: {r['quantity']} by {r['formalism']}: {r['reason']}")


def _reduction(mechanism: Mechanism, partition: Any) -> dict[str, int] | None:
    """What the reduction to independent velocities costs; None for trees, and where loops open and close."""
    from symbody.mechanics.verbs.smallest.reduction_cost import reduction
    from symbody.mechanics.verbs.system_of_tree import has_loops

    if not has_loops(mechanism) or any(cut.switched for cut in mechanism.cuts):
        return None
    found = reduction(mechanism, partition)
    return {
        "independent": found.independent,
        "dependent": found.dependent,
        "operations": found.operations,
        "dense": found.dense,
    }


Rows = list[dict[str, Any]]


def _rows(
    mechanism: Mechanism, wanted: list[str], chosen: list[str], partition: Any, budget: str | int
) -> tuple[Rows, Rows]:
    """Counts by quantity and formalism, and those that do not apply with the reason."""
    from symbody.symbolic.lower.optimize import count_system
    from symbody.symbolic.system.system import DIGITS_LOST, NOTE

    rows: Rows = []
    refused: Rows = []
    for q in wanted:
        for f in chosen:
            try:
                with search_line() as tell:
                    system = generate(mechanism, q, f, partition, budget, tell)
                counts = count_system(system)
            except ModelError as error:
                refused.append({"quantity": q, "formalism": f, "reason": str(error)})
                continue
            blocks = [_row(block) for block in counts.blocks]
            row = {"quantity": q, "formalism": f, **_row(counts), "blocks": blocks}
            if DIGITS_LOST in system.origins:
                row["digits_lost"] = float(system.origins[DIGITS_LOST])
            if NOTE in system.origins:
                row["note"] = system.origins[NOTE]
            rows.append(row)
    return rows, refused


def _row(counts: Counts) -> dict[str, int]:
    return {n: int(getattr(counts, n)) for n in NAMES}


def _growth(as_json: bool) -> None:
    from symbody.mechanics.verbs.smallest.growth import PUBLISHED, fit_growth, formula

    fits: dict[str, Any] = {name: fit_growth(name) for name in ("newton_euler", "base")}
    if as_json:
        rows = {
            p.name: {"formalism": p.formalism, "mul": formula(p.mul), "add": formula(p.add), "six": p.at(6)}
            | ({} if p.printed is None else {"printed": p.printed})
            for p in PUBLISHED
        }
        print_json({"published": rows, "symbody": fits})
        return
    table = []
    for p in PUBLISHED:
        remark = "" if p.printed is None else f"  (printed for N = 6: {p.printed[0]} / {p.printed[1]})"
        table.append((p.name, p.formalism, formula(p.mul), formula(p.add), p.at(6), remark))
    for name, fit in fits.items():
        (am, bm), (aa, ba) = fit["mul"], fit["add"]
        remark = "" if fit["exact"] else "  (fit not exact)"
        table.append(("symbody", name, formula((am, -bm)), formula((aa, -ba)), (6 * am - bm, 6 * aa - ba), remark))
    print("inverse dynamics of N general revolute joints: multiplications, additions, and both for N = 6\n")
    widths = [max(len(row[k]) for row in table) for k in range(4)]
    for who, how, mul, add, (m, a), remark in table:
        method = f"{who:<{widths[0]}}  {how:<{widths[1]}}"
        print(f"{method}  {mul:>{widths[2]}}  {add:>{widths[3]}}  {m:>6} / {a:<6}{remark}".rstrip())
