"""The call interface of Kernels that run a Program on checked arrays: the interpreter and compiled C."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from symbody.basics.errors import NameLookupError, ShapeError, nearest
from symbody.codegen.kernel.kernel_arrays import check_lanes, targets_of, too_many_states
from symbody.codegen.kernel.passport import results_by_name
from symbody.codegen.kernel.recipe import Remade
from symbody.codegen.kernel.signature import results_type
from symbody.codegen.kernel.threads import check_threads
from symbody.symbolic.lower.interpret import raise_if_failed
from symbody.symbolic.lower.program import OutputPort, Program
from symbody.symbolic.system.ports import Port, check_numbers, checked, gather_parameters, loop_shape, merged


class ProgramKernel(Remade, ABC):
    """A stateless callable over a Program, for one state or a batch; a member says how arrays become results."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._bound: list[np.ndarray] | None = None

    @abstractmethod
    def _compute(
        self, arrays: list[np.ndarray], given: list[np.ndarray], loop: tuple[int, ...]
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """Results of shape `loop + port.shape`, NaN in failed states, and outcomes of shape `loop + (blocks,)`.

        arrays, given: one checked array an input and a parameter port; `given is self._bound` after `bind`.
        """

    @abstractmethod
    def bind(self, parameters: Mapping[str, Any] | Any | None = None) -> Self:
        """A Kernel with these parameters in place: calls skip `setup`."""

    def _gathered(self, parameters: Any) -> list[np.ndarray]:
        """One checked array a parameter port: those bound before, where a mapping does not change them."""
        check_numbers(self.parameters, parameters)
        before = {} if self._bound is None else {p.name: a for p, a in zip(self.parameters, self._bound, strict=True)}
        return gather_parameters(self.parameters, merged(before, parameters))

    def _kept(self, parameters: Any) -> list[np.ndarray]:
        """As `_gathered`, in arrays of its own: those of the caller may change."""
        return [a.copy() for a in self._gathered(parameters)]

    @property
    def name(self) -> str:
        return self.program.name

    @property
    def inputs(self) -> tuple[Port, ...]:
        return self.program.inputs

    @property
    def parameters(self) -> tuple[Port, ...]:
        return self.program.parameters

    @property
    def outputs(self) -> tuple[OutputPort, ...]:
        return self.program.outputs

    def __call__(self, *args: Any, parameters: Any = None, out: Any = None, **named: Any) -> Any:
        """An array, or a named tuple where there are several outputs.

        Arrays of shape `loop + port.shape`, by position or by name; loop dimensions broadcast as those of NumPy's
        generalised ufuncs. parameters: None for the bound or default ones, a mapping, or a vector (..., n). out: arrays
        to write to. One state whose solve fails raises SolveError; in a batch its results are NaN.
        """
        result, outcome = self.call_with_status(*args, parameters=parameters, out=out, **named)
        raise_if_failed(self.program, outcome)
        return result

    def call_with_status(
        self, *args: Any, parameters: Any = None, out: Any = None, **named: Any
    ) -> tuple[Any, np.ndarray]:
        """Results and the outcome of each solve block, (..., blocks): +k converged after k evaluations, else failed."""
        options = {"threads": check_threads, "lanes": check_lanes}  # of native Kernels; without meaning here
        for option in (options.keys() & named.keys()) - {p.name for p in self.inputs}:
            value = named.pop(option)
            if value is not None:
                options[option](value)
        arrays = call_arguments(self.inputs, args, named)
        given = self._bound
        if given is None or parameters is not None:
            given = self._gathered(parameters)
        loop = loop_shape([*self.inputs, *self.parameters], [*arrays, *given])
        targets = out_arrays(self.outputs, out, loop)
        try:
            for port in self.outputs:
                np.empty(loop + port.shape)  # asked for before anything is computed
            results, outcome = self._compute(arrays, given, loop)
        except MemoryError:
            raise too_many_states(loop) from None
        for k, target in enumerate(targets):
            if target is not None:
                _write(self.outputs[k].name, results[k], target)
                results[k] = target
        # single numbers come as NumPy scalars, as from a ufunc
        final = [r if r.shape or t is not None else r[()] for r, t in zip(results, targets)]
        packed = final[0] if len(final) == 1 else results_type(tuple(p.name for p in self.outputs))(final)
        return packed, outcome

    def call_named(self, *args: Any, parameters: Any = None, **named: Any) -> dict[str, np.ndarray]:
        """Outputs by name, also where there is only one; arguments as those of a call."""
        return results_by_name(self.outputs, self(*args, parameters=parameters, **named))

    def __repr__(self) -> str:
        def port_text(ports: Sequence[Port | OutputPort]) -> str:
            texts = [f"{p.name}[{'x'.join(map(str, p.shape)) or 1}]" + (f" {p.unit}" if p.unit else "") for p in ports]
            return ", ".join(texts) or "nothing"

        lines = [f"{type(self).__name__} {self.name}: {port_text(self.inputs)} -> {port_text(self.outputs)}"]
        if self.parameters:
            lines.append(f"  parameters{' (bound)' if self._bound is not None else ''}: {port_text(self.parameters)}")
        if self.program.blocks:
            lines.append("  solve blocks: " + ", ".join(block.name for block in self.program.blocks))
        return "\n".join(lines)


def call_arguments(ports: Sequence[Port], args: Sequence[Any], named: Mapping[str, Any]) -> list[np.ndarray]:
    """One checked array a port, from positional arguments followed by named ones."""
    names = [p.name for p in ports]
    if len(args) > len(ports):
        raise ShapeError(f"{len(args)} arguments were given; expected at most {len(ports)} ({', '.join(names)}).")
    for name in named:
        if name not in names:
            raise NameLookupError(f"There is no input '{name}'. {nearest(name, names)}")
        if names.index(name) < len(args):
            raise NameLookupError(f"Input '{name}' is given twice: by position {names.index(name)} and by name.")
    missing = [name for name in names[len(args) :] if name not in named]
    if missing:
        raise NameLookupError(f"Missing input: {', '.join(missing)}. Expected {', '.join(names)}.")
    given = [*args, *(named[name] for name in names[len(args) :])]
    return [checked(p, value) for p, value in zip(ports, given)]


def _write(name: str, result: np.ndarray, target: np.ndarray) -> None:
    if not np.can_cast(result.dtype, target.dtype):
        raise ShapeError(f"out for '{name}' has type {target.dtype}; expected {result.dtype}, which the results have.")
    target[...] = result


def out_arrays(outputs: Sequence[OutputPort], out: Any, loop: tuple[int, ...]) -> list[np.ndarray | None]:
    """The caller's array, or None, for each output: `out` is an array, a sequence, or a mapping that may be partial."""
    arrays = targets_of([p.name for p in outputs], out)
    for port, array in zip(outputs, arrays):
        if array is None:
            continue
        if not isinstance(array, np.ndarray):
            raise ShapeError(f"out for '{port.name}' is a {type(array).__name__}; expected a NumPy array.")
        if array.shape != loop + port.shape:
            raise ShapeError(f"out for '{port.name}' has shape {array.shape}; expected {loop + port.shape}.")
        if not array.flags.writeable:
            raise ShapeError(f"out for '{port.name}' is read-only; give an array that can be written.")
    return arrays
