"""Loops that open and close during the motion: ropes that are let go and caught, brakes, clutches, grippers."""

from dataclasses import replace

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError
from symbody.motion.run.side_by_side import at_instants
from symbody.motion.trajectory.outcome import Outcome

G = 9.81
CHOICES = [{"step": 1e-3}, {"rtol": 1e-10}]
STRETCHED = "q.place.1*q.place.1 + q.place.3*q.place.3 - 1"  # of the rope in the plane y = 0
CATCH = sb.When("catch", STRETCHED, direction=1, reset={"s_rope": 1.0})


def swing():
    """A point mass of 1 kg that a rope of 1 m may hold to the origin."""
    make = sb.Mechanism.builder("swing", gravity=(0, 0, -G))
    make.body("ball", mass=1, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    make.joint("place", "translation3", "world", "ball")
    make.cut("rope", "rod", "world", "ball", length=1.0, switched=True)
    return make.done()


def pendulums(coupling, kind="position", mode="actuated"):
    """Two pendulums a and b on one axis, J = 1.25 and 0.5 kg m^2 about it."""
    make = sb.Mechanism.builder("pendulums", gravity=(0, 0, -G))
    make.body("a", mass=1, com=(0, 0, -1), inertia=(0.25, 0.25, 0.25))
    make.body("b", mass=1, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.25))
    law = {"value": "sin(2*t)"} if mode == "driven" else {}
    make.joint("a", "revolute", "world", "a", axis="y", mode=mode, **law)
    make.joint("b", "revolute", "world", "b", axis="y")
    make.coupling("grip", coupling, kind=kind, switched=True)
    return make.done()


def gripper():
    """A hand and a cup that float freely; hand.tip takes hold of cup.grip."""
    make = sb.Mechanism.builder("gripper", gravity=(0, 0, 0))
    make.body("hand", mass=2.0, com=(0.05, 0, 0.02), inertia=(0.03, 0.02, 0.04), frames={"tip": (0.2, 0, 0)})
    make.body("cup", mass=0.5, com=(0, 0.03, 0), inertia=(0.003, 0.002, 0.001), frames={"grip": (-0.1, 0, 0)})
    make.joint("hand", "free", "world", "hand").joint("cup", "free", "world", "cup")
    make.cut("hold", "solid", "hand.tip", "cup.grip", switched=True)
    return make.done()


AT_HAND = np.array([0, 0, 0, 1, 0, 0, 0, 0.3, 0, 0, 1, 0, 0, 0])  # q where tip and grip coincide
SPEEDS = np.random.default_rng(1).normal(size=12)


def around(run, event):
    """Numbers of the samples just before and just after an event."""
    found = np.flatnonzero(run.t == event.t)
    return found[0], found[-1]


# -- opening


@pytest.mark.parametrize("choice", CHOICES)
def test_a_mass_let_go_at_the_lowest_point_flies_on_a_parabola(choice):
    release = sb.When("release", "q.place.1", direction=-1, reset={"s_rope": 0.0})
    run = sb.simulate(
        swing(), 1.2, q0=[1.0, 0, 0], inputs={"s_rope": 1.0}, events=[release], outputs=["energy"], **choice
    )
    (event,) = run.events
    held, flown = run.t < event.t, run.t[-1] - event.t
    np.testing.assert_allclose(np.linalg.norm(run.q[held], axis=1), 1.0, atol=1e-12)
    speed = np.sqrt(2 * G)  # m g l = m v^2 / 2
    np.testing.assert_allclose(run.q[-1], [-speed * flown, 0, -1 - G * flown**2 / 2], atol=1e-6)
    assert np.ptp(run["energy"]) < 1e-6


def test_an_open_loop_carries_no_force():
    system = sb.forward_dynamics(swing(), lam=True).compile()
    state = (np.array([1.0, 0, 0]), np.array([0, 0, 2.0]), np.zeros(3))
    closed, open_ = (system(*state, s_rope=s) for s in (1.0, 0.0))
    np.testing.assert_allclose(open_.qdd, [0, 0, -G], atol=1e-12)
    np.testing.assert_allclose(open_.lam, 0, atol=1e-12)
    np.testing.assert_allclose(closed.qdd, [-4.0, 0, -G], atol=1e-12)  # v^2 / l towards the centre


