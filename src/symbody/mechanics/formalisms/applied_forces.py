"""Force elements of a Mechanism, applied to its Tree.

    found = wrenches(tree)
    tree.wrenches = found.links        for Newton-Euler and the formalisms built on it

Kinds are the rows of `library.force_elements`. Signs: link forces push their points apart when positive; tyre forces
stand in ISO axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from symbody.mechanics.formalisms.link_forces import measure, push_along_line
from symbody.mechanics.formalisms.tendons import on_joints, on_path
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.vec3 import plus, vec
from symbody.mechanics.formalisms.wrenches import TreeElement, Wrenches, elements
from symbody.model.library.force_element import Effect, ForceElement
from symbody.model.record.force_kinds import carrying_joint, check_force
from symbody.model.record.mechanism import Force
from symbody.symbolic.expr.arrays import zeros


def wrenches(tree: Tree, forces: Sequence[Force] | None = None) -> Wrenches:
    """What the force elements of the Tree's Mechanism (or those given, which are checked) do to its Links."""
    for f in forces or ():
        check_force(f, tree.mechanism)
    out = Wrenches(tree, efforts=zeros(len(tree.qd)))
    with tree.graph:
        for element in elements(tree, tree.mechanism.forces if forces is None else forces, out):
            _act(element)
    return out


@cache
def law_of(row: ForceElement) -> Callable[[Any], Effect | None]:
    """The law of a row; one that is named as module:function is imported."""
    if not isinstance(row.law, str):
        return row.law
    module, _, name = row.law.partition(":")
    found: Callable[[Any], Effect | None] = getattr(import_module(module), name)
    return found


def _act(element: TreeElement) -> None:
    """Measure the place of an element, ask its law, and put the effect on the Links."""
    law, act = law_of(element.row), _PLACES[element.where]
    if isinstance(element.row.law, str):
        law(element)  # it acts by itself
    else:
        act(element, law)


def _on_joint(element: TreeElement, law: Callable[[Any], Any]) -> None:
    tree = element.tree
    joint = carrying_joint(element.force, tree.mechanism)
    slot = next(s for s in tree.mechanism.slots if s.joint is joint)
    element.x, element.v, element.length_unit = tree.q[slot.iq], tree.qd[slot.iv], slot.units[0]
    effect: Effect = law(element)
    _keep(element, effect)
    element.observe("F", effect.force)
    element.wrenches.efforts[slot.iv] = plus(element.wrenches.efforts[slot.iv], effect.force)


def _on_link(element: TreeElement, law: Callable[[Any], Any]) -> None:
    line = measure(element)
    element.x, element.v = line.Z, line.Zd
    effect: Effect = law(element)
    element.observe("F", effect.force, "N")
    push_along_line(element, line, effect.force)
    _keep(element, effect)


def _at_point(element: TreeElement, law: Callable[[Any], Any]) -> None:
    effect: Effect = law(element)
    force, moment = vec(effect.force), vec(effect.moment)
    for axis, value in zip("xyz", force):
        element.observe(f"F{axis}", value, "N")
    element.push_world(force, moment)
    _keep(element, effect)


def _on_path(element: TreeElement, law: Callable[[Any], Any]) -> None:
    _keep(element, on_path(element, law))


def _on_joints(element: TreeElement, law: Callable[[Any], Any]) -> None:
    _keep(element, on_joints(element, law))


def _keep(element: TreeElement, effect: Effect) -> None:
    """What an effect adds besides its force."""
    element.rates(effect.rates)
    element.add_events(effect.events)
    element.account(effect.account)


_PLACES: dict[str, Callable[[TreeElement, Callable[[Any], Any]], None]] = {
    "joint": _on_joint,
    "link": _on_link,
    "point": _at_point,
    "wheel": _at_point,
    "frames": _at_point,
    "path": _on_path,
    "joints": _on_joints,
}
