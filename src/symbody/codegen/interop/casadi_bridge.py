"""Expressions to CasADi's SX and back. What one side does not have is refused by name."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import ExpressionError, ShapeError
from symbody.codegen.interop.peers import peer
from symbody.symbolic.expr.call import as_nodes, call
from symbody.symbolic.expr.function_row import FUNCTIONS, row_of
from symbody.symbolic.expr.graph import Graph, current_graph
from symbody.symbolic.expr.node import (
    ADD,
    ALIAS,
    AT,
    CONST,
    EXTERN,
    MUL,
    POW,
    RESULT,
    SCALE,
    SOLVE,
    SYMBOL,
    TABLE,
    Node,
)
from symbody.symbolic.expr.parse import symbol_named
from symbody.symbolic.expr.walk import topological
from symbody.symbolic.system.system import System


def to_casadi(nodes: Any, symbols: Mapping[Node, Any] | None = None) -> Any:
    """A Node as a scalar SX, an array of Nodes as a list of SX, a System as a casadi.Function.

    symbols: Node -> SX; the others become `SX.sym(name)`. Named stages are opened.

    The Function has inputs, then parameters, and outputs under their names (other characters than letters and digits
    become _). Called by name, `f(q=..., qd=...)["qdd"]`, a parameter that is left out has its default, nan if it has
    none; called in order, all are given. What is left out of the inputs is 0, as CasADi has it.
    """
    casadi = peer("casadi")
    if isinstance(nodes, System):
        return _system_function(nodes, symbols or {}, casadi)
    single = not isinstance(nodes, (np.ndarray, list, tuple))
    flat = [nodes] if single else list(np.asarray(nodes, dtype=object).flat)
    made = _to_casadi(as_nodes(flat), symbols or {}, casadi)
    return made[0] if single else made


def _system_function(system: System, symbols: Mapping[Node, Any], casadi: Any) -> Any:
    arrays = {**system.inputs, **system.parameters}
    names = _plain_names([*arrays, *system.outputs])
    made: dict[Node, Any] = dict(symbols)
    given, defaults = [], []
    for name, array in arrays.items():
        x = casadi.SX.sym(name, *_shape(array))
        made |= {s: x[i] for s, i in zip(array.flat, _places(array))}
        given.append(x)
        known = set(system.default(name) or (math.nan,)) if name in system.parameters else {0.0}
        defaults.append(known.pop() if len(known) == 1 else math.nan)  # CasADi keeps one number for an array
    nodes = [node for array in system.outputs.values() for node in array.flat]
    values = iter(_to_casadi(as_nodes(nodes), made, casadi))  # all at once: what they share is made once
    found = []
    for array in system.outputs.values():
        out = casadi.SX(*_shape(array))
        for i in _places(array):
            out[i] = next(values)
        found.append(out)
    options = {"default_in": defaults}
    plain = _plain_names([system.name])[0]
    return casadi.Function(plain, given, found, names[: len(given)], names[len(given) :], options)


def _shape(array: np.ndarray) -> tuple[int, int]:
    """Rows and columns of what has at most two dimensions; more are put side by side, the first ones as rows."""
    return (array.shape[0] if array.ndim else 1), math.prod(array.shape[1:])


def _places(array: np.ndarray) -> Iterable[tuple[int, int]]:
    """Row and column of each element, in C order."""
    return np.ndindex(*_shape(array))


def _plain_names(names: Sequence[str]) -> list[str]:
    """Names that CasADi takes: letters and digits with single _ between; numbered where two are the same."""
    out: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "x"
        plain = f"x{plain}" if plain[0].isdigit() else plain
        number = 2
        full = plain
        while full in out:
            full, number = f"{plain}_{number}", number + 1
        out.append(full)
    return out


def casadi_function(name: str, nodes: Iterable[Any], symbols: Sequence[Node]) -> Any:
    """A casadi.Function of one vector, the symbols in their order, to the vector of the nodes."""
    casadi = peer("casadi")
    x = casadi.SX.sym("x", len(symbols))
    made = to_casadi(list(nodes), {s: x[k] for k, s in enumerate(symbols)})
    return casadi.Function(name, [x], [casadi.vertcat(*made)])


def _to_casadi(roots: list[Node], symbols: Mapping[Node, Any], casadi: Any) -> list[Any]:
    made: dict[Node, Any] = dict(symbols)
    for node in topological(roots, lambda n: n in symbols):
        made[node] = _expression(node, [made[a] for a in node.args], casadi)
    return [made[r] for r in roots]


def _expression(node: Node, values: list[Any], casadi: Any) -> Any:
    op, data = node.op, node.data
    if op is SYMBOL:
        return casadi.SX.sym(data.name)
    if op is CONST:
        return casadi.SX(float(data))
    if op is AT and not node.args[0].data.unknowns:
        return values[1]  # behind a check, of which no status is left there
    if op is SOLVE and not data.unknowns:
        return casadi.SX(1.0)
    if op in (EXTERN, RESULT, SOLVE, AT, TABLE):
        raise ExpressionError(f"CasADi's SX has no counterpart of the node {op!r} ({node}). Give symbols={{node: SX}}.")
    if op is ADD:
        total = values[0]
        for v in values[1:]:
            total = total + v
        return total
    if op is MUL:
        product = values[0]
        for v in values[1:]:
            product = product * v
        return product
    if op is SCALE:
        return -values[0] if data == -1 else float(data) * values[0]
    if op is POW:
        if data in (0.5, -0.5):
            root = casadi.sqrt(values[0])
            return root if data > 0 else 1 / root
        return 1 / values[0] if data == -1 else casadi.power(values[0], float(data))
    if op is ALIAS:
        return values[0]
    row = row_of(op)
    if not row.casadi:
        raise ExpressionError(f"CasADi has no counterpart of the function {op!r}. Give its row casadi=...")
    return row.casadi(casadi, *values) if callable(row.casadi) else getattr(casadi, row.casadi)(*values)


# -- from CasADi


def from_casadi(source: Any, arguments: Any = None, graph: Graph | None = None, role: str = "input") -> Any:
    """The Nodes of an SX (an array of its shape) or of a casadi.Function (a list of arrays, one an output).

    arguments: for an SX a mapping name -> Node; for a Function the arrays of Nodes of its inputs, one an input. What is
    not given becomes symbols of the given role: those of an input p are p1, p2, ... in column order, or p for a scalar.
    A Function of MX is expanded to SX first.
    """
    casadi = peer("casadi")
    graph = graph or _graph_of(arguments) or current_graph()
    if isinstance(source, casadi.Function):
        return _from_function(source, arguments, graph, role, casadi)
    if not isinstance(source, casadi.SX):
        raise ExpressionError(f"from_casadi was given a {type(source).__name__}; expected an SX or a casadi.Function.")
    variables = casadi.symvar(source)
    known = arguments or {}
    index: dict[str, list[Node]] = {}
    inputs = []
    for v in variables:
        name = v.name()
        node = known[name] if name in known else symbol_named(graph, name, role, index)
        inputs.append(np.array([[node]], dtype=object))
    return _run(casadi.Function("f", variables, [source]), inputs, graph, casadi)[0]


def _from_function(function: Any, arguments: Any, graph: Graph, role: str, casadi: Any) -> list[Any]:
    if not function.is_a("SXFunction"):
        function = function.expand()
    if arguments is None:
        arguments = [_input_symbols(function, i, graph, role) for i in range(function.n_in())]
    arguments = [np.asarray(a, dtype=object) for a in arguments]
    if len(arguments) != function.n_in():
        raise ShapeError(f"{function.name()} has {function.n_in()} inputs; {len(arguments)} arrays were given.")
    shaped = []
    for i, a in enumerate(arguments):
        if a.size != function.numel_in(i):
            raise ShapeError(f"input {function.name_in(i)!r} has shape {function.size_in(i)}; {a.shape} was given.")
        shaped.append(a if a.ndim == 2 else a.reshape(function.size_in(i), order="F"))
    return _run(function, shaped, graph, casadi)


def _input_symbols(function: Any, i: int, graph: Graph, role: str) -> Any:
    name, size = function.name_in(i), function.numel_in(i)
    out = np.empty(size, dtype=object)
    out[:] = [graph.symbol(name if size == 1 else f"{name}{k + 1}", role) for k in range(size)]
    return out


def _run(function: Any, arguments: list[Any], graph: Graph, casadi: Any) -> list[Any]:
    """Play the instructions of an SX function on Nodes."""
    table = _operations(casadi)
    places_in = [list(zip(s.row(), s.get_col())) for s in (function.sparsity_in(i) for i in range(function.n_in()))]
    places_out = [list(zip(s.row(), s.get_col())) for s in (function.sparsity_out(i) for i in range(function.n_out()))]
    outputs = []
    for i in range(function.n_out()):
        out = np.empty(function.size_out(i), dtype=object)
        out.fill(graph.zero)  # places outside of the sparsity
        outputs.append(out)
    work: dict[int, Node] = {}
    for k in range(function.n_instructions()):
        op = function.instruction_id(k)
        read, write = function.instruction_input(k), function.instruction_output(k)
        if op == casadi.OP_CONST:
            value = function.instruction_constant(k)
            work[write[0]] = graph.number(int(value) if value.is_integer() and abs(value) < 2**53 else value)
        elif op == casadi.OP_INPUT:
            which, place = read
            work[write[0]] = as_nodes([graph.one, arguments[which][places_in[which][place]]])[1]
        elif op == casadi.OP_OUTPUT:
            which, place = write
            outputs[which][places_out[which][place]] = work[read[0]]
        elif op in table:
            work[write[0]] = table[op](*(work[r] for r in read))
        else:
            names = [n for n in dir(casadi) if n.startswith("OP_") and getattr(casadi, n) == op]
            raise ExpressionError(f"the CasADi operation {' / '.join(names) or op} has no counterpart here.")
    return outputs


def _graph_of(arguments: Any) -> Graph | None:
    """The Graph of the first Node among the arguments."""
    values = arguments.values() if isinstance(arguments, Mapping) else arguments or ()
    entries = (v for a in values for v in np.asarray(a, dtype=object).flat)
    return next((v.graph for v in entries if v.__class__ is Node), None)


def _operations(casadi: Any) -> dict[int, Callable[..., Any]]:
    def named(name: str) -> Callable[..., Any]:
        return lambda *values: call(name, *values)

    table: dict[str, Callable[..., Any]] = {
        "ASSIGN": lambda a: a,
        "ADD": lambda a, b: a + b,
        "SUB": lambda a, b: a - b,
        "MUL": lambda a, b: a * b,
        "DIV": lambda a, b: a / b,
        "NEG": lambda a: -a,
        "INV": lambda a: 1 / a,
        "SQ": lambda a: a**2,
        "TWICE": lambda a: 2 * a,
        "POW": lambda a, b: a**b,
        "CONSTPOW": lambda a, b: a**b,
        "IF_ELSE_ZERO": lambda c, a: call("select", c, a, 0),
        "FMOD": lambda a, b: call("sign", a) * call("mod", call("abs", a), call("abs", b)),
        "COPYSIGN": lambda a, b: call("select", call("lt", b, 0), -call("abs", a), call("abs", a)),
        "LOG1P": lambda a: call("log", 1 + a),
        "EXPM1": lambda a: call("exp", a) - 1,
    }
    # OP_FABS, OP_NOT, ...: the names of the functions in capitals
    for row in FUNCTIONS.values():
        if isinstance(row.casadi, str) and row.casadi:
            table.setdefault(row.casadi.removeprefix("logic_").upper(), named(row.name))
    return {getattr(casadi, f"OP_{name}"): f for name, f in table.items() if hasattr(casadi, f"OP_{name}")}
