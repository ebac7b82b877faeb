"""What is found by name when it is asked for: delegates of records, and the public names of a folder.

`mech.show()` is a word of users; what draws stands far below the record and is not loaded before it is asked for. The
same holds for what reads the record itself, such as `traj.save()`: it imports the record, not the record it. Such words
are few: whatever is no method of a record imports what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from symbody.basics.errors import nearest


def imported(module: str, name: str) -> Any:
    """The function of this name in a module of symbody."""
    return getattr(import_module(f"symbody.{module}"), name)


def door(package: str, names: Mapping[str, str]) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package: its public names, whose modules are loaded when asked for.

    names   module below the package -> names that it defines, with spaces between; "": modules that are public as such.
            Where function and module share their name, Python finds the module: `verbs.energy.energy`.
    """
    home = {name: module for module, line in names.items() for name in line.split()}
    public = sorted(home)

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}. {nearest(name, public)}")
        module = home[name]
        return getattr(import_module(f"{package}.{module}"), name) if module else import_module(f"{package}.{name}")

    return public, find, lambda: public
