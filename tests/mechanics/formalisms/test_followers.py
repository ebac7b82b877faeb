"""Joints that follow others (mimic), wherever they stand, against the same tree with all joints free.

There q = G y + o holds, so that with the efforts tau of the free tree those of the leaders are G^T tau, and energies
are the same.
"""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError
from symbody.model.files.yaml_writer import write
from symbody.model.record.joint_limits import joint_limits
from symbody.show.drawing.numeric_poses import body_poses

KINDS = ("revolute", "prismatic", "revolute", "helical")
STATES = 3


def pair(seed, gyroscopic=False):
    """(mechanism with followers, the same with all joints free, G (n, leaders), o (n,)): leaders come last."""
    rng = np.random.default_rng(seed)
    n = 6
    led, free = sb.Mechanism.builder("led"), sb.Mechanism.builder("free")
    # follower -> (leader, ratio, offset): of a leader further out, of one on another branch, of a follower
    follows = {0: (3, -0.7, 0.2), 1: (5, 1.4, -0.1), 2: (1, 0.5, 0.3)}
    parents = ["world", "b0", "b0", "b1", "b3", "world"]
    for k in range(n):
        inertia = np.diag(rng.uniform(0.5, 1.0, 3) * 0.1)
        body = dict(mass=rng.uniform(0.3, 2), com=rng.normal(size=3) * 0.2, inertia=inertia.tolist())
        joint = dict(
            kind=KINDS[k % 4], parent=parents[k], child=f"b{k}", position=rng.normal(size=3) * 0.3,
            rotation={"rpy": rng.normal(size=3).tolist()}, axis=rng.normal(size=3).tolist(),
            viscous=rng.uniform(0.1, 1), coulomb=rng.uniform(0.1, 1), stiffness=rng.uniform(1, 5),
            rest=rng.normal(), rotor=(rng.uniform(0.01, 0.1), rng.uniform(2, 5), gyroscopic),
        )  # fmt: skip
        if joint["kind"] == "helical":
            joint["pitch"] = 0.1
        for b in (led, free):
            b.body(f"b{k}", **body)
            b.joint(f"j{k}", **joint, **({"mimic": (f"j{follows[k][0]}", *follows[k][1:])}
                                         if b is led and k in follows else {}))  # fmt: skip
    with_followers = led.done()
    G, o = np.zeros((n, n)), np.zeros(n)
    for k in range(n):
        ratio, offset, at = 1.0, 0.0, k
        while at in follows:
            leader, a, b = follows[at]
            offset, ratio, at = offset + ratio * b, ratio * a, leader
        G[k, at], o[k] = ratio, offset
    return with_followers, free.done(), G[:, [3, 4, 5]], o


@pytest.fixture(scope="module", params=[0, 1], ids=["reflected", "gyroscopic"])
def models(request):
    return pair(request.param, gyroscopic=bool(request.param))


@pytest.fixture(scope="module")
def states():
    rng = np.random.default_rng(5)
    return [rng.normal(size=(3, 3)) for _ in range(STATES)]


def close(a, b, tolerance=1e-11):
    assert np.abs(np.asarray(a) - b).max() <= tolerance * max(1.0, np.abs(b).max())


@pytest.mark.parametrize("formalism", ["newton_euler", "barycentric", "base", "screw", "lagrange", "auto"])
def test_efforts_are_those_of_all_joints_on_the_leaders(models, states, formalism):
    led, free, G, o = models
    options = {"budget": 2} if formalism == "auto" else {}
    own = sb.inverse_dynamics(led, formalism, **options).compile("python")
    other = sb.inverse_dynamics(free, "newton_euler").compile("python")
    for y, yd, ydd in states:
        close(own(y, yd, ydd), G.T @ other(G @ y + o, G @ yd, G @ ydd))


def test_mass_matrix_and_motion(models, states):
    led, free, G, o = models
    own, other = (sb.semi_explicit(m, f).compile("python") for m, f in ((led, "base"), (free, "newton_euler")))
    forward = sb.forward_dynamics(led, "base").compile("python")
    for y, yd, tau in states:
        m, c = other(G @ y + o, G @ yd)
        found = own(y, yd)
        close(found.M, G.T @ m @ G)
        close(found.c, G.T @ c)
        close(G.T @ m @ G @ forward(y, yd, tau), tau - G.T @ c, 1e-9)


