"""System: named inputs, parameters and outputs over one Graph, with room for states, events, modes and clocks.

A mechanism, a bond graph, a friction law and a controller all end as a System, and what reads one knows nothing of
bodies. Inputs and parameters are symbols, outputs are nodes; a derivative or a rewriting of a System is another System.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from dataclasses import replace as _replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.errors import (
    DefinitionError,
    ExpressionError,
    NameLookupError,
    ShapeError,
    nearest,
    shown,
    wrong_argument,
)
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.evaluate import transplant
from symbody.symbolic.expr.graph import Graph, current_graph
from symbody.symbolic.expr.node import SETUP, SYMBOL, Node
from symbody.symbolic.expr.pickling import Packed
from symbody.symbolic.expr.walk import free_symbols, substitute, unknowns_below
from symbody.symbolic.system.parameter_numbers import real_number

Arrays = dict[str, np.ndarray]
MOST_NODES = 10_000_000  # in one array
DIGITS_LOST, NOTE = "digits_lost", "note"  # entries of `origins` about the whole program


@dataclass(frozen=True, eq=False)
class System(Packed):
    """Outputs as expressions of inputs and parameters.

    inputs, parameters   name -> array of symbols (shape () for a scalar)
    outputs              name -> array of nodes
    states               name of a state among the inputs -> name of the output that is its derivative
    guards, resets       name -> array of nodes: an event happens where a guard crosses zero, then resets apply
    modes, clocks        name -> text or number; residuals: name -> nodes that are zero on solutions
    units                name of an argument or output -> unit
    origins              name of an output -> where it comes from (quantity, body, formula); of programs that were
                         chosen as the smallest also "digits_lost" against Newton-Euler, and a "note" if there is one
    defaults             name of a parameter -> value; a symbol's own default is used where none is given
    """

    name: str
    inputs: Arrays
    outputs: Arrays
    parameters: Arrays = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    guards: Arrays = field(default_factory=dict)
    resets: Arrays = field(default_factory=dict)
    modes: dict[str, Any] = field(default_factory=dict)
    clocks: dict[str, Any] = field(default_factory=dict)
    residuals: Arrays = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    graph: Graph = field(init=False, repr=False)

    def __post_init__(self) -> None:
        put = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731  the record is frozen
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise DefinitionError(f"System name {self.name!r}: expected letters, digits and _, a letter first.")
        self._check_mappings()
        put("inputs", {n: _symbols(n, v) for n, v in dict(self.inputs).items()})
        put("parameters", _parameters(self.parameters))
        graph = _graph_of([self.inputs, self.parameters, self.outputs])
        put("graph", graph)
        for kind in ("outputs", "guards", "resets", "residuals"):
            put(kind, {n: node_array(v, graph) for n, v in dict(getattr(self, kind)).items()})
        if not self.outputs:
            raise DefinitionError(f"System {self.name!r} has no outputs; expected some, as outputs={{'f': nodes}}.")
        self._check_owners()
        self._give_parameters_their_role(put)
        put("parameters", {**self.parameters, **self._undeclared_parameters()})
        self._check_names()
        self._check_owners()  # symbols of other roles may have become one parameter
        self._check_free_symbols()
        put("defaults", {n: self._check_default(n, v) for n, v in dict(self.defaults).items()})

    if TYPE_CHECKING:
        # verbs of folders further down the journey, attached in `symbody/__init__.py`

        def optimize(self, preset: str = "full", **options: Any) -> System: ...
        def optimize_with_report(self, preset: str = "full", **options: Any) -> tuple[System, Any]: ...
        def count(self) -> Any: ...
        def compile(self, target: str = "native", **options: Any) -> Any: ...
        def emit(self, target: str = "c", **options: Any) -> str: ...
        def jacobian(self, output: str, variable: str) -> System: ...
        def gradient(self, output: str, variable: str) -> System: ...
        def hessian(self, output: str, variable: str) -> System: ...
        def jvp(self, output: str, variable: str) -> System: ...
        def save(self, path: str | Path) -> Path: ...
        @staticmethod
        def load(path: str | Path, externals: Any = ()) -> System: ...

    # -- checks

    def _check_mappings(self) -> None:
        for one in fields(self):
            if one.name in ("name", "graph"):
                continue
            value = getattr(self, one.name)
            if one.name == "parameters" and isinstance(value, list | tuple):
                if all(isinstance(s, Node) and s.op is SYMBOL for s in value):
                    continue
            if not isinstance(value, Mapping):
                raise wrong_argument(one.name, value, "a dict", owner="System")

    def _expressions(self) -> Iterable[Node]:
        for kind in (self.outputs, self.guards, self.resets, self.residuals):
            for array in kind.values():
                yield from array.flat

    def _give_parameters_their_role(self, put: Callable[[str, Any], None]) -> None:
        """Symbols listed as parameters become symbols of that role: what depends on them alone runs once, in setup."""
        other = {s for a in self.parameters.values() for s in a.flat if s.data.role != "parameter"}
        if not other:
            return
        role = {s: self.graph.intern(SYMBOL, (), _replace(s.data, role="parameter"), SETUP) for s in other}
        put("parameters", {n: _refill(a.shape, (role.get(s, s) for s in a.flat)) for n, a in self.parameters.items()})
        for kind in ("outputs", "guards", "resets", "residuals"):
            arrays = getattr(self, kind)
            nodes = iter(substitute([x for a in arrays.values() for x in a.flat], role))
            put(kind, {n: _refill(a.shape, nodes) for n, a in arrays.items()})

    def _undeclared_parameters(self) -> Arrays:
        """Symbols of role parameter that occur and are declared nowhere are parameters under their own names."""
        declared = {s for a in (*self.inputs.values(), *self.parameters.values()) for s in a.flat}
        found: Arrays = {}
        for s in free_symbols(self._expressions()):
            if s not in declared and s.data.role == "parameter":
                if s.data.name in found:
                    raise DefinitionError(
                        f"System {self.name!r} has two parameters {s.data.name!r} (other scope, default or unit). "
                        "Declare them in parameters={...} under different names."
                    )
                found[s.data.name] = node_array(s, s.graph)
        return found

    def _check_names(self) -> None:
        seen: dict[str, str] = {}
        for kind in ("inputs", "parameters", "outputs"):
            for n in getattr(self, kind):
                if not isinstance(n, str) or not n:
                    raise DefinitionError(f"System {self.name!r}: {kind} has the name {n!r}; expected a text.")
                if n in seen and "outputs" not in (kind, seen[n]):
                    raise DefinitionError(f"System {self.name!r}: {n!r} is in both {seen[n]} and {kind}.")
                seen[n] = kind
        for n in self.states:
            if n not in self.inputs or self.states[n] not in self.outputs:
                raise DefinitionError(
                    f"System {self.name!r}: state {n!r} -> {self.states[n]!r} needs an input and an output."
                )

    def _check_owners(self) -> None:
        """Each symbol stands in one argument, and none of a parameter among the inputs: setup would read it."""
        owner: dict[Node, str] = {}
        for kind in ("inputs", "parameters"):
            for n, array in getattr(self, kind).items():
                for s in array.flat:
                    if s in owner:
                        raise DefinitionError(f"System {self.name!r}: symbol {s} is in {owner[s]!r} and in {n!r}.")
                    if kind == "inputs" and s.data.role == "parameter":
                        raise DefinitionError(
                            f"System {self.name!r}: input {n!r} has the symbol {s} of role 'parameter'. Name it in "
                            "parameters, or make a symbol of role 'input'."
                        )
                    owner[s] = n

    def _check_free_symbols(self) -> None:
        known = {s for a in (*self.inputs.values(), *self.parameters.values()) for s in a.flat}
        free = [s for s in free_symbols(self._expressions()) if s not in known]
        free += sorted(unknowns_below(self._expressions()), key=lambda s: s.id)  # of blocks that are not around them
        if free:
            names = ", ".join(repr(s.data.name) for s in free[:6]) + (" ..." if len(free) > 6 else "")
            twin = next((s for s in free if any(k.data.name == s.data.name for k in known)), None)
            hint = (
                f" There is an argument of the same name as {twin.data.name!r}, but it is another symbol "
                "(other role, scope or default)."
                if twin is not None
                else ""
            )
            raise DefinitionError(
                f"System {self.name!r}: the outputs contain symbols that are no inputs: {names}.{hint} "
                "Add them to inputs={...} or give them role='parameter'."
            )

    def check_modes(self) -> None:
        """Each entry of `modes` is the start of an input, or the direction of a guard."""
        known = [*self.inputs, *(f"{n}.direction" for n in self.guards)]
        for name in self.modes:
            if name not in known:
                raise NameLookupError(
                    f"modes of System {self.name!r} has {name!r}, which is neither an input nor the direction of a "
                    f"guard. {nearest(name, known)}"
                )

    def _check_default(self, name: str, value: Any) -> np.ndarray:
        if name not in self.parameters:
            raise NameLookupError(
                f"System {self.name!r} has no parameter {name!r} to give a default. {nearest(name, self.parameters)}"
            )
        array, shape = real_number(name, value), self.parameters[name].shape
        if array.shape != shape:
            raise ShapeError(f"default of parameter {name!r} has shape {array.shape}; expected {shape}.")
        return array

    # -- access

    def default(self, name: str) -> tuple[float, ...] | None:
        """Default values of a parameter, flat in C order; None if an element has none."""
        self._known(name, self.parameters, "parameter")
        if name in self.defaults:
            return tuple(float(v) for v in self.defaults[name].flat)
        values = [s.data.default for s in self.parameters[name].flat]
        return None if any(v is None for v in values) else tuple(float(v) for v in values)

    def argument(self, name: str) -> np.ndarray:
        """The symbols of an input or parameter."""
        return self._known(name, {**self.inputs, **self.parameters}, "input or parameter")

    def output(self, name: str) -> np.ndarray:
        return self._known(name, self.outputs, "output")

    def _known(self, name: str, arrays: Arrays, what: str) -> np.ndarray:
        if not isinstance(name, str) or name not in arrays:
            raise NameLookupError(f"System {self.name!r} has no {what} {shown(name)}. {nearest(name, arrays)}")
        return arrays[name]

    def replace(self, **changes: Any) -> System:
        """A copy with some fields changed."""
        return _replace(self, **changes)

    def with_outputs(self, nodes: Iterable[Node]) -> System:
        """A copy over rewritten nodes, given in the order of all outputs, guards, resets and residuals."""
        rest = iter(nodes)
        changed: dict[str, Arrays] = {}
        for kind in ("outputs", "guards", "resets", "residuals"):
            changed[kind] = {n: _refill(a.shape, rest) for n, a in getattr(self, kind).items()}
        return _replace(self, **changed)  # type: ignore[arg-type]

    def with_events(self) -> System:
        """A copy with its guards and resets as further outputs, so that targets write them out too.

        guard_<event>: an event happens where it crosses zero, in the direction modes["<event>.direction"] (0: either);
        reset_<event>_<state>: the value of a state or mode after it.
        """
        found = {f"guard_{n}": a for n, a in self.guards.items()}
        found |= {f"reset_{n.replace('.', '_')}": a for n, a in self.resets.items()}
        return _replace(self, outputs={**self.outputs, **found})

    def expressions(self) -> list[Node]:
        """All outputs, guards, resets and residuals, in order."""
        return list(self._expressions())

    def apply(self, **nodes: Any) -> Any:
        """Outputs with inputs and parameters replaced by nodes of another Graph (or of the same).

        Every input must be given. A parameter that is not given stays a symbol under its own name in the target Graph.
        Returns an array of nodes, or a dict of arrays where there are several outputs.
        """
        for n in nodes:
            self.argument(n)
        missing = [n for n in self.inputs if n not in nodes]
        if missing:
            raise DefinitionError(f"{self.name}.apply() was not given {', '.join(missing)}; expected every input.")
        given: dict[Node, Any] = {}
        target: Graph | None = None
        for n, value in nodes.items():
            symbols = self.argument(n)
            array = np.asarray(value, dtype=object)
            if array.shape != symbols.shape:
                raise ShapeError(f"{self.name}.apply(): {n!r} has shape {array.shape}; expected {symbols.shape}.")
            for s, v in zip(symbols.flat, array.flat, strict=True):
                given[s] = v
                if isinstance(v, Node):
                    target = target or v.graph
        target = target or current_graph()
        for n, symbols in self.parameters.items():
            values = self.default(n)
            for k, s in enumerate(symbols.flat):
                if s not in given:
                    default = values[k] if values is not None else s.data.default
                    given[s] = target.intern(SYMBOL, (), _replace(s.data, default=default), s.flags)
        flat = [x for a in self.outputs.values() for x in a.flat]
        rest = iter(transplant(flat, given, target))
        results = {n: _refill(a.shape, rest) for n, a in self.outputs.items()}
        for n, a in results.items():
            if a.shape == ():
                results[n] = a[()]
        return results if len(results) > 1 else next(iter(results.values()))

    def __repr__(self) -> str:
        def listing(arrays: Arrays) -> str:
            shown = [f"{n}{list(a.shape) if a.shape else ''}" for n, a in arrays.items()]
            return ", ".join(shown[:8]) + (f", ... {len(shown) - 8} more" if len(shown) > 8 else "")

        parameters = f"; parameters {listing(self.parameters)}" if self.parameters else ""
        lost = f"; {self.origins[DIGITS_LOST]} digits lost" if DIGITS_LOST in self.origins else ""
        note = f"\n{self.origins[NOTE]}" if NOTE in self.origins else ""
        return f"System {self.name}: ({listing(self.inputs)}) -> {listing(self.outputs)}{parameters}{lost}{note}"


def node_array(value: Any, graph: Graph | None = None) -> np.ndarray:
    """An object array of nodes from a node, number, nested lists or an array."""
    if isinstance(value, np.ndarray) and value.size > MOST_NODES:
        raise ShapeError(f"an array of {value.size} expressions was given; at most {MOST_NODES} make a System.")
    array = np.array(value, dtype=object)
    flat = list(array.flat)
    if any(isinstance(v, (list, tuple, np.ndarray)) for v in flat):
        raise ShapeError(f"rows of different lengths do not make an array: {value}.")
    if graph is not None:
        flat = [graph.number(v) if type(v) in (int, float, bool) else v for v in flat]
    nodes = as_nodes(flat) if flat else []
    out = np.empty(array.shape, dtype=object)
    for i, node in enumerate(nodes):
        if graph is not None and node.graph is not graph:
            raise ExpressionError(
                f"{node} belongs to {node.graph}, the System to {graph}. Use system.apply(...) to bring it over."
            )
        out.flat[i] = node
    return out


def _refill(shape: tuple[int, ...], nodes: Any) -> np.ndarray:
    out = np.empty(shape, dtype=object)
    for i in range(out.size):
        out.flat[i] = next(nodes)
    return out


def _symbols(name: str, value: Any) -> np.ndarray:
    array = node_array(value)
    for node in array.flat:
        if node.op is not SYMBOL:
            raise DefinitionError(f"input {name!r} contains {node}; expected symbols only, as made by sb.symbols(...).")
    return array


def _parameters(value: Any) -> Arrays:
    """{"m": node or array}, or a list of symbols that stand under their own names."""
    if not isinstance(value, Mapping):
        value = {s.name: s for s in value}
    return {n: _symbols(n, v) for n, v in value.items()}


def _graph_of(groups: Iterable[Mapping[str, Any]]) -> Graph:
    for group in groups:
        for value in group.values():
            for item in np.array(value, dtype=object).flat:
                if isinstance(item, Node):
                    return item.graph
    return current_graph()
