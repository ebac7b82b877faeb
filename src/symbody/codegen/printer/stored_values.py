"""Stored values for generated test programs: a few states, and what the interpreter gives there.

External functions are outside of the emitted text, so a test program brings stubs: result k of a call with arguments
x_0, x_1, ... is 0.5 + k + sum_j x_j/(2 + j + k). The stored values belong to the stubs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbody.codegen.printer.module_layout import EmittedModule
from symbody.symbolic.expr.external import External
from symbody.symbolic.lower.interpret import interpret
from symbody.symbolic.lower.program import Program

STATES, TRIES = 3, 40


@dataclass(frozen=True)
class Samples:
    """inputs[state][port] and outputs[state][port], flat in C order; parameters: the vector at which they hold."""

    parameters: list[float]
    inputs: list[dict[str, list[float]]]
    outputs: list[dict[str, list[float]]]


def stub_terms(external: External, k: int) -> tuple[float, list[float]]:
    """Constant and factors of result k of a stub."""
    return 0.5 + k, [1.0 / (2 + j + k) for j in range(external.arity)]


def _stub(external: External) -> Callable[..., tuple[Any, ...]]:
    def function(*x: Any) -> tuple[Any, ...]:
        out = []
        for k in range(external.results):
            value, factors = stub_terms(external, k)
            for a, factor in zip(x, factors):
                value = value + a * factor
            out.append(value)
        return tuple(out)

    return function


def with_stubs(program: Program, keep_text: bool = False) -> Program:
    """The Program with stubs for external functions; keep_text: only for those without C text."""
    if not program.externals:
        return program
    stubs = [
        e if keep_text and e.c_body is not None else replace(e, function=_stub(e), address=None)
        for e in program.externals
    ]
    return replace(program, externals=tuple(stubs))


def samples(module: EmittedModule, states: int = STATES) -> Samples:
    """States near zero at which every block is solved, where there are such; the same in any process."""
    program = with_stubs(module.source, keep_text=module.language.functions == "c")
    rng = np.random.default_rng(7)
    parameters = [
        float(x) for p in program.parameters for x in (p.default if p.default is not None else [0.5] * p.size)
    ]
    found: list[tuple[dict[str, Any], dict[str, Any]]] = []
    failed: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for k in range(TRIES):
        inputs = {p.name: rng.uniform(0.1, 0.6, p.shape) * (1 if k % 2 else 0.5) for p in program.inputs}
        with np.errstate(all="ignore"):
            outputs, status = interpret(program, inputs, np.array(parameters), status=True)
        (failed if (status < 0).any() else found).append((inputs, outputs))
        if len(found) == states:
            break
    kept = (found or failed)[:states]
    return Samples(parameters, [_flat(x) for x, _ in kept], [_flat(y) for _, y in kept])


def _flat(arrays: dict[str, Any]) -> dict[str, list[float]]:
    return {n: [float(x) for x in np.asarray(a, dtype=float).ravel()] for n, a in arrays.items()}


def rows(values: Sequence[dict[str, list[float]]], names: Sequence[str]) -> list[float]:
    """The values of some ports, state by state."""
    return [x for state in values for name in names for x in state[name]]
