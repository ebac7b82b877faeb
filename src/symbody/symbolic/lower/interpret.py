"""Runs a Program in plain Python and NumPy: the oracle of every target, and the fallback where none can be built.

One state is computed with Python floats, a batch with one array a value; values that do not depend on the batch stay
floats. Fractions are computed exactly, complex numbers by the same rules as floats (for complex-step derivatives).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from symbody.basics.errors import ExpressionError, SolveError
from symbody.symbolic.expr.evaluate import holds
from symbody.symbolic.expr.external import call_external
from symbody.symbolic.expr.node import REACH
from symbody.symbolic.lower.operations import operation, table_value
from symbody.symbolic.lower.program import Program, SolveBlock, operands, say_unsolved
from symbody.symbolic.system.ports import Port, Values, gather, gather_parameters, loop_of, loop_shape

LANES = 8192  # larger batches run in pieces: every value of a Program is kept, as an array of this length at most


@dataclass(frozen=True, slots=True)
class PreparedProgram:
    """A Program with its parameters in place and `setup` done; `values` and `status` are copied before each use."""

    program: Program
    exact: bool
    values: list[Any]
    status: list[Any]
    reads: list[tuple[int, int]]


def interpret(
    program: Program,
    inputs: Values,
    parameters: Mapping[str, Any] | Any | None = None,
    *,
    status: bool = False,
    exact: bool | None = None,
) -> Any:
    """Outputs by name, each of shape `loop + port.shape`.

    inputs: arrays by name, or in the order of the ports, each of shape `loop + port.shape`.
    parameters: None for the defaults, a mapping (may be partial), or a vector of shape (..., parameter_size).
    status: also return the outcome of each solve block by index, shape `loop + (blocks,)`: +k converged after k
        evaluations, negative: failed (see `SolveBlock`); nothing is raised then. Otherwise one state that fails raises
        SolveError.
    exact: compute with Fractions; None decides by the type of what is given.

    A batch gives NaN in all outputs of a lane that fails.
    """
    arrays = gather(program.inputs, inputs)
    given = gather_parameters(program.parameters, parameters)
    if exact is None:
        exact = any(a.dtype == object for a in [*arrays, *given])
    outputs, outcome = run(program, arrays, given, exact)
    if status:
        return outputs, outcome
    raise_if_failed(program, outcome)
    return outputs


def run(
    program: Program, arrays: Sequence[np.ndarray], given: Sequence[np.ndarray], exact: bool = False
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """`interpret` for checked arrays, one a port: outputs by name, and outcomes of shape `loop + (blocks,)`."""
    ports = [*program.inputs, *program.parameters]
    loop = loop_shape(ports, [*arrays, *given])
    if math.prod(loop) > LANES or (exact and loop):
        return _run_in_pieces(program, arrays, given, loop, exact)
    prepared = prepare(program, elements(program.parameters, given, exact), exact)
    return run_prepared(prepared, elements(program.inputs, arrays, exact), loop)


def prepare(program: Program, parameters: Sequence[Any], exact: bool = False) -> PreparedProgram:
    """Puts constants and parameter elements in place and runs `setup`."""
    values: list[Any] = [None] * len(program.ops)
    reads = []
    for v, op in enumerate(program.ops):
        if op == "input":
            reads.append((v, program.args[v][0]))
        elif op == "const":
            number = program.args[v][0]
            values[v] = Fraction(number) if exact else float(number)
        elif op == "parameter":
            values[v] = parameters[program.args[v][0]]
    machine = _Machine(program, values, [0] * len(program.blocks), exact)
    with np.errstate(all="ignore"):
        machine.execute(program.setup)
    return PreparedProgram(program, exact, values, machine.status, reads)


def run_prepared(
    prepared: PreparedProgram, inputs: Sequence[Any], loop: tuple[int, ...]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Outputs and outcomes at input elements (a flat list of numbers or arrays over `loop`)."""
    program = prepared.program
    values = prepared.values.copy()
    for v, k in prepared.reads:
        values[v] = inputs[k]
    machine = _Machine(program, values, prepared.status.copy(), prepared.exact)
    with np.errstate(all="ignore"):
        machine.execute(program.step)
        machine.execute(program.call)
    outcome = np.empty((*loop, len(program.blocks)), dtype=np.int64)
    for k, one in enumerate(machine.status):
        outcome[..., k] = one
    failed = (outcome < 0).any(axis=-1)
    outputs = {}
    for port in program.outputs:
        results = [values[v] for v in port.values]
        kind = object if prepared.exact else complex if any(np.iscomplexobj(r) for r in results) else float
        flat = np.empty((*loop, len(results)), dtype=kind)
        for k, result in enumerate(results):
            flat[..., k] = result
        if failed.any():
            flat[failed] = math.nan
        outputs[port.name] = flat.reshape(loop + port.shape)
    return outputs, outcome


