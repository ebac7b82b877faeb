"""The verbs of closed mechanisms: the same words as for trees, judged by world geometry and by each other."""

import numpy as np
import pytest

import symbody as sb
from mechanics.loops.closed_models import (
    closed_state,
    four_bar,
    geared_arms,
    held_body,
    operations,
    rrr,
    slider_crank,
    spatial_four_bar,
)
from mechanics.loops.reference import LoopWorld
from symbody.basics.errors import ModelError, NameLookupError
from symbody.mechanics.verbs.closed_dynamics import closure
from symbody.model.record.coordinates import velocity_labels


def plain(system, *arguments):
    return system.compile("python")(*arguments)


def spoiled(mech, q, qd, independent, size=0.03):
    """The same closed state with errors in its dependent parts."""
    world = LoopWorld(mech)
    error = np.full(mech.nv, size)
    for name in independent:
        error[world.first[name][1]] = 0
    return q + error, qd + 10 * error


def test_energies_are_those_of_the_closed_state():
    mech = slider_crank()
    world, q, qd, tau = closed_state(mech)
    found = plain(sb.energy(mech, partition=["crank"]), *spoiled(mech, q, qd, ["crank"]), tau)
    zero = world.energy(world.neutral(), np.zeros(3))
    assert found.kinetic + found.potential - zero == pytest.approx(world.energy(q, qd) - zero, rel=1e-10)
    assert found.power == pytest.approx(tau @ qd, rel=1e-10)


def test_frames_move_with_the_closed_mechanism():
    """Position, velocity and acceleration by differences along the closed motion; J by independent velocities."""
    mech = slider_crank()
    _, q, qd, _ = closed_state(mech)
    system = sb.kinematics(mech, ["rod.pin"], quantities=["p", "v", "a", "J"], partition=["crank"], preset="none")
    kernel = system.compile("python")
    qdd = np.array([2.0, 99.0, -99.0])  # only the first is read

    def place(h):
        return kernel(q + np.array([h * qd[0] + h * h, 0, 0]), qd, qdd).p_rod_pin

    at, h = kernel(*spoiled(mech, q, qd, ["crank"]), qdd), 1e-3
    p = [place(k * h) for k in (-2, -1, 0, 1, 2)]
    np.testing.assert_allclose(at.p_rod_pin, p[2], atol=1e-12)
    np.testing.assert_allclose(at.v_rod_pin, (p[0] - 8 * p[1] + 8 * p[3] - p[4]) / (12 * h), atol=1e-9)
    second = (-p[0] + 16 * p[1] - 30 * p[2] + 16 * p[3] - p[4]) / (12 * h * h)
    np.testing.assert_allclose(at.a_rod_pin, second, atol=1e-6)
    assert at.J_rod_pin.shape == (6, 1)
    np.testing.assert_allclose(at.J_rod_pin[3:, 0] * qd[0], at.v_rod_pin, rtol=1e-12, atol=1e-14)
    with pytest.raises(ModelError, match="Jd"):
        sb.kinematics(mech, ["rod.pin"], quantities=["Jd"])


def test_the_reduced_mass_matrix_is_that_of_the_allowed_motions():
    mech = rrr(4)
    world, q, qd, _ = closed_state(mech)
    system = sb.semi_explicit(mech, "base", partition=["q7", "q8", "q9"])
    mass, c = plain(system, q, qd)
    mapping = plain(closure(mech, ["q7", "q8", "q9"], velocities=True), q, qd).B
    full, bias = world.equations(q, qd)
    np.testing.assert_allclose(mass, mapping.T @ full @ mapping, rtol=1e-10)
    # c: what must be done at independent accelerations of zero
    qdd = np.linalg.lstsq(
        np.vstack([world.jacobian(q), np.eye(9)[6:]]), np.concatenate([-world.bias(q, qd), np.zeros(3)]), rcond=None
    )[0]
    np.testing.assert_allclose(c, mapping.T @ (full @ qdd + bias), rtol=1e-9, atol=1e-10)
    assert [system.origins[f"M[{i}]"] for i in range(3)] == ["q7", "q8", "q9"]
    assert system.origins["partition"].startswith("independent: q7, q8, q9.")


