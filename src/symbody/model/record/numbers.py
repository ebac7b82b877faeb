"""Numbers of a model: integers, floats, expressions of parameters and `auto`, as Nodes of one Graph."""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from symbody.basics.errors import ExpressionError, SymbodyError
from symbody.model.record.origin import fault, shown
from symbody.model.record.units import Dimensions, check_dimension, quantities, si_text
from symbody.symbolic.expr.evaluate import Evaluation, evaluate
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.infix_text import to_text
from symbody.symbolic.expr.node import CONST, Node
from symbody.symbolic.expr.parse import parse
from symbody.symbolic.expr.walk import free_symbols, topological

AUTO = "auto"
LONGEST_EXPRESSION = 10_000  # characters of one expression in a model
MOST = 4 * LONGEST_EXPRESSION  # with names in place of its numbers with units
CONSTANTS: dict[str, Any] = {"deg": math.pi / 180, "pi": math.pi}  # 90*deg is a right angle


# not copied for every expression: a model may have thousands of names, in dictionaries that stand one over another
Names = MutableMapping[str, Any]


@dataclass
class Checked:
    """Expressions that were read: those above them, such as definitions of definitions, need no second look at them."""

    finite: set[Node] = field(default_factory=set)
    dimensions: tuple[Dimensions, Dimensions] = field(default_factory=lambda: ({}, {}))  # the second: `exact`


def to_node(
    value: Any,
    graph: Graph,
    names: Names,
    what: str = "a number",
    origin: str = "",
    unit: str = "",
    checked: Checked | None = None,
) -> Node:
    """A number, expression text or Node as a Node of `graph`.

    The floats 0.0, 1.0 and -1.0 become exact: they are structure. In a text, numbers may have units (400*mm). unit: of
    the quantity, where it is known; an expression whose parameters say that it is something else is refused.
    checked: what was read before over the same names.
    """
    checked = Checked() if checked is None else checked
    if isinstance(value, Node):
        if value.graph is not graph:
            raise fault(origin, f"{what} is an expression of another Graph; make its symbols with Builder.parameter.")
        node = value
        problem = check_dimension(node, unit, what, shown_node(node), made=checked.dimensions[0]) if unit else ""
        if problem:
            raise fault(origin, problem)
    elif isinstance(value, str):
        node = _read(value, graph, names, what, origin, unit, checked)
    elif isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, Fraction, np.integer, np.floating)):
        raise fault(origin, f"{what} is {shown(value)}; expected a number or an expression.")
    else:
        node = graph.number(plain(value))
    if node.op is CONST:
        if isinstance(node.data, bool) or not math.isfinite(as_float(node.data, what, origin)):
            raise fault(origin, f"{what} is {shown(value)}; expected a finite number.")
        node = graph.number(plain(node.data))
    return node


def shown_node(node: Node) -> str:
    """An expression in a sentence, shortened."""
    return to_text(node, 60)


def _read(text: str, graph: Graph, names: Names, what: str, origin: str, unit: str, checked: Checked) -> Node:
    bare, found = quantities(text, names, short=bool(unit)) if len(text) <= LONGEST_EXPRESSION else (text, {})
    known = ChainMap(names, CONSTANTS)
    try:
        node = parse(bare, known.new_child({n: v for n, (v, _) in found.items()}), graph, strict=True, limit=MOST)
        meant = node
        if found:  # the same with units in place of numbers
            units = {n: graph.symbol(n, "parameter", scope="units", unit=si_text(p)) for n, (_, p) in found.items()}
            meant = parse(bare, known.new_child(units), graph, strict=True, limit=MOST)
    except SymbodyError as error:
        # the caret lines of the parser make no sense inside one sentence
        sentence = str(error).split("\n")[0]
        raise fault(origin, f"{what} is {shown(text)}: {sentence}") from None
    except (ArithmeticError, ValueError) as error:
        raise fault(origin, f"{what} is {shown(text)}, which has no value: {error}.") from None
    exact = bool(found)
    problem = check_dimension(meant, unit, what, shown(text), exact, checked.dimensions[exact])
    if problem:
        raise fault(origin, problem)
    for part in topological([node], checked.finite.__contains__):
        if part.op is CONST and not math.isfinite(as_float(part.data, what, origin)):
            raise fault(origin, f"{what} is {shown(text)}, which contains {part}; expected finite numbers.")
        checked.finite.add(part)
    return node


