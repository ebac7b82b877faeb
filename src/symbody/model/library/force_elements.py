"""The table of force elements: one row for each kind. `symbody.extend.add_force_element` adds one.

A row says where an element acts, its values with their units, its law, and the states, modes and events that it owns
(docs/forces.md); sources stand with the laws. `mechanics/formalisms/applied_forces.py` makes wrenches of them.
"""

from __future__ import annotations

from symbody.basics.errors import DefinitionError, NameLookupError, nearest
from symbody.model.library import line_elements, memory_elements, point_elements
from symbody.model.library.force_element import ForceElement

FORCE_ELEMENTS: dict[str, ForceElement] = {
    row.kind: row for row in (*line_elements.ROWS, *point_elements.ROWS, *memory_elements.ROWS)
}


_BUILT_IN = frozenset(FORCE_ELEMENTS)


def add_row(row: ForceElement) -> None:
    """Enter a row. The same one again changes nothing; another one of the same kind is refused."""
    if not isinstance(row, ForceElement):
        raise DefinitionError(f"add_force_element was given {row!r}; expected a ForceElement.")
    if FORCE_ELEMENTS.setdefault(row.kind, row) is not row:
        raise DefinitionError(f"there is a force element {row.kind!r} already; give the new one another kind.")


def remove_row(kind: str) -> None:
    """Take an added row away."""
    if kind in _BUILT_IN:
        raise DefinitionError(f"the force element {kind!r} is symbody's own and stays; only added ones can be removed.")
    if kind not in FORCE_ELEMENTS:
        raise NameLookupError(f"there is no force element {kind!r}. {nearest(kind, FORCE_ELEMENTS)}")
    del FORCE_ELEMENTS[kind]
