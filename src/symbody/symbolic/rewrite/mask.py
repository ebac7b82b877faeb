"""Staged naming (medusa 3.10): components get names that rewriting does not look into, to be opened stage by stage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.functions import alias
from symbody.symbolic.expr.node import ALIAS, CONST, Node
from symbody.symbolic.expr.walk import topological, transform


def mask(value: Any, name: str, stage: int | None = None) -> Any:
    """Replace every component of an array (or a single node) by a name: A12, or A_1_12 where a size exceeds 9.

    0, 1 and -1 stay as they are, so that products with them keep simplifying. A stage counts one more than the deepest
    one below it, unless it is given.
    """
    if value.__class__ is Node:
        return _masked([value], [name], stage)[0]
    array = np.asarray(value, dtype=object)
    nodes = as_nodes(list(array.ravel()))
    short = all(size < 10 for size in array.shape)
    names = []
    for index in np.ndindex(array.shape):
        places = [str(i + 1) for i in index]
        names.append(name + "".join(places) if short else "_".join([name, *places]))
    out = np.empty(array.shape, dtype=object)
    for index, node in zip(np.ndindex(array.shape), _masked(nodes, names, stage), strict=True):
        out[index] = node
    return out


def _masked(nodes: list[Node], names: list[str], stage: int | None) -> list[Node]:
    if stage is None:
        stage = 1 + max((n.data.stage for n in topological(nodes) if n.op is ALIAS), default=0)
    return [node if _is_unit(node) else alias(node, name, stage) for node, name in zip(nodes, names, strict=True)]


def _is_unit(node: Node) -> bool:
    return node.op is CONST and node.data in (0, 1, -1)


def unmask(nodes: Any, depth: int | None = None) -> Any:
    """Put definitions in the place of names. depth=1 opens the latest stage only, 2 the two latest ones, None all."""
    single = nodes.__class__ is Node
    array = np.asarray([nodes] if single else nodes, dtype=object)
    roots = as_nodes(list(array.ravel()))
    stages = sorted({n.data.stage for n in topological(roots) if n.op is ALIAS}, reverse=True)
    opened = set(stages if depth is None else stages[:depth])
    new = transform(roots, lambda node, args: args[0] if node.op is ALIAS and node.data.stage in opened else None)
    if single:
        return new[0]
    out = np.empty(array.shape, dtype=object)
    for index, node in zip(np.ndindex(array.shape), new, strict=True):
        out[index] = node
    return out


def definitions(nodes: Iterable[Any]) -> list[tuple[str, Node]]:
    """(name, definition) of every name below the nodes, in the order of computation."""
    roots = as_nodes(list(np.asarray(nodes, dtype=object).ravel()))
    return [(n.data.name, n.args[0]) for n in topological(roots) if n.op is ALIAS]