def raise_if_failed(program: Program, outcome: np.ndarray) -> None:
    """SolveError if a block failed in a call for one state; a batch reports by NaN."""
    if outcome.ndim > 1:
        return
    for block, k in zip(program.blocks, outcome):
        if k < 0:
            raise SolveError(
                say_unsolved(block.name, program.name, int(-k), block.max_iterations, block.remedy, block.words)
            )


def elements(ports: Sequence[Port], arrays: Sequence[np.ndarray], exact: bool = False) -> list[Any]:
    """The flat list of all elements: a number where an array has no loop dimensions, else an array over them."""
    flat: list[Any] = []
    for port, array in zip(ports, arrays):
        loop = loop_of(port, array)
        if exact:
            flat += [_fraction(x, port.name) for x in array.ravel().tolist()]
        elif array.dtype == object:
            raise ExpressionError(f"'{port.name}' holds {array.dtype} elements; expected floats, or exact=True.")
        elif not loop:
            numbers = array.ravel()
            flat += list(numbers) if array.dtype.kind == "c" else numbers.tolist()
        else:
            flat += list(np.ascontiguousarray(np.moveaxis(array.reshape((*loop, port.size)), -1, 0)))
    return flat


def _fraction(x: Any, name: str) -> Fraction:
    try:
        return Fraction(x)
    except (TypeError, ValueError, OverflowError):
        raise ExpressionError(f"'{name}' holds {x!r}, which is not an exact number; give ints or Fractions.") from None


