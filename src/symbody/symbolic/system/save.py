"""Systems as files: a versioned JSON table of nodes. A file is data: reading it builds nodes and runs nothing.

Nodes are written in the order of their making, so that the order of terms and factors survives and operands come first.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from array import array
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import DefinitionError, FormatError, SymbodyError
from symbody.basics.regular_file import missing, read_regular
from symbody.symbolic.expr.external import External, Piecewise
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import (
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
    BlockCheck,
    Node,
    SolveInfo,
    Symbol,
)
from symbody.symbolic.expr.restore import restore
from symbody.symbolic.expr.walk import quiet_collector, topological
from symbody.symbolic.system.system import DIGITS_LOST, NOTE, System

FORMAT = "symbody-system"
VERSION = 2  # 1 had no checksum
MAX_BYTES = 1 << 30
MAX_ENTRIES = 1 << 26  # of one array
MAX_ITERATIONS = 1 << 31  # of an implicit block: native code counts them so
ARRAYS = ("inputs", "parameters", "outputs", "guards", "resets", "residuals")


@declared
def save_system(system: System, path: str | Path) -> Path:
    """Write a System; an existing file is replaced only when the new one is complete."""
    return write_whole(path, _canonical(record(system)))


@declared
def load_system(path: str | Path, externals: Iterable[External] = ()) -> System:
    """Read a System. `externals` gives the external functions that it calls, found by name."""
    path = Path(path)
    externals = list(externals)
    given = {e.name: e for e in externals}
    double = next((e.name for e in externals if given[e.name] is not e), None)
    if double is not None:
        raise DefinitionError(f"two different external functions {double!r} were given; a file knows them by name.")
    why = missing(path)
    if why:
        raise FormatError(f"{why}.")
    try:
        data = json.loads(read_regular(path, MAX_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise FormatError(f"{path} is not a saved System: {error}.") from None
    return from_record(data, given, str(path))


def _canonical(data: dict[str, Any]) -> str:
    """The one text of a record: entries in the order of writing, no spaces."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


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
    called = [n.data for n in nodes if n.op is EXTERN]
    if _shared_name(called):
        externals = list(dict.fromkeys(called))
        digest.update(json.dumps([externals.index(e) for e in called]).encode())
    return digest.hexdigest()


def record(system: System) -> dict[str, Any]:
    """The System as lists and numbers, with the checksum of the rest."""
    groups, nodes, index = _table(system)
    name = _shared_name([n.data for n in nodes if n.op is EXTERN])
    if name:
        raise DefinitionError(
            f"System {system.name!r} calls two different external functions {name!r}, which a file would take for one. "
            "Give each a name of its own."
        )
    rest = {**_frame(system, groups, index), "nodes": [_row(n, index) for n in nodes]}
    return {"checksum": _checksum(_canonical(rest)), **rest}


def _shared_name(externals: list[External]) -> str:
    """A name that two different external functions have; "" if none does."""
    first: dict[str, External] = {}
    return next((e.name for e in externals if first.setdefault(e.name, e) is not e), "")


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
        tolerance, span = float(data.tolerance).hex(), float(data.span).hex()
        return [data.name, unknowns, tolerance, data.max_iterations, data.pivots, data.remedy, checks, span]
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
    _check_whole(data, where)
    graph = Graph(str(data.get("name", "")))
    nodes: list[Node] = []
    number = 0
    try:
        with quiet_collector():
            for number, row in enumerate(_of_kind(data["nodes"], list)):  # noqa: B007  used in the message
                nodes.append(_restore_row(row, nodes, graph, externals))
        arrays: dict[str, Any] = {
            kind: {str(n): _restore_array(v, nodes) for n, v in _of_kind(data[kind], dict).items()} for kind in ARRAYS
        }
        defaults = {str(n): _restore_default(v) for n, v in _of_kind(data["defaults"], dict).items()}
        texts: dict[str, Any] = {k: _texts(data[k]) for k in ("states", "units", "origins")}
        plain: dict[str, Any] = {k: dict(_of_kind(data[k], dict)) for k in ("modes", "clocks")}
        system = System(_of_kind(data["name"], str), **arrays, **texts, **plain, defaults=defaults)
        if set(system.parameters) != set(arrays["parameters"]):
            free = ", ".join(repr(n) for n in system.parameters if n not in arrays["parameters"])
            raise ValueError(f"its nodes contain symbols that are no inputs or parameters: {free}")
        return system
    except FormatError:
        raise
    except SymbodyError as error:
        raise FormatError(f"{where} is damaged: {error}") from None
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError, MemoryError) as error:
        raise FormatError(f"{where} is damaged near node {number}: {type(error).__name__}: {error}.") from None


