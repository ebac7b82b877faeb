"""Target: one way to run a System or to write it down, in one row. `codegen/targets.py` lists the rows."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from symbody.basics.errors import wrong_argument
from symbody.codegen.kernel.grouped import GroupedKernel
from symbody.codegen.kernel.passport import Kernel
from symbody.codegen.printer.heading import Heading
from symbody.symbolic.lower.groups import Grouped, group
from symbody.symbolic.lower.lowering import lower
from symbody.symbolic.lower.program import Program
from symbody.symbolic.system.save import fingerprint
from symbody.symbolic.system.system import System


class Source:
    """What a target is given: a System, its Program, and how its functions are grouped. Made when first asked for."""

    def __init__(
        self,
        system: System,
        groups: Mapping[str, Sequence[str]] | None = None,
        labels: Mapping[str, Sequence[str]] | None = None,
        units: Mapping[str, str | Sequence[str]] | None = None,
        start: Mapping[str, Any] | None = None,
    ) -> None:
        """groups: function -> names of its outputs; None: one function. labels, units: of components, for comments.

        start: values of states, modes and inputs that do not begin at zero, for targets that integrate.
        """
        self.system = system
        self.groups = None if groups is None else _groups(groups)
        self.labels = labels or {}
        self.units = units or {}
        self.start = start or {}

    @property
    def heading(self) -> Heading:
        """What comments say of arguments and results."""
        return Heading(self.labels, {**self.system.units, **self.units}, self.system.origins)

    @cached_property
    def program(self) -> Program:
        return lower(self.system)

    @cached_property
    def parts(self) -> Program | Grouped:
        """The Program, cut into the functions where there are groups."""
        return self.program if self.groups is None else group(self.program, self.groups)

    @cached_property
    def key(self) -> str:
        """Identifies all that the System computes, in any process."""
        return fingerprint(self.system)


def _groups(groups: Any) -> dict[str, tuple[str, ...]]:
    """Function -> names of its outputs, as they are now: whoever changes the mapping later changes no Kernel's copy."""
    if not isinstance(groups, Mapping) or not all(_is_group(name, wanted) for name, wanted in groups.items()):
        raise wrong_argument("groups", groups, "function -> list of its outputs, in a dict")
    return {name: tuple(wanted) for name, wanted in groups.items()}


def _is_group(name: Any, wanted: Any) -> bool:
    of_names = isinstance(wanted, Collection) and not isinstance(wanted, str)
    return isinstance(name, str) and name != "" and of_names and all(isinstance(x, str) for x in wanted)


def always() -> str:
    """What a target that needs nothing besides symbody lacks: nothing."""
    return ""


def needs(*programs: str) -> Callable[[], str]:
    """A function that says which of these programs, which a target needs, this machine lacks; "" if none."""

    def lacks() -> str:
        missing = [p for p in programs if shutil.which(p) is None]
        return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not here" if missing else ""

    return lacks


def needs_module(name: str) -> Callable[[], str]:
    """A function that says whether a package of Python, which a target needs, is missing; "" if not."""

    def lacks() -> str:
        return "" if importlib.util.find_spec(name) else f"the package {name} is not here"

    return lacks


@dataclass(frozen=True, kw_only=True)
class Target:
    """One row. A source target has `emit`, a loaded one `build`; one may have both.

    emit          (source, **options) -> file name -> text or bytes; the same for the same System, in any process
    shown         ending of the file whose text `system.emit` returns; "" where there is one file
    certificate   `emit` takes certificate=..., a text for the head of its files
    motion        `emit` takes Systems with states, and options method and step: what it writes integrates itself
    groups        `emit` takes Sources with groups
    precisions    `emit` takes precision=..., one of these
    names         `emit` takes names=..., one of these: how values are called (`printer/module_layout.py`)
    single        `emit` takes single_header=True: everything in one file
    check         commands that build and run the test program of a project (`emit` with project=True), in its folder;
                  "{python}" is the running interpreter
    build         (source, **options) -> Kernel
    build_groups  (source, **options) -> GroupedKernel, for sources with groups
    lacks         () -> what this machine lacks to build it, "" if nothing
    bits          its Kernels agree with the interpreter to the last bit, but for what `build` options such as fused
                  multiply-add change; False: to rounding
    """

    name: str
    about: str
    emit: Callable[..., dict[str, Any]] | None = None
    shown: str = ""
    certificate: bool = False
    motion: bool = False
    groups: bool = True
    precisions: tuple[str, ...] = ("double",)
    names: tuple[str, ...] = ("plain",)
    single: bool = False
    check: tuple[tuple[str, ...], ...] = ()
    build: Callable[..., Kernel] | None = None
    build_groups: Callable[..., GroupedKernel] | None = None
    lacks: Callable[[], str] = always
    bits: bool = False
