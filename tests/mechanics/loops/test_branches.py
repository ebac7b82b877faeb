"""Branches of closed mechanisms: which constraints are redundant depends on where the mechanism moves."""

import numpy as np
import pytest

import symbody as sb
from symbody.mechanics.assembly.numeric import Numeric
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.partition.branches import branch_of
from symbody.mechanics.loops.rows.constraint_rows import constraints
from symbody.model.record.coordinates import retract

L = 0.4


def scissor(pairs: int = 2) -> sb.Mechanism:
    """Crossed pairs of bars, all of them along x at q = 0, where they may also fold onto each other."""
    b = sb.Mechanism.builder("scissor", gravity=(0, -9.81, 0))
    for k in range(pairs):
        for n in "ab":
            b.body(f"{n}{k}", mass=0.3, com=(L / 2, 0, 0), inertia=(0, 0, 0.004), frames={"mid": (L / 2, 0, 0)})
    b.body("slide", mass=0.2)
    b.joint("a0", "revolute", "world", "a0").joint("slide", "prismatic", "world", "slide", axis="x")
    b.joint("b0", "revolute", "slide", "b0")
    for k in range(1, pairs):
        b.joint(f"a{k}", "revolute", f"b{k - 1}", f"a{k}", position=(L, 0, 0))
        b.joint(f"b{k}", "revolute", f"a{k - 1}", f"b{k}", position=(L, 0, 0))
    for k in range(pairs):
        b.cut(f"pin{k}", "ball", f"a{k}.mid", f"b{k}.mid")
    return b.done()


def spread(turn: float, pairs: int = 2) -> np.ndarray:
    """A scissor position with one degree of freedom: the angle of the first bar."""
    q = {"a0": turn, "slide": L * np.cos(turn), "b0": np.pi - turn}
    for k in range(1, pairs):
        q[f"a{k}"], q[f"b{k}"] = 2 * turn - np.pi, np.pi - 2 * turn
    mech = scissor(pairs)
    out = np.array([q[j.name] for j in mech.joints])
    assert np.abs(Numeric(found_in(mech)).h(out)).max() < 1e-12
    return out


def found_in(mech: sb.Mechanism):
    return constraints(build_tree(mech))


def tip_gap(mech: sb.Mechanism, q: np.ndarray) -> float:
    frames = [f"{n}{k}.mid" for k in range(len(mech.cuts)) for n in "ab"]
    poses = sb.kinematics(mech, frames=frames, order=0, loops=False).compile()(q)
    points = [getattr(poses, f"p_{f.replace('.', '_')}") for f in frames]
    return max(float(np.abs(a - b).max()) for a, b in zip(points[::2], points[1::2]))


def test_redundancy_belongs_to_a_branch():
    found = found_in(scissor())
    folded, open_wide = branch_of(found), branch_of(found, spread(0.6))
    assert (folded.rank, len(folded.redundant)) == (3, 1)
    assert (open_wide.rank, open_wide.redundant) == (4, ())
    for branch in (folded, open_wide):
        assert len(branch.positions) > 30
        assert np.abs(Numeric(found).h(branch.positions)).max() < 1e-11
        s = np.linalg.svd(Numeric(found).J(branch.positions), compute_uv=False)
        assert ((s > 1e-6 * s[:, :1]).sum(axis=1) == branch.rank).all()


def test_other_branches_are_named():
    partition = sb.partition(scissor())
    assert "made for the branch of q = (0, 0, 0, 0, 0), with 3 independent constraints" in partition.explanation
    assert "with 4)" in partition.explanation
    assert "lie on others" not in sb.partition(sb.load("four_bar")).explanation


@pytest.mark.parametrize("pairs", [2, 3])
def test_scissor_moves_on_the_branch_of_its_start(pairs):
    mech, q0 = scissor(pairs), spread(0.6, pairs)
    run = sb.simulate(mech, 0.3, q0=q0, samples=7, rtol=1e-9, outputs=["energy"])
    whole = sb.simulate(mech, 0.3, q0=q0, samples=7, rtol=1e-9, formulation="augmented")
    assert run.outcome.name == whole.outcome.name == "FINISHED"
    assert max(tip_gap(mech, q) for q in run.q) < 1e-9
    # one degree of freedom: the other bars follow the first
    expected = np.array([spread(q[0], pairs) for q in run.q])
    assert run.q == pytest.approx(expected, abs=1e-7)
    assert run.q == pytest.approx(whole.q, abs=1e-6)
    assert np.ptp(run["energy"]) < 1e-6


def test_partition_of_a_branch_serves_all_verbs():
    mech, q0 = scissor(), spread(0.6)
    partition = sb.partition(mech, q=q0)
    assert len(partition.independent) == 1
    assert sb.semi_explicit(mech, partition=partition).outputs["M"].shape == (1, 1)
    assert len(sb.partition(mech).independent) == 2
    moved = sb.sensitivity(mech, 0.05, ["q.a0"], q0=q0)
    assert tip_gap(mech, moved.trajectory.q[-1]) < 1e-8


def test_a_program_of_another_branch_refuses_a_closed_position():
    """All loops are closed there, but a constraint that was left out binds the motion."""
    kernel = sb.forward_dynamics(scissor(), formalism="base").compile()
    zero, folded = np.zeros(5), np.array([0.3, 0.0, 0.3, 0.5, 0.5])
    assert np.isfinite(kernel(folded, zero, zero)).all()
    with pytest.raises(sb.errors.SolveError, match=r"pin1.x, which was left out as redundant, does not follow"):
        kernel(spread(0.6), zero, zero)
    qdd, status = kernel.call_with_status(np.array([folded, spread(0.6)]), zero, zero)
    assert np.isfinite(qdd[0]).all()
    assert np.isnan(qdd[1]).all()
    assert (status[1] < 0).any()


