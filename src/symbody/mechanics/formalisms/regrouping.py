"""Regrouping of inertial parameters: what a joint cannot feel moves from body to parent (Gautier and Khalil 1990).

A body is its pseudo-inertia, the 4 x 4 matrix [[S, s], [s^T, m]] of moments of mass, S = integral of r r^T dm. For a
revolute joint with axis u and origin p in the parent, three numbers are free. The parent gains

    m v v^T + s (v u^T + u v^T) + t u u^T        v = (p, 1),  u = (u, 0)

and the body loses the same with p = 0, whatever m, s and t are. Plain base parameters clear the body's own entries. The
numbers may then be used a second time to clear entries of the parent (docs/theory.md), if that divides by
nothing that may vanish.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from symbody.mechanics.formalisms.link_poses import axis_in_parent
from symbody.mechanics.formalisms.tree import Link, Tree
from symbody.mechanics.formalisms.vec3 import OTHERS, mat, minus, plus, sum_of, times, turn_tensor
from symbody.model.spatial.inertia import Inertia
from symbody.symbolic.expr.arrays import is_zero
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.functions import alias
from symbody.symbolic.expr.node import CONST, MUL, POW, SCALE, SYMBOL, Node
from symbody.symbolic.expr.walk import free_symbols

HALF = Fraction(1, 2)
LAMINA, FIRST, SECOND = "lamina", "first", "second"  # what becomes of the transverse inertia of a revolute body
SMALL = 1e-4  # below this share of 1 a divisor costs digits (docs/theory.md)

Target = tuple[int, int] | str
Entry = list[list[Any]]  # 4 x 4, symmetric


@dataclass(frozen=True)
class Regrouping:
    """keep: Link -> "lamina" (clears S_aa), "first" or "second" (clears the inertia about the next axis, or the other).

    clear: Link -> (by m, by s, by t): entries (i, k) of the parent's pseudo-inertia that the free numbers clear; row 3
    is that of the mass. "even" makes the parent's transverse inertias equal, "axial" clears the one about its own axis.
    """

    keep: Mapping[int, str] = field(default_factory=dict)
    clear: Mapping[int, tuple[Target | None, Target | None, Target | None]] = field(default_factory=dict)


PLAIN = Regrouping()


def regroup(tree: Tree, choice: Regrouping = PLAIN) -> Tree:
    """The Tree with base parameters: other inertias, the same efforts and the same motion."""
    bodies = [pseudo_inertia(link.inertia) for link in tree.links]
    # a Link is reached after all that it carries: children may clear entries of it, then it hands on its own
    carried: dict[int, list[Link]] = {}
    for index in choice.clear:
        carried.setdefault(tree.links[index].parent, []).append(tree.links[index])
    for link in reversed(tree.links):
        own = bodies[link.index]
        parent = bodies[link.parent] if link.parent >= 0 else None
        for child in carried.get(link.index, ()):
            if child.motion.is_turn:
                _clear_parent(bodies[child.index], own, child, link, choice.clear[child.index])
        if link.motion.is_slide:
            _move_tensor(own, parent, link)
        elif link.motion.about_axis:
            _clear_link(own, parent, link, choice.keep.get(link.index, LAMINA))
        elif link.motion.all_turns:
            _transfer(own, parent, link, own[3][3], 0, 0)
    named = _Names()
    links = []
    for link, b in zip(tree.links, bodies):
        spread = (b[0][0], b[1][1], b[2][2])
        inertia = named.inertia(inertia_of(b), link.body or f"{link.joint}_{link.index}")
        links.append(replace(link, inertia=inertia, bodies=(), spread=spread))
    return replace(tree, links=links)


class _Names:
    """Names for regrouped parameters: programs say what they compute, and passes need not look inside."""

    def __init__(self) -> None:
        self.known: dict[Node, Node] = {}

    def inertia(self, inertia: Inertia, body: str) -> Inertia:
        moment, tensor = np.empty(3, dtype=object), np.empty((3, 3), dtype=object)
        for a in range(3):
            moment[a] = self.value(inertia.moment[a], f"{body}_M{'XYZ'[a]}")
            for b in range(a, 3):
                tensor[a, b] = tensor[b, a] = self.value(inertia.tensor[a, b], f"{body}_{'XYZ'[a]}{'XYZ'[b]}")
        return Inertia(self.value(inertia.mass, f"{body}_M"), moment, tensor)

    def value(self, x: Any, name: str) -> Any:
        if not isinstance(x, Node) or x.flags or x.op in (CONST, SYMBOL):
            return x
        if x.op is SCALE and x.data == -1:
            return -self.value(x.args[0], name)
        if x not in self.known:
            self.known[x] = alias(x, name, 1)
        return self.known[x]


def pseudo_inertia(inertia: Inertia) -> Entry:
    """4 x 4 from mass, first moment and tensor about the origin."""
    j, s = inertia.tensor, inertia.moment
    out: Entry = [[0] * 4 for _ in range(4)]
    for a in range(3):
        b, c = OTHERS[a]
        out[a][a] = times(HALF, minus(plus(j[b, b], j[c, c]), j[a, a]))
        out[a][b] = out[b][a] = minus(0, j[a, b])
        out[a][3] = out[3][a] = s[a]
    out[3][3] = inertia.mass
    return out


def inertia_of(body: Entry) -> Inertia:
    """Mass, first moment and tensor of a pseudo-inertia."""
    tensor = np.empty((3, 3), dtype=object)
    moment = np.empty(3, dtype=object)
    for a in range(3):
        b, c = OTHERS[a]
        tensor[a, a] = plus(body[b][b], body[c][c])
        tensor[a, b] = tensor[b, a] = minus(0, body[a][b])
        moment[a] = body[a][3]
    return Inertia(body[3][3], moment, tensor)


# -- transfers


def _add(body: Entry, i: int, k: int, value: Any) -> None:
    body[i][k] = body[k][i] = plus(body[i][k], value)


def _vectors(link: Link) -> tuple[list[Any], list[Any]]:
    """v = (p, 1) and (u, 0) of a joint in its parent."""
    return [*link.offset, 1], [*axis_in_parent(link), 0]


def _coefficients(link: Link, i: int, k: int) -> tuple[Any, Any, Any]:
    """What a unit of m, s and t adds to entry (i, k) of the parent."""
    v, u = _vectors(link)
    mixed = plus(times(v[i], u[k]), times(v[k], u[i]))
    return times(v[i], v[k]), mixed, times(u[i], u[k])


def _transfer(own: Entry, parent: Entry | None, link: Link, m: Any, s: Any, t: Any) -> None:
    """Move mass m at the origin, first moment s along the axis and S_aa = t from a body to its parent."""
    a = link.axis
    own[3][3] = minus(own[3][3], m)
    own[a][3] = own[3][a] = minus(own[a][3], s)
    own[a][a] = minus(own[a][a], t)
    if parent is None:
        return  # the world feels nothing
    for i in range(4):
        for k in range(i, 4):
            for amount, unit in zip((m, s, t), _coefficients(link, i, k)):
                _add(parent, i, k, times(amount, unit))


def _clear_link(own: Entry, parent: Entry | None, link: Link, keep: str) -> None:
    a = link.axis
    b, c = OTHERS[a]
    t = own[a][a]
    if keep == FIRST:
        t = plus(own[a][a], own[c][c])  # J_bb = S_aa + S_cc becomes zero
    elif keep == SECOND:
        t = plus(own[a][a], own[b][b])
    helical = link.motion.slides  # the advance makes mass and moment felt
    _transfer(own, parent, link, 0 if helical else own[3][3], 0 if helical else own[a][3], t)
    if keep == FIRST:
        own[a][a] = minus(0, own[c][c])
    elif keep == SECOND:
        own[a][a] = minus(0, own[b][b])


def _move_tensor(own: Entry, parent: Entry | None, link: Link) -> None:
    """A prismatic joint does not turn: its body's tensor is felt as the parent's."""
    s = mat(own)
    turned = s if link.rotation is None else turn_tensor(mat(link.rotation), s)
    for i in range(3):
        for k in range(3):
            own[i][k] = 0
            if parent is not None and k >= i:
                _add(parent, i, k, turned[i][k])


def _clear_parent(own: Entry, parent: Entry, link: Link, carrier: Link, targets: tuple[Target | None, ...]) -> None:
    """Use m, s and t once more, each to make one target of the parent vanish."""
    for which, target in enumerate(targets):
        if target is None:
            continue
        (_, i, k), *rest = _terms(target, carrier)
        value = plus(parent[i][k], _sum(parent, rest))
        unit = _unit(link, carrier, target, which)
        if is_zero(value) or is_zero(unit):
            continue
        amounts: list[Any] = [0, 0, 0]
        amounts[which] = minus(0, value * _inverse(unit))
        _transfer(own, parent, link, *amounts)
        parent[i][k] = parent[k][i] = minus(0, _sum(parent, rest))  # exactly, not up to rounding


def _terms(target: Target, carrier: Link) -> list[tuple[int, int, int]]:
    """A target as (sign, i, k): the signed sum of entries that shall vanish."""
    b, c = OTHERS[carrier.axis]
    if target == "even":
        return [(1, b, b), (-1, c, c)]
    if target == "axial":
        return [(1, b, b), (1, c, c)]
    assert not isinstance(target, str)
    return [(1, *target)]


def _sum(body: Entry, terms: list[tuple[int, int, int]]) -> Any:
    return sum_of(times(sign, body[i][k]) for sign, i, k in terms)


def _unit(link: Link, carrier: Link, target: Target, which: int) -> Any:
    """What a unit of m, s or t (which = 0, 1, 2) adds to a target."""
    terms = _terms(target, carrier)
    return sum_of(times(sign, _coefficients(link, i, k)[which]) for sign, i, k in terms)


def _inverse(x: Any) -> Any:
    return 1 / x if isinstance(x, Node) else Fraction(1) / x


# -- which choices exist


def clear_targets(tree: Tree, link: Link) -> list[list[Target]]:
    """For m, s and t of a joint: what they may clear of the parent without dividing by something that may vanish."""
    if not link.motion.is_turn or link.parent < 0:
        return [[], [], []]
    carrier = tree.links[link.parent]
    targets: list[Target] = []
    for i in range(4):
        for k in range(i, 4):
            gone = carrier.motion.is_turn and {i, k} <= {carrier.axis, 3}  # the parent's own joint clears it anyway
            if not gone and not (carrier.motion.is_slide and k < 3):
                targets.append((i, k))
    if carrier.motion.is_turn:
        targets += ["even", "axial"]
    return [[x for x in targets if divides_safely(_unit(link, carrier, x, which))] for which in range(3)]


def divides_safely(x: Any) -> bool:
    """Whether a number may be a divisor: made of constants and parameters declared nonzero, and not small."""
    if not isinstance(x, Node):
        return bool(x != 0)
    stack = [x]
    while stack:
        node = stack.pop()
        if node.op is CONST:
            if node.data == 0:
                return False
        elif node.op is SYMBOL:
            if node.data.role != "parameter" or not node.data.nonzero:
                return False
        elif node.op in (SCALE, MUL, POW):
            stack.extend(node.args)
        else:
            return False
    symbols = free_symbols([x])
    if any(s.data.default is None for s in symbols):
        return True
    return abs(float(evaluate(x, {s: s.data.default for s in symbols}))) > SMALL
