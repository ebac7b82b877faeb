"""Systems as files: a versioned JSON table of nodes. A file is data: reading it builds nodes and runs nothing.

Nodes are written in the order of their making, so that the order of terms and factors survives and operands come first.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from array import array
from collections.abc import Iterable, Mapping
from fractions import Fraction
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from symbody.errors import FormatError
from symbody.expr.external import External, Piecewise
from symbody.expr.graph import Graph
from symbody.expr.node import (
    ALIAS,
    CONST,
    EXTERN,
    POW,
    RESULT,
    SCALE,
    SOLVE,
    SYMBOL,
    TABLE,
    Alias,
    Check,
    Node,
    SolveInfo,
    Symbol,
)  # fmt: skip
from symbody.expr.restore import restore
from symbody.expr.walk import quiet_collector, topological
from symbody.system.system import DIGITS_LOST, NOTE, System

FORMAT = "symbody-system"
VERSION = 1
MAX_BYTES = 1 << 30
ARRAYS = ("inputs", "parameters", "outputs", "guards", "resets", "residuals")


def save_system(system: System, path: str | Path) -> Path:
    """Write a System; an existing file is replaced only when the new one is complete."""
    path = Path(path)
    text = json.dumps(record(system), separators=(",", ":"), allow_nan=False)
    if not path.parent.is_dir():
        raise FormatError(f"{path} cannot be written: there is no folder {str(path.parent)!r}.")
    handle, temporary = tempfile.mkstemp(dir=path.parent or ".", prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def load_system(path: str | Path, externals: Iterable[External] = ()) -> System:
    """Read a System. `externals` gives the external functions that it calls, found by name."""
    path = Path(path)
    if not path.is_file():
        raise FormatError(f"there is no file {str(path)!r}.")
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise FormatError(f"{path} has {size} bytes; expected at most {MAX_BYTES}.")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise FormatError(f"{path} is not a saved System: {error}.") from None
    return from_record(data, {e.name: e for e in externals}, str(path))


def fingerprint(system: System) -> str:
    """SHA-256 of everything that a System computes: equal text in any process for the same construction."""
    groups, nodes, index = _table(system)
    frame = _frame(system, groups, index)
    # what was measured of a program is no part of it: the last bits of sines differ between machines
    frame["origins"] = {n: text for n, text in system.origins.items() if n not in (DIGITS_LOST, NOTE)}
    digest = hashlib.sha256(json.dumps(frame, allow_nan=False).encode())
    # the columns of the node table, one after the other: quicker than its rows as text
    digest.update("\n".join([n.op for n in nodes]).encode())
    digest.update(array("q", [len(n.args) for n in nodes]).tobytes())
    digest.update(array("q", [index[a] for n in nodes for a in n.args]).tobytes())
    digest.update(json.dumps([_encode(n, index) for n in nodes if n.data is not None], allow_nan=False).encode())
    return digest.hexdigest()


def record(system: System) -> dict[str, Any]:
    """The System as lists and numbers."""
    groups, nodes, index = _table(system)
    return {**_frame(system, groups, index), "nodes": [_row(n, index) for n in nodes]}


def _table(system: System) -> tuple[dict[str, dict[str, np.ndarray]], list[Node], dict[Node, int]]:
    """Arrays of the System by kind, all its nodes in the order of their making, and their places."""
    groups = {kind: getattr(system, kind) for kind in ARRAYS}
    nodes = topological([x for group in groups.values() for a in group.values() for x in a.flat])
    nodes.sort(key=attrgetter("id"))
    return groups, nodes, {n: i for i, n in enumerate(nodes)}


def _frame(system: System, groups: dict[str, dict[str, np.ndarray]], index: dict[Node, int]) -> dict[str, Any]:
    """Everything but the nodes."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": system.name,
        **{
            kind: {n: [list(a.shape), [index[x] for x in a.flat]] for n, a in group.items()}
            for kind, group in groups.items()
        },
        "states": system.states,
        "modes": system.modes,
        "clocks": system.clocks,
        "units": system.units,
        "origins": system.origins,
        "defaults": {n: [list(v.shape), [float(x).hex() for x in v.flat]] for n, v in system.defaults.items()},
    }


def _row(node: Node, index: dict[Node, int]) -> list[Any]:
    op, args = node.op, [index[a] for a in node.args]
    if node.data is None:
        return [op, *args]
    return [op, _encode(node, index), *args]


def _encode(node: Node, index: dict[Node, int]) -> Any:
    op, data = node.op, node.data
    if op is CONST or op is SCALE or op is POW:
        return _encode_number(data)
    if op is SYMBOL:
        default = None if data.default is None else float(data.default).hex()
        return [data.name, data.role, data.scope, data.unit, data.origin, default, data.nonzero]
    if op is ALIAS:
        return [data.name, data.stage]
    if op is TABLE:
        return [[x.hex() for x in data.x], [[c.hex() for c in row] for row in data.c]]
    if op is EXTERN:
        return [data.name, data.arity, data.results]
    if op is SOLVE:
        unknowns = [index[u] for u in data.unknowns]
        checks = [[check.kind, check.words] for check in data.checks]
        return [data.name, unknowns, float(data.tolerance).hex(), data.max_iterations, data.pivots, data.remedy, checks]
    return data  # result: its index