def _check_whole(data: dict[str, Any], where: str) -> None:
    """Compare version and checksum; a file of the version before checksums is read, with a warning."""
    version = data.get("version")
    if version == 1 and "checksum" not in data:
        warnings.warn(
            f"W-no-checksum: {where} was saved without a checksum, so damage cannot be noticed. Save it again.",
            stacklevel=4,
        )
        return
    if version != VERSION:
        raise FormatError(f"{where} has format version {version!r}; this symbody reads version {VERSION}.")
    try:
        text = _canonical({k: v for k, v in data.items() if k != "checksum"})
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where} is damaged: {error}.") from None
    if data.get("checksum") != _checksum(text):
        raise FormatError(f"{where} is damaged: its checksum does not match. Save the System again.")


def _of_kind(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{kind.__name__} expected, not {value!r:.60}")
    return value


def _texts(value: Any) -> dict[str, str]:
    return {_of_kind(n, str): _of_kind(v, str) for n, v in _of_kind(value, dict).items()}


def _shape(value: Any, entries: Any) -> list[int]:
    """A shape that holds just these entries: known before memory is asked for."""
    shape = [_of_kind(k, int) for k in _of_kind(value, list)]
    if min(shape, default=0) < 0 or len(shape) > 8 or math.prod(shape) != len(_of_kind(entries, list)):
        raise ValueError(f"array of shape {shape} with {len(entries)} entries")
    if len(entries) > MAX_ENTRIES:
        raise ValueError(f"array of {len(entries)} entries, more than {MAX_ENTRIES}")
    return shape


def _restore_default(value: Any) -> np.ndarray:
    shape, entries = _of_kind(value, list)
    return np.array([float.fromhex(x) for x in entries], dtype=float).reshape(_shape(shape, entries))


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
        if len(x) < 2 or not c or any(len(row) != len(x) - 1 for row in c):
            raise ValueError("table with rows of wrong length")
        if not all(a < b for a, b in pairwise(x)):
            raise ValueError("table whose points do not ascend")
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
        checks = tuple(BlockCheck(_kind(k), str(words)) for k, words in (data[6] if len(data) > 6 else ()))
        span = float.fromhex(data[7]) if len(data) > 7 else math.inf  # files before it was known
        if not span > 0 or not 0 <= float.fromhex(data[2]) < math.inf:
            raise ValueError("implicit block with a span that is not positive, or with such a tolerance")
        if data[3].__class__ is not int or not 1 <= data[3] <= MAX_ITERATIONS:
            raise ValueError(f"implicit block with {data[3]!r} iterations")
        return SolveInfo(str(data[0]), unknowns, float.fromhex(data[2]), int(data[3]), pivots, remedy, checks, span)
    return int(data)


def _kind(text: Any) -> str:
    if text not in ("below", "above"):
        raise ValueError(f"check of kind {text!r}")
    return str(text)


def _restore_array(value: Any, nodes: list[Node]) -> np.ndarray:
    shape, entries = _of_kind(value, list)
    out = np.empty(_shape(shape, entries), dtype=object)
    for i, k in enumerate(entries):
        if _of_kind(k, int) < 0:
            raise ValueError(f"array refers to node {k}")
        out.flat[i] = nodes[k]
    return out
