"""A closed mechanism as a graph: bodies, and between them joints, whether they stand in the tree or were cut.

Every spanning tree of it is another modelling of the same mechanism. An Edge knows the joint's frame on both bodies: it
can be made a joint in either direction, or a cut.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.rows.constraint_rows import constraints
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import WORLD, Body, Cut, Joint, Mechanism, Placement
from symbody.model.record.numbers import frozen_array
from symbody.symbolic.expr.arrays import is_zero, matmul, transpose
from symbody.symbolic.expr.node import CONST

CUT_AS = {"revolute": "revolute", "prismatic": "prismatic", "cylindrical": "cylindrical", "universal": "universal",
          "spherical": "ball", "ball": "ball"}  # kind of joint -> kind of cut  # fmt: skip
JOIN_AS = {"revolute": "revolute", "prismatic": "prismatic", "cylindrical": "cylindrical", "universal": "universal",
           "ball": "ball", "solid": "fixed"}  # fmt: skip
ROWS = ("x", "y", "z", "rx", "ry", "rz")
TURNABLE = ("fixed", "revolute", "prismatic", "helical", "cylindrical")  # the inverse motion has the axis reversed
LAWS = ("stiffness", "viscous", "coulomb", "rotor", "elastic", "mimic", "value")


@dataclass(frozen=True, eq=False)
class Edge:
    """A joint between the bodies a and b; its frame on a before the motion, on b after it.

    joint   the record it is made of, or was; cut: the cut that it is instead, or would be; None: it cannot be one
    free    whether it may be cut without any equation: a fictitious joint that only gives coordinates
    """

    name: str
    a: str
    b: str
    on_a: Placement
    on_b: Placement
    joint: Joint | None
    cut: Cut | None
    free: bool = False

    @property
    def turnable(self) -> bool:
        """Whether b may carry a."""
        gyroscopic = self.joint is not None and self.joint.rotor is not None and self.joint.rotor.gyroscopic
        return self.joint is not None and self.joint.kind in TURNABLE and not gyroscopic


@dataclass(frozen=True, eq=False)
class JointGraph:
    """All edges, and which of them the given mechanism cuts. kept: cuts that are no joint, such as rods."""

    mechanism: Mechanism
    edges: tuple[Edge, ...]
    open: frozenset[str]
    kept: tuple[Cut, ...] = ()


def joint_graph(
    mechanism: Mechanism, cuttable: Collection[str] | None = None, absolute: Mapping[str, str] | None = None
) -> JointGraph:
    """The graph of a mechanism with cuts.

    cuttable: joints that may be cut; by default the passive ones without laws that no coupling and no follower names.
    absolute: body -> kind of a fictitious joint from the world that may carry it ("planar", "floating", ...).
    """
    owners = [b.name for b in mechanism.bodies if b.coordinates]
    if owners:
        raise ModelError(
            f"{mechanism.name}: {', '.join(owners)} own coordinates, which stand between joints on both sides; which "
            "joints are cut cannot be chosen anew then. Give the cuts as they shall be."
        )
    used = _used(mechanism)
    edges = []
    for joint in mechanism.joints:
        plain = joint.mode == "passive" and all(getattr(joint, law) is None for law in LAWS) and joint.name not in used
        allowed = plain if cuttable is None else joint.name in cuttable
        edges.append(_of_joint(mechanism, joint, allowed))
    joined = [(cut, _as_joint(mechanism, cut)) for cut in mechanism.cuts]
    taken = {e.name for e in edges}
    cuts = [_of_cut(mechanism, meant, taken) for _, meant in joined if meant is not None]
    edges += cuts
    for body, kind in (absolute or {}).items():
        edges.append(_absolute(mechanism, body, kind))
    opened = {e.name for e in edges if e.free} | {e.name for e in cuts}
    kept = tuple(cut for cut, meant in joined if meant is None)
    return JointGraph(mechanism, tuple(edges), frozenset(opened), kept)


def _used(mechanism: Mechanism) -> set[str]:
    """Joints whose coordinates others need."""
    from symbody.symbolic.expr.walk import free_symbols

    out = {j.mimic.joint for j in mechanism.joints if j.mimic is not None}
    for s in free_symbols(c.expression for c in mechanism.couplings):
        if s.data.role in ("coordinate", "velocity"):
            joint = s.data.name.partition(".")[2]
            out |= {joint, joint.rpartition(".")[0]}
    return out


def _of_joint(mechanism: Mechanism, joint: Joint, cuttable: bool) -> Edge:
    here = _identity(mechanism)
    edge = Edge(joint.name, joint.parent, joint.child, joint.placement, here, joint, None)
    if not cuttable or joint.kind not in CUT_AS:
        return edge
    letter = _letter(joint)
    if letter is None and KINDS[joint.kind].needs_axis:
        return edge  # a slanting axis is no axis of the frames
    axes = joint.sequence or "xy"
    axis, axis2 = (axes[0], axes[1]) if joint.kind == "universal" else (letter or "z", "y")
    cut = Cut(joint.name, CUT_AS[joint.kind], (joint.parent, ""), (joint.child, ""), axis=axis, axis2=axis2)
    return replace(edge, cut=cut)


def _letter(joint: Joint) -> str | None:
    entries = [k for k in range(3) if not is_zero(joint.axis[k])]
    return "xyz"[entries[0]] if len(entries) == 1 else None


def _as_joint(mechanism: Mechanism, cut: Cut) -> Cut | None:
    """The cut by the name of its joint; None where it stands for none that could be closed.

    Rows that were chosen by hand mean the joint whose other equations vanish, in a plane mechanism for example.
    """
    if cut.switched or (cut.kind not in JOIN_AS and cut.kind != "rows"):
        return None
    if cut.kind != "rows":
        return cut
    wanted = {f"{cut.name}.{ROWS[k]}" for k in cut.rows}
    for kind, axis in (("solid", "z"), *product(("revolute", "prismatic", "cylindrical"), "zxy"), ("ball", "z")):
        meant = replace(cut, kind=kind, axis=axis, rows=())
        alone = mechanism.replace(cuts=(meant,), couplings=())
        try:
            if {row.name for row in constraints(build_tree(alone)).rows} == wanted:
                return meant
        except ModelError:
            continue  # a condition on parameters alone does not hold
    return None


def _of_cut(mechanism: Mechanism, cut: Cut, taken: Collection[str]) -> Edge:
    while cut.name in taken:  # joints and cuts may share names, until one becomes the other
        cut = replace(cut, name=f"{cut.name}_cut")
    places = [_frame(mechanism, *end) for end in (cut.first, cut.second)]
    kind = JOIN_AS[cut.kind]
    unit = [int(cut.axis == c) for c in "xyz"]
    sequence = cut.axis + cut.axis2 if kind == "universal" else ""
    joint = None
    if kind != "universal" or cut.axis != cut.axis2:
        axis = frozen_array([mechanism.graph.number(x) for x in unit], 3)
        joint = Joint(cut.name, kind, cut.first[0], cut.second[0], places[0], axis, sequence=sequence, mode="passive")
    return Edge(cut.name, cut.first[0], cut.second[0], places[0], places[1], joint, cut)


def _absolute(mechanism: Mechanism, body: str, kind: str) -> Edge:
    mechanism.body(body)
    here = _identity(mechanism)
    axis = frozen_array([mechanism.graph.number(x) for x in (0, 0, 1)], 3)
    name = f"absolute_{body}"
    if kind not in KINDS:
        raise ModelError(f"absolute joint of {body!r} has kind {kind!r}; expected one of {', '.join(KINDS)}.")
    joint = Joint(name, kind, WORLD, body, here, axis, mode="passive")
    return Edge(name, WORLD, body, here, here, joint, None, free=True)


def _frame(mechanism: Mechanism, body: str, name: str) -> Placement:
    return mechanism.body(body).frames[name] if name else _identity(mechanism)


# -- modellings


def spanning(graph: JointGraph, opened: Collection[str]) -> Mechanism | None:
    """The mechanism with the edges `opened` cut and all others as joints.

    None where that is no tree on the world, where a joint would have to be turned that cannot be, or cut.
    """
    if any(e.cut is None and not e.free for e in graph.edges if e.name in opened):
        return None
    closed = [e for e in graph.edges if e.name not in opened]
    carried = _outward(graph.mechanism, closed)
    if carried is None:
        return None
    maker = _Maker(graph.mechanism, graph.kept)
    for edge, forward in carried:
        maker.add_joint(edge, forward)
    for edge in graph.edges:
        if edge.name in opened and not edge.free:
            maker.add_cut(edge)
    return maker.done()


def _outward(mechanism: Mechanism, edges: Iterable[Edge]) -> list[tuple[Edge, bool]] | None:
    """(edge, whether a carries b), parents first."""
    waiting, reached, out = list(edges), {WORLD}, []
    while waiting:
        found = next((e for e in waiting if (e.a in reached) != (e.b in reached)), None)
        if found is None:
            return None  # the rest closes a loop, or hangs in the air
        forward = found.a in reached
        if found.joint is None or not (forward or found.turnable):
            return None
        reached.add(found.b if forward else found.a)
        waiting.remove(found)
        out.append((found, forward))
    return out if len(reached) == len(mechanism.bodies) + 1 else None


class _Maker:
    """Collects the pieces of another modelling."""

    def __init__(self, mechanism: Mechanism, kept: tuple[Cut, ...]) -> None:
        self.old = mechanism
        self.kept = kept
        self.bodies: dict[str, Body] = {b.name: b for b in mechanism.bodies}
        self.joints: list[Joint] = []
        self.cuts: list[Cut] = []

    def add_joint(self, edge: Edge, forward: bool) -> None:
        assert edge.joint is not None
        parent, child = (edge.a, edge.b) if forward else (edge.b, edge.a)
        here, there = (edge.on_a, edge.on_b) if forward else (edge.on_b, edge.on_a)
        joint = edge.joint
        axis = joint.axis if forward else frozen_array([-x for x in joint.axis], 3)
        if joint.kind == "fixed":
            pose = compose(here, inverse(there))
            self.joints.append(replace(joint, parent=parent, child=child, placement=pose, axis=axis))
            return
        if is_identity(there):
            self.joints.append(replace(joint, parent=parent, child=child, placement=here, axis=axis))
            return
        # a frame without mass moves, and carries the body where the joint's frame stands on it
        carrier = self._free(f"{edge.name}_frame")
        zero = self.old.graph.zero
        self.bodies[carrier] = Body(carrier, zero, frozen_array([zero] * 3, 3), frozen_array([zero] * 9, 3, 3))
        self.joints.append(replace(joint, parent=parent, child=carrier, placement=here, axis=axis))
        self.joints.append(
            Joint(f"{carrier}_fixed", "fixed", carrier, child, inverse(there), frozen_array([*joint.axis], 3))
        )

    def add_cut(self, edge: Edge) -> None:
        assert edge.cut is not None
        self.cuts.append(
            replace(edge.cut, first=self._point(edge.a, edge.on_a, edge), second=self._point(edge.b, edge.on_b, edge))
        )

    def _point(self, body: str, at: Placement, edge: Edge) -> tuple[str, str]:
        """(body, frame) of a placement: a frame that is there, or a new one; the world's are on a ground body."""
        if is_identity(at):
            return body, ""
        if body == WORLD:
            body = self._free(f"{edge.name}_ground")
            zero = self.old.graph.zero
            self.bodies[body] = Body(body, zero, frozen_array([zero] * 3, 3), frozen_array([zero] * 9, 3, 3))
            axis = frozen_array([zero, zero, self.old.graph.one], 3)
            self.joints.append(Joint(f"{body}_fixed", "fixed", WORLD, body, _identity(self.old), axis))
        owner = self.bodies[body]
        for name, frame in owner.frames.items():
            if frame is at:
                return body, name
        name = f"at_{edge.name}".replace(".", "_")
        self.bodies[body] = replace(owner, frames={**owner.frames, name: at})
        return body, name

    def _free(self, name: str) -> str:
        while name in self.bodies:
            name += "_"
        return name

    def done(self) -> Mechanism:
        bodies = tuple(self.bodies.values())
        return self.old.replace(bodies=bodies, joints=tuple(self.joints), cuts=(*self.cuts, *self.kept))


