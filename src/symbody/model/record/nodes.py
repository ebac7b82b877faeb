"""A description with other Nodes in place of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from symbody.symbolic.expr.node import Node


def with_nodes(value: Any, change: Callable[[Node], Node]) -> Any:
    """A value whose Nodes are changed, alone or inside arrays, sequences, mappings and records."""
    if isinstance(value, Node):
        return change(value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        out = np.empty(value.shape, dtype=object)
        for k, x in enumerate(value.flat):
            out.flat[k] = with_nodes(x, change)
        return out
    if value.__class__ in (tuple, list):
        return value.__class__(with_nodes(x, change) for x in value)
    if isinstance(value, Mapping):
        return {k: with_nodes(x, change) for k, x in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: with_nodes(getattr(value, f.name), change) for f in fields(value) if f.init}
        same = all(x is getattr(value, name) for name, x in changed.items())
        return value if same else replace(value, **changed)
    return value
