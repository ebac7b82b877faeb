"""Other modellings of the same mechanism: equal poses in the world, equal freedom, fewer operations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import symbody as sb
from mechanics.formalisms.reference import World
from mechanics.loops.loop_models import three_loops, three_rrr
from symbody.basics.errors import ModelError
from symbody.mechanics.assembly.assembly import closed_samples
from symbody.mechanics.assembly.numeric import Numeric
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.cutting.cutting import predicted_operations, recut
from symbody.mechanics.loops.cutting.joint_graph import joint_graph, spanning
from symbody.mechanics.loops.rows.constraint_rows import constraints
from symbody.mechanics.verbs.assemble import assemble
from symbody.model.build.builder import Builder
from symbody.model.files.yaml_file import read_text
from symbody.model.files.yaml_writer import to_yaml
from symbody.model.record.coordinates import neutral


def passive(mech):
    return mech.replace(joints=tuple(j if j.kind == "fixed" else replace(j, mode="passive") for j in mech.joints))


def freedom(mech):
    found = constraints(build_tree(mech))
    J = Numeric(found).J(closed_samples(found, 3))
    return mech.nv - int(np.median([np.linalg.matrix_rank(x, tol=1e-8) for x in J]))


def coordinates(mech, q):
    """joint -> its coordinates."""
    return {slot.owner: list(q[slot.q]) for slot in mech.slots}


def poses(mech, q):
    return {name: (r.real, p.real) for name, (r, p) in World(mech).poses(np.asarray(q, dtype=complex))[0].items()}


def assert_same_motion(old, new, q_old, but=()):
    """Joints that both have stand alike; the rest of the new one is assembled: all bodies stand where they stood."""
    known = {joint: x for joint, x in coordinates(old, q_old).items() if joint not in but}
    q = neutral(new)
    shared = []
    for slot in new.slots:
        if slot.owner in known:
            q[slot.q] = known[slot.owner]
            shared.append(slot.owner)
    q = assemble(new, q, fixed=shared)
    before, after = poses(old, q_old), poses(new, q)
    for body in before:
        assert after[body][0] == pytest.approx(before[body][0], abs=1e-9), body
        assert after[body][1] == pytest.approx(before[body][1], abs=1e-9), body


# -- joints cut, turned, closed


KINDS = ("universal", "ball", "revolute", "cylindrical", "prismatic", "revolute", "helical", "revolute", "revolute")


def spatial_loop():
    """A chain of joints of several kinds, welded to the ground at its end."""
    rng = np.random.default_rng(7)
    data = [(rng.uniform(0.2, 0.8, 3).tolist(), [("x", rng.uniform(-1, 1)), ("z", rng.uniform(-1, 1))]) for _ in KINDS]

    def chain(b):
        for k, kind in enumerate(KINDS):
            b.body(f"b{k}", 1 + k, (0.1, 0.05 * k, 0.2), (1, 1.1, 1.2), frames={"mark": (0.1, 0.2, 0.3)})
            axis = ("x", "y", "-z")[k % 3]
            more = {"pitch": 0.2} if kind == "helical" else {}
            parent = f"b{k - 1}" if k else "world"
            b.joint(f"j{k}", kind, parent, f"b{k}", *data[k], axis=axis, mode="passive", **more)
        return b

    arm = chain(Builder("arm")).done()
    q0 = 0.4 * rng.normal(size=arm.nq)
    q0[2:6] = np.array([4, 2, 1, -2]) / 5  # the ball's quaternion
    r, p = World(arm).poses(q0.astype(complex))[0]["b8"]
    b = chain(Builder("loop"))
    hand = {"position": p.real.tolist(), "rotation": r.real.tolist()}
    b.body("ground", frames={"hand": hand}).joint("ground", "fixed", "world", "ground")
    return b.cut("weld", "solid", "ground.hand", "b8").done(), q0


@pytest.mark.parametrize("cut", ["j1", "j2", "j3", "j4", "j5", "j7", "j8"])
def test_cutting_another_joint_leaves_the_mechanism_as_it_was(cut):
    mech, q0 = spatial_loop()
    new = spanning(joint_graph(mech), {cut})
    assert new is not None
    assert [c.name for c in new.cuts] == [cut]
    assert new.cuts[0].kind == {"spherical": "ball"}.get(mech.joint(cut).kind, mech.joint(cut).kind)
    assert_same_motion(mech, new, assemble(mech, q0))
    assert freedom(new) == freedom(mech) == mech.nv - 6


def test_what_cannot_be_turned_or_cut_is_not():
    mech, _ = spatial_loop()
    graph = joint_graph(mech)
    edges = {e.name: e for e in graph.edges}
    assert spanning(graph, {"j0"}) is None  # the ball and the universal joint beyond it would have to be turned
    assert edges["j6"].cut is None  # no cut is helical
    assert spanning(graph, set()) is None
    assert spanning(graph, {"weld", "j3"}) is None
    moved = joint_graph(mech.replace(joints=tuple(replace(j, mode="actuated") for j in mech.joints)))
    assert all(e.cut is None for e in moved.edges if e.name != "weld")  # actuated joints need their coordinates
    chosen = joint_graph(mech, cuttable=["j3"])
    assert [e.name for e in chosen.edges if e.cut is not None] == ["j3", "weld"]


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "cylindrical", "ball"])
def test_a_cut_joint_can_be_closed_again(kind):
    """Cut at one joint, then closed there and cut at the last one: all in between are turned twice."""
    mech, q0 = spatial_loop()
    first = next(j.name for j in mech.joints if j.kind == kind)
    there = spanning(joint_graph(mech), {first})
    assert there is not None
    back = spanning(joint_graph(there), {"j8"})
    assert back is not None
    assert back.joint(first).kind == kind
    assert back.nv == mech.nv - 1
    # a joint that was a cut in between counts its coordinate from its own frames
    assert_same_motion(mech, back, assemble(mech, q0), but=[first])


# -- automatic


@pytest.mark.parametrize("model", [1, 2, 3])
def test_bodies_that_were_cut_become_whole_and_joints_are_cut(model):
    """robotran 4.6: cut joints rather than bodies; of modelling 1 also: short branches."""
    mech = passive(three_rrr(model))
    found = recut(mech)
    assert found.cost < found.before
    assert predicted_operations(found.mechanism) < predicted_operations(mech)
    assert "solid" not in {c.kind for c in found.mechanism.cuts}
    assert freedom(found.mechanism) == 3
    assert "is rigid now" in found.explanation
    assert f"{found.cost} operations" in found.explanation
    assert_same_motion(mech, found.mechanism, assemble(mech))


def test_modelling_1_gets_branches_as_short_as_those_of_modelling_2():
    def depth(mech):
        tree = build_tree(mech)
        return max(len(tree.ancestors(k.index)) for k in tree.links if k.inertia.mass is not tree.graph.zero)

    mech = passive(three_rrr(1))
    assert depth(mech) == 5
    assert depth(recut(mech).mechanism) == depth(passive(three_rrr(2))) == 3


def test_a_good_modelling_stays():
    mech = passive(three_loops())
    found = recut(mech)
    assert found.cost == found.before
    assert "the cuts stay" in found.explanation
    assert [c.name for c in found.mechanism.cuts] == ["c1", "c2", "c3"]
    assert found.mechanism.nv == mech.nv


def test_a_fictitious_absolute_joint_may_carry_a_body():
    """Modelling 2 with the platform on coordinates of its own: three joint cuts, as modelling 4 has."""
    mech = passive(three_rrr(2))
    graph = joint_graph(mech, absolute={"platform": "planar"})
    new = spanning(graph, {"q3", "q6", "q9"})
    assert new is not None
    assert new.nv == 9
    assert len(new.cuts) == 3
    assert freedom(new) == 3
    assert_same_motion(mech, new, assemble(mech))
    with pytest.raises(ModelError, match="kind 'plane'"):
        joint_graph(mech, absolute={"platform": "plane"})


def test_another_modelling_can_be_written_to_a_file():
    new = recut(passive(three_rrr(2))).mechanism
    text = to_yaml(new)
    assert to_yaml(read_text(text)) == text


@pytest.mark.slow
def test_predicted_and_counted_programs_agree_on_the_better_modelling():
    def counted(mech):
        count = sb.forward_dynamics(mech, formalism="newton_euler").count()
        return count.total + sum(b.total for b in count.blocks)

    mech = passive(three_rrr(1))
    assert counted(recut(mech).mechanism) < 0.75 * counted(mech)
