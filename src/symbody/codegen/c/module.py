"""What the functions of one emitted C file have in common, and the record of one function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from symbody.codegen.c.text import Names, external_definition
from symbody.lower.liveness import reuse_names
from symbody.lower.program import OutputPort, Program
from symbody.system.ports import Port


class Module:
    """Options and shared names; `derived` lists the values of `source` that setup hands to the other functions.

    An external is called by its C text where it has one, else through a struct of function pointers.
    """

    def __init__(self, source: Program, name: str, derived: Sequence[int], reuse: bool, chunk: int) -> None:
        self.source, self.name, self.derived, self.reuse, self.chunk = source, name, derived, reuse, chunk
        self.externals_type = f"{name}_externals"
        self.fields: list[str] = []  # of the struct
        self.external_calls: list[tuple[str, str]] = []  # how to call each, and the pointer that this needs
        names = Names()
        for external in source.externals:
            short = names.unique(external.name)
            if external.c_body is not None:
                self.external_calls.append((f"{name}_external_{short}", ""))
            else:
                self.fields.append(short)
                self.external_calls.append((f"externals->{short}", "externals"))

    def definitions(self) -> list[tuple[str, str]]:
        """Text of each external that has one, and how a call of it begins."""
        pairs = zip(self.source.externals, self.external_calls)
        return [(external_definition(e, call) + "\n", f"{call}(") for e, (call, pointer) in pairs if not pointer]

    def last_pointers(self) -> dict[str, str]:
        """The arguments after the results."""
        return {"status": "int ", "work": "double ", "externals": f"const {self.externals_type} "}

    def slots(self, program: Program) -> Mapping[int, int] | None:
        """Variables shared by liveness, if asked for."""
        return reuse_names(program).slot if self.reuse else None


@dataclass
class Part:
    """One public function: what it runs of which Program, where its values come from, and, when written, its text."""

    name: str
    program: Program
    order: list[int]
    origin: Sequence[int]  # numbers of the values in the Program that setup belongs to
    pointers: dict[str, str] = field(default_factory=dict)
    inputs: list[tuple[str, Port]] = field(default_factory=list)
    outputs: list[tuple[str, OutputPort]] = field(default_factory=list)
    work: int = 0
    text: str = ""
