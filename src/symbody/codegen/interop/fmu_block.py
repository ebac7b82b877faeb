"""An FMU as a block of inputs, states and outputs: a System that simulates, or controls, as any other.

The FMU is loaded for model exchange through FMPy; its rates and outputs are one function from outside. Loading it runs
the code that it carries: do so only with files that you trust (docs/security.md).
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from symbody.basics.errors import CompileError, DefinitionError, ModelError
from symbody.basics.regular_file import missing
from symbody.codegen.interop.peers import peer
from symbody.symbolic.expr.external import External
from symbody.symbolic.expr.functions import extern
from symbody.symbolic.expr.graph import symbol
from symbody.symbolic.system.names import identifier
from symbody.symbolic.system.system import System


class BlockVariable(Protocol):
    """What FMPy says of a variable."""

    name: str
    type: str
    causality: str
    variability: str
    valueReference: int
    start: str | None
    unit: str | None
    derivative: BlockVariable | None
    dimensions: Sequence[object]


@dataclass(frozen=True, eq=False)
class FmuBlock:
    """system: inputs, states, parameters and outputs of the FMU; start: its states after initialization.

    `sb.simulate(block.system, 2.0, states0=block.start, inputs={"u": ...})`
    """

    system: System
    start: Mapping[str, float]


def load_fmu(path: str | Path, name: str | None = None) -> FmuBlock:
    """The FMU (FMI 2.0 or 3.0, model exchange) at `path`; this loads and runs the binary inside.

    Continuous ones only: an FMU with event indicators or arrays is refused. Parameters of the block are those of the
    FMU that are real numbers; a changed one initializes the FMU again.
    """
    fmpy = peer("fmpy")
    path = Path(path)
    why = missing(path)
    if why:
        raise ModelError(f"{why}; expected an FMU.")
    try:
        description = fmpy.read_model_description(str(path))
    except Exception as error:  # FMPy raises plain exceptions of many kinds
        raise ModelError(f"{path} cannot be read as an FMU: {error}") from error
    _check(path, description)
    if fmpy.platform_tuple not in (platforms := fmpy.supported_platforms(str(path))) and not set(platforms) & {
        fmpy.platform,
        fmpy.platform_tuple,
    }:
        raise CompileError(f"{path} has binaries for {', '.join(platforms)}, not for {fmpy.platform_tuple}.")
    instance = _Instance(fmpy, path, description)
    own = identifier(name or description.modelName)
    given = [*instance.states, *instance.inputs]
    names = _names(given)
    parameters = _names(instance.parameters, taken=names.values())
    symbols = {
        v.name: symbol(n, "state" if v in instance.states else "input", unit=v.unit or "")
        for v, n in ((v, names[v.name]) for v in given)
    }
    tuned = [symbol(parameters[v.name], "parameter", default=float(v.start or 0)) for v in instance.parameters]
    time = symbol("t", "time")
    function = External(
        f"{own}_fmu", 1 + len(given) + len(tuned), len(instance.states) + len(instance.outputs), instance.evaluate
    )
    found = extern(function, time, *symbols.values(), *tuned)
    made = [found] if function.results == 1 else found
    rates = {f"{names[v.name]}_dot": made[k] for k, v in enumerate(instance.states)}
    shown = _names(instance.outputs, taken=[*names.values(), *parameters.values(), *rates])
    outputs = {shown[v.name]: made[len(rates) + k] for k, v in enumerate(instance.outputs)}
    inputs: dict[str, Any] = {"t": time, **{names[v.name]: symbols[v.name] for v in given}}
    system = System(
        own,
        inputs=inputs,
        outputs={**rates, **outputs},
        states={names[v.name]: f"{names[v.name]}_dot" for v in instance.states},
    )
    return FmuBlock(system, dict(zip((names[v.name] for v in instance.states), instance.started)))


def _check(path: Path, description: Any) -> None:
    """Refuse what a block cannot be, by name."""
    version = str(description.fmiVersion)
    if description.modelExchange is None:
        raise DefinitionError(f"{path} has no model exchange; a block needs it: rates and outputs of a state.")
    if not version.startswith(("2.", "3.")):
        raise DefinitionError(f"{path} is of FMI {version}; expected 2.0 or 3.0.")
    if int(description.numberOfEventIndicators or 0):
        raise DefinitionError(
            f"{path} has {description.numberOfEventIndicators} event indicators; a block is continuous. Simulate it "
            "with FMPy, or write its events as guards of a System."
        )
    for v in description.modelVariables:
        used = v.causality in ("input", "output") or v.derivative is not None
        if used and (v.type not in ("Real", "Float64") or v.dimensions):
            raise DefinitionError(
                f"{path}: variable {v.name!r} is {'an array' if v.dimensions else f'of type {v.type}'}; inputs, states "
                "and outputs of a block are real numbers."
            )


def _names(variables: Sequence[BlockVariable], taken: Any = ()) -> dict[str, str]:
    """Variable -> identifier, each once."""
    found: dict[str, str] = {}
    used = {"t", *taken}
    for v in variables:
        base = name = identifier(v.name)
        count = 1
        while name in used:
            count += 1
            name = f"{base}_{count}"
        used.add(name)
        found[v.name] = name
    return found


class _Instance:
    """One loaded FMU; freed with its last user."""

    def __init__(self, fmpy: Any, path: Path, description: Any) -> None:
        self.fmpy, self.description = fmpy, description
        self.three = str(description.fmiVersion).startswith("3")
        variables: list[BlockVariable] = list(description.modelVariables)
        self.rates = [unknown.variable for unknown in description.derivatives]
        self.states: list[BlockVariable] = [v.derivative for v in self.rates if v.derivative is not None]
        self.inputs = [v for v in variables if v.causality == "input"]
        places = {v.valueReference for v in self.states}
        self.outputs = [v for v in variables if v.causality == "output" and v.valueReference not in places]
        self.parameters = [
            v for v in variables if v.causality == "parameter" and v.type in ("Real", "Float64") and not v.dimensions
        ]
        self.given: list[float] = [float(v.start or 0) for v in self.parameters]
        try:
            folder = tempfile.mkdtemp(prefix="symbody_fmu_")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            fmpy.extract(str(path), folder)
            with contextlib.chdir("."):  # where loading fails, FMPy stays in the folder that it loads from
                self.fmu = fmpy.instantiate_fmu(folder, description, fmi_type="ModelExchange")
            weakref.finalize(self, _free, self.fmu)  # finalizers run from the last to the first
            self._initialize(())
            self.started = [float(x) for x in self._get(self.states)]
        except Exception as error:  # FMPy raises plain exceptions of many kinds
            raise ModelError(f"{path} cannot be loaded as an FMU: {error}") from error

    def _initialize(self, parameters: Sequence[float]) -> None:
        fmu = self.fmu
        if parameters:
            self._set(self.parameters, parameters)
        if self.three:
            fmu.enterInitializationMode()
            fmu.exitInitializationMode()
            fmu.updateDiscreteStates()
        else:
            fmu.setupExperiment()
            fmu.enterInitializationMode()
            fmu.exitInitializationMode()
            fmu.newDiscreteStates()
        fmu.enterContinuousTimeMode()

    def _set(self, variables: Sequence[BlockVariable], values: Sequence[float]) -> None:
        if variables:
            places = [v.valueReference for v in variables]
            (self.fmu.setFloat64 if self.three else self.fmu.setReal)(places, [float(x) for x in values])

    def _get(self, variables: Sequence[BlockVariable]) -> Sequence[float]:
        places = [v.valueReference for v in variables]
        return (self.fmu.getFloat64 if self.three else self.fmu.getReal)(places) if places else []

    def evaluate(self, time: Any, *given: Any) -> tuple[Any, ...]:
        """Rates and outputs at (t, states, inputs, parameters): numbers, or arrays of states, one after the other."""
        values = np.broadcast_arrays(time, *given)
        shape = values[0].shape
        if shape:
            each = np.array([self._one(row) for row in np.stack([v.ravel() for v in values], axis=1)])
            return tuple(column.reshape(shape) for column in each.T)
        return tuple(self._one([float(v) for v in values]))

    def _one(self, row: Sequence[float]) -> list[float]:
        states, inputs = len(self.states), len(self.inputs)
        x, u = row[1 : 1 + states], row[1 + states : 1 + states + inputs]
        parameters = [float(p) for p in row[1 + states + inputs :]]
        if parameters != self.given:
            self.fmu.reset()
            self._initialize(parameters)
            self.given = parameters
        self.fmu.setTime(float(row[0]))
        self._set(self.states, x)
        self._set(self.inputs, u)
        return [float(y) for y in (*self._get(self.rates), *self._get(self.outputs))]


def _free(fmu: Any) -> None:
    try:
        fmu.terminate()
        fmu.freeInstance()
    except Exception:  # the instance may have failed before: nothing is left to do with it
        pass
