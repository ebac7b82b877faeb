"""Signature: what a Kernel must know besides its code, kept as JSON next to it: a cached Kernel needs no Program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from symbody.basics.errors import NameLookupError, nearest
from symbody.codegen.llvm.modules import ModuleLayout
from symbody.symbolic.expr.external import External
from symbody.symbolic.lower.program import Program
from symbody.symbolic.system.ports import Port


@dataclass(frozen=True, slots=True)
class NamedOutput:
    """A named output, its core shape and unit."""

    name: str
    shape: tuple[int, ...]
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a Kernel takes, gives and consists of.

    blocks: (name, most evaluations, remedy, words of its checks); externals: (name, arity, results, place among those
    of the System); counts: operations by kind.
    """

    name: str
    inputs: tuple[Port, ...]
    parameters: tuple[Port, ...]
    outputs: tuple[NamedOutput, ...]
    blocks: tuple[tuple[str, int, str, tuple[str, ...]], ...]
    externals: tuple[tuple[str, int, int, int], ...]
    counts: dict[str, int]
    operations: int
    layout: ModuleLayout

    def to_json(self) -> dict[str, Any]:
        data = asdict(self)
        for port in (*data["inputs"], *data["parameters"]):
            if port["default"] is not None:
                port["default"] = [float(x) for x in port["default"]]
        return data

    @staticmethod
    def from_json(data: dict[str, Any]) -> Signature:
        def ports(items: Sequence[dict[str, Any]]) -> tuple[Port, ...]:
            return tuple(
                Port(
                    **{
                        **i,
                        "shape": tuple(i["shape"]),
                        "default": None if i["default"] is None else tuple(i["default"]),
                    }
                )
                for i in items
            )

        return Signature(
            data["name"],
            ports(data["inputs"]),
            ports(data["parameters"]),
            tuple(NamedOutput(o["name"], tuple(o["shape"]), o["unit"]) for o in data["outputs"]),
            tuple((n, k, remedy, tuple(words)) for n, k, remedy, words in data["blocks"]),
            tuple((n, a, r, k) for n, a, r, k in data["externals"]),
            data["counts"],
            data["operations"],
            ModuleLayout(**data["layout"]),
        )


def signature_of(
    program: Program, layout: ModuleLayout, name: str | None = None, externals: Sequence[External] = ()
) -> Signature:
    """externals: those of the System, in order; none given: those of the Program."""
    places = {e: k for k, e in enumerate(externals or program.externals)}
    runs = [*program.main(), *(v for b in program.blocks for v in b.body)]
    counts = Counter(program.ops[v] for v in runs)
    return Signature(
        name or program.name,
        program.inputs,
        program.parameters,
        tuple(NamedOutput(o.name, o.shape, o.unit) for o in program.outputs),
        tuple((b.name, b.max_iterations, b.remedy, b.words) for b in program.blocks),
        tuple((e.name, e.arity, e.results, places[e]) for e in program.externals),
        dict(sorted(counts.items())),
        len(runs),
        layout,
    )


class Results(tuple[Any, ...]):
    """Several outputs: by position, as attributes, or as `results["name"]` (for names that are not identifiers)."""

    _fields: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"There is no output '{name}'. {nearest(name, self._fields)}")

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return tuple.__getitem__(self, key)
        if key not in self._fields:
            raise NameLookupError(f"There is no output '{key}'. {nearest(key, self._fields)}")
        return tuple.__getitem__(self, self._fields.index(key))

    def __repr__(self) -> str:
        return "Results(" + ", ".join(f"{n}={v!r}" for n, v in zip(self._fields, self, strict=True)) + ")"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._fields, tuple(self))

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))


@lru_cache(maxsize=512)  # bounded: programs that are made in a loop may have other names each time
def results_type(names: tuple[str, ...]) -> type[Results]:
    """The class of results with these output names."""

    def reader(index: int) -> property:
        return property(lambda self: tuple.__getitem__(self, index))

    # properties come before the methods of tuple: an output may be called `count` or `index`
    readers = {name: reader(i) for i, name in enumerate(names) if not name.startswith("_")}
    return type("Results", (Results,), {**readers, "_fields": names})


def _rebuild(names: tuple[str, ...], values: tuple[Any, ...]) -> Results:
    return results_type(names)(values)
