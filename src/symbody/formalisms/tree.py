"""Mechanism -> Tree: bodies that move by one elementary motion each, in a Graph of their own, ready for recursions.

Fixed and locked joints are merged into the bodies that carry them (unless they are to be kept). Every remaining Link
moves relative to its parent by

    R  rotation about a coordinate axis     T  translation along one     H  screw about one
    B  ball (quaternion)                    F  free (position and quaternion)

A joint with several motions is a chain of Links, all but the last of them without inertia. A Link's coordinate is an
expression of the Mechanism's coordinates: a joint that mimics another, or turns about a negative axis, is no special
case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from symbody.errors import ModelError, wrong_argument
from symbody.expr.arrays import Array, as_array, is_one, is_zero, matmul, transpose, zeros
from symbody.expr.evaluate import transplant
from symbody.expr.functions import call
from symbody.expr.graph import Graph
from symbody.expr.node import CONST, Node
from symbody.model.joints import KINDS
from symbody.model.mechanism import WORLD, Joint, Mechanism, Placement, has_coordinates
from symbody.model.numbers import plain
from symbody.model.pose import from_quaternion, rounded
from symbody.spatial.inertia import Inertia, add, from_com, moved, no_inertia, rotated

Column = tuple[int, Any]  # index of a velocity, and the factor with which it enters


@dataclass(eq=False)
class Link:
    """One body of the Tree; its frame is the joint frame after the motion.

    index, parent   place in `Tree.links`, -1 is the world
    kind, axis      letter of the motion, and 0, 1, 2 for the axes x, y, z of R, T, H
    rotation        (3, 3) takes joint coordinates (before the motion) to parent coordinates; None is the identity
    offset          (3,) origin of the joint frame in the parent frame, m
    q               node; for B the quaternion (4,), for F position and quaternion (7,)
    qd, qdd         node; for B (3,), for F (6,): angular first, in Link axes
    columns         for each velocity component: which velocities of the Mechanism it is made of
    inertia         about the Link's origin, in Link axes
    bodies          what it is made of: (mass, centre of mass (3,), tensor about it (3, 3)) of each body, in Link axes
    spread          diagonal of the pseudo-inertia (3,), if regrouped: inertia.tensor[x, x] = spread[y] + spread[z]
    reflected       rotor inertia seen at the joint (ratio^2 inertia), or 0
    joint, body     names in the Mechanism; body is "" for a Link inside a joint
    body_rotation   (3, 3) takes body coordinates to Link coordinates; None is the identity
    """

    index: int
    parent: int
    kind: str
    axis: int
    rotation: Array | None
    offset: Array
    q: Any
    qd: Any
    qdd: Any
    columns: tuple[tuple[Column, ...], ...]
    joint: str
    pitch: Any = 0
    inertia: Inertia = field(default_factory=no_inertia)
    bodies: tuple[tuple[Any, Array, Array], ...] = ()
    spread: tuple[Any, Any, Any] | None = None
    reflected: Any = 0
    body: str = ""
    body_rotation: Array | None = None
    elastic: bool = False


@dataclass(eq=False)
class Tree:
    """Links in an order in which parents come first, over one Graph.

    q, qd, qdd, tau   arrays of symbols of sizes nq, nv, nv, nv
    places            body name -> (Link index, rotation from body to Link axes or None, body origin in the Link frame)
    gravity           (3,) in world axes
    wrenches          Link index -> (force (3,), moment about the Link's origin (3,)) from outside, in Link axes
    efforts           (nv,) efforts of force elements that act on joints, added to tau; None: there are none
    moved             parameters and other nodes of the Mechanism as nodes of this Graph: `tree.node(x)`
    """

    mechanism: Mechanism
    graph: Graph
    links: list[Link]
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    gravity: Array
    places: dict[str, tuple[int, Array | None, Array]]
    moved: dict[Node, Node]
    runtime: bool = False
    wrenches: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    efforts: Array | None = None

    def node(self, value: Any) -> Any:
        """A node of the Mechanism (or an array of them) in this Graph."""
        return _carry(value, self)

    def children(self, index: int) -> list[int]:
        return [k.index for k in self.links if k.parent == index]

    def ancestors(self, index: int) -> list[int]:
        """Links from `index` down to the one on the world."""
        out = []
        while index >= 0:
            out.append(index)
            index = self.links[index].parent
        return out


def build_tree(mechanism: Mechanism, parameters: str = "setup", kept: Sequence[str] = ()) -> Tree:
    """The Tree of a Mechanism in a new Graph.

    parameters  "setup", or "runtime" to make them inputs of every call
    kept        fixed and locked joints that become Links, which do not move: for the wrenches that they transmit
    """
    if not isinstance(mechanism, Mechanism):
        raise ModelError(f"a Mechanism was expected, {mechanism!r} given. Load it first: sb.load(name_or_path).")
    if parameters not in ("setup", "runtime"):
        raise wrong_argument("parameters", parameters, "'setup' (folded once) or 'runtime' (inputs)", error=ModelError)
    graph = Graph(mechanism.name, mechanism.graph.exact)
    nq, nv = mechanism.nq, mechanism.nv

    def symbols(stem: str, role: str, n: int) -> Array:
        out = np.empty(n, dtype=object)
        for k in range(n):
            out[k] = graph.symbol(f"{stem}{k + 1}", role)
        return out

    tree = Tree(
        mechanism, graph, [], symbols("q", "coordinate", nq), symbols("qd", "velocity", nv),
        symbols("qdd", "acceleration", nv), symbols("tau", "input", nv), zeros(3), {}, {}, parameters == "runtime",
    )  # fmt: skip
    tree.gravity = tree.node(mechanism.gravity)
    tree.places[WORLD] = (-1, None, zeros(3))
    coordinates = first_places(mechanism)
    for joint in mechanism.joints:
        _add_joint(tree, joint, coordinates, joint.name in kept)
    return tree


def first_places(mechanism: Mechanism) -> dict[str, tuple[int, int]]:
    """First coordinate and first velocity of each joint that has any."""
    out, nq, nv = {}, 0, 0
    for joint in mechanism.joints:
        if has_coordinates(joint):
            out[joint.name] = (nq, nv)
            nq += KINDS[joint.kind].nq(joint)
            nv += KINDS[joint.kind].nv(joint)
    return out


def _add_joint(tree: Tree, joint: Joint, coordinates: dict[str, tuple[int, int]], kept: bool) -> None:
    parent, to_link, origin = tree.places[joint.parent]
    placement = tree.node(joint.placement)
    # pose of the joint frame in the frame of the parent's Link
    rotation = _compose(to_link, _identity_or(placement.rotation))
    offset = origin + _turn(to_link, placement.position)
    motions = list(KINDS[joint.kind].motions(joint))
    body_rotation: Array | None = None
    if joint.elastic is not None:
        motions = [*motions, motions[-1]]  # motor side, then the elastic deflection
    if joint.kind != "fixed" and joint.mode == "locked":
        rotation, offset = _locked(tree, joint, rotation, offset)
        motions = []
    start = len(tree.links)
    for k, (kind, letter) in enumerate(motions):
        align, axis, sign = _axis(tree, joint, letter) if letter else (None, 0, 1)
        if align is not None:
            # the Link frame is turned so that its z axis is the joint's; the body keeps its own frame
            rotation = _compose(_compose(rotation, body_rotation), align)
            body_rotation = transpose(align)
        elif body_rotation is not None:
            rotation, body_rotation = _compose(rotation, body_rotation), None
        link = Link(len(tree.links), parent, kind, axis, rotation, offset, None, None, None, (), joint.name)
        _coordinates(tree, link, joint, coordinates, k, sign)
        if kind == "H" and joint.pitch is not None:
            link.pitch = tree.node(joint.pitch)
        link.elastic = joint.elastic is not None and k == len(motions) - 1
        tree.links.append(link)
        parent, rotation, offset = link.index, None, zeros(3)
    if kept and not motions:
        still = tree.graph.zero
        tree.links.append(
            Link(start, parent, "T", 0, rotation, offset, still, still, still, ((),), joint.name, body=joint.child)
        )
        parent, rotation, offset = start, None, zeros(3)
    if joint.rotor is not None and motions:
        _add_rotor(tree, joint, tree.links[start], coordinates)
    if motions:
        body_place: tuple[int, Array | None, Array] = (parent, body_rotation, zeros(3))
        tree.links[parent].body, tree.links[parent].body_rotation = joint.child, body_rotation
    else:
        body_place = (parent, rotation, offset)
    tree.places[joint.child] = body_place
    _add_body(tree, joint.child, body_place)


def _add_body(tree: Tree, name: str, place: tuple[int, Array | None, Array]) -> None:
    index, rotation, origin = place
    if index < 0:
        return  # fixed to the world: it never moves
    body = tree.mechanism.body(name)
    inertia = from_com(tree.node(body.mass), tree.node(body.com), tree.node(body.inertia))
    link = tree.links[index]
    link.inertia = add(link.inertia, moved(rotated(inertia, rotation), origin))
    com = _turn(rotation, tree.node(body.com))
    central = rotated(Inertia(0, zeros(3), tree.node(body.inertia)), rotation)
    link.bodies = (*link.bodies, (inertia.mass, origin + com, central.tensor))


def _add_rotor(tree: Tree, joint: Joint, link: Link, coordinates: dict[str, tuple[int, int]]) -> None:
    """Reflected: inertia at the joint. Gyroscopic: a body that spins on the parent, which includes it at rest."""
    rotor = joint.rotor
    assert rotor is not None
    inertia, ratio = tree.node(rotor.inertia), tree.node(rotor.ratio)
    if not rotor.gyroscopic or link.parent < 0:
        link.reflected = inertia * ratio**2
        return
    # its angle does not matter: inertia about the axis alone is the same in all axes that turn about it
    spin = Link(
        len(tree.links), link.parent, "R", link.axis, link.rotation, link.offset, tree.graph.zero, ratio * link.qd,
        ratio * link.qdd, tuple(tuple((i, ratio * c) for i, c in col) for col in link.columns), f"{joint.name}.rotor",
    )  # fmt: skip
    tensor = zeros(3, 3)
    tensor[link.axis, link.axis] = inertia
    spin.inertia = Inertia(0, zeros(3), tensor)
    spin.bodies = ((0, zeros(3), tensor),)
    tree.links.append(spin)
    carrier = tree.links[link.parent]
    at_rest = rotated(Inertia(0, zeros(3), -tensor), link.rotation)
    carrier.inertia = add(carrier.inertia, at_rest)
    carrier.bodies = (*carrier.bodies, (0, zeros(3), at_rest.tensor))


def _coordinates(
    tree: Tree, link: Link, joint: Joint, coordinates: dict[str, tuple[int, int]], k: int, sign: int
) -> None:
    """q, qd, qdd and columns of the k-th motion of a joint."""
    if joint.mimic is not None:
        other = tree.mechanism.joint(joint.mimic.joint)
        if other.name not in coordinates or KINDS[other.kind].nv(other) != 1:
            raise ModelError(f"joint {joint.name!r} mimics {other.name!r}, which has not one coordinate of its own.")
        iq, iv = coordinates[other.name]
        ratio, shift = sign * tree.node(joint.mimic.ratio), sign * tree.node(joint.mimic.offset)
        link.q, link.qd, link.qdd = ratio * tree.q[iq] + shift, ratio * tree.qd[iv], ratio * tree.qdd[iv]
        link.columns = (((iv, ratio),),)
        return
    iq, iv = coordinates[joint.name]
    if link.kind in "BF":
        n_q, n_v = (4, 3) if link.kind == "B" else (7, 6)
        link.q, link.qd, link.qdd = tree.q[iq : iq + n_q], tree.qd[iv : iv + n_v], tree.qdd[iv : iv + n_v]
        link.columns = tuple(((iv + c, 1),) for c in range(n_v))
        return
    link.q, link.qd, link.qdd = (sign * a[i + k] for a, i in ((tree.q, iq), (tree.qd, iv), (tree.qdd, iv)))
    link.columns = (((iv + k, sign),),)


def _axis(tree: Tree, joint: Joint, letter: str) -> tuple[Array | None, int, int]:
    """(rotation that brings z to the axis, or None; axis number; sign) of a motion."""
    if letter != "u":
        return None, "xyz".index(letter), 1
    axis = tree.node(joint.axis)
    for k in range(3):
        if is_zero(axis[(k + 1) % 3]) and is_zero(axis[(k + 2) % 3]):
            return None, k, 1 if is_one(axis[k]) else -1
    if not all(a.op is CONST for a in axis):
        raise ModelError(
            f"joint {joint.name!r} has a symbolic axis {list(axis)}; expected numbers (turn its placement)."
        )
    u = [a.data for a in axis]
    if tree.graph.exact:
        exact = _align_z_exactly([Fraction(x) for x in u])
        if exact is not None:
            return tree.node(exact), 2, 1
    return _align_z([float(x) for x in u], tree.graph), 2, 1


def _align_z_exactly(u: list[Fraction]) -> Array | None:
    """The rotation of `_align_z` in rational numbers; None if it has none."""
    if sum(x * x for x in u) != 1:
        return None
    for k in sorted(range(3), key=lambda i: abs(u[i])):
        left = 1 - u[k] ** 2
        length = Fraction(isqrt(left.numerator), isqrt(left.denominator))
        if length**2 == left:
            x = [((i == k) - u[i] * u[k]) / length for i in range(3)]
            y = [u[1] * x[2] - u[2] * x[1], u[2] * x[0] - u[0] * x[2], u[0] * x[1] - u[1] * x[0]]
            out = np.empty((3, 3), dtype=object)
            out[:, 0], out[:, 1], out[:, 2] = x, y, u
            return out
    return None


def _align_z(u: list[float], graph: Graph) -> Array:
    """A rotation that takes z to the unit vector u."""
    z = np.array(u) / np.linalg.norm(u)
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - z * (x @ z)
    x /= np.linalg.norm(x)
    return _constants(np.stack([x, np.cross(z, x), z], axis=1), graph)


def _constants(matrix: Array, graph: Graph) -> Array:
    """A computed rotation matrix of floats as nodes, zeros and ones exact."""
    out = np.empty((3, 3), dtype=object)
    for i, v in enumerate(rounded(np.asarray(matrix, dtype=float)).flat):
        out.flat[i] = graph.number(plain(v))
    return out


def _locked(tree: Tree, joint: Joint, rotation: Array | None, offset: Array) -> tuple[Array | None, Array]:
    """Pose of the child frame of a joint that stays at `value`; one without is at its coordinates' zero."""
    entries = [tree.node(x) for x in joint.values]
    for kind, letter in KINDS[joint.kind].motions(joint) if entries else ():
        if kind == "F":
            step, entries = as_array(entries[:3]), entries[3:]
            offset = offset + _turn(rotation, step)
        if kind in "BF":
            quaternion, entries = [float(x.data) for x in entries[:4]], entries[4:]  # validated: numbers
            rotation = _compose(rotation, _identity_or(_constants(from_quaternion(quaternion), tree.graph)))
            continue
        value, entries = entries[0], entries[1:]
        if is_zero(value):
            continue
        align, axis, sign = _axis(tree, joint, letter)
        turned = _compose(rotation, align)
        if kind in "TH":
            step = zeros(3)
            step[axis] = sign * value * (tree.node(joint.pitch) if kind == "H" else 1)
            offset = offset + _turn(turned, step)
        if kind in "RH":
            rotation = _compose(turned, elementary_rotation(axis, sign * value))
            rotation = _compose(rotation, None if align is None else transpose(align))
    return rotation, offset


def elementary_rotation(axis: int, angle: Any) -> Array:
    """(3, 3) active rotation about a coordinate axis."""
    c, s = call("cos", angle), call("sin", angle)
    out = zeros(3, 3)
    a, b = (axis + 1) % 3, (axis + 2) % 3
    out[axis, axis] = 1
    out[a, a] = out[b, b] = c
    out[a, b], out[b, a] = -s, s
    return out


def _identity_or(rotation: Array) -> Array | None:
    diagonal = all(is_one(rotation[k, k]) for k in range(3))
    return None if diagonal and all(is_zero(rotation[i, j]) for i in range(3) for j in range(3) if i != j) else rotation


def _compose(first: Array | None, second: Array | None) -> Array | None:
    if first is None:
        return second
    return first if second is None else _identity_or(matmul(first, second))


def _turn(rotation: Array | None, v: Array) -> Array:
    return v if rotation is None else matmul(rotation, v)


def _carry(value: Any, tree: Tree) -> Any:
    if isinstance(value, Placement):
        return Placement(_carry(value.rotation, tree), _carry(value.position, tree))
    if isinstance(value, np.ndarray):
        out = np.empty(value.shape, dtype=object)
        for i, x in enumerate(_bring(list(value.flat), tree)):
            out.flat[i] = x
        return out
    return _bring([value], tree)[0]


def _bring(nodes: Iterable[Any], tree: Tree) -> list[Node]:
    """Nodes of the Mechanism in the Tree's Graph; with `runtime` its parameters become inputs of every call."""
    from symbody.expr.walk import free_symbols

    nodes = list(nodes)
    for s in free_symbols([n for n in nodes if isinstance(n, Node)]):
        if s not in tree.moved:
            d = s.data
            role = "input" if tree.runtime and d.role == "parameter" else d.role
            tree.moved[s] = tree.graph.symbol(
                d.name, role, scope=d.scope, unit=d.unit, origin=d.origin, default=d.default, nonzero=d.nonzero
            )
    real = [n for n in nodes if isinstance(n, Node)]
    carried = iter(transplant(real, tree.moved, tree.graph))
    return [next(carried) if isinstance(n, Node) else tree.graph.number(n) for n in nodes]