# -- placements


def _identity(mechanism: Mechanism) -> Placement:
    zero, one = mechanism.graph.zero, mechanism.graph.one
    turn = [one if i == j else zero for i in range(3) for j in range(3)]
    return Placement(frozen_array(turn, 3, 3), frozen_array([zero] * 3, 3))


def is_identity(p: Placement) -> bool:
    turned = any(x.op is not CONST or x.data != int(i == j) for (i, j), x in np.ndenumerate(p.rotation))
    return not turned and all(is_zero(x) for x in p.position)


def inverse(p: Placement) -> Placement:
    """Pose of the owner in the frame."""
    back = transpose(p.rotation)
    return _placement(p, back, [-x for x in matmul(back, p.position)])


def compose(p: Placement, r: Placement) -> Placement:
    """Pose of r, which is given in p, in the owner of p."""
    position = [a + b for a, b in zip(p.position, matmul(p.rotation, r.position), strict=True)]
    return _placement(p, matmul(p.rotation, r.rotation), position)


def _placement(like: Placement, rotation: np.ndarray, position: Iterable[object]) -> Placement:
    graph = like.rotation.flat[0].graph
    nodes = [graph.zero + x for x in (*np.asarray(rotation, dtype=object).flat, *position)]
    return Placement(frozen_array(nodes[:9], 3, 3), frozen_array(nodes[9:], 3))
