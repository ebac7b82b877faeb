"""`symbody count`: operations of a model's equations, by quantity and formalism, and how they grow with its size."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from symbody.cli.common import AS_JSON, OPTIONAL_MODEL, QUANTITIES, generate, print_json, quantity, sentences
from symbody.errors import NameLookupError, nearest
from symbody.lower.count import Counts
from symbody.verbs.dynamics import FORMALISMS


@sentences
def count(
    model: OPTIONAL_MODEL = "",
    quantities: Annotated[
        list[str] | None, typer.Option("--quantity", "-q", help="inverse, semi_explicit or forward; may be repeated.")
    ] = None,
    formalisms: Annotated[
        list[str] | None, typer.Option("--formalism", "-f", help="auto, newton_euler, base, ...; may be repeated.")
    ] = None,
    growth: Annotated[
        bool,
        typer.Option("--growth", help="Fit a N - b for N general revolute joints, beside published ones."),
    ] = False,
    as_json: AS_JSON = False,
) -> None:
    """Count the operations of a model's equations: multiplications, additions and divisions of every call."""
    if growth:
        _growth(as_json)
        return
    if not model:
        raise typer.BadParameter("give a model, or --growth.", param_hint="MODEL")
    from symbody.lower.optimize import count_system
    from symbody.model.load import load

    wanted = list(quantities or QUANTITIES)
    for name in wanted:
        quantity(name)
    chosen = list(formalisms or ("newton_euler", "base", "auto"))
    for name in chosen:
        if name not in FORMALISMS:
            raise NameLookupError(f"unknown formalism {name!r}. {nearest(name, FORMALISMS)}")
    mechanism = load(model)
    rows = []
    for q in wanted:
        for f in chosen:
            rows.append({"quantity": q, "formalism": f, **_row(count_system(generate(mechanism, q, f)))})
    if as_json:
        print_json({"model": mechanism.name, "counts": rows})
        return
    print(f"{mechanism.name}: operations of one call (setup runs once per set of parameters)\n")
    heads = (("mul", 6), ("add", 6), ("div", 5), ("total", 7), ("trig", 5), ("other", 5), ("setup", 6))
    print(f"{'quantity':<14} {'formalism':<13} " + " ".join(f"{h:>{w}}" for h, w in heads))
    for r in rows:
        print(f"{r['quantity']:<14} {r['formalism']:<13} " + " ".join(f"{r[h]:>{w}}" for h, w in heads))


def _row(counts: Counts) -> dict[str, int]:
    names = ("mul", "add", "div", "total", "trig", "other", "setup")
    return {n: int(getattr(counts, n)) for n in names}


# inverse dynamics of N revolute joints, (mul, add) as a N - b (MEDUSA, Table 4.2; Khalil and Kleinfinger 1987)
PUBLISHED = {
    "Hollerbach 1980, Lagrange 3x3": ((412, 277), (320, 201)),
    "Luh, Walker, Paul 1980": ((150, 48), (131, 48)),
    "Dombre, Khalil 1988": ((148, 47), (101, 33)),
    "Hamlili 1992": ((114, 85), (88, 72)),
    "Khalil, Kleinfinger 1987": ((92, 127), (81, 117)),
}


def _growth(as_json: bool) -> None:
    from symbody.verbs.growth import fit_growth

    fits: dict[str, Any] = {name: fit_growth(name) for name in ("newton_euler", "base")}
    if as_json:
        print_json({"published": PUBLISHED, "symbody": fits})
        return
    print("inverse dynamics of N general revolute joints: multiplications, additions, and both for N = 6\n")
    for label, (m, a) in PUBLISHED.items():
        _print_growth(label, m, a)
    for name, fit in fits.items():
        _print_growth(f"symbody, {name}", fit["mul"], fit["add"], "" if fit["exact"] else "  (fit not exact)")


def _print_growth(label: str, m: tuple[int, int], a: tuple[int, int], remark: str = "") -> None:
    print(f"{label:<34} {_formula(*m):>12} {_formula(*a):>12} {6 * m[0] - m[1]:>6} / {6 * a[0] - a[1]}{remark}")


def _formula(a: int, b: int) -> str:
    return f"{a}N - {b}" if b >= 0 else f"{a}N + {-b}"