# -- closing


@pytest.mark.parametrize("choice", [*CHOICES, {"step": 1e-3, "method": "midpoint"}, {"method": "radau"}])
def test_a_rope_that_stretches_takes_the_radial_speed_and_leaves_the_tangential_one(choice):
    run = sb.simulate(
        swing(), 1.5, q0=[0.6, 0, -0.2], qd0=[0.3, 0, 0], inputs={"s_rope": 0.0}, events=[CATCH],
        outputs=["energy"], **choice,
    )  # fmt: skip
    caught, closed = run.events
    assert (caught.name, closed.name) == ("catch", "closed 'rope'")
    before, after = around(run, caught)
    out = run.q[before]
    along = np.array([-out[2], 0, out[0]])
    radial = run.qd[before] @ out
    assert radial > 2
    assert abs(run.qd[after] @ out) < 1e-12
    assert run.qd[after] @ along == pytest.approx(run.qd[before] @ along, abs=1e-11)
    lost = radial**2 / 2
    assert run["energy"][before] - run["energy"][after] == pytest.approx(lost, abs=1e-10)
    assert f"{lost:.5g}"[:5] in closed.text
    np.testing.assert_allclose(np.linalg.norm(run.q[after:], axis=1), 1, atol=1e-11)
    assert np.ptp(run["energy"][after:]) < 1e-4  # m g l = 10 J; midpoint has order 2


@pytest.mark.parametrize("choice", CHOICES)
def test_a_slack_rope_stretches_again_at_three_times_the_angle(choice):
    """A mass that leaves its circle at the angle a above the horizontal comes back to it at -3 a."""
    a = np.radians(50)
    slack = sb.When(
        "slack", f"qd.place.1^2 + qd.place.3^2 - {G}*q.place.3", direction=-1, reset={"s_rope": 0}
    )  # the tension of a taut rope
    speed = np.sqrt(G * np.sin(a) + 2 * G * (1 + np.sin(a)))  # at the bottom
    run = sb.simulate(
        swing(), 1.9, q0=[0, 0, -1], qd0=[speed, 0, 0], inputs={"s_rope": 1}, events=[CATCH, slack], **choice
    )
    assert [e.name for e in run.events] == ["slack", "catch", "closed 'rope'"]
    for event, angle in zip(run.events, (a, -3 * a), strict=False):
        x, _, z = run.q[around(run, event)[0]]
        assert np.arctan2(z, x) == pytest.approx(angle, abs=1e-7)
    assert np.linalg.norm(run.q, axis=1).max() < 1 + 1e-12


def test_a_clutch_keeps_the_angular_momentum_of_both_shafts():
    on = sb.When("on", "q.a - q.b", reset={"s_grip": 1})
    run = sb.simulate(pendulums("q.a - q.b"), 1, q0=[0, 1.0], inputs={"s_grip": 0}, events=[on], outputs=["lam"])
    before, after = around(run, run.events[0])
    inertia = np.array([1.25, 0.5])
    np.testing.assert_allclose(run.qd[after], inertia @ run.qd[before] / inertia.sum(), rtol=1e-10)
    np.testing.assert_allclose(run.q[after:, 0], run.q[after:, 1], atol=1e-14)
    assert not run["lam"][:before].any()
    assert run["lam"][after:].any()


@pytest.mark.parametrize("choice", CHOICES)
def test_a_brake_goes_on_off_and_on_again(choice):
    times = {"on": (0.5, 1), "off": (1.0, 0), "again": (1.3, 1)}
    events = [sb.When(n, f"t - {t}", direction=1, reset={"s_grip": s}) for n, (t, s) in times.items()]
    run = sb.simulate(pendulums("qd.b", "velocity"), 2, q0=[0, 1.0], inputs={"s_grip": 0}, events=events, **choice)
    assert [e.name for e in run.events] == ["on", "closed 'grip'", "off", "again", "closed 'grip'"]
    for low, high, held in ((0, 0.5, False), (0.5, 1, True), (1, 1.3, False), (1.3, 2, True)):
        inside = (run.t > low) & (run.t < high)
        assert (np.ptp(run.q[inside, 1]) < 1e-13) == held