def as_float(value: Any, what: str, origin: str) -> float:
    """A constant as a float; an integer or Fraction beyond the floats is refused."""
    try:
        return float(value)
    except OverflowError:
        raise fault(origin, f"{what} is too large for a float; they end at 1.8e308.") from None


def plain(value: Any) -> int | float | Fraction:
    """A Python number; the floats 0, 1 and -1 as integers, so that they vanish from equations."""
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, (float, np.floating)):
        value = float(value)
        return int(value) if value in (0.0, 1.0, -1.0) else value
    return value


def numbers_of(nodes: Any, given: Mapping[str, Any] = MappingProxyType({})) -> np.ndarray | None:
    """Values (..., *shape) of Nodes for the numbers given by name, else the defaults; None if a parameter has neither.

    given: numbers, or batches (b,) of them, which make the loop dimension in front. What is not real is nan.
    """
    if isinstance(nodes, Node):
        value = value_of(nodes, given)
        return None if value is None else np.asarray(value, dtype=float)
    array = np.asarray(nodes, dtype=object)
    found = _all_with(tuple(array.flat), given) if given else [value_of(node, given) for node in array.flat]
    if any(v is None for v in found):
        return None
    loop = np.broadcast_shapes(*(np.shape(v) for v in found))
    flat = np.stack([np.broadcast_to(v, loop) for v in found], axis=-1) if loop else np.array(found)
    return flat.astype(float).reshape((*loop, *array.shape))


def value_of(node: Node, given: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """Value of one Node as in `numbers_of`: a float, an array (b,) or None."""
    if node.op is CONST:
        return float(node.data)
    if given:
        return _with(node, given)
    values = {s: s.data.default for s in free_symbols([node])}
    if any(v is None for v in values.values()):
        return None
    try:
        return _real(evaluate(node, values))
    except (ExpressionError, ArithmeticError, TypeError, ValueError):
        return math.nan


def _all_with(nodes: tuple[Node, ...], given: Mapping[str, Any]) -> list[Any]:
    """Values of Nodes with numbers for parameters, all at once where that works."""
    evaluation = _evaluation(nodes)
    values = [given.get(name, default) for name, default in evaluation.inputs]
    if all(v is not None for v in values):
        try:
            with np.errstate(all="ignore"):
                numbers = [v if isinstance(v, np.ndarray) else float(v) for v in values]
                return [_real(x) for x in evaluation.function(numbers)]
        except (ExpressionError, ArithmeticError, TypeError, ValueError):
            pass  # one of them has no value: which, is found below
    return [value_of(node, given) for node in nodes]


def _with(node: Node, given: Mapping[str, Any]) -> Any:
    """The value with numbers for parameters, which come again and again with others: by a function made once."""
    evaluation = _evaluation((node,))
    values = [given.get(name, default) for name, default in evaluation.inputs]
    if any(v is None for v in values):
        return None
    try:
        with np.errstate(all="ignore"):
            return _real(evaluation.function([v if isinstance(v, np.ndarray) else float(v) for v in values])[0])
    except (ExpressionError, ArithmeticError, TypeError, ValueError):
        return math.nan


def _evaluation(nodes: tuple[Node, ...]) -> Evaluation:
    kept = nodes[0].graph.evaluations if nodes else {}
    evaluation = kept.get(nodes)
    if evaluation is None:
        evaluation = kept[nodes] = Evaluation(nodes)
    return evaluation


def _real(found: Any) -> Any:
    return found if isinstance(found, np.ndarray) and found.dtype.kind == "f" else float(found)


def number_of(node: Node) -> float | None:
    """The value of a Node for the defaults of its parameters, nan if it is not real; None if one has none."""
    found = value_of(node)
    return None if found is None else float(found)


def sequence_of(value: Any, size: int, what: str, origin: str) -> Sequence[Any]:
    """A list, tuple or array of the given length."""
    if not isinstance(value, (list, tuple, np.ndarray)) or (isinstance(value, np.ndarray) and not value.ndim):
        raise fault(origin, f"{what} is {shown(value)}; expected a list of {size} numbers.")
    if len(value) != size:
        raise fault(origin, f"{what} has {len(value)} entries; expected {size}.")
    return list(value) if isinstance(value, np.ndarray) else value


def frozen_array(entries: Sequence[Any], *shape: int) -> np.ndarray:
    """An object array that cannot be written to: a Mechanism never changes."""
    out = np.empty(shape, dtype=object)
    for k, entry in enumerate(entries):
        out.flat[k] = entry
    out.setflags(write=False)
    return out
