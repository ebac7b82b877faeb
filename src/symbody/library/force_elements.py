"""The table of force elements: one row for each kind. `symbody.extend.add_force_element` adds one."""

from __future__ import annotations

from symbody.errors import DefinitionError
from symbody.library import line_elements, memory_elements, point_elements
from symbody.library.force_element import ForceElement

FORCE_ELEMENTS: dict[str, ForceElement] = {
    row.kind: row for row in (*line_elements.ROWS, *point_elements.ROWS, *memory_elements.ROWS)
}


def add_force_element(row: ForceElement) -> None:
    """Make a kind of force element known to models, programs, simulation and the certificate, for this process.

    The same row again changes nothing; another one of the same kind is refused, as models that hold it are checked.
    """
    if not isinstance(row, ForceElement):
        raise DefinitionError(f"add_force_element was given {row!r}; expected a ForceElement.")
    if FORCE_ELEMENTS.setdefault(row.kind, row) is not row:
        raise DefinitionError(f"there is a force element {row.kind!r} already; give the new one another kind.")
