"""`symbody equations`: the equations of motion of a small model as a textbook prints them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symbody.basics.errors import NameLookupError, word_argument
from symbody.show.cli.common import load_model, print_json
from symbody.show.cli.options import AS_JSON, LOOPS, MODEL
from symbody.show.cli.output_files import check_target

if TYPE_CHECKING:
    from symbody.mechanics.verbs.textbook.textbook_equations import Equations

FORMS = ("text", "latex", "sympy")


def equations(
    model: MODEL,
    form: Annotated[str, typer.Option("--form", metavar="FORM", help="text, latex, or sympy (needs sympy).")] = "text",
    opened: Annotated[bool, typer.Option("--open", help="Leave out the conditions of closed loops, h and J.")] = False,
    longest: Annotated[
        int, typer.Option("--longest", min=100, help="Characters up to which equations are written; more are refused.")
    ] = 12_000,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write them to a file.")] = None,
    loops: LOOPS = None,
    as_json: AS_JSON = False,
) -> None:
    """Write M, C and g of a small model (and d, h, J where there are any) as a textbook does.

    Collected, with sums of angles and named groups of parameters. Those of a large robot are refused.
    """
    from symbody.basics.atomic_file import write_whole
    from symbody.mechanics.verbs.textbook.textbook_equations import equations as library

    word_argument("form", form, FORMS, error=NameLookupError)
    if out is not None:
        check_target(out, "--out")
    found = library(load_model(model, loops), loops=not opened, longest=longest)
    text = written(found, form)
    if out is not None:
        write_whole(out, text + "\n")
    if as_json:
        print_json({**equation_facts(found), "text": text, "files": [str(out)] if out is not None else []})
    else:
        print(text if out is None else f"wrote {out}")


def written(found: Equations, form: str) -> str:
    """The equations in one of the forms."""
    if form == "sympy":
        return "\n\n".join(f"{name} = {matrix}" for name, matrix in found.sympy().items())
    return found.latex() if form == "latex" else found.text()


def equation_facts(found: Equations) -> dict[str, Any]:
    """Entry by entry, ready for JSON."""
    from symbody.mechanics.verbs.textbook.written import write

    return {
        "model": found.mechanism.name,
        "coordinates": list(found.coordinates),
        "gravity": None if found.gravity is None else {"symbol": found.gravity[0], "value": found.gravity[1]},
        "groups": {g.name: write(g.value) for g in found.groups},
        "entries": {
            name: [write(x) for x in array] if array.ndim == 1 else [[write(x) for x in row] for row in array]
            for name, array in found.entries.items()
        },
    }