@pytest.mark.parametrize("formalism", ["newton_euler", "barycentric", "base", "screw", "lagrange", "auto"])
def test_formalisms_agree_on_closed_loops(formalism):
    mech = slider_crank()
    world, q, qd, tau = closed_state(mech)
    want, _ = world.acceleration(q, qd, tau)
    np.testing.assert_allclose(plain(sb.forward_dynamics(mech, formalism), q, qd, tau), want, rtol=1e-10)


@pytest.mark.parametrize("make", [four_bar, slider_crank, spatial_four_bar, lambda: held_body("prismatic")])
def test_reactions_balance_every_body(make):
    """Newton and Euler for each body: wrenches of its joints and cuts, and its weight, give its acceleration."""
    mech = make()
    world, q, qd, tau = closed_state(mech)
    qdd, _ = world.acceleration(q, qd, tau)
    found = plain(sb.reactions(mech, preset="none"), q, qd, tau)
    bodies, _ = world.poses(q.astype(complex))
    h = 1e-30
    later = world.jacobians(world.advance(q, qd, 1j * h))
    wrench = {b.name: [np.zeros(3), np.zeros(3)] for b in mech.bodies}  # moment about the origin, force, in world axes

    def act(body, moment, force, at):
        if body in wrench:
            wrench[body][0] += moment + np.cross(at - bodies[body][1].real, force)
            wrench[body][1] += force

    for joint in mech.joints:
        r, p = (x.real for x in bodies[joint.child])
        value = getattr(found, f"reaction_{joint.name}")
        moment, force = r @ value[:3], r @ value[3:]
        act(joint.child, moment, force, p)
        act(joint.parent, -moment, -force, p)
    for cut in mech.cuts:
        poses, twists = world.poses(q.astype(complex))
        r, p = (x.real for x in world.frame(poses, twists, cut.second)[:2])
        value = getattr(found, f"reaction_{cut.name}")
        moment, force = r @ value[:3], r @ value[3:]
        act(cut.second[0], moment, force, p)
        act(cut.first[0], -moment, -force, p)
    for (b, r, p, com, jw, jv, _), (_, _, _, _, jw2, jv2, _) in zip(world.jacobians(q.astype(complex)), later):
        r, p, com, jw, jv = (x.real for x in (r, p, com, jw, jv))
        mass = float(sb.evaluate(b.mass, world.values))
        inertia = r @ np.array([[float(sb.evaluate(x, world.values)) for x in row] for row in b.inertia]) @ r.T
        w, alpha = jw @ qd, jw @ qdd + (jw2.imag / h) @ qd
        force = mass * (jv @ qdd + (jv2.imag / h) @ qd - world.gravity)
        moment = inertia @ alpha + np.cross(w, inertia @ w) + np.cross(com - p, force)
        np.testing.assert_allclose(wrench[b.name][1], force, atol=1e-9)
        np.testing.assert_allclose(wrench[b.name][0], moment, atol=1e-9)


def test_opened_loops_give_the_tree():
    mech = four_bar()
    tree = mech.replace(cuts=())
    for verb in (sb.inverse_dynamics, sb.semi_explicit, sb.forward_dynamics):
        opened, other = verb(mech, "base", loops=False), verb(tree, "base")
        assert opened.count() == other.count()
        assert [a.shape for a in opened.outputs.values()] == [a.shape for a in other.outputs.values()]


def test_verify_certifies_closed_loops():
    certificate = sb.verify(four_bar(), states=3)
    assert certificate.passed, str(certificate)
    texts = " ".join(c.text for c in certificate.checks)
    for words in ("augmented", "accelerations equal the reference", "do no work", "loops are closed"):
        assert words in texts


def test_verify_sees_a_wrong_program(monkeypatch):
    from symbody.mechanics.verbs.certify import closed_checks as verify_closed

    honest = verify_closed.forward_dynamics

    def wrong(mech, *arguments, **options):
        system = honest(mech, *arguments, **options)
        outputs = {"qdd": system.outputs["qdd"] * 1.001}
        smallest = not arguments and set(options) <= {"partition"}
        return system.replace(outputs=outputs) if smallest else system

    monkeypatch.setattr(verify_closed, "forward_dynamics", wrong)
    certificate = sb.verify(geared_arms(), states=3)
    failed = [c.text for c in certificate.checks if not c.passed]
    assert "closed loops: accelerations equal the reference" in failed


