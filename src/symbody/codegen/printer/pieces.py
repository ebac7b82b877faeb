"""Pieces of text that several languages put into their frames: helpers that are called, tables, stubs of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from symbody.codegen.printer.module_layout import EmittedModule
from symbody.codegen.printer.stored_values import stub_terms
from symbody.symbolic.expr.external import External, Piecewise
from symbody.symbolic.expr.function_row import FUNCTIONS


def called_helpers(
    module: EmittedModule, bodies: str, own: Mapping[str, str], finished: Callable[[str], str] = "{}\n".format
) -> str:
    """The helpers that the bodies call, those of the rows of functions before the language's own.

    own: name -> text with {p} for the prefix, braces as they are; finished: what a helper becomes in the file
    """
    p, adapt, column = module.name, module.language.adapt, module.language.functions
    texts, seen = "", bodies
    for row in FUNCTIONS.values():
        text = row.helper_in(column)
        if text and f"{p}_{row.name}(" in bodies:
            texts += finished(adapt(text).format(p=p, m="{m}"))
    seen += texts
    return texts + "".join(finished(adapt(t.replace("{p}", p))) for n, t in own.items() if f"{p}_{n}(" in seen)


def counted_table(index: int, table: Piecewise, x: str, prefix: str) -> str:
    """A call of the table where arrays do not say how long they are, or are not asked."""
    return f"{prefix}table({prefix}x{index}, {prefix}c{index}, {len(table.x) - 1}, {len(table.c)}, {x})"


def called_tables(
    module: EmittedModule, bodies: str, mark: str = "{p}_x{k},"
) -> Iterator[tuple[int, list[float], list[float]]]:
    """(number, break points, coefficients) of the tables that the bodies read; row k holds those of power k."""
    for k, table in enumerate(module.source.tables):
        if mark.format(p=module.name, k=k) in bodies:
            yield k, list(table.x), [c for row in table.c for c in row]


def stub_sums(external: External, argument: str = "x{0}", product: str = "{0}*{1}") -> list[str]:
    """Results of a stub as texts over its arguments."""
    results = []
    for k in range(external.results):
        start, factors = stub_terms(external, k)
        terms = [product.format(argument.format(j), repr(f)) for j, f in enumerate(factors)]
        results.append(" + ".join([repr(start), *terms]))
    return results