def test_energies_and_kinematics(models, states):
    led, free, G, o = models
    own, other = (sb.energy(m).compile("python") for m in (led, free))
    frames = [f"b{k}" for k in range(6)]
    poses, same = (sb.kinematics(m, frames, order=2).compile("python") for m in (led, free))
    for y, yd, ydd in states:
        a, b = own(y, yd, np.zeros(3)), other(G @ y + o, G @ yd, np.zeros(6))
        for name in ("kinetic", "potential", "dissipated", "mass", "com"):
            close(getattr(a, name), getattr(b, name))
        p, r = poses(y, yd, ydd), same(G @ y + o, G @ yd, G @ ydd)
        for name, want in zip(r._fields, r):
            if not name.startswith("J"):  # Jacobians have other columns
                close(getattr(p, name), want)
            elif name.startswith("J_"):
                close(getattr(p, name), want @ G)


def test_regressor_and_base_parameters(models, states):
    led, free, G, o = models
    own, other = (sb.regressor(m).compile("python") for m in (led, free))
    for y, yd, ydd in states:
        close(own(y, yd, ydd), G.T @ other(G @ y + o, G @ yd, G @ ydd))
    found = sb.base_parameters(led)
    rng = np.random.default_rng(9)
    stacked = np.vstack([own(*rng.normal(size=(3, 3))) for _ in range(60)])
    assert found.count == np.linalg.matrix_rank(stacked, tol=1e-9 * np.linalg.norm(stacked))


def test_reactions_are_those_of_the_free_tree(models, states):
    led, free, G, o = models
    names = [f"j{k}" for k in range(6)]
    own, other = (sb.reactions(m, names).compile("python") for m in (led, free))
    for y, yd, ydd in states:
        a, b = own(y, yd, ydd), other(G @ y + o, G @ yd, G @ ydd)
        for x, want in zip(a, b):
            close(x, want)


def test_linear_models(models):
    led, free, G, o = models
    y = np.array([0.3, -0.2, 0.5])
    a = sb.linearize(led, q0=y, qd0=[0.1, 0.4, -0.2], qdd0=[0.5, 0.2, 0.1])
    b = sb.linearize(free, q0=G @ y + o, qd0=G @ [0.1, 0.4, -0.2], qdd0=G @ [0.5, 0.2, 0.1])
    for name in ("M", "B", "K"):
        close(getattr(a, name), G.T @ getattr(b, name) @ G, 1e-10)
    still = sb.linearize(led)
    assert sum("Dry friction" in note for note in still.notes) == 6


def test_motion_keeps_its_energy_balance(models):
    led = models[0]
    m = sb.simulate(led, 0.5, q0=[0.2, 0.1, -0.3], qd0=[4.0, 3.0, 5.0], samples=1001, rtol=1e-11, slow=0.0,
                    outputs=["energy", "dissipated"])  # fmt: skip
    e, h = m["energy"], m.t[1]
    rate = (e[:-4] - 8 * e[1:-3] + 8 * e[3:-1] - e[4:]) / (12 * h)
    lost = m["dissipated"][2:-2]
    steady = np.all(np.sign(m.qd[:-4]) == np.sign(m.qd[4:]), axis=1)  # no friction turns round
    assert np.abs(rate + lost)[steady].max() < 1e-6 * lost.max()


def test_files_keep_followers(models, tmp_path):
    led = models[0]
    path = tmp_path / "led.yaml"
    write(led, path)
    again = sb.load(path)
    assert [(j.mimic.joint if j.mimic else None) for j in again.joints] == [
        (j.mimic.joint if j.mimic else None) for j in led.joints
    ]
    y, yd, ydd = np.random.default_rng(2).normal(size=(3, 3))
    close(*(sb.inverse_dynamics(m, "base").compile("python")(y, yd, ydd) for m in (led, again)), 1e-12)


