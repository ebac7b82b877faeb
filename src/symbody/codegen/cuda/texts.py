"""The texts of a kernel for its layouts and kinds of parameters, and Programs made ready for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbody.codegen.cuda.cuda_language import LONG
from symbody.codegen.cuda.kernel_source import KernelText, kernel_text
from symbody.symbolic.lower.interpret import elements, prepare
from symbody.symbolic.lower.program import Program


def setup_values(program: Program, derived: Sequence[int], given: Sequence[np.ndarray]) -> np.ndarray:
    """What `setup` makes of parameters that all states share, by the interpreter: exact in double precision."""
    done = prepare(program, elements(program.parameters, list(given)))
    return np.array([float(done.values[v]) for v in derived], dtype=float)


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts of a kernel, written when they are first asked for: parameters shared or per state."""

    program: Program
    precision: str
    layout: str
    folded: bool = False
    long: int = LONG

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64 if self.precision == "double" else np.float32)

    def text(self, parameters: str) -> KernelText:
        known: dict[str, KernelText] = self.__dict__.setdefault("_texts", {})
        if parameters not in known:
            kind = "folded" if self.folded else parameters
            known[parameters] = kernel_text(self.program, self.precision, self.layout, kind, self.long)
        return known[parameters]


def replace_layout(texts: Texts, layout: str) -> Texts:
    """Texts of a kernel for another layout, made once."""
    if texts.layout == layout:
        return texts
    twins: dict[str, Texts] = texts.__dict__.setdefault("_twins", {})
    if layout not in twins:
        twins[layout] = replace(texts, layout=layout)
    return twins[layout]


def folded(program: Program, values: Sequence[np.ndarray]) -> Program:
    """The Program with numbers in place of its parameters; what setup made becomes part of the call."""
    flat = np.concatenate([np.ravel(v) for v in values]) if values else np.zeros(0)
    ops, args = list(program.ops), list(program.args)
    for v, op in enumerate(ops):
        if op == "parameter":
            ops[v], args[v] = "const", (float(flat[args[v][0]]),)
    return replace(program, parameters=(), ops=ops, args=args, setup=(), step=[*program.setup, *program.step])
