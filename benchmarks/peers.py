"""One adapter a library: how it makes symbols and derivatives, counts, evaluates. symbody is one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import metadata, util
from typing import Any

import numpy as np

from benchmarks.record import Missing
from benchmarks.tally import Tally, TreeTally, casadi_tally
from benchmarks.timing import TooSlow, isolated
from benchmarks.workloads import Workload
from benchmarks.workloads import by_name as workload_named

Arrays = Mapping[str, np.ndarray]


@dataclass
class Built:
    """A workload in the symbols of a library: `arguments` has the symbols of each input and parameter."""

    workload: Workload
    arguments: dict[str, list[Any]]
    outputs: list[Any]

    def inputs(self) -> list[Any]:
        return [s for name in self.workload.inputs for s in self.arguments[name]]

    def flat(self) -> list[Any]:
        """All symbols, inputs first."""
        return [s for symbols in self.arguments.values() for s in symbols]


class Library:
    """A library of symbolic scalars."""

    name = ""
    module = ""
    # set by `build`: an import statement in each call would be part of the construction time
    sin: Callable[[Any], Any]
    cos: Callable[[Any], Any]

    def available(self) -> bool:
        return util.find_spec(self.module) is not None

    def version(self) -> str:
        return metadata.version(self.module)

    def fresh(self) -> AbstractContextManager[Any]:
        """Within it nothing that was made before is found again."""
        return nullcontext()

    def symbol(self, name: str, parameter: bool) -> Any:
        raise NotImplementedError

    def gradient(self, f: Any, variables: Sequence[Any]) -> list[Any]:
        raise NotImplementedError

    def build(self, workload: Workload) -> Built:
        with self.fresh():
            arguments = {n: [self.symbol(f"{n}_{k}", False) for k in range(s)] for n, s in workload.inputs.items()}
            arguments |= {n: [self.symbol(f"{n}_{k}", True) for k in range(s)] for n, s in workload.parameters.items()}
            return Built(workload, arguments, list(workload.build(self, arguments)))

    def tally(self, built: Built) -> Tally:
        """Operations after the library's own optimisation."""
        raise NotImplementedError

    def function(self, built: Built) -> Callable[[Arrays], np.ndarray]:
        """Values (inputs (states, size), parameters (size,)) -> (states, outputs), the best way the library offers."""
        raise NotImplementedError


def flat_rows(built: Built, values: Arrays) -> np.ndarray:
    """(states, all arguments) in one array."""
    states = len(values[next(iter(built.workload.inputs))])
    columns = [np.broadcast_to(values[n], (states, len(s))) for n, s in built.arguments.items()]
    return np.ascontiguousarray(np.concatenate(columns, axis=1))


class Symbody(Library):
    name = "symbody"
    module = "symbody"

    def version(self) -> str:
        import symbody

        return symbody.__version__

    def fresh(self) -> AbstractContextManager[Any]:
        import symbody as sb

        return sb.Graph()

    def symbol(self, name: str, parameter: bool) -> Any:
        import symbody as sb

        return sb.symbol(name, "parameter" if parameter else "input")

    def build(self, workload: Workload) -> Built:
        import symbody as sb

        self.sin, self.cos = sb.sin, sb.cos
        return super().build(workload)

    def gradient(self, f: Any, variables: Sequence[Any]) -> list[Any]:
        from symbody.symbolic.expr.derivative import gradient

        return gradient(f, list(variables))

    def system(self, built: Built) -> Any:
        import symbody as sb

        # System makes arrays of lists
        inputs: dict[str, Any] = {n: built.arguments[n] for n in built.workload.inputs}
        parameters: dict[str, Any] = {n: built.arguments[n] for n in built.workload.parameters}
        outputs: dict[str, Any] = {"f": built.outputs}
        return sb.System(built.workload.name, inputs=inputs, parameters=parameters, outputs=outputs)

    def tally(self, built: Built, preset: str = "standard") -> Tally:
        return self.system_tally(self.system(built).optimize(preset))

    def system_tally(self, system: Any) -> Tally:
        c = system.count()
        return Tally(c.mul, c.add, c.div, c.trig, c.other)

    def function(self, built: Built) -> Callable[[Arrays], np.ndarray]:
        return self.system_function(built, self.system(built))

    def system_function(self, built: Built, system: Any, **options: Any) -> Callable[[Arrays], np.ndarray]:
        kernel = system.compile(cache=False, **options)
        w = built.workload

        def call(values: Arrays) -> np.ndarray:
            parameters = {n: values[n] for n in w.parameters} or None
            return np.asarray(kernel(*(values[n] for n in w.inputs), parameters=parameters, threads=1))

        return call


