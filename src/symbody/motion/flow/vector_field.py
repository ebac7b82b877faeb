"""VectorField: a Flow as functions of time and one flat state vector, behind native Kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, ShapeError, SolveError
from symbody.basics.memory import memory_of
from symbody.mechanics.memoised.kernels import kernel_of, quick_kernel
from symbody.motion.flow.flow import Flow
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.expr.node import CONST, Node
from symbody.symbolic.system.system import System, node_array

# Values of the signals u (nu,): constant, or a function of t and x (nx,).
SignalValues = np.ndarray | Callable[[float, np.ndarray], Any] | None


class VectorField:
    """rates, jacobian, guards and project of a Flow at (t, x), with its parameters and signals filled in.

    x (nx,) holds the states in the Flow's order, u (nu,) its signals in theirs, both flat.
    A solve block that fails gives NaN rates, which integrators answer with a shorter step; `unsolved` counts them.
    """

    def __init__(self, flow: Flow, parameters: Mapping[str, Any] | None = None, signals: SignalValues = None) -> None:
        self.flow = flow
        self.nx = flow.nx
        self.unsolved = 0
        self.evaluations = 0
        self._parameters = dict(parameters or {})
        self._signals = _signal_function(flow, signals)
        self._rates = self.function(flat_rates(flow))
        flat = flat_projection(flow)
        self._project = None if flat is None else self.function(flat)
        self._corrected = _corrected(flow)
        self._guards = None if flow.guards is None else self.function(flow.guards)
        self.ng = 0 if flow.guards is None else int(flow.guards.output("guard").size)
        self._slopes: list[tuple[Callable[..., Any], np.ndarray, np.ndarray]] = []

    def rates(self, t: float, x: np.ndarray) -> np.ndarray:
        """x' (nx,)."""
        self.evaluations += 1
        try:
            return np.asarray(self._rates(t, x, self._signals(t, x)))
        except SolveError:
            self.unsolved += 1
            return np.full(self.nx, np.nan)

    def jacobian(self, t: float, x: np.ndarray) -> np.ndarray:
        """(nx, nx) derivative of the rates by the states, signals held."""
        rows, columns = self.pattern()
        out = np.zeros((self.nx, self.nx))
        out[rows, columns] = self.entries(t, x)
        return out

    def pattern(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries of the Jacobian that are not zero by structure."""
        _, rows, columns = self._sloped()
        return rows, columns

    def entries(self, t: float, x: np.ndarray) -> np.ndarray:
        """Those entries, in the order of `pattern`."""
        function, rows, _ = self._sloped()
        try:
            return np.asarray(function(t, x, self._signals(t, x)))[: len(rows)]
        except SolveError:
            self.unsolved += 1
            return np.full(len(rows), np.nan)

    def guards(self, t: float, x: np.ndarray) -> np.ndarray:
        """(ng,) values whose signs change at events."""
        if self._guards is None:
            return np.zeros(0)
        return np.asarray(self._guards(t, x, self._signals(t, x)))

    def project(self, t: float, x: np.ndarray) -> np.ndarray:
        """x back on its constraints: quaternions of unit length, closed loops."""
        if self._project is None:
            return x
        try:
            out = np.array(x)
            out[self._corrected] = self._project(t, x, self._signals(t, x))
            return out
        except SolveError:
            self.unsolved += 1
            return np.full(self.nx, np.nan)

    @property
    def projects(self) -> bool:
        return self._project is not None

    def signals(self, t: float, x: np.ndarray) -> np.ndarray:
        """u (nu,)."""
        return self._signals(t, x)

    def function(self, system: System, target: str = "native") -> Callable[[float, np.ndarray, np.ndarray], Any]:
        """A System over the Flow's states, t and signals as a function of (t, x, u).

        target: of its Kernel; "quick": native code that is quick to make, for what is asked a few dozen times.
        """
        flow = self.flow
        kernel: Any = quick_kernel(system) if target == "quick" else kernel_of(system, target)
        given = {n: v for n, v in self._parameters.items() if n in system.parameters}
        if system.parameters:
            kernel = kernel.bind(given)
        pack = flow.layout.packer(system.inputs, system.name)

        def evaluate(t: float, x: np.ndarray, u: np.ndarray) -> Any:
            return kernel(*pack(t, x, u))

        return evaluate

    def reading(self, signals: Callable[[float, np.ndarray], np.ndarray]) -> VectorField:
        """A copy that reads other signals; it counts its own evaluations."""
        twin = copy(self)
        twin.unsolved = twin.evaluations = 0
        twin._signals = signals
        return twin

    def _sloped(self) -> tuple[Callable[..., Any], np.ndarray, np.ndarray]:
        """The function of the entries of the Jacobian, made when it is first asked for, and shared by all that read
        other signals."""
        if not self._slopes:
            system, rows, columns = jacobian_entries(self.flow)
            self._slopes.append((self.function(system), rows, columns))
        return self._slopes[0]


def flat_rates(flow: Flow) -> System:
    """The System of one output "rates" (nx,), in the order of the states."""
    names = list(flow.rates.states.values())
    return memory_of(flow).get("flat_rates", (), lambda: _joined(flow.rates, names, "rates"))


def flat_projection(flow: Flow) -> System | None:
    """The System of one output "x": the states that the projection gives, end to end; None where there is none."""
    project = flow.project
    if project is None:
        return None
    return memory_of(flow).get("flat_projection", (), lambda: _joined(project, project.outputs, "x"))


def jacobian_entries(flow: Flow) -> tuple[System, np.ndarray, np.ndarray]:
    """System of the entries of d rates / d x that are not zero by structure, with their rows and columns."""
    return memory_of(flow).get("jacobian_entries", (), lambda: _jacobian_entries(flow))


def _jacobian_entries(flow: Flow) -> tuple[System, np.ndarray, np.ndarray]:
    rates = flow.rates
    f = [node for n in flow.states for node in rates.output(rates.states[n]).flat]
    x = [symbol for n in flow.states for symbol in rates.inputs[n].flat]
    matrix = jacobian(f, x)
    filled = [(i, k) for i in range(len(f)) for k in range(len(x)) if not _is_zero(matrix[i, k])]
    # a System has an output even if nothing depends on the states
    entries = [matrix[i, k] for i, k in filled] or [rates.graph.zero]
    system = _derived(rates, "jacobian", entries)
    pairs = np.array(filled, dtype=int).reshape(-1, 2)
    return system, pairs[:, 0], pairs[:, 1]


def _joined(system: System, names: Any, output: str) -> System:
    nodes = [node for n in names for node in system.output(n).flat]
    return _derived(system, output, nodes)


def _derived(system: System, output: str, nodes: list[Node]) -> System:
    return System(
        f"{system.name}_{output}",
        inputs=system.inputs,
        outputs={output: node_array(nodes, system.graph)},
        parameters=system.parameters,
        defaults=system.defaults,
    )


def _is_zero(node: Node) -> bool:
    return node.op is CONST and bool(node.data == 0)


def _corrected(flow: Flow) -> np.ndarray:
    """Components of x that the projection gives."""
    names = () if flow.project is None else flow.project.outputs
    return np.array([k for n in names for k in range(*flow.slices[n].indices(flow.nx))], dtype=int)


def _signal_function(flow: Flow, signals: SignalValues) -> Callable[[float, np.ndarray], np.ndarray]:
    size = flow.layout.nu
    if callable(signals):
        given = signals
        return lambda t, x: np.asarray(given(t, x), dtype=float).reshape(size)
    if signals is None:
        if size:
            raise DefinitionError(
                f"{flow.rates.name} has the signals {', '.join(flow.signals)}, and no values were given for them."
            )
        signals = np.zeros(0)
    held = np.array(signals, dtype=float).reshape(-1)
    if held.size != size:
        raise ShapeError(f"{held.size} values were given for the signals of {flow.rates.name}; expected {size}.")
    return lambda t, x: held
