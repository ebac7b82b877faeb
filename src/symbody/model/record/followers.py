"""Parameters whose default is an expression of others: they follow these, unless they are given themselves."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from symbody.basics.memory import memory_of
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.nodes import with_nodes
from symbody.model.record.numbers import numbers_of
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols, substitute


def completed(mechanism: Mechanism, given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given for parameters, and the numbers of those that follow it; batches (b,) give batches.

    Values that are no numbers are left to those who check them.
    """
    out = dict(given)
    for name, node in mechanism.followers.items() if given else ():
        leaders = {s.data.name for s in free_symbols([node])} & set(out)
        if name not in out and leaders:
            with suppress(TypeError, ValueError):
                numbers = {n: np.asarray(out[n], dtype=float) for n in leaders}
                found = numbers_of(node, {n: a if a.ndim else float(a) for n, a in numbers.items()})
                if found is not None:
                    out[name] = found if found.ndim else float(found)
    return out


def following(mechanism: Mechanism, kept: Collection[str]) -> Mechanism:
    """The Mechanism in which parameters that follow others are written by these; those in `kept` stay symbols.

    For derivatives, which need what depends on a parameter as it is written.
    """
    written = [name for name in mechanism.followers if name not in kept]
    if not written:
        return mechanism

    def make() -> Mechanism:
        known, table = mechanism.parameters, dict[Node, Any]()
        for name in mechanism.followers:  # leaders stand before those that follow them
            node = substitute([mechanism.followers[name]], table)[0]
            if name in written and name in known:
                table[known[name]] = node

        def change(node: Node) -> Node:
            made: Node = substitute([node], table)[0]
            return made

        names = ("bodies", "joints", "gravity", "cuts", "couplings", "forces", "keyframes")
        changes = {name: with_nodes(getattr(mechanism, name), change) for name in names}
        rest = {n: change(node) for n, node in mechanism.followers.items() if n not in written}
        return replace(mechanism, **changes, followers=rest)

    made: Mechanism = memory_of(mechanism).get("following", frozenset(written), make)
    return made