class SymPy(Library):
    name = "SymPy"
    module = "sympy"

    def fresh(self) -> AbstractContextManager[Any]:
        from sympy.core.cache import clear_cache

        clear_cache()
        return nullcontext()

    def build(self, workload: Workload) -> Built:
        import sympy

        self.sin, self.cos, self._symbol = sympy.sin, sympy.cos, sympy.Symbol
        return super().build(workload)

    def symbol(self, name: str, parameter: bool) -> Any:
        return self._symbol(name, real=True)

    def gradient(self, f: Any, variables: Sequence[Any]) -> list[Any]:
        return [f.diff(x) for x in variables]

    def tally(self, built: Built) -> Tally:
        import sympy

        return TreeTally(built.inputs()).program(*sympy.cse(built.outputs))

    def function(self, built: Built, module: str = "numpy") -> Callable[[Arrays], np.ndarray]:
        compiled = self.lambdified(built, module)
        return lambda values: np.stack(np.broadcast_arrays(*compiled(*flat_rows(built, values).T)), axis=-1)

    def lambdified(self, built: Built, module: str) -> Callable[..., list[Any]]:
        """A function of numbers (module "math") or of arrays ("numpy"), one argument a symbol."""
        import sympy

        return sympy.lambdify(built.flat(), built.outputs, modules=module, cse=True)


class SymEngine(Library):
    name = "SymEngine"
    module = "symengine"

    def build(self, workload: Workload) -> Built:
        import symengine

        self.sin, self.cos, self._symbol = symengine.sin, symengine.cos, symengine.Symbol
        return super().build(workload)

    def symbol(self, name: str, parameter: bool) -> Any:
        return self._symbol(name)

    def gradient(self, f: Any, variables: Sequence[Any]) -> list[Any]:
        return [f.diff(x) for x in variables]

    def tally(self, built: Built) -> Tally:
        import symengine

        return TreeTally(built.inputs()).program(*symengine.cse(built.outputs))

    def function(self, built: Built) -> Callable[[Arrays], np.ndarray]:
        compiled = self.lambdified(built)
        return lambda values: np.asarray(compiled(flat_rows(built, values)))

    def lambdified(self, built: Built) -> Callable[..., Any]:
        """Native code through LLVM where this SymEngine has it."""
        import symengine
        from symengine.lib import symengine_wrapper

        backend = "llvm" if getattr(symengine_wrapper, "have_llvm", False) else "lambda"
        return symengine.Lambdify(built.flat(), built.outputs, backend=backend, cse=True)


class CasADi(Library):
    name = "CasADi"
    module = "casadi"

    def build(self, workload: Workload) -> Built:
        import casadi

        self.sin, self.cos, self._symbol = casadi.sin, casadi.cos, casadi.SX.sym
        return super().build(workload)

    def symbol(self, name: str, parameter: bool) -> Any:
        return self._symbol(name)

    def gradient(self, f: Any, variables: Sequence[Any]) -> list[Any]:
        import casadi as ca

        row = ca.gradient(f, ca.vertcat(*variables))
        return [row[k] for k in range(len(variables))]

    def sx_function(self, built: Built) -> Any:
        """An SX Function with an argument for each port, after CasADi's own cse."""
        import casadi as ca

        ports = [ca.vertcat(*symbols) for symbols in built.arguments.values()]
        return ca.Function("f", ports, [ca.cse(ca.vertcat(*built.outputs))])

    def tally(self, built: Built) -> Tally:
        return casadi_tally(self.sx_function(built), len(built.workload.inputs))

    def function(self, built: Built) -> Callable[[Arrays], np.ndarray]:
        compiled = self.sx_function(built)

        def call(values: Arrays) -> np.ndarray:
            states = len(values[next(iter(built.workload.inputs))])
            rows = [np.broadcast_to(values[n], (states, len(s))).T for n, s in built.arguments.items()]
            return np.asarray(compiled(*rows)).T  # more columns than declared: one call for each

        return call


LIBRARIES: tuple[Library, ...] = (Symbody(), SymPy(), SymEngine(), CasADi())


def available() -> list[Library]:
    return [library for library in LIBRARIES if library.available()]


def by_name(name: str) -> Library:
    return next(library for library in LIBRARIES if library.name == name)


def feasible(library: Library, workload: str, limit: float) -> Missing | None:
    """Why this library cannot build and compile this workload here, None if it can.

    Tried in another process first: SymPy and SymEngine distribute numbers over sums, and so may take forever on a
    workload that is short for the others.
    """
    if not library.available():
        return Missing(f"{library.name} is not installed")
    if library.name in ("SymPy", "SymEngine"):
        try:
            isolated(build_and_check, library.name, workload, limit=limit)
        except TooSlow as why:
            return Missing(f"{workload}: {why}")
    return None


def build_and_check(library: str, workload: str) -> bool:
    found, w = by_name(library), workload_named(workload)
    check(library, w, found.function(found.build(w)))
    return True


def agrees(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-9) -> bool:
    """Each output to within a tolerance of its own largest value."""
    scale = np.max(np.abs(expected), axis=0, keepdims=True) + 1e-300
    return bool(np.all(np.abs(found - expected) <= tolerance * scale))


def check(library: str, workload: Workload, function: Callable[[Arrays], np.ndarray], states: int = 5) -> None:
    """Refuse to time what computes something else: a wrong program is often the cheaper one."""
    values = workload.sample(states)
    if not agrees(function(values), workload.expected(values)):
        raise AssertionError(f"{library} computes other values of {workload.name} than NumPy; it is not timed.")
