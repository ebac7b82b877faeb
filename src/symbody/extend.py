"""Doors for rows of one's own: what is added here is known to models, programs, simulation and certificate alike."""

from __future__ import annotations

# -- force elements
from symbody.library.force_element import (
    Account,
    Effect,
    Event,
    Field,
    ForceElement,
    Mode,
    Place,
    State,
)
from symbody.library.force_elements import add_force_element

__all__ = ["Account", "Effect", "Event", "Field", "ForceElement", "Mode", "Place", "State", "add_force_element"]
