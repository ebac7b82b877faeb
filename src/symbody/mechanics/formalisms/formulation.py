"""The discrete choices behind a program for the motion of a Tree, and the equations they lead to.

A Choice is small, frozen and can be written to a file; the same Choice makes the same program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from dataclasses import replace as _replace
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, word_argument
from symbody.mechanics.formalisms.barycentric import barycentric
from symbody.mechanics.formalisms.composite import bias, mass_matrix
from symbody.mechanics.formalisms.efforts import generalized
from symbody.mechanics.formalisms.joint_laws import joint_laws
from symbody.mechanics.formalisms.length_units import in_units_of, slide_origins, slide_steps, unit_lengths
from symbody.mechanics.formalisms.newton_euler import newton_euler
from symbody.mechanics.formalisms.order_n import order_n
from symbody.mechanics.formalisms.regrouping import Regrouping, clear_targets, regroup
from symbody.mechanics.formalisms.solve_accelerations import accelerations, driven_velocities
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.vec3 import plus
from symbody.symbolic.expr.arrays import Array

Pairs = tuple[tuple[int, Any], ...]  # Link index -> value, sorted

QUANTITIES = ("inverse", "semi_explicit", "forward")


@dataclass(frozen=True)
class Choice:
    """How a program is formulated.

    grouping     of inertial parameters: "none", "barycentric" or "base"
    keep, clear  Link -> options of `base.Regrouping`
    unit         the length that becomes 1, as text; "" for metres
    slide        Link -> number of the step of its origin in `units.slide_steps`
    frames       of Newton-Euler, see `poses.FRAMES`; mass_frames: of the mass matrix, and of order-N recursions
    moments      of composite bodies: "tensor" or "spread"
    solver       of forward dynamics: "ldlt", "local" or "textbook" (order N)
    reference    of inertia: "origin" or "com"
    """

    grouping: str = "none"
    keep: Pairs = ()
    clear: Pairs = ()
    unit: str = ""
    slide: Pairs = ()
    frames: str = "sequential"
    mass_frames: str = "sequential"
    moments: str = "tensor"
    solver: str = "ldlt"
    reference: str = "origin"

    def replace(self, **changes: Any) -> Choice:
        return _replace(self, **changes)

    def with_entry(self, name: str, link: int, value: Any) -> Choice:
        """With the entry of one Link in keep, clear or slide changed; None removes it."""
        entries = {**dict(getattr(self, name)), link: value}
        return self.replace(**{name: tuple(sorted((k, v) for k, v in entries.items() if v is not None))})

    def as_dict(self) -> dict[str, Any]:
        """What differs from the plain Choice, in values that JSON and YAML know."""
        plain = asdict(Choice())
        return {k: _plain(v) for k, v in asdict(self).items() if v != plain[k]}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Choice:
        known = {f.name for f in fields(Choice)}
        unknown = set(data) - known
        if unknown:
            raise ModelError(f"a choice has the entries {sorted(unknown)}; expected some of {sorted(known)}.")
        values = dict(data)
        for name in ("keep", "clear", "slide"):
            values[name] = tuple((int(k), _tuples(v)) for k, v in values.get(name, ()))
        return Choice(**values)

    def say(self, tree: Tree) -> str:
        """A few lines for people."""
        lines = [f"inertial parameters: {_GROUPINGS[self.grouping]}"]
        if self.unit:
            lines.append(f"lengths in units of {self.unit}")
        for index, _ in self.slide:
            lines.append(f"origin of {tree.links[index].joint} slid along its axis")
        for index, value in self.keep:
            lines.append(f"{tree.links[index].joint}: transverse inertia regrouped as {value!r}")
        for index, targets in self.clear:
            named = [f"{x} clears {_target(v)}" for x, v in zip("mst", targets) if v is not None]
            lines.append(f"{tree.links[index].joint}: " + ", ".join(named) + " of the parent")
        lines.append(f"frames: {self.frames}, of the mass matrix: {self.mass_frames} ({self.moments})")
        lines.append(f"solver: {self.solver}")
        return "\n".join(lines)


_GROUPINGS = {"none": "as given", "barycentric": "masses at the joints of parents", "base": "base parameters"}


def _target(value: Any) -> str:
    if isinstance(value, str):
        return value
    i, k = value
    return f"M{'XYZ'[i]}" if k == 3 and i < 3 else "M" if k == 3 else f"{'XYZ'[i]}{'XYZ'[k]}"


def _plain(value: Any) -> Any:
    return [_plain(v) for v in value] if isinstance(value, tuple) else value


def _tuples(value: Any) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, list | tuple) else value


# -- from a Choice to equations


def placed(tree: Tree, choice: Choice) -> Tree:
    """The Tree with origins and unit length as chosen, before regrouping."""
    if choice.slide:
        steps = slide_steps(tree)
        tree = slide_origins(tree, {k: steps[k][n] for k, n in choice.slide})
    if choice.unit:
        lengths = {str(x): x for x in unit_lengths(tree)}
        if choice.unit not in lengths:
            raise ModelError(f"the unit length {choice.unit!r} is not one of {sorted(lengths)}.")
        tree = in_units_of(tree, lengths[choice.unit])
    return tree


def permitted(tree: Tree, choice: Choice) -> bool:
    """Whether a Choice that was made for a model of this structure divides by nothing that may vanish."""
    steps = slide_steps(tree) if choice.slide else {}
    if any(k not in steps or n >= len(steps[k]) for k, n in choice.slide):
        return False
    try:
        tree = placed(tree, choice)
    except ModelError:
        return False
    for index, entry in choice.clear:
        allowed = clear_targets(tree, tree.links[index]) if index < len(tree.links) else [[], [], []]
        if any(x is not None and x not in allowed[which] for which, x in enumerate(entry)):
            return False
    return True


def prepared(tree: Tree, choice: Choice) -> Tree:
    """The Tree that the recursions work on."""
    tree = placed(tree, choice)
    if choice.grouping == "barycentric":
        return barycentric(tree)
    if choice.grouping == "base":
        return regroup(tree, Regrouping(dict(choice.keep), dict(choice.clear)))
    if choice.grouping != "none":
        word_argument("grouping", choice.grouping, _GROUPINGS, error=ModelError)
    return tree


def equations(tree: Tree, quantity: str, choice: Choice) -> dict[str, Array]:
    """Outputs of a quantity: {"tau"}, {"M", "c"} or {"qdd"}."""
    ready = prepared(tree, choice)
    if quantity == "inverse":
        efforts = newton_euler(ready, choice.frames, choice.reference)
        return {"tau": added(generalized(ready, efforts), joint_laws(ready))}
    if quantity == "forward" and choice.solver != "ldlt":
        return {"qdd": order_n(ready, choice.solver, choice.mass_frames, given=tree.qdd)}
    mass = mass_matrix(ready, choice.mass_frames, choice.moments)
    c = bias(ready, choice.frames, choice.reference)
    if quantity == "semi_explicit":
        return {"M": mass, "c": c}
    return {"qdd": solved(tree, mass, c)}


def solved(tree: Tree, mass: Array, c: Array) -> Array:
    """qdd (nv,) of M qdd + c = tau; driven joints accelerate as tree.qdd says."""
    return accelerations(mass, c, tree.tau, driven_velocities(tree), tree.qdd)


def added(a: Array, b: Array) -> Array:
    out = np.empty(len(a), dtype=object)
    for k, (x, y) in enumerate(zip(a, b)):
        out[k] = plus(x, y)
    return out
