"""Assembly: closed configurations judged by world geometry, and errors that name what cannot close."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from mechanics.formalisms.reference import World, numbers
from mechanics.loops.loop_models import three_loops, three_rrr
from symbody.basics.errors import ModelError, NameLookupError, ShapeError, SolveError
from symbody.mechanics.assembly.assembly import closed_samples
from symbody.mechanics.assembly.numeric import Numeric
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.rows.constraint_rows import constraints
from symbody.mechanics.verbs.assemble import assemble
from symbody.model.build.builder import Builder
from symbody.model.record.coordinates import retract


def ends(mech, q):
    """name -> ((rotation, position) of the first frame, of the second) in world axes."""
    world = World(mech)
    bodies, _ = world.poses(np.asarray(q, dtype=complex))
    out = {}
    for cut in mech.cuts:
        pair = []
        for body, name in (cut.first, cut.second):
            r, p = bodies[body]
            if name:
                place = mech.body(body).frames[name]
                p = p + r @ numbers(place.position, world.values)
                r = r @ numbers(place.rotation, world.values)
            pair.append((r.real, p.real))
        out[cut.name] = pair
    return out


@pytest.mark.parametrize("make", [three_loops, *(lambda k=k: three_rrr(k) for k in (1, 2, 3, 4))])
def test_points_meet_in_the_world(make):
    mech = make()
    q = assemble(mech)
    for cut in mech.cuts:
        (r1, p1), (r2, p2) = ends(mech, q)[cut.name]
        assert p1 == pytest.approx(p2, abs=1e-11)
        if cut.kind == "solid":
            assert r1 == pytest.approx(r2, abs=1e-11)


def test_fixed_joints_stay_and_the_rest_follows():
    mech = three_rrr(4)
    start = assemble(mech)
    start[0] += 0.05
    q = assemble(mech, start, fixed=["q1"])
    assert q[0] == start[0]
    assert np.abs(Numeric(constraints(build_tree(mech))).h(q)).max() < 1e-12
    assert np.abs(q - start).max() < 0.5  # the same branch


def spatial_chain(seed):
    """Seven hinges in space with a hand that is welded to the ground where it is at q0."""
    rng = np.random.default_rng(seed)
    q0 = rng.normal(size=7)

    def chain(b):
        parent = "world"
        for k in range(7):
            b.body(f"b{k}", 1, (0, 0, 0.1), (0.1, 0.1, 0.1), frames={"hand": (0.2, 0.1, 0.3)})
            turn = [("x", float(angles[k, 0])), ("y", float(angles[k, 1]))]
            b.joint(f"j{k}", "revolute", parent, f"b{k}", offsets[k].tolist(), turn)
            parent = f"b{k}"
        return b

    angles, offsets = rng.uniform(-1.5, 1.5, (7, 2)), rng.uniform(0.3, 1, (7, 3))
    open_arm = chain(Builder("arm")).done()
    r, p = World(open_arm).poses(q0.astype(complex))[0]["b6"]
    p = (p + r @ np.array([0.2, 0.1, 0.3])).real
    b = chain(Builder("closed"))
    b.body("ground", frames={"weld": {"position": p.tolist(), "rotation": r.real.tolist()}})
    b.joint("fixed", "fixed", "world", "ground")
    return b.cut("weld", "solid", "ground.weld", "b6.hand").done(), q0


@pytest.mark.parametrize("seed", range(4))
def test_newton_on_a_body_cut_converges_from_a_tenth_of_a_radian(seed):
    """T8 of the study: with the corrected sign of the rotation rows; the printed sign diverges."""
    mech, q0 = spatial_chain(seed)
    numeric = Numeric(constraints(build_tree(mech)))
    assert np.abs(numeric.h(q0)).max() < 1e-12
    rng = np.random.default_rng(seed)
    q = q0 + 0.1 * rng.uniform(-1, 1, 7)
    errors = []
    for _ in range(9):
        errors.append(np.abs(numeric.h(q)).max())
        q = q - np.linalg.pinv(numeric.J(q)) @ numeric.h(q)
    assert errors[0] > 1e-2
    assert np.abs(numeric.h(q)).max() < 1e-12
    (r1, p1), (r2, p2) = ends(mech, q)["weld"]
    assert r1 == pytest.approx(r2, abs=1e-11)
    assert p1 == pytest.approx(p2, abs=1e-11)


def test_a_stewart_platform_on_rods_with_a_free_body():
    """Six rods from the ground to a free body with a quaternion: distances are the lengths."""
    b = Builder("stewart")
    ground, plate, lengths = {}, {}, []
    for k in range(6):
        angle, shift = k * np.pi / 3, 0.25 * (-1) ** k
        ground[f"g{k}"] = (np.cos(angle), np.sin(angle), 0.0)
        plate[f"p{k}"] = (0.6 * np.cos(angle + shift), 0.6 * np.sin(angle + shift), 0.0)
        lengths.append(1.1 + 0.05 * np.sin(3 * k + 1))
    b.body("ground", frames=ground).joint("fixed", "fixed", "world", "ground")
    b.body("plate", 1, inertia=(1, 1, 1), frames=plate).joint("free", "free", "world", "plate")
    for k in range(6):
        b.cut(f"rod{k}", "rod", f"ground.g{k}", f"plate.p{k}", length=lengths[k])
    mech = b.done()
    q = assemble(mech, [0, 0, 1, 1, 0, 0, 0])
    assert np.linalg.norm(q[3:]) == pytest.approx(1, abs=1e-14)
    assert q[2] > 0
    found = ends(mech, q)
    for k in range(6):
        (_, p1), (_, p2) = found[f"rod{k}"]
        assert np.linalg.norm(p2 - p1) == pytest.approx(lengths[k], abs=1e-11)


def test_redundant_constraints_do_no_harm():
    """A parallelogram with three cranks: the third follows from the two others."""
    b = Builder("triple")
    b.body("coupler", frames={f"c{k}": (k, 0, 0) for k in range(3)})
    for k in range(3):
        b.body(f"crank{k}", frames={"tip": (1, 0, 0)})
        b.joint(f"crank{k}", "revolute", "world", f"crank{k}", (k, 0, 0))
    b.joint("coupler", "revolute", "crank0", "coupler", (1, 0, 0))
    for k in (1, 2):
        b.cut(f"pin{k}", "ball", f"coupler.c{k}", f"crank{k}.tip")
    mech = b.done()
    q = assemble(mech, [1.0, 1.1, 0.9, -1.05])
    assert q == pytest.approx([q[0], q[0], q[0], -q[0]], abs=1e-6)
    assert np.abs(Numeric(constraints(build_tree(mech))).h(q)).max() < 1e-12


# -- driven joints, couplings, switched loops


def test_driven_joints_stand_where_their_law_says():
    b = Builder("driven")
    b.parameter("w", 2.0)
    b.body("a", frames={"tip": (1, 0, 0)}).joint("a", "revolute", "world", "a", mode="driven", value="0.3 + w*t")
    b.body("b", frames={"tip": (2, 0, 0)}).joint("b", "revolute", "a", "b", (1, 0, 0))
    b.body("c", frames={"tip": (1.5, 0, 0)}).joint("c", "revolute", "world", "c", (2, 0, 0))
    b.cut("pin", "ball", "b.tip", "c.tip").coupling("late", "q.c - 1", switched=True)
    mech = b.done()
    assert assemble(mech)[0] == pytest.approx(0.3, abs=1e-15)
    q = assemble(mech, time=0.25)
    assert q[0] == pytest.approx(0.8, abs=1e-15)
    assert q[2] != pytest.approx(1.0)  # the switched coupling is open
    with pytest.raises(NameLookupError, match="no loop 'pim'"):
        assemble(mech, loops=["pim"])


# -- what cannot close


def test_joints_named_in_the_guess_stay_where_that_is_possible():
    mech = sb.load("four_bar")
    first = mech.joints[0].name
    q = assemble(mech, {first: 0.9})
    assert q[0] == 0.9
    (a, b), *_ = ends(mech, q).values()
    np.testing.assert_allclose(a[1], b[1], atol=1e-12)
    every = {j.name: 0.3 for j in mech.joints}  # they cannot all stay
    (a, b), *_ = ends(mech, assemble(mech, every)).values()
    np.testing.assert_allclose(a[1], b[1], atol=1e-12)


@pytest.mark.parametrize(
    ("guess", "error", "text"),
    [
        ({"crnk": 1.0}, NameLookupError, "crank"),
        ({"crank": "far"}, ModelError, "'far'"),
        ({"crank": [1.0, 2.0]}, ShapeError, "2 numbers"),
        ({"crank": np.nan}, ModelError, "finite"),
        ("crank", NameLookupError, "no keyframe 'crank'"),
    ],
)
def test_wrong_guesses_are_answered_by_name(guess, error, text):
    with pytest.raises(error, match=text):
        assemble(sb.load("four_bar"), guess)


def test_a_rod_that_is_too_long_is_named_with_its_gap():
    b = Builder("rod")
    b.body("a", frames={"tip": (1, 0, 0)}).joint("a", "revolute", "world", "a")
    b.body("b", frames={"tip": (1, 0, 0)}).joint("b", "revolute", "world", "b", (1, 0, 0))
    b.cut("short", "rod", "a.tip", "b.tip", length=0.5).cut("stay", "rod", "world", "b.tip", length=4)
    with pytest.raises(SolveError, match=r"open loops 'stay'.*Not even alone: 'stay'"):
        assemble(b.done())


def test_loops_that_only_close_one_at_a_time():
    b = Builder("both")
    b.body("a", frames={"tip": (1, 0, 0)}).joint("a", "revolute", "world", "a")
    b.body("ground", frames={"north": (0, 1, 0), "south": (0, -1, 0)}).joint("fixed", "fixed", "world", "ground")
    b.cut("up", "ball", "a.tip", "ground.north").cut("down", "ball", "a.tip", "ground.south")
    with pytest.raises(SolveError, match="Each of them can close alone, but not all together") as caught:
        assemble(b.done())
    assert "'up' (gap 1.41 m)" in str(caught.value) or "'up' (gap" in str(caught.value)


def test_a_fixed_joint_that_is_in_the_way_is_mentioned():
    mech = three_rrr(4)
    with pytest.raises(SolveError, match="Fixed joints: q7, q8"):
        assemble(mech, [0, 0, 0, 0, 0, 0, 50, 50, 0], fixed=["q7", "q8"], starts=4)
    with pytest.raises(ShapeError, match="nq = 9"):
        assemble(mech, [0, 0])


def test_a_hinge_is_not_closed_upside_down():
    """z_1 . z_2 = 1, not -1: a_1 . z_2 = 0 for two axes a has both solutions."""
    b = Builder("flip")
    b.body("a").joint("a", "ball", "world", "a")
    b.body("b").joint("b", "ball", "world", "b")
    mech = b.cut("hinge", "revolute", "a", "b").done()
    upside = np.array([1, 0, 0, 0, 0.1, 0.99, 0.02, 0.03])
    q = assemble(mech, upside)
    (r1, _), (r2, _) = ends(mech, q)["hinge"]
    assert r1[:, 2] @ r2[:, 2] == pytest.approx(1, abs=1e-12)


# -- samples


def test_samples_are_closed_and_different():
    found = constraints(build_tree(three_rrr(2)))
    samples = closed_samples(found, 6)
    assert len(samples) == 6
    assert np.abs(Numeric(found).h(samples)).max() < 1e-12
    assert np.ptp(samples, axis=0).max() > 0.05
    assert closed_samples(found, 6) == pytest.approx(samples, abs=0)


def test_a_step_of_a_quaternion_is_a_rotation_about_child_axes():
    b = Builder("free")
    mech = b.body("a").joint("a", "free", "world", "a").done()
    rng = np.random.default_rng(0)
    q = np.array([*rng.normal(size=3), 1, 0, 0, 0.0])
    for _ in range(3):
        q = retract(mech, q, rng.normal(size=6))
    step = 1e-6 * rng.normal(size=6)
    world = World(mech)
    expected = world.advance(q, step, 1.0).real
    assert retract(mech, q, step) == pytest.approx(expected, abs=1e-11)


# -- guesses from far away


@pytest.mark.parametrize("size", [1.0, 100.0, 1e6, 1e150])
@pytest.mark.parametrize("name", ["slider_crank", "four_bar", "delta"])
def test_wild_guesses_are_assembled_where_the_mechanism_can_be(name, size):
    """Points meet in the world; of slides of kilometres and more turns than doubles tell, others are tried."""
    mech = sb.load(name)
    for k in range(4):
        q = assemble(mech, size * np.random.default_rng(k).normal(size=mech.nq))
        for (_, p), (_, other) in ends(mech, q).values():
            np.testing.assert_allclose((p - other)[:2], 0, atol=1e-9)


def test_a_guess_from_afar_of_what_cannot_close_says_which_loop():
    with pytest.raises(SolveError, match=r"cannot be assembled: .* Not even alone: 'wrist'; .* Fixed joints: slide"):
        assemble(sb.load("slider_crank"), [3.0, 1.0, 200.0], fixed=["slide"])


def test_a_start_keeps_the_dependent_joint_that_it_names_where_that_closes():
    """A slider at x is reached for every |l - r| < |x| < l + r; elsewhere it is moved, and a note says so."""
    mech = sb.load("slider_crank")
    r, l, d = 0.07, 0.25, 0.24
    for x in (l - 0.9 * r, l + 0.9 * r, -l + 0.5 * r, 0.24):
        start = sb.simulate(mech, 0.002, 1e-3, q0={"slide": x - d})
        np.testing.assert_allclose(start.q[0][2], x - d, atol=1e-11)
    far = sb.simulate(mech, 0.002, 1e-3, q0={"slide": 5.0})
    assert any("q0 was changed" in note for note in far.notes)