def test_augmented_equations_of_another_branch_refuse_too():
    kernel = sb.forward_dynamics(scissor(), formulation="augmented").compile()
    zero, folded = np.zeros(5), np.array([0.3, 0.0, 0.3, 0.5, 0.5])
    assert np.isfinite(kernel(folded, zero, zero)).all()
    with pytest.raises(sb.errors.SolveError, match="was left out as redundant"):
        kernel(spread(0.6), zero, zero)


def test_joints_may_be_named_for_the_branch_of_the_start():
    """One joint moves the scissor; folded, it needs two."""
    mech, q0 = scissor(), spread(0.6)
    assert len(sb.partition(mech, ["a0"], q=q0).independent) == 1
    with pytest.raises(sb.errors.ModelError, match="2 of them are independent"):
        sb.partition(mech, ["a0"])
    run = sb.simulate(mech, 0.05, q0=q0, partition=["a0"], samples=3)
    assert run.q == pytest.approx(np.array([spread(q[0]) for q in run.q]), abs=1e-8)
    with pytest.raises(sb.errors.ModelError, match="2 of them are independent"):
        sb.simulate(mech, 0.05, q0=[0.3, 0.0, 0.3, 0.5, 0.5], partition=["a0"])


def test_a_loop_closed_the_wrong_way_round_is_refused():
    """Rotation rows vanish too where a frame is turned over by half a turn."""
    b = sb.Mechanism.builder("turned")
    for name in ("a", "b"):
        b.body(name, mass=1, inertia=(0.1, 0.2, 0.3))
    b.joint("a", "revolute", "world", "a", axis="z").joint("b", "revolute", "world", "b", axis="z")
    mech = b.cut("weld", "rows", "a", "b", rows=["rx", "ry", "rz"]).done()
    kernel = sb.closure(mech, partition=["a"]).compile()
    assert kernel([0.3, 0.2], [1.0, 0.0]).q == pytest.approx([0.3, 0.3])
    with pytest.raises(sb.errors.SolveError, match="the wrong way round"):
        kernel([0.3, 0.3 + np.pi], [1.0, 0.0])


def test_members_of_a_batch_may_be_on_different_branches():
    """Four constraints are independent on one of them, three on the other: each member has equations of its own."""
    folded = np.array([0.3, 0.0, 0.3, 0.5, 0.5])
    q0 = np.array([spread(0.6), folded])
    many = sb.simulate(scissor(), 0.1, q0=q0, samples=5)
    for k in range(2):
        assert np.array_equal(many.q[k], sb.simulate(scissor(), 0.1, q0=q0[k], samples=5).q)


def test_a_partition_of_another_branch_is_refused_at_the_start():
    with pytest.raises(sb.errors.ModelError, match=r"solves 3 constraints .* 4 are independent"):
        sb.simulate(scissor(), 0.1, q0=spread(0.6), partition=sb.partition(scissor()))


def test_singular_start_is_said():
    """A parallelogram stretched along x: branches of parallel and of crossed bars meet there."""
    b = sb.Mechanism.builder("parallelogram", gravity=(0, -9.81, 0))
    for name, length in (("crank", 1.0), ("coupler", 2.0), ("rocker", 1.0)):
        b.body(name, mass=1, com=(length / 2, 0, 0), inertia=(0, 0, 0.1), frames={"end": (length, 0, 0)})
    b.joint("crank", "revolute", "world", "crank").joint("coupler", "revolute", "crank", "coupler", position=(1, 0, 0))
    b.joint("rocker", "revolute", "world", "rocker", position=(2, 0, 0))
    mech = b.cut("pin", "ball", "coupler.end", "rocker.end").done()
    branch = branch_of(found_in(mech))
    assert branch.singular
    assert branch.rank == 2
    assert "is singular" in branch.notes[0]
    assert not branch_of(found_in(mech), [1.0, -1.0, 1.0]).singular


def test_branch_of_one_point_is_said():
    """Three bars that are just long enough to span the ground."""
    b = sb.Mechanism.builder("stretched")
    for name in ("first", "middle", "last"):
        b.body(name, mass=1, com=(0.5, 0, 0), inertia=(0, 0, 0.1), frames={"end": (1, 0, 0)})
    b.joint("first", "revolute", "world", "first", position=(-3, 0, 0))
    b.joint("middle", "revolute", "first", "middle", position=(1, 0, 0))
    b.joint("last", "revolute", "middle", "last", position=(1, 0, 0))
    mech = b.cut("pin", "ball", "last.end", "world").done()
    branch = branch_of(found_in(mech))
    assert branch.singular
    assert branch.redundant == ()
    assert "a branch of one point" in branch.notes[0]


def test_steps_of_a_batch_are_those_of_its_members():
    mech = sb.load("satellite_arm")
    rng = np.random.default_rng(0)
    q = rng.normal(size=(4, mech.nq))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    step = rng.normal(size=(4, mech.nv))
    assert retract(mech, q, step) == pytest.approx(np.array([retract(mech, *x) for x in zip(q, step)]), abs=1e-15)