def _run_in_pieces(
    program: Program, arrays: Sequence[np.ndarray], given: Sequence[np.ndarray], loop: tuple[int, ...], exact: bool
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Runs slices of the flattened loop (single lanes in exact mode) and joins the results."""
    ports = [*program.inputs, *program.parameters]
    count = math.prod(loop)
    rows = [
        np.broadcast_to(a, loop + p.shape).reshape((count, *p.shape)) if loop_of(p, a) else a
        for p, a in zip(ports, [*arrays, *given])
    ]
    parts = []
    for start in range(0, count, 1 if exact else LANES):
        lanes: Any = start if exact else slice(start, start + LANES)
        part = [np.asarray(r[lanes]) if loop_of(p, r) else r for p, r in zip(ports, rows)]
        outputs, outcome = run(program, part[: len(arrays)], part[len(arrays) :], exact)
        parts.append((outputs, outcome) if not exact else ({n: a[None] for n, a in outputs.items()}, outcome[None]))
    joined = {p.name: np.concatenate([o[p.name] for o, _ in parts]).reshape(loop + p.shape) for p in program.outputs}
    return joined, np.concatenate([s for _, s in parts]).reshape((*loop, len(program.blocks)))


def _lanes(value: Any) -> tuple[int, ...]:
    """Loop dimensions of a value; the value of an extern is a tuple of numbers."""
    return np.broadcast_shapes(*map(np.shape, value)) if isinstance(value, tuple) else np.shape(value)


class _Machine:
    """The values of one evaluation and the outcome of its blocks."""

    def __init__(self, program: Program, values: list[Any], status: list[Any], exact: bool) -> None:
        self.program, self.values, self.status, self.exact = program, values, status, exact
        self.functions: dict[str, Callable[..., Any]] = {}

    def execute(self, order: Iterable[int]) -> None:
        ops, args, values = self.program.ops, self.program.args, self.values
        for i in order:
            op, a = ops[i], args[i]
            if op == "mul":
                values[i] = values[a[0]] * values[a[1]]
            elif op == "add":
                values[i] = values[a[0]] + values[a[1]]
            elif op == "sub":
                values[i] = values[a[0]] - values[a[1]]
            elif op == "fma":
                values[i] = self.function("fma")(values[a[0]], values[a[1]], values[a[2]], a[3], a[4])
            elif op == "table":
                values[i] = table_value(self.program.tables[a[0]], values[a[1]])
            elif op == "extern":
                values[i] = call_external(self.program.externals[a[0]], [values[k] for k in a[1:]])
            elif op == "result":
                values[i] = values[a[0]][a[1]]
            elif op == "solve":
                self.solve(a[0])
            else:
                function = self.functions.get(op) or self.function(op)
                values[i] = function(*[values[k] for k in a])

    def function(self, op: str) -> Callable[..., Any]:
        """What an operation does to numbers, looked up once."""
        if op not in self.functions:
            try:
                self.functions[op] = operation(op, self.exact)
            except ExpressionError as error:
                raise ExpressionError(f"Program '{self.program.name}': {error}") from None
        return self.functions[op]

    def solve(self, index: int) -> None:
        """Runs one block, for one state or for all lanes; a failed one leaves NaN in its unknowns."""
        block, values = self.program.blocks[index], self.values
        lanes = np.broadcast_shapes(*(_lanes(values[v]) for v in self._read_from_outside(block)))
        self.status[index] = self._checked(block, self._solve_lanes(block, lanes) if lanes else self._solve_one(block))
        failed = self.status[index] < 0
        if np.any(failed):
            for v in block.unknowns:
                values[v] = np.where(failed, math.nan, values[v]) if lanes else math.nan

    def _read_from_outside(self, block: SolveBlock) -> list[int]:
        inside = {*block.body, *block.unknowns}
        reads = [*block.guess, *block.watched, *block.limits]
        for v in block.body:
            op, args = self.program.ops[v], self.program.args[v]
            if op == "solve":
                inner = self.program.blocks[args[0]]
                inside.update(inner.body, inner.unknowns)
                reads += self._read_from_outside(inner)
            reads += operands(op, args)
        # unknowns of enclosing blocks have their lanes already; inner ones are not made yet
        return [v for v in reads if v not in inside]

    def _solve_one(self, block: SolveBlock) -> int:
        values = self.values
        x = [values[v] for v in block.guess]
        far = [min(REACH * (1.0 + abs(a)), block.span) for a in x]
        for evaluation in range(1, block.max_iterations + 1):
            step = self._evaluate(block, x)
            if not all(isinstance(s, Fraction) or np.isfinite(s) for s in step):
                return -evaluation
            sizes = [abs(a) if abs(a) < f else f for a, f in zip(x, far)]
            if all(abs(s) <= block.tolerance * (1.0 + a) for s, a in zip(step, sizes)):
                self._settle(block, x, step)
                return evaluation
            if evaluation < block.max_iterations:
                x = [a + s for a, s in zip(x, step)]
        return -block.max_iterations

    def _solve_lanes(self, block: SolveBlock, lanes: tuple[int, ...]) -> np.ndarray:
        values = self.values
        x = [np.broadcast_to(values[v], lanes) for v in block.guess]
        far = [np.minimum(REACH * (1.0 + np.abs(a)), block.span) for a in x]
        outcome = np.zeros(lanes, dtype=np.int64)
        for evaluation in range(1, block.max_iterations + 1):
            step = self._evaluate(block, x)
            running = outcome == 0
            finite, small = np.ones(lanes, dtype=bool), np.ones(lanes, dtype=bool)
            for s, a, f in zip(step, x, far):
                size = np.abs(a)
                finite &= np.isfinite(s)
                small &= np.abs(s) <= block.tolerance * (1.0 + np.where(size < f, size, f))
            outcome[running & ~finite] = -evaluation
            outcome[running & finite & small] = evaluation
            running = outcome == 0
            if not running.any():
                break
            if evaluation < block.max_iterations:
                # lanes that have stopped keep their x: evaluated again, their body gives the same values
                x = [np.where(running, a + s, a) for a, s in zip(x, step)]
        outcome[outcome == 0] = -block.max_iterations
        self._settle(block, x, step)
        return outcome

    def _checked(self, block: SolveBlock, outcome: Any) -> Any:
        """The outcome, or which check is the first that does not hold."""
        for j, check in enumerate(block.checks):
            value, limit = (np.real(self.values[v]) for v in (block.watched[j], block.limits[j]))
            fails = (np.asarray(outcome) > 0) & np.logical_not(holds(check, value, limit))
            outcome = np.where(fails, -(block.max_iterations + 1 + j), outcome)
        return outcome

    def _evaluate(self, block: SolveBlock, x: Sequence[Any]) -> list[Any]:
        """The Newton step at x."""
        for v, a in zip(block.unknowns, x):
            self.values[v] = a
        self.execute(block.body)
        return [self.values[v] for v in block.step]

    def _settle(self, block: SolveBlock, x: Sequence[Any], step: Sequence[Any]) -> None:
        """Complex numbers only: the imaginary parts lag one iteration behind the real ones, so take two more steps."""
        if any(np.iscomplexobj(s) for s in step):
            for _ in range(2):
                x = [a + s for a, s in zip(x, step)]
                step = self._evaluate(block, x)