def test_rewriting_again_keeps_the_values():
    mech = rrr(2)
    world, q, qd, tau = closed_state(mech)
    system = sb.forward_dynamics(mech, "base")
    again = system.optimize("full")
    assert operations(again) <= operations(system)
    want, _ = world.acceleration(q, qd, tau)
    np.testing.assert_allclose(plain(again, q, qd, tau), want, rtol=1e-9, atol=1e-9)


def test_parameters_at_run_time():
    mech = slider_crank()
    world, q, qd, tau = closed_state(mech)
    want, _ = world.acceleration(q, qd, tau)
    system = sb.forward_dynamics(mech, parameters="runtime")
    assert not system.parameters
    values = {"q": q, "qd": qd, "tau": tau, "r": 0.15, "l": 0.5}
    np.testing.assert_allclose(system.compile("python")(**values), want, rtol=1e-10)


def test_one_partition_serves_all_verbs():
    mech = rrr(4)
    systems = [sb.forward_dynamics(mech, "base"), sb.semi_explicit(mech, "base"), closure(mech), sb.energy(mech)]
    assert len({s.origins["partition"] for s in systems}) == 1
    assert velocity_labels(mech)[:3] == ("q1", "q2", "q3")


def test_options_are_refused_by_name():
    mech = four_bar()
    with pytest.raises(NameLookupError, match="formulation"):
        sb.forward_dynamics(mech, formulation="reducd")
    with pytest.raises(NameLookupError, match="partition"):
        sb.forward_dynamics(mech, partitoin="auto")
    with pytest.raises(ModelError, match="order_n"):
        sb.forward_dynamics(mech, "order_n")
    with pytest.raises(ModelError, match="augmented"):
        sb.forward_dynamics(mech, alpha=3.0)


def sprung_four_bar(**force):
    """A four-bar with a force element between its coupler and the ground."""
    mech = four_bar()
    b = sb.Mechanism.builder("four_bar", gravity=(0, -9.81, 0))
    for body in mech.bodies:
        frames = {name: tuple(float(x.data) for x in f.position) for name, f in body.frames.items()}
        inertia = [float(body.inertia[k, k].data) for k in range(3)]
        com = [float(x.data) for x in body.com]
        b.body(body.name, mass=float(body.mass.data), com=com, inertia=inertia, frames={**frames, "m": (0.3, 0.1, 0)})
    b.body("ground", frames={"x": (-0.3, 0.8, 0)}).joint("g", "fixed", "world", "ground")
    for joint in mech.joints:
        place = [float(x.data) for x in joint.placement.position]
        b.joint(joint.name, "revolute", joint.parent, joint.child, position=place, mode=joint.mode)
    b.cut("loop", "ball", ("coupler", "tip"), ("rocker", "tip"))
    return b.force("spring", points=[("coupler", "m"), ("ground", "x")], **force).done()


def test_force_elements_act_on_the_closed_mechanism():
    mech = sprung_four_bar(kind="spring_damper", stiffness=50, damping=3, length=0.4)
    world, q, qd, tau = closed_state(mech)
    want, _ = world.acceleration(q, qd, tau)
    moved = spoiled(mech, q, qd, ["a"])
    found = plain(sb.forward_dynamics(mech, "base", partition=["a"]), *moved, tau)
    np.testing.assert_allclose(found, want, rtol=1e-10)
    without, _ = world.acceleration(q, qd, tau - world.springs(q, qd))
    assert np.abs(want - without).max() > 0.1


