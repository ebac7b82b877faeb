"""Chains of passes by name, and `optimize`, which runs one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from symbody.expr.node import Node
from symbody.rewrite.expand import expand_where_cheaper
from symbody.rewrite.factor import factor
from symbody.rewrite.flatten import flatten
from symbody.rewrite.pairs import share_pairs
from symbody.rewrite.parameters import group_parameters
from symbody.rewrite.runner import Pass, Report, run
from symbody.rewrite.search import search
from symbody.rewrite.share import share_powers
from symbody.rewrite.trigonometry import simplify_trigonometry

FLATTEN = Pass("flatten", "merge nested sums and products", flatten)
PARAMETERS = Pass("parameters", "group parameters", group_parameters)
FACTOR = Pass("factor", "take out common factors", factor)
PAIRS = Pass("pairs", "share common pairs of terms and factors", share_pairs)

TRIGONOMETRY = Pass("trigonometry", "use trigonometric identities", simplify_trigonometry)
POWERS = Pass("powers", "share powers", share_powers)
EXPAND = Pass("expand", "expand and open where that is cheaper", expand_where_cheaper)
SEARCH = Pass("search", "random search", lambda net: search(net, 2000))

PRESETS: dict[str, tuple[Pass, ...]] = {
    "none": (),
    "standard": (FLATTEN, PARAMETERS, TRIGONOMETRY, FLATTEN, FACTOR, FLATTEN, PARAMETERS, PAIRS),
    "expand": (FLATTEN, PARAMETERS, TRIGONOMETRY, FLATTEN, FACTOR, FLATTEN, PARAMETERS, PAIRS, EXPAND),
    "full": (FLATTEN, PARAMETERS, TRIGONOMETRY, FLATTEN, FACTOR, FLATTEN, PARAMETERS, PAIRS, EXPAND, SEARCH),
}


def optimize(roots: Iterable[Node], preset: str = "standard", **options: Any) -> tuple[list[Node], Report]:
    return run(roots, PRESETS[preset], rounds=3 if preset=='standard' else 1)