def test_a_locked_crank_stops_the_whole_linkage():
    make = sb.Mechanism.builder("four_bar", gravity=(0, -G, 0))
    for name, length in (("crank", 0.1), ("coupler", 0.4), ("rocker", 0.3)):
        make.body(name, mass=1, com=(length / 2, 0, 0), inertia=(0, 0, 0.01), frames={"tip": (length, 0, 0)})
    make.joint("crank", "revolute", "world", "crank")
    make.joint("coupler", "revolute", "crank", "coupler", position=(0.1, 0, 0), mode="passive")
    make.joint("rocker", "revolute", "world", "rocker", position=(0.4, 0, 0), mode="passive")
    make.cut("hinge", "rows", "rocker.tip", "coupler.tip", rows=["x", "y"])
    linkage = make.coupling("lock", "q.crank - 1.0", switched=True).done()
    lock = sb.When("lock", "q.crank - 1.0", direction=1, reset={"s_lock": 1.0})
    run = sb.simulate(
        linkage, 0.5, q0={"crank": 0.5}, qd0={"crank": 12.0}, inputs={"s_lock": 0}, events=[lock],
        outputs=["lam"],
    )  # fmt: skip
    _, after = around(run, run.events[0])
    assert np.abs(run.qd[after:]).max() < 1e-12
    np.testing.assert_allclose(run.q[after:, 0], 1.0, atol=1e-14)
    # at rest the lock carries the weight: virtual work of the three bars at the locked position
    h = 1e-5
    heights = []
    for q in (1 + h, 1 - h):
        c, k, r = sb.assemble(linkage, run.q[-1] + [q - 1, 0, 0], fixed=["crank"])
        heights.append(0.05 * np.sin(c) + 0.1 * np.sin(c) + 0.2 * np.sin(c + k) + 0.15 * np.sin(r))
    assert run["lam"][-1, 2] == pytest.approx(G * (heights[0] - heights[1]) / (2 * h), rel=1e-6)


def test_the_impulse_balances_momentum_and_closes_the_rod():
    """A double pendulum whose tip is caught by a rod, against M (qd+ - qd-) = J^T Lambda written by hand."""
    make = sb.Mechanism.builder("arm", gravity=(0, 0, 0))
    make.body("upper", mass=1.5, com=(0.5, 0, 0), inertia=(0, 0, 0.2))
    make.body("lower", mass=0.7, com=(0.4, 0, 0), inertia=(0, 0, 0.1), frames={"tip": (0.8, 0, 0)})
    make.joint("upper", "revolute", "world", "upper").joint("lower", "revolute", "upper", "lower", position=(1, 0, 0))
    start, wall = np.array([0.3, 0.9]), np.array([2.0, 0.5])
    a, b = start[0], start.sum()
    tip = np.array([np.cos(a) + 0.8 * np.cos(b), np.sin(a) + 0.8 * np.sin(b)])
    make.body("wall", mass=1).joint("wall", "fixed", "world", "wall", position=(*wall, 0))
    make.cut("rod", "rod", "wall", "lower.tip", length=float(np.linalg.norm(tip - wall)), switched=True)
    speeds = np.array([1.2, -2.0])
    run = sb.simulate(make.done(), 0.01, step=1e-3, q0=start, qd0=speeds, inputs={"s_rod": lambda t, q, qd: 1.0})
    c = np.cos(start[1])
    both = 0.1 + 0.7 * 0.4**2
    mass = np.array([
        [0.2 + 1.5 * 0.25 + both + 0.7 * (1 + 0.8 * c), both + 0.7 * 0.4 * c], [both + 0.7 * 0.4 * c, both]
    ])  # fmt: skip
    swept = np.array([[-np.sin(a) - 0.8 * np.sin(b), -0.8 * np.sin(b)], [np.cos(a) + 0.8 * np.cos(b), 0.8 * np.cos(b)]])
    row = (tip - wall) @ swept
    whole = np.block([[mass, -row[:, None]], [row[None, :], np.zeros((1, 1))]])
    expected = np.linalg.solve(whole, np.append(mass @ speeds, 0))[:2]
    (closed,) = run.events
    _, after = around(run, closed)
    np.testing.assert_allclose(run.qd[after], expected, rtol=1e-12)
    lost = (speeds @ mass @ speeds - expected @ mass @ expected) / 2
    assert lost > 0
    assert f"{lost:.6g} J" in closed.text