def test_states_of_force_elements_keep_their_rates():
    """A force with a lag: its state acts, and its rate is an output."""
    mech = sprung_four_bar(kind="actuator", gain=4.0, time_constant=0.1)
    world, q, qd, tau = closed_state(mech)
    system = sb.forward_dynamics(mech, "base", partition=["a"])
    assert system.states == {"x_spring": "x_spring_dot"}
    inputs = {"q": q, "qd": qd, "tau": tau, "u_spring": 0.5}
    found = system.compile("python")(**inputs, x_spring=1.2)
    assert found.x_spring_dot == pytest.approx((4.0 * 0.5 - 1.2) / 0.1, rel=1e-12)
    rest = system.compile("python")(**inputs, x_spring=0.0)
    want, _ = world.acceleration(q, qd, tau)
    np.testing.assert_allclose(rest.qdd, want, rtol=1e-10)
    assert np.abs(found.qdd - rest.qdd).max() > 0.1


def test_a_structure_without_freedom_carries_its_load():
    b = sb.Mechanism.builder("truss", gravity=(0, -9.81, 0))
    for name, x, angle in (("a", 0.0, 1.0), ("b", 1.2, 2.1)):
        b.body(name, mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1), frames={"e": (1, 0, 0)})
        b.joint(name, "revolute", "world", name, position=(x, 0, 0), rotation=("z", angle))
    mech = b.cut("top", "ball", ("a", "e"), ("b", "e")).done()
    world = LoopWorld(mech)
    q = world.assemble()
    found = plain(sb.forward_dynamics(mech, "base", lam=True), q + 0.01, np.zeros(2), np.zeros(2))
    np.testing.assert_allclose(found.qdd, 0, atol=1e-12)
    # by symmetry the bars push each other horizontally: 1 kg at half the span 0.6 m against a height of 0.8 m
    assert found.lam[0] == pytest.approx(9.81 * 0.3 / 0.8, rel=1e-10)
    assert found.lam[1] == pytest.approx(0, abs=1e-12)


def test_loops_that_hold_by_themselves_change_nothing():
    b = sb.Mechanism.builder("pinned").body("a", mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1)).body("g")
    b.joint("g", "fixed", "world", "g").joint("a", "revolute", "world", "a", axis="y")
    mech = b.cut("pin", "ball", "a", "g").done()
    closed, tree = (plain(sb.forward_dynamics(mech, "base", loops=x), [0.3], [0.2], [0.5]) for x in (True, False))
    np.testing.assert_allclose(closed, tree, rtol=1e-14)


# -- loops that open and close


def two_hands():
    """A slider and a rod that may hold a bar in a plane, both at the same time, too."""
    make = sb.Mechanism.builder("two_hands", gravity=(0, -9.81, 0))
    make.body("bar", mass=1.0, inertia=(0.1, 0.2, 0.15), frames={"left": (-0.5, 0, 0), "right": (0.5, 0, 0)})
    make.joint("bar", "planar", "world", "bar")
    make.body("slider", mass=0.5, inertia=(0.1, 0.1, 0.1)).joint("slide", "prismatic", "world", "slider", axis="x")
    make.cut("first", "ball", "slider", "bar.left", switched=True)
    make.cut("second", "rod", "world", "bar.right", length=0.8, switched=True)
    return make.done()


def test_loops_that_open_and_close_are_judged_open_and_closed():
    certificate = sb.verify(two_hands(), states=2)
    assert certificate.passed, str(certificate)
    texts = [c.text for c in certificate.checks]
    for setting in ("all switched loops open", "'first' closed", "'second' closed", "'first', 'second' closed"):
        assert f"{setting}: accelerations (native) equal the reference" in texts
        assert f"{setting}: projected velocities keep the loops closed" in texts
    assert "'first' closed: open loops carry nothing" in texts


@pytest.mark.parametrize("stuck", [True, False])
def test_a_switch_that_does_nothing_is_refused(monkeypatch, stuck):
    """A rod that never opens, and one that never closes."""
    from symbody.mechanics.verbs.certify import closed_checks as verify_closed

    honest = verify_closed.forward_dynamics

    def wrong(mech, *arguments, **options):
        held = mech.with_loops(second=stuck)
        return honest(held, *arguments, formulation="augmented", **options)

    monkeypatch.setattr(verify_closed, "forward_dynamics", wrong)
    failed = [c.text for c in sb.verify(two_hands(), states=2).checks if not c.passed]
    wrong_setting = "'first' closed" if stuck else "'second' closed"
    assert any(text.startswith(wrong_setting) for text in failed), failed
