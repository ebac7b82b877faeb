"""Mechanism -> Tree: bodies that move by one elementary motion each, in a Graph of their own, ready for recursions.

Fixed and locked joints are merged into the bodies that carry them (unless they are to be kept). Every remaining Link
moves relative to its parent by one row of the table of motions (`model/record/elementary_motions.py`).

A joint with several motions is a chain of Links, all but the last of them without inertia. A Link's coordinate is an
expression of the Mechanism's coordinates: a joint that mimics another, or turns about a negative axis, is no special
case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, wrong_argument
from symbody.mechanics.formalisms.vec3 import Mat, Vec, mat, times, vec
from symbody.model.record.coordinates import CoordinatePart
from symbody.model.record.elementary_motions import BALL, SLIDE, TURN, Motion, Setting
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import WORLD, Body, Joint, Mechanism, Placement
from symbody.model.record.numbers import plain
from symbody.model.record.pose import from_quaternion, rounded
from symbody.model.spatial.inertia import Inertia, add, from_com, moved, no_inertia, rotated
from symbody.symbolic.expr.arrays import Array, as_array, is_one, is_zero, matmul, transpose, zeros
from symbody.symbolic.expr.call import as_nodes, call
from symbody.symbolic.expr.derivative import jvp
from symbody.symbolic.expr.evaluate import transplant
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import CONST, Node

Column = tuple[int, Any]  # index of a velocity, and the factor with which it enters


@dataclass(eq=False)
class Link:
    """One body of the Tree; its frame is the joint frame after the motion.

    index, parent   place in `Tree.links`, -1 is the world
    motion, axis    row of the table of motions, and 0, 1, 2 for the axes x, y, z of one that has an axis
    rotation        (3, 3) takes joint coordinates (before the motion) to parent coordinates; None is the identity
    offset          (3,) origin of the joint frame in the parent frame, m
    q, qd, qdd      node of an axial motion; of others (nq,), (nv,) and (nv,)
    twist_rates     rates of the columns `twists` in Link axes; empty where they are constant
    frame           name of the frame that a body's own coordinates move; "" is the body's own
    unit            the length that counts as 1, m
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
    motion: Motion
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
    twist_rates: tuple[tuple[Vec, Vec], ...] = ()
    frame: str = ""
    unit: Any = 1

    @property
    def advance(self) -> Any:
        """By how much an axial Link slides along its axis for a unit of q: 0, 1, or the pitch of a screw."""
        return 0 if not self.motion.slides else self.pitch if self.motion.turns else 1

    @property
    def displacement(self) -> tuple[Mat | None, Vec]:
        """Pose of a motion that is not axial: rotation from Link to stem axes, None if it never turns, and shift, m."""
        rotation, shift = self.motion.pose(self.q, Setting(self.axis, self.pitch, self.frame))
        return None if rotation is None else mat(rotation), self._short(vec(shift))

    @property
    def twists(self) -> tuple[tuple[Vec, Vec], ...]:
        """Twists that a unit of each velocity of a motion that is not axial gives: (angular, linear) in Link axes."""
        columns = self.motion.twist(self.q, Setting(self.axis, self.pitch, self.frame))
        return tuple((vec(w), self._short(vec(v))) for w, v in columns)

    def _short(self, v: Vec) -> Vec:
        """A length in units; a motion in body axes has them in its coordinates."""
        if is_one(self.unit) or self.motion.body_axes:
            return v
        return vec([times(1 / self.unit, x) for x in v])

    @property
    def quaternion(self) -> Any:
        """(4,) its quaternion; () without one."""
        return () if self.motion.turned_by is None else self.q[self.motion.turned_by]