def momentum(run, k):
    """Linear and angular momentum of hand and cup about the world's origin, from poses and velocities."""
    linear, angular = np.zeros(3), np.zeros(3)
    for name, mass, com, inertia in (
        ("hand", 2.0, (0.05, 0, 0.02), (0.03, 0.02, 0.04)), ("cup", 0.5, (0, 0.03, 0), (0.003, 0.002, 0.001))
    ):  # fmt: skip
        p, v, omega, R = (run[f"{what}.{name}"][k] for what in ("p", "v", "omega", "R"))
        speed = v + np.cross(omega, R @ com)
        linear += mass * speed
        angular += np.cross(p + R @ com, mass * speed) + R @ np.diag(inertia) @ R.T @ omega
    return np.concatenate([linear, angular])


def test_a_grasp_conserves_linear_and_angular_momentum():
    outputs = [f"{what}.{body}" for what in ("p", "v", "omega", "R") for body in ("hand", "cup")]
    run = sb.simulate(
        gripper(), 2.0, q0=AT_HAND, qd0=SPEEDS, inputs={"s_hold": lambda t, q, qd: 1.0}, period=0.1,
        outputs=[*outputs, "kinetic", "p.hand.tip", "p.cup.grip", "R.hand.tip", "R.cup.grip"], rtol=1e-10,
    )  # fmt: skip
    (closed,) = run.events
    assert closed.t == 0
    wanted = momentum(run, 0)
    for k in (1, len(run.t) // 2, -1):
        np.testing.assert_allclose(momentum(run, k), wanted, atol=1e-8)
    assert momentum(run, 1) == pytest.approx(wanted, abs=1e-13)
    assert run["kinetic"][1] < run["kinetic"][0]
    np.testing.assert_allclose(run["p.hand.tip"], run["p.cup.grip"], atol=1e-11)
    np.testing.assert_allclose(run["R.hand.tip"], run["R.cup.grip"], atol=1e-11)


def test_a_second_clutch_that_follows_from_the_first_changes_nothing():
    make = pendulums("q.a - q.b")
    twin = replace(make.couplings[0], name="again", expression=3 * make.couplings[0].expression)
    mech = make.replace(couplings=(*make.couplings, twin))
    first = sb.When("first", "q.a - q.b", reset={"s_grip": 1})
    second = sb.When("second", "t - 0.8", direction=1, reset={"s_again": 1})
    given = dict(q0=[0, 1.0], inputs={"s_grip": 0, "s_again": 0}, samples=21, rtol=1e-10)
    once, twice = (sb.simulate(mech, 1.0, events=e, **given) for e in ([first], [first, second]))
    assert twice.events[-1].name == "closed 'again'"
    assert "No energy" in twice.events[-1].text
    np.testing.assert_allclose(twice.q[-1], once.q[-1], atol=1e-8)


# -- while it is closed


@pytest.mark.parametrize("choice", [{"step": 1e-2}, {}])
def test_a_closed_loop_stays_closed_for_100_seconds(choice):
    run = sb.simulate(swing(), 100.0, q0=[1.0, 0, 0], qd0=[0, 1, 0], inputs={"s_rope": 1.0}, samples=1001, **choice)
    np.testing.assert_allclose(np.linalg.norm(run.q, axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(np.einsum("ij,ij->i", run.q, run.qd), 0, atol=1e-11)


def test_a_loop_that_is_held_closed_moves_as_a_permanent_one():
    mech, outputs = swing(), ["lam", "reaction.rope"]
    start = dict(q0=[0.6, 0, -0.8], qd0=[0, 1, 0], rtol=1e-11, samples=31, outputs=outputs)
    held = sb.simulate(mech, 3.0, inputs={"s_rope": 1.0}, **start)
    permanent = sb.simulate(mech.with_loops(rope=True), 3.0, **start)
    for name in ("q", "qd", *outputs):
        np.testing.assert_allclose(held[name], permanent[name], atol=1e-7)


def test_a_blow_on_a_closed_loop_is_answered_by_an_impulse():
    """The ball on its rope hits a wall: what the reset leaves along the rope is taken away."""
    hit = sb.When("hit", "q.place.1 - 0.5", direction=-1, reset={"qd.place.1": "-qd.place.1"})
    run = sb.simulate(swing(), 0.8, q0=[1, 0, 0], inputs={"s_rope": 1}, events=[hit])
    before, after = around(run, run.events[0])
    out, blow = run.q[before], run.qd[before] * [-1, 1, 1]
    np.testing.assert_allclose(run.qd[after], blow - (blow @ out) * out, atol=1e-11)


# -- start, inputs


def test_a_start_with_a_closed_loop_is_brought_onto_it_with_a_note():
    run = sb.simulate(swing(), 0.1, q0=[1.5, 0, 0], qd0=[1.0, 2.0, 0], inputs={"s_rope": 1.0})
    np.testing.assert_allclose(run.q[0], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(run.qd[0], [0, 2, 0], atol=1e-12)
    assert any("so that the loops close" in note for note in run.notes)
    assert np.array_equal(sb.simulate(swing(), 0.1, q0=[1.5, 0, 0], inputs={"s_rope": 0.0}).q[0], [1.5, 0, 0])


def test_a_start_that_cannot_be_closed_is_refused_by_name():
    mech = pendulums("q.a - 0.5", mode="driven")
    with pytest.raises(sb.SymbodyError, match="'grip'"):
        sb.simulate(mech, 1.0, inputs={"s_grip": 1})


@pytest.mark.parametrize("way", [{"rtol": 1e-9}, {"step": 1e-3}])
def test_ends_that_are_apart_are_not_pulled_together(way):
    run = sb.simulate(swing(), 1.0, q0=[1, 0, 0], inputs={"s_rope": ([0, 0.3], [0, 1], "hold")}, **way)
    assert (run.outcome, run.t[-1]) == (Outcome.NOT_CONVERGED, 0.3)
    (note,) = run.notes
    gap = np.hypot(1, G * 0.3**2 / 2) - 1
    assert all(word in note for word in ("'rope'", f"{gap:.3g} m apart", "event"))


def test_what_is_driven_cannot_be_stopped_by_a_loop():
    stop = sb.When("stop", "q.a - 0.5", reset={"s_grip": 1})
    run = sb.simulate(pendulums("q.a - 0.5", mode="driven"), 1.0, inputs={"s_grip": 0}, events=[stop])
    assert run.outcome is Outcome.NOT_CONVERGED
    assert "driven joints" in run.notes[-1]


def test_tables_and_controllers_open_and_close_loops():
    run = sb.simulate(swing(), 1.0, q0=[1, 0, 0], step=1e-3, inputs={"s_rope": ([0, 0.5], [1, 0], "hold")})
    assert np.linalg.norm(run.q[run.t <= 0.5], axis=1) == pytest.approx(1, abs=1e-12)
    assert np.linalg.norm(run.q[-1]) > 2
    sampled = sb.simulate(
        swing(), 0.5, q0=[0.6, 0, -0.2], step=2e-4,
        inputs={"s_rope": lambda t, q, qd: float(np.linalg.norm(q) > 1 - 1e-9)},
    )  # fmt: skip
    assert [e.name for e in sampled.events] == ["closed 'rope'"]
    assert np.linalg.norm(sampled.q[-1]) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("law", ["1", "sin(t)", lambda t: 1.0, ([0, 1], [0, 1]), 0.5])
def test_switches_whose_instants_are_unknown_are_refused(law):
    with pytest.raises(sb.SymbodyError, match=r"0 or 1|1 \(closed\)"):
        sb.simulate(swing(), 1.0, q0=[1, 0, 0], inputs={"s_rope": law})


def test_members_of_a_batch_keep_their_own_switch():
    q0 = np.array([[1.0, 0, 0], [1.2, 0, 0], [1.3, 0, 0]])
    run = sb.simulate(swing(), 1.0, step=1e-3, q0=q0, inputs={"s_rope": np.array([1.0, 0.0, 1.0])})
    np.testing.assert_allclose(np.linalg.norm(run.q[[0, 2], -1], axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(run.q[1, -1], [1.2, 0, -G / 2], atol=1e-9)
    later = {"step": 1e-3, "inputs": {"s_rope": ([0, 0.5], [0, 1], "hold")}}
    caught = sb.simulate(swing(), 1.0, q0=q0, samples=11, **later)
    for k in range(3):
        one = sb.simulate(swing(), 1.0, q0=q0[k], samples=11, **later)
        assert np.array_equal(caught.q[k], at_instants(one, caught.t)["q"], equal_nan=True)
        assert caught.outcomes[k] is one.outcome
        assert [e.t for e in caught.events if e.member == k] == [e.t for e in one.events]


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("first", [0.2, 0.5])
def test_a_run_is_continued_before_and_after_it_is_caught(choice, first, tmp_path):
    given = dict(q0=[0.6, 0, -0.2], inputs={"s_rope": 0.0}, events=[CATCH], **choice)
    whole = sb.simulate(swing(), 1.0, **given)
    part = sb.simulate(swing(), first, checkpoint=tmp_path / "run", **given)
    for longer in (sb.resume(part, 1 - first), sb.resume(tmp_path / "run", 1 - first)):
        assert [e.name for e in longer.events] == [e.name for e in whole.events]
        np.testing.assert_allclose(longer.q[-1], whole.q[-1], atol=1e-12)


# -- other verbs


def test_energies_do_not_ask_what_is_closed():
    found = sb.energy(swing()).compile()([0.5, 0, 2.0], [0, 3.0, 0], [0, 0, 0])
    assert (found.kinetic, found.potential) == pytest.approx((4.5, 2 * G))


def test_reactions_of_a_switched_loop_are_those_of_the_loop_closed_or_open():
    mech = swing()
    state = (np.array([0.6, 0, -0.8]), np.array([0.8, 0, 0.6]), np.array([0.1, 0.2, 0.3]))
    switched = sb.reactions(mech).compile()
    for s, closed in ((1.0, True), (0.0, False)):
        found = switched(*state, s_rope=s)
        expected = -(1 + 0.8 * G + 0.1 * 0.6 - 0.3 * 0.8) * closed * state[0]  # m v^2 / l and the outward pull
        np.testing.assert_allclose(found.reaction_rope[3:], expected, atol=1e-12)
    permanent = sb.reactions(mech.with_loops(rope=True)).compile()(*state)
    np.testing.assert_allclose(switched(*state, s_rope=1.0).reaction_rope, permanent.reaction_rope, atol=1e-12)


@pytest.mark.parametrize("verb", [sb.closure, sb.inverse_dynamics, sb.semi_explicit])
def test_verbs_that_need_to_know_what_is_closed_say_how_to_tell_them(verb):
    mech = pendulums("q.a - q.b")
    with pytest.raises(ModelError, match=r"mech\.with_loops\(grip=True\)"):
        verb(mech)
    assert verb(mech.with_loops(grip=True)) is not None
    with pytest.raises(ModelError, match="with_loops"):
        sb.sensitivity(mech, 1.0, ["q.a"])
    with pytest.raises(sb.SymbodyError, match="no switched loop 'grib'"):
        mech.with_loops(grib=True)


def test_linearize_takes_the_switch_as_an_input():
    mech = swing()
    low = dict(q0=[0, 0, -1.0])
    closed, open_ = (sb.linearize(mech, inputs={"s_rope": s}, **low) for s in (1, 0))
    np.testing.assert_allclose(np.diag(closed.K), [G, G], atol=1e-9)  # m g / l
    assert open_.M.shape == (3, 3)
    assert not open_.K.any()
    with pytest.raises(ModelError, match=r"1 .*or 0"):
        sb.linearize(mech, inputs={"s_rope": 0.5}, **low)