def test_drawings(models):
    led, free, G, o = models
    y = np.array([0.3, -0.2, 0.5])
    a, b = body_poses(led, y), body_poses(free, G @ y + o)
    for name in a:
        close(a[name][0], b[name][0])
        close(a[name][1], b[name][1])


@pytest.mark.slow
def test_certificate(models):
    assert sb.verify(models[0]).passed


def test_a_follower_of_a_follower_in_any_order():
    """a = 2 b + 0.1, b = -3 c + 0.2: a = -6 c + 0.5, also where a is written first and c last."""
    b = sb.Mechanism.builder("chain")
    for name in "abc":
        b.body(name, mass=1)
    b.joint("a", "prismatic", "world", "a", axis="x", mimic=("b", 2, 0.1))
    b.joint("b", "prismatic", "world", "b", axis="x", mimic=("c", -3, 0.2))
    b.joint("c", "prismatic", "world", "c", axis="x")
    mech = b.done()
    assert mech.nq == 1
    assert sb.semi_explicit(mech).compile("python")([0.0], [0.0]).M[0, 0] == pytest.approx(1 + 9 + 36)
    p = sb.kinematics(mech, ["a"]).compile("python")([0.5], [0.0], [0.0])
    assert p.p_a[0] == pytest.approx(-6 * 0.5 + 0.5)


def test_a_circle_of_followers_is_refused():
    b = sb.Mechanism.builder("circle")
    for name, leader in (("a", "b"), ("b", "a")):
        b.body(name, mass=1).joint(name, "revolute", "world", name, mimic=leader)
    with pytest.raises(ModelError, match="mimics itself"):
        b.done()


def test_an_elastic_follower_is_refused():
    b = sb.Mechanism.builder("elastic").body("a", mass=1).body("b", mass=1)
    b.joint("a", "revolute", "world", "a", mimic="b", elastic=(10, 1)).joint("b", "revolute", "world", "b")
    with pytest.raises(ModelError, match="elastic"):
        b.done()


def test_limits_of_followers_bind_their_leaders():
    b = sb.Mechanism.builder("limited").body("a", mass=1).body("b", mass=1)
    b.joint("a", "prismatic", "world", "a", axis="x", mimic=("b", -2, 0.1), limits=(-0.3, 0.5, 4, None))
    b.joint("b", "prismatic", "world", "b", axis="x", limits=(-1, 0.1, 3, None))
    found = joint_limits(b.done())["b"]
    assert (found.lower, found.upper, found.velocity) == pytest.approx((-0.2, 0.1, 2))


def test_followers_in_closed_loops():
    """A gripper: the left finger follows the right one, which stands later, and both carry a bar by two pins."""
    b = sb.Mechanism.builder("gripper", gravity=[0, -9.81, 0])
    b.body("left", mass=1, com=[0, -0.2, 0], inertia=[0, 0, 0.02], frames={"pin": [0, -0.4, 0]})
    b.body("right", mass=1, com=[0, -0.2, 0], inertia=[0, 0, 0.02], frames={"pin": [0, -0.4, 0]})
    b.body("bar", mass=0.5, com=[0.15, 0, 0], inertia=[0, 0, 0.01], frames={"pin": [0.3, 0, 0]})
    b.joint("left", "revolute", "world", "left", mimic=("right", 1, 0), viscous=0.3, mode="passive")
    b.joint("bar", "revolute", "left", "bar", position=[0, -0.4, 0], mode="passive")
    b.joint("right", "revolute", "world", "right", position=[0.3, 0, 0])
    b.cut("pin", "rows", "bar.pin", "right.pin", rows=["x", "y"])
    mech = b.done()
    m = sb.simulate(mech, 1.0, q0={"right": 0.5}, outputs=["energy", "dissipated", "power"], samples=1001, rtol=1e-10)
    k = m.labels["q"].index("bar")
    right = m.q[:, m.labels["q"].index("right")]
    assert np.abs(m.q[:, k] + right).max() < 1e-8  # the bar stays level
    rate = np.gradient(m["energy"], m.t, edge_order=2)
    assert np.abs(rate + m["dissipated"] - m["power"]).max() < 1e-3 * m["dissipated"].max()
    assert sb.verify(mech).passed
