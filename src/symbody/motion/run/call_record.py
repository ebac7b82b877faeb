"""What `simulate` was asked for as data: the model as the text of its file, numbers, texts, and Systems as records.

A checkpoint of a closed mechanism holds it: the equations of such a run change on the way, and are made again from the
model. Python functions stand by name; they are given again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, real_argument
from symbody.mechanics.loops.partition.partition import Partition
from symbody.mechanics.loops.partition.structure import Block
from symbody.model.files.yaml_file import read_text
from symbody.model.files.yaml_writer import to_yaml
from symbody.model.record.mechanism import Mechanism
from symbody.motion.events.plan import Settings
from symbody.motion.flow.event_rules import When
from symbody.motion.flow.loop_treatment import Augmented
from symbody.motion.flow.sources import function_source
from symbody.motion.methods.sample_times import SampleTimes
from symbody.motion.run.batch import Batch
from symbody.motion.run.run_equations import RunModel
from symbody.motion.run.settings import check_limits, check_numbers
from symbody.symbolic.system.save import from_record, record
from symbody.symbolic.system.system import System

SETTINGS = ("method", "start", "step", "rtol", "atol", "max_steps", "period", "threads", "automatic", "slow")
RULE = ("name", "guard", "direction", "reset", "stop", "limit", "slowest", "rest")


def call_record(batch: Batch) -> dict[str, Any]:
    """As lists, texts, numbers and arrays; DefinitionError where it holds what is no data."""
    model, settings = batch.model, batch.settings
    assert model.mechanism is not None
    return {
        "model": to_yaml(model.mechanism),
        "formalism": model.formalism,
        "inputs": _data(model.inputs, "inputs", functions=True),
        "outputs": _data(model.outputs, "outputs"),
        "rules": [{n: _data(getattr(rule, n), f"event {rule.name!r}") for n in RULE} for rule in model.rules],
        "settings": {n: getattr(settings, n) for n in SETTINGS},
        "sampling": [settings.sampling.spacing, settings.sampling.instants],
        "parameters": _data(settings.parameters, "parameters"),
        "duration": batch.duration,
        "given": _data(batch.given, "initial values"),
        "closing": _data(batch.partition, "closing"),
    }


def call_again(data: Mapping[str, Any], functions: Callable[[str], Any], where: str) -> Batch:
    """The Batch that `call_record` wrote down. functions: by the names that they were given under."""

    def of(value: Any) -> Any:
        return _again(value, functions, where)

    numbers = data["settings"]
    check_numbers(data["duration"], numbers["step"], numbers["start"], numbers["rtol"], numbers["atol"])
    check_limits(numbers["max_steps"], numbers["slow"], numbers["threads"], numbers["period"])
    spacing, instants = data["sampling"]
    if instants is not None and not (isinstance(instants, np.ndarray) and instants.ndim == 1):
        raise ValueError("samples at no instants")
    if spacing is not None:
        spacing = float(real_argument("spacing", spacing, "a positive number of seconds", above=0.0))
    settings = Settings(**data["settings"], sampling=SampleTimes(spacing, instants), parameters=of(data["parameters"]))
    rules = tuple(When(**{n: of(v) for n, v in rule.items()}) for rule in data["rules"])
    if not isinstance(data["model"], str):
        raise ValueError("a model that is no text")
    model = RunModel(
        _mechanism(data["model"], where), data["formalism"], of(data["inputs"]), of(data["outputs"]), rules
    )
    return Batch(model, settings, float(data["duration"]), of(data["given"]), of(data["closing"]))


@lru_cache(maxsize=2)
def _mechanism(text: str, where: str) -> Mechanism:
    """The model; the same record while it is resumed again and again, so that its equations are made once."""
    return read_text(text, where)


def functions_of(data: Mapping[str, Any]) -> list[str]:
    """Names of the Python functions in a record."""
    out: list[str] = []

    def look(value: Any) -> None:
        if isinstance(value, Mapping):
            out.extend(value["function"][:1] if "function" in value else [])
            for part in value.values():
                look(part)
        elif isinstance(value, list):
            for part in value:
                look(part)

    look(data["inputs"])
    return out


# -- values: what is not plain is a mapping with one key, its kind


def _data(value: Any, name: str, functions: bool = False) -> Any:
    """name: of what it belongs to, the key of an input; functions: whether it may be one."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.floating):  # also longer ones, which have no item of Python
        return float(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype != object:
        return {"array": value if value.dtype.kind != "f" else value.astype(float)}
    if isinstance(value, (list, tuple, np.ndarray)):
        return {"tuple" if isinstance(value, tuple) else "list": [_data(v, name, functions) for v in value]}
    if isinstance(value, Mapping):
        return {"map": [[str(key), _data(v, str(key) if functions else name, functions)] for key, v in value.items()]}
    if isinstance(value, System):
        return {"system": record(value)}
    if isinstance(value, Partition):
        return {"partition": partition_record(value)}
    if isinstance(value, Augmented):
        return {"augmented": [value.alpha, value.beta, value.project, _data(value.branch, name)]}
    if functions and callable(value):
        return {"function": [name, function_source(value, name).kind]}
    raise DefinitionError(f"{name} holds {value!r}, which a checkpoint cannot; write it as texts and numbers.")


def _again(value: Any, functions: Callable[[str], Any], where: str) -> Any:
    def of(part: Any) -> Any:
        return _again(part, functions, where)

    if not isinstance(value, Mapping):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return content
    if kind in ("list", "tuple"):
        return [of(v) for v in content] if kind == "list" else tuple(of(v) for v in content)
    if kind == "map":
        return {key: of(v) for key, v in content}
    if kind == "system":
        return from_record(content, {}, where)
    if kind == "partition":
        return partition_again(content)
    if kind == "augmented":
        alpha, beta, project, branch = content
        return Augmented(alpha, beta, project, of(branch))
    if kind == "function":
        name, wanted = content
        if function_source(functions(name), name).kind != wanted:
            raise other_arguments(name, wanted)
        return functions(name)
    raise ValueError(f"a value of kind {kind!r}")


def other_arguments(name: str, kind: str) -> DefinitionError:
    """A function that was given again is not of the kind that it was."""
    told = "f(t)" if kind == "OfTime" else "f(t, q, qd) or f(t, state)"
    return DefinitionError(f"the function for {name!r} has other arguments than before; expected {told}.")


# -- partitions

BLOCKS, TABLES = ("blocks", "position"), ("pivots", "position_pivots", "spare", "position_spare")


def partition_record(partition: Partition) -> dict[str, Any]:
    """As lists and numbers."""
    out = {f.name: getattr(partition, f.name) for f in fields(Partition)}
    for name in BLOCKS:
        out[name] = [[b.rows, b.columns, b.after] for b in out[name]]
    for name in TABLES:
        out[name] = [[k, v] for k, v in out[name].items()]
    return {**out, "given": sorted(partition.given)}


def partition_again(data: Mapping[str, Any]) -> Partition:
    """The Partition of such a record."""
    out = {n: _tuples(v) if isinstance(v, list) else v for n, v in data.items()}
    for name in BLOCKS:
        out[name] = tuple(Block(*parts) for parts in out[name])
    for name in TABLES:
        out[name] = dict(out[name])
    return Partition(**{**out, "given": frozenset(out["given"])})


def _tuples(value: Any) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value