@dataclass(frozen=True, eq=False)
class Tree:
    """Links in an order in which parents come first, over one Graph.

    q, qd, qdd, tau   arrays of symbols of sizes nq, nv, nv, nv
    places            body name -> (Link index, rotation from body to Link axes or None, body origin in the Link frame)
    frame_links       (body, frame) -> Link of a frame that the coordinates of its body move
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
    frame_links: dict[tuple[str, str], int] = field(default_factory=dict)

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
    tree = replace(tree, gravity=tree.node(mechanism.gravity))
    tree.places[WORLD] = (-1, None, zeros(3))
    coordinates = first_places(mechanism)
    for joint in mechanism.joints:
        _add_joint(tree, joint, coordinates, joint.name in kept)
    _add_twist_rates(tree)
    return tree


def first_places(mechanism: Mechanism) -> dict[str, tuple[int, int]]:
    """First coordinate and first velocity of each joint that has any."""
    return {s.owner: (s.iq, s.iv) for s in mechanism.slots if s.joint is not None}


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
    own = {s.owner: s.parts for s in tree.mechanism.slots if s.joint is joint}.get(joint.name, ())
    for k, (motion, letter) in enumerate(motions):
        align, axis, sign = _axis(tree, joint, letter) if letter else (None, 0, 1)
        if not motion.axial and sign < 0:
            align, axis, sign = _align_z([-float(i == axis) for i in range(3)], tree.graph), 2, 1
        if align is not None:
            # the Link frame is turned so that its z axis is the joint's; the body keeps its own frame
            rotation = _compose(_compose(rotation, body_rotation), align)
            body_rotation = transpose(align)
        elif body_rotation is not None:
            rotation, body_rotation = _compose(rotation, body_rotation), None
        link = Link(len(tree.links), parent, motion, axis, rotation, offset, None, None, None, (), joint.name)
        if motion.pitched and joint.pitch is not None:
            link.pitch = tree.node(joint.pitch)
        if joint.mimic is not None:
            _following(tree, link, joint, coordinates, sign)
        else:
            _coordinates(tree, link, own[k], sign)
        link.elastic = joint.elastic is not None and k == len(motions) - 1
        tree.links.append(link)
        parent, rotation, offset = link.index, None, zeros(3)
    if kept and not motions:
        still = tree.graph.zero
        tree.links.append(
            Link(start, parent, SLIDE, 0, rotation, offset, still, still, still, ((),), joint.name, body=joint.child)
        )
        parent, rotation, offset = start, None, zeros(3)
    if joint.rotor is not None and motions:
        _add_rotor(tree, joint, tree.links[start], coordinates)
    if motions:
        body_place: tuple[int, Array | None, Array] = (parent, body_rotation, zeros(3))
        tree.links[parent].body, tree.links[parent].body_rotation = joint.child, body_rotation
    else:
        body_place = (parent, rotation, offset)
    body = tree.mechanism.body(joint.child)
    if body.coordinates:
        body_place = _add_body_motion(tree, body, joint, body_place)
    tree.places[joint.child] = body_place
    _add_body(tree, body, body_place)


def _add_body_motion(
    tree: Tree, body: Body, joint: Joint, place: tuple[int, Array | None, Array]
) -> tuple[int, Array | None, Array]:
    """Links that a body's own coordinates move: one for the body, where its mass is, and one for each named frame.

    All stand on the joint frame and share the velocities. Result: where the body is.
    """
    (part,) = next(s.parts for s in tree.mechanism.slots if s.joint is None and s.owner == body.name)
    base, to_link, origin = place
    if base >= 0 and tree.links[base].body == body.name:
        tree.links[base].body = ""  # the Link of the joint carries nothing itself
    found = len(tree.links)
    for name in ("", *body.frames):
        rotation, offset = to_link, origin
        if name:
            placed = tree.node(body.frames[name])
            rotation = _compose(to_link, _identity_or(placed.rotation))
            offset = origin + _turn(to_link, placed.position)
        link = Link(len(tree.links), base, part.motion, 0, rotation, offset, None, None, None, (), joint.name)
        link.body, link.frame = "" if name else body.name, name
        _coordinates(tree, link, part, 1)
        tree.links.append(link)
        if name:
            tree.frame_links[body.name, name] = link.index
    return found, None, zeros(3)


def _add_body(tree: Tree, body: Body, place: tuple[int, Array | None, Array]) -> None:
    index, rotation, origin = place
    if index < 0:
        return  # fixed to the world: it never moves
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
        len(tree.links), link.parent, TURN, link.axis, link.rotation, link.offset, tree.graph.zero, ratio * link.qd,
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


def _following(tree: Tree, link: Link, joint: Joint, coordinates: dict[str, tuple[int, int]], sign: int) -> None:
    """q, qd, qdd and columns of a joint that follows another."""
    assert joint.mimic is not None
    other = tree.mechanism.joint(joint.mimic.joint)
    if link.motion is BALL:  # it copies the whole rotation
        part = next(s.parts for s in tree.mechanism.slots if s.owner == other.name and s.joint is not None)[0]
        return _coordinates(tree, link, part, 1)
    if other.name not in coordinates or KINDS[other.kind].nv(other) != 1:
        raise ModelError(f"joint {joint.name!r} mimics {other.name!r}, which has not one coordinate of its own.")
    iq, iv = coordinates[other.name]
    ratio, shift = sign * tree.node(joint.mimic.ratio), sign * tree.node(joint.mimic.offset)
    link.q, link.qd, link.qdd = ratio * tree.q[iq] + shift, ratio * tree.qd[iv], ratio * tree.qdd[iv]
    link.columns = (((iv, ratio),),)


def _coordinates(tree: Tree, link: Link, part: CoordinatePart, sign: int) -> None:
    """q, qd, qdd and columns of a motion that owns coordinates."""
    if link.motion.axial:
        link.q, link.qd, link.qdd = sign * tree.q[part.iq], sign * tree.qd[part.iv], sign * tree.qdd[part.iv]
        link.columns = (((part.iv, sign),),)
        return
    link.q, link.qd, link.qdd = tree.q[part.q], tree.qd[part.v], tree.qdd[part.v]
    link.columns = tuple(((k, 1),) for k in part.velocities)


def _add_twist_rates(tree: Tree) -> None:
    """Rates of the columns that depend on coordinates, along q_dot = N(q) qd."""
    curved = [link for link in tree.links if not link.motion.axial and not link.motion.body_axes]
    if not curved:
        return
    rates = np.array(tree.qd, dtype=object)  # of all coordinates
    whole = np.empty(len(tree.q), dtype=object)
    for slot in tree.mechanism.slots:
        for part in slot.parts:
            own = rates[part.v]
            whole[part.q] = own if part.motion.plain else matmul(part.motion.map_of_rates(tree.q[part.q]), own)
    for link in curved:
        entries = [x for w, v in link.twists for x in (*w, *v)]
        slopes = jvp(as_nodes([tree.graph.zero, *entries])[1:], list(tree.q), as_nodes([tree.graph.zero, *whole])[1:])
        found = [0 if is_zero(x) else x for x in slopes]
        link.twist_rates = tuple(
            (vec(found[6 * k : 6 * k + 3]), vec(found[6 * k + 3 : 6 * k + 6])) for k in range(link.motion.nv)
        )


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
    for motion, letter in KINDS[joint.kind].motions(joint) if entries else ():
        own, entries = entries[: motion.nq], entries[motion.nq :]
        if motion.body_axes:
            if motion.slides:
                offset = offset + _turn(rotation, as_array([own[k] for k in motion.places]))
            quaternion = [float(x.data) for x in own[-4:]]  # validated: numbers
            rotation = _compose(rotation, _identity_or(_constants(from_quaternion(quaternion), tree.graph)))
            continue
        if all(is_zero(x) for x in own) and motion.axial:
            continue
        align, axis, sign = _axis(tree, joint, letter) if letter else (None, 0, 1)
        turned = _compose(rotation, align)
        pitch = tree.node(joint.pitch) if motion.pitched else 1
        if not motion.axial:
            if sign < 0:
                align = _align_z([-float(i == axis) for i in range(3)], tree.graph)
                turned, axis = _compose(rotation, align), 2
            turn, step = motion.pose(own, Setting(axis, pitch if motion.pitched else 0))
            offset = offset + _turn(turned, step)
            rotation = turned if turn is None else _compose(turned, turn)
            rotation = _compose(rotation, None if align is None else transpose(align))
            continue
        value = own[0]
        if motion.slides:
            step = zeros(3)
            step[axis] = sign * value * pitch
            offset = offset + _turn(turned, step)
        if motion.turns:
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
    from symbody.symbolic.expr.walk import free_symbols

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