def _encode_number(value: Any) -> Any:
    kind = value.__class__
    if kind is int:
        return value if abs(value) < 1 << 53 else ["i", str(value)]
    if kind is float:
        return value.hex()
    if kind is bool:
        return ["b", int(value)]
    return ["r", str(value.numerator), str(value.denominator)]


def _decode_number(value: Any) -> Any:
    if value.__class__ is int:
        return value
    if value.__class__ is str:
        return float.fromhex(value)
    kind, *rest = value
    if kind == "i":
        return int(rest[0])
    if kind == "b":
        return bool(rest[0])
    if kind == "r":
        return Fraction(int(rest[0]), int(rest[1]))
    raise ValueError(f"number of kind {kind!r}")


def from_record(data: Any, externals: Mapping[str, External], where: str) -> System:
    """The System of a record; FormatError says what is wrong with a damaged one."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FormatError(f"{where} is not a saved System: it does not say format {FORMAT!r}.")
    if data.get("version") != VERSION:
        raise FormatError(f"{where} has format version {data.get('version')!r}; this symbody reads version {VERSION}.")
    graph = Graph(str(data.get("name", "")))
    nodes: list[Node] = []
    number = 0
    try:
        with quiet_collector():
            for number, row in enumerate(data["nodes"]):  # noqa: B007  used in the message
                nodes.append(_restore_row(row, nodes, graph, externals))
        arrays: dict[str, Any] = {
            kind: {str(n): _restore_array(v, nodes) for n, v in data[kind].items()} for kind in ARRAYS
        }
        defaults = {
            n: np.array([float.fromhex(x) for x in v[1]]).reshape([int(k) for k in v[0]])
            for n, v in data["defaults"].items()
        }
        plain: dict[str, Any] = {k: dict(data[k]) for k in ("states", "modes", "clocks", "units", "origins")}
        return System(str(data["name"]), **arrays, **plain, defaults=defaults)
    except FormatError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise FormatError(f"{where} is damaged near node {number}: {type(error).__name__}: {error}.") from None


def _restore_row(row: list[Any], nodes: list[Node], graph: Graph, externals: Mapping[str, External]) -> Node:
    op = row[0]
    has_data = op in (CONST, SYMBOL, SCALE, POW, ALIAS, TABLE, EXTERN, RESULT, SOLVE)
    indices = row[2:] if has_data else row[1:]
    if any(i.__class__ is not int or i < 0 for i in indices):
        raise ValueError(f"{op} refers to {indices}")
    args = tuple(nodes[i] for i in indices)
    return restore(graph, op, args, _decode(op, row[1], nodes, externals) if has_data else None)


def _decode(op: str, data: Any, nodes: list[Node], externals: Mapping[str, External]) -> Any:
    if op in (CONST, SCALE, POW):
        return _decode_number(data)
    if op == SYMBOL:
        name, role, scope, unit, origin, default, nonzero = data
        value = None if default is None else float.fromhex(default)
        return Symbol(str(name), str(role), str(scope), str(unit), str(origin), value, bool(nonzero))
    if op == ALIAS:
        return Alias(str(data[0]), int(data[1]))
    if op == TABLE:
        x = tuple(float.fromhex(v) for v in data[0])
        c = tuple(tuple(float.fromhex(v) for v in row) for row in data[1])
        if len(x) < 2 or any(len(row) != len(x) - 1 for row in c):
            raise ValueError("table with rows of wrong length")
        return Piecewise(x, c)
    if op == EXTERN:
        name, arity, results = data
        if name not in externals:
            raise FormatError(
                f"the System calls the external function {name!r}, which a file cannot hold. "
                "Give it: System.load(path, externals=[External(...)])."
            )
        function = externals[name]
        if (function.arity, function.results) != (arity, results):
            raise FormatError(
                f"external function {name!r} has {function.arity} arguments and {function.results} results; "
                f"the file expects {arity} and {results}."
            )
        return function
    if op == SOLVE:
        unknowns = tuple(nodes[i] for i in data[1])
        pivots = None if data[4] is None else tuple((int(r), int(c)) for r, c in data[4])
        remedy = str(data[5]) if len(data) > 5 else ""  # files before it was known
        checks = tuple(Check(_kind(k), str(words)) for k, words in (data[6] if len(data) > 6 else ()))
        return SolveInfo(str(data[0]), unknowns, float.fromhex(data[2]), int(data[3]), pivots, remedy, checks)
    return int(data)


def _kind(text: Any) -> str:
    if text not in ("below", "above"):
        raise ValueError(f"check of kind {text!r}")
    return str(text)


def _restore_array(value: list[Any], nodes: list[Node]) -> np.ndarray:
    shape = [int(k) for k in value[0]]
    out = np.empty(shape, dtype=object)
    if out.size != len(value[1]):
        raise ValueError(f"array of shape {shape} with {len(value[1])} entries")
    for i, k in enumerate(value[1]):
        if k < 0:
            raise ValueError(f"array refers to node {k}")
        out.flat[i] = nodes[k]
    return out
