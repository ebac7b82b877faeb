"""Force elements judged by power, potentials and MuJoCo.

The oracle of motion is homogeneous matrices from the Mechanism alone; velocities come from a complex step along q_dot.
"""

import ctypes
import itertools
from dataclasses import replace

import mujoco
import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError, NameLookupError
from symbody.mechanics.formalisms.applied_forces import wrenches
from symbody.mechanics.formalisms.efforts import generalized
from symbody.mechanics.formalisms.frame_kinematics import frame_motions, kinematic_map
from symbody.mechanics.formalisms.newton_euler import at_rest, newton_euler
from symbody.mechanics.formalisms.point_motions import frame_of, world_motions
from symbody.mechanics.formalisms.tree import build_tree
from symbody.model.build.builder import Builder
from symbody.model.library.force_elements import FORCE_ELEMENTS
from symbody.model.record.frozen import FrozenMapping
from symbody.model.record.mechanism import Force

AXES = np.eye(3)
STEP = 1e-30


# -- models


def machine(*forces, gravity=(0, 0, 0)):
    """A floating-like branch structure with every kind of elementary motion, skew axes and frames off the origin."""
    b = Builder("machine", gravity=gravity)
    frames = {"a": (0.1, -0.2, 0.3), "b": {"position": (-0.3, 0.2, 0.05), "rotation": ("y", 0.4)}}
    for name in ("base", "hull", "arm", "tool", "slider", "screw", "bob", "drone"):
        b.body(name, mass=1, frames=frames)
    b.joint("j0", "revolute", "world", "base", position=(0.1, 0, 0.2), axis="z")
    b.joint("j1", "revolute", "base", "hull", position=(0, 0.1, 0.3), rotation=("x", 0.3), axis="y")
    b.joint("j2", "revolute", "hull", "arm", position=(0.5, 0, 0.1), axis="x")
    b.joint("j3", "revolute", "arm", "tool", position=(0, 0.4, 0), axis=(1, 2, 2))
    b.joint("j4", "prismatic", "hull", "slider", position=(-0.4, 0.1, 0), rotation=("z", 0.7), axis="y")
    b.joint("j5", "helical", "slider", "screw", axis="z", pitch=0.2)
    b.joint("j6", "ball", "hull", "bob", position=(0, -0.5, 0.1))
    b.joint("j7", "free", "world", "drone", position=(0.2, 0.3, 0))
    for name, kind, points, values in forces:
        b.force(name, kind, points, values)
    return b.done()


def state(mech, seed):
    """Random q (unit quaternions) and qd."""
    rng = np.random.default_rng(seed)
    q, qd = rng.uniform(-0.8, 0.8, mech.nq), rng.uniform(-1, 1, mech.nv)
    q[6:10] /= np.linalg.norm(q[6:10])
    q[13:17] /= np.linalg.norm(q[13:17])
    return q, qd


# -- oracle: positions of frames by homogeneous matrices


def pose(mech, q, body, frame=""):
    """(4, 4) pose of a frame, for real or complex q."""
    if body == "world":
        return np.eye(4)
    first, k = {}, 0
    for j in mech.joints:
        first[j.name] = k
        k += {"ball": 4, "free": 7}.get(j.kind, 1)
    joint = next(j for j in mech.joints if j.child == body)
    x = q[first[joint.name] :]
    own = np.eye(4, dtype=complex)
    axis = numbers(joint.axis)
    if joint.kind in ("revolute", "helical"):
        own[:3, :3] = rodrigues(axis, x[0])
    if joint.kind in ("prismatic", "helical"):
        own[:3, 3] = axis * x[0] * (float(joint.pitch.data) if joint.pitch is not None else 1)
    if joint.kind in ("ball", "free"):
        w, *u = x[:4] if joint.kind == "ball" else x[3:7]
        if joint.kind == "free":
            own[:3, 3] = x[:3]
        own[:3, :3] = np.eye(3) + 2 * w * hat(u) + 2 * hat(u) @ hat(u)
    result = pose(mech, q, joint.parent) @ placed(joint.placement) @ own
    return result @ placed(mech.body(body).frames[frame]) if frame else result


def placed(placement):
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = numbers(placement.rotation), numbers(placement.position)
    return out


def numbers(nodes):
    return np.array([float(n.data) for n in nodes.flat]).reshape(nodes.shape)


def hat(u):
    return np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])


def rodrigues(u, angle):
    return np.eye(3) + np.sin(angle) * hat(u) + (1 - np.cos(angle)) * hat(u) @ hat(u)


def length(mech, q, first, second):
    d = (pose(mech, q, *first) - pose(mech, q, *second))[:3, 3]
    return np.sqrt(d @ d)


# -- what symbody says


class Case:
    """Generalised forces, observed quantities and states of a Mechanism at one state."""

    def __init__(self, mech, seed=0, forces=None, inputs=None):
        self.mech, (self.q, self.qd) = mech, state(mech, seed)
        self.tree = tree = build_tree(mech)
        self.wrenches = found = wrenches(tree, forces)
        self.tree = tree = replace(tree, wrenches=found.links)
        Q = -generalized(tree, newton_euler(tree, qdd=at_rest(tree), still=True), accelerating=False)
        given = {**found.inputs, **found.states}
        rates = {f"rate_{n}": v for n, v in found.derivatives.items()}
        outputs = {"Q": Q, "N": kinematic_map(tree), **found.outputs, **rates}
        outputs.update({f"f{k}": [*f, *m] for k, (f, m) in found.links.items()})
        time = tree.graph.symbol("t", "time")
        system = sb.System(
            "case", inputs={"q": tree.q, "qd": tree.qd, "t": time, **given}, outputs=outputs
        )  # fmt: skip
        values = {n: np.asarray((inputs or {}).get(n, 0.3), float) for n in given}
        kernel = system.compile("python")
        result = kernel(self.q, self.qd, 0.7, *(np.broadcast_to(values[n], given[n].shape) for n in given))
        self.value = {n: np.asarray(v) for n, v in zip(system.outputs, result)}
        self.Q, self.q_dot = self.value["Q"], self.value["N"] @ self.qd

    def velocity(self, body, frame):
        """World velocity of a frame's origin, by complex step."""
        return pose(self.mech, self.q + 1j * STEP * self.q_dot, body, frame)[:3, 3].imag / STEP

    def omega(self, body, frame):
        T = pose(self.mech, self.q + 1j * STEP * self.q_dot, body, frame)[:3, :3]
        W = T.imag / STEP @ T.real.T
        return np.array([W[2, 1], W[0, 2], W[1, 0]])


PAIRS = [
    (("hull", "a"), ("arm", "b")),
    (("tool", "a"), ("screw", "b")),
    (("bob", "a"), ("slider", "b")),
    (("drone", "a"), ("tool", "b")),
    (("world", ""), ("bob", "b")),
    (("drone", "b"), ("world", "")),
    (("base", "a"), ("screw", "a")),
]


# -- links


@pytest.mark.parametrize("cubic", [0.0, 50.0])
@pytest.mark.parametrize("points", PAIRS, ids=lambda p: f"{p[0][0]}-{p[1][0]}")
def test_a_spring_pulls_down_the_gradient_of_its_energy(points, cubic):
    law = {"law": "cubic", "stiffness3": cubic} if cubic else {}
    mech = machine(("s", "spring_damper", points, {"stiffness": 130.0, "length": 0.4, **law}))
    c = Case(mech)
    Z = length(mech, c.q, *points).real
    assert c.value["s_Z"] == pytest.approx(Z, rel=1e-13)
    assert c.value["s_E"] == pytest.approx(65 * (Z - 0.4) ** 2 + cubic / 4 * (Z - 0.4) ** 4, rel=1e-12)
    # along every admissible direction the work of Q is the loss of energy
    N = c.value["N"]
    for k in range(mech.nv):
        moved = length(mech, c.q + 1j * STEP * N[:, k], *points)
        slope = (65 * (moved - 0.4) ** 2 + cubic / 4 * (moved - 0.4) ** 4).imag / STEP
        assert c.Q[k] == pytest.approx(-slope, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("points", PAIRS, ids=lambda p: f"{p[0][0]}-{p[1][0]}")
def test_the_power_of_a_link_is_F_Zd(points):
    mech = machine(("s", "spring_damper", points, {"stiffness": 130.0, "length": 0.4, "damping": 7.0}))
    c = Case(mech, seed=3)
    rate = length(mech, c.q + 1j * STEP * c.q_dot, *points).imag / STEP
    assert c.value["s_Zd"] == pytest.approx(rate, rel=1e-12)
    assert c.value["s_F"] == pytest.approx(-130 * (c.value["s_Z"] - 0.4) - 7 * rate, rel=1e-12)
    assert c.Q @ c.qd == pytest.approx(c.value["s_F"] * rate, rel=1e-11)


def test_a_link_acts_with_opposite_forces_along_its_line():
    points = (("arm", "a"), ("screw", "b"))
    c = Case(machine(("s", "spring_damper", points, {"stiffness": 130.0, "length": 0.4})))
    ends = [pose(c.mech, c.q, *p).real for p in points]
    apart = ends[0][:3, 3] - ends[1][:3, 3]
    on = []
    for body, _ in points:
        index, turn, _ = c.tree.places[body]
        R = pose(c.mech, c.q, body).real[:3, :3]
        to_link = np.eye(3) if turn is None else numbers(turn)
        on.append(R @ to_link.T @ c.value[f"f{index}"][:3])
    np.testing.assert_allclose(on[0], -on[1], atol=1e-12)
    np.testing.assert_allclose(on[0], c.value["s_F"] * apart / np.linalg.norm(apart), rtol=1e-12)


def test_an_actuator_pushes_with_its_input_and_lags_with_its_time_constant():
    ends = (("hull", "a"), ("tool", "b"))
    c = Case(machine(("m", "actuator", ends, {"gain": 2.0})), inputs={"u_m": 1.5})
    assert c.value["m_F"] == pytest.approx(3)
    assert c.Q @ c.qd == pytest.approx(3 * c.value["m_Zd"])
    slow = Case(machine(("m", "actuator", ends, {"gain": 2.0, "time_constant": 0.1})), inputs={"u_m": 1.5, "x_m": 0.4})
    assert slow.value["m_F"] == pytest.approx(0.4)
    assert slow.value["rate_x_m"] == pytest.approx((3 - 0.4) / 0.1)


def test_bounded_actuators_keep_their_limit():
    ends = (("hull", "a"), ("tool", "b"))
    c = Case(machine(("m", "actuator", ends, {"limit": 2.0})), inputs={"u_m": 100.0})
    assert c.value["m_F"] == pytest.approx(2)


# -- MuJoCo


SCENE = """
<mujoco><option gravity="0 0 0"/><compiler angle="radian"/><worldbody>
 <site name="ground" pos="0.1 0.2 0.9"/>
 <body pos="0 0 0.1"><joint type="hinge" axis="0 0 1"/><geom size=".1"/>
  <body pos="0.3 0 0.2"><joint type="hinge" axis="0 1 0"/><geom size=".1"/><site name="upper" pos="0.1 0.05 0.2"/>
   <body pos="0 0.4 0"><joint type="slide" axis="1 0 0"/><geom size=".1"/>
    <body name="hand" pos="0.1 0 0.2"><joint type="hinge" axis="1 0 0"/><geom size=".1"/>
     <site name="tip" pos="-0.1 0.2 0.1"/></body></body></body></body>
</worldbody><tendon>
 <spatial stiffness="50" damping="3" springlength="0.3"><site site="tip"/><site site="ground"/></spatial>
 <spatial stiffness="80" damping="2" springlength="0.2"><site site="upper"/><site site="tip"/></spatial>
</tendon></mujoco>
"""


def mujoco_twin(*forces):
    b = Builder("twin", gravity=(0, 0, 0))
    frames = {"turret": {}, "upper": {"site": (0.1, 0.05, 0.2)}, "sledge": {}, "hand": {"tip": (-0.1, 0.2, 0.1)}}
    for name, own in frames.items():
        b.body(name, mass=1, frames=own)
    b.body("post", frames={"top": (0.1, 0.2, 0.9)})
    b.joint("fix", "fixed", "world", "post")
    b.joint("a", "revolute", "world", "turret", position=(0, 0, 0.1), axis="z")
    b.joint("b", "revolute", "turret", "upper", position=(0.3, 0, 0.2), axis="y")
    b.joint("c", "prismatic", "upper", "sledge", position=(0, 0.4, 0), axis="x")
    b.joint("d", "revolute", "sledge", "hand", position=(0.1, 0, 0.2), axis="x")
    for name, kind, points, values in forces:
        b.force(name, kind, points, values)
    return b.done()


def efforts(mech, q, qd, inputs=()):
    """Generalised forces of the elements, by the native kernel."""
    tree = build_tree(mech)
    found = wrenches(tree)
    tree = replace(tree, wrenches=found.links)
    Q = -generalized(tree, newton_euler(tree, qdd=at_rest(tree), still=True), accelerating=False)
    system = sb.System("efforts", inputs={"q": tree.q, "qd": tree.qd, **found.inputs}, outputs={"Q": Q + found.efforts})
    return system.compile()(q, qd, *inputs)


@pytest.mark.parametrize("seed", range(5))
def test_springs_and_dampers_agree_with_mujoco_tendons(seed):
    model = mujoco.MjModel.from_xml_string(SCENE)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(seed)
    data.qpos[:], data.qvel[:] = rng.uniform(-1, 1, 4), rng.uniform(-1, 1, 4)
    mujoco.mj_forward(model, data)
    mech = mujoco_twin(
        ("s1", "spring_damper", ["hand.tip", "post.top"], {"stiffness": 50.0, "damping": 3.0, "length": 0.3}),
        ("s2", "spring_damper", ["upper.site", "hand.tip"], {"stiffness": 80.0, "damping": 2.0, "length": 0.2}),
    )
    np.testing.assert_allclose(efforts(mech, data.qpos, data.qvel), data.qfrc_passive, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_wrenches_at_points_agree_with_mujoco(seed):
    model = mujoco.MjModel.from_xml_string(SCENE)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(seed)
    data.qpos[:], force, moment = rng.uniform(-1, 1, 4), rng.normal(size=3), rng.normal(size=3)
    mujoco.mj_forward(model, data)
    expected = np.zeros(4)
    hand = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, "hand")
    mujoco.mj_applyFT(model, data, force, moment, data.site("tip").xpos.copy(), hand, expected)
    mech = mujoco_twin(("w", "wrench", ["hand.tip"], {}))
    np.testing.assert_allclose(efforts(mech, data.qpos, np.zeros(4), (force, moment)), expected, rtol=1e-12, atol=1e-12)


# -- points


@pytest.mark.parametrize("body", ["tool", "screw", "bob", "drone"])
def test_the_power_of_a_wrench_is_F_v_plus_M_omega(body):
    c = Case(machine(("w", "wrench", [(body, "b")], {})), seed=5, inputs={"F_w": [1, 2, -3.0], "M_w": [0.3, -1, 2.0]})
    power = np.dot([1, 2, -3.0], c.velocity(body, "b")) + np.dot([0.3, -1, 2.0], c.omega(body, "b"))
    assert c.Q @ c.qd == pytest.approx(power, rel=1e-12)


def test_a_force_in_body_axes_turns_with_the_body():
    c = Case(machine(("w", "point_force", [("tool", "b")], {"force": (1.0, 2.0, 3.0), "axes": "body"})), seed=2)
    world = pose(c.mech, c.q, "tool", "b").real[:3, :3] @ [1.0, 2.0, 3.0]
    assert c.Q @ c.qd == pytest.approx(world @ c.velocity("tool", "b"), rel=1e-12)


@pytest.mark.parametrize("ground", ["flat", "slope", "sinusoid"])
@pytest.mark.parametrize("width", [0, 1e-3])
def test_the_power_of_a_contact_is_F_v_and_friction_dissipates(ground, width):
    numbers_ = {"flat": {"height": 4.0}, "slope": {"slope_x": 0.2, "height": 4.0}}
    numbers_["sinusoid"] = {"amplitude": 0.3, "wavelength": 3.0, "height": 4.0}
    values = {"stiffness": 1000.0, "damping": 20.0, "friction": 0.6, "ground": ground, "width": width}
    c = Case(machine(("c", "contact", [("tool", "a")], {**values, **numbers_[ground]})), seed=4)
    p, v = pose(c.mech, c.q, "tool", "a").real[:3, 3], c.velocity("tool", "a")
    h = 1e-20
    height = {
        "flat": lambda x: 4.0 + 0 * x,
        "slope": lambda x: 4 + 0.2 * x,
        "sinusoid": lambda x: 4 + 0.3 * np.sin(2 * np.pi * x / 3),
    }[ground]
    n = np.array([-height(p[0] + 1j * h).imag / h, 0, 1])
    n /= np.linalg.norm(n)
    depth, lift = n[2] * (height(p[0]) - p[2]), n @ v
    assert c.value["c_depth"] == pytest.approx(depth, rel=1e-12)
    if not width:
        assert c.value["c_Fn"] == pytest.approx(max(1000 * depth - 20 * lift, 0), rel=1e-12)
    slide = v - lift * n
    force = c.value["c_Fn"] * (n - 0.6 * slide / np.sqrt(slide @ slide + 0.01**2))
    assert c.Q @ c.qd == pytest.approx(force @ v, rel=1e-11)


def test_points_share_one_pass_and_agree_with_plain_kinematics():
    mech = machine()
    tree = build_tree(mech)
    frames = [frame_of(tree, p) for p in (("tool", "b"), ("screw", "a"), ("bob", "b"))]
    rng = np.random.default_rng(0)
    q, qd = state(mech, 1)
    qdd = rng.normal(size=mech.nv)
    results = []
    for motions in (world_motions(tree, frames, 2), frame_motions(tree, frames, order=2)):
        nodes = [
            x for m in motions
            for row in (*m.rotation, m.position, m.omega, m.velocity, m.alpha, m.acceleration)
            for x in row
        ]  # fmt: skip
        s = sb.System("p", inputs={"q": tree.q, "qd": tree.qd, "qdd": tree.qdd}, outputs={"x": nodes})
        results.append(s.compile("python")(q, qd, qdd))
    np.testing.assert_allclose(*results, rtol=1e-12, atol=1e-12)


# -- laws of the user


def test_external_link_laws_in_python_in_symbols_and_as_text_agree():
    ends = (("hull", "a"), ("tool", "b"))
    mech = machine()
    law = sb.External("law", 3, 1, function=lambda Z, Zd, t: -20 * Z**2 - 3 * Zd + np.sin(t))
    laws = [law, lambda Z, Zd, t: -20 * Z**2 - 3 * Zd + sb.sin(t), "-20*Z**2 - 3*Zd + sin(t)"]
    found = [Case(mech, 1, [Force("law", "external", ends, {"function": f})]) for f in laws]
    for c in found:
        np.testing.assert_allclose(c.Q, found[0].Q, rtol=1e-13)
        assert c.Q @ c.qd == pytest.approx(c.value["law_F"] * c.value["law_Zd"], rel=1e-11)


def test_a_law_in_c_is_called_by_native_code():
    @ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double))
    def law(given, result):  # stands for a compiled function of the same signature
        result[0] = -20 * given[0] ** 2 - 3 * given[1] + given[2]

    ends = (("hull", "a"), ("tool", "b"))
    native = sb.External("law", 3, address=ctypes.cast(law, ctypes.c_void_p).value)
    q, qd = state(machine(), 1)
    results = []
    for function in (native, lambda Z, Zd, t: -20 * Z**2 - 3 * Zd + t):
        tree = build_tree(machine())
        found = wrenches(tree, [Force("law", "external", ends, {"function": function})])
        index = tree.places["tool"][0]
        inputs = {"q": tree.q, "qd": tree.qd, "t": tree.graph.symbol("t", "time")}
        system = sb.System("law", inputs=inputs, outputs={"w": [*found.links[index][0], *found.links[index][1]]})
        results.append(system.compile()(q, qd, 0.7))
    np.testing.assert_allclose(*results, rtol=1e-13)


def test_an_external_without_a_function_is_an_input():
    tree = build_tree(machine())
    found = wrenches(
        tree,
        [Force("a", "external", (("tool", "a"),)), Force("b", "external", (("hull", "a"), ("tool", "b")))],
    )
    assert {n: a.shape for n, a in found.inputs.items()} == {"F_a": (3,), "M_a": (3,), "F_b": ()}


def test_an_external_point_law_sees_world_motion():
    def drag(*x):
        v = x[3:6]
        return [-2 * a for a in v]

    c = Case(machine(), 1, [Force("x", "external", (("drone", "a"),), {"function": drag})])
    v = c.velocity("drone", "a")
    assert c.Q @ c.qd == pytest.approx(-2 * v @ v, rel=1e-12)


def test_joint_elements_add_efforts():
    forces = [
        Force("k", "joint", (), {"joint": "j2", "law": "spring", "stiffness": 5.0, "length": 0.2}),
        Force("f", "joint", (), {"joint": "j4", "law": "stribeck", "level": 2.0, "breakaway": 3.0, "speed": 0.1}),
        Force("m", "joint", (("screw", ""),), {"gain": 3.0}),
    ]
    tree = build_tree(machine())
    found = wrenches(tree, forces)
    q, qd = state(tree.mechanism, 0)
    s = sb.System("e", inputs={"q": tree.q, "qd": tree.qd, **found.inputs}, outputs={"e": found.efforts})
    e = s.compile()(q, qd, 0.5)
    assert e[2] == pytest.approx(-5 * (q[2] - 0.2))
    assert e[4] == pytest.approx(-(2 + np.exp(-((qd[4] / 0.1) ** 2))) * np.sign(qd[4]))
    assert e[5] == pytest.approx(1.5)
    assert not np.any(np.delete(e, [2, 4, 5]))


# -- errors


@pytest.mark.parametrize(
    ("kind", "points", "values", "words"),
    [
        ("sprung", (("hull", "a"), ("arm", "b")), {}, "sprung"),
        ("spring_damper", (("hull", "a"),), {}, "expected two"),
        ("spring_damper", (("hull", "a"), ("hull", "b")), {}, "one rigid body"),
        ("spring_damper", (("hull", "a"), ("arm", "b")), {"law": "quartic"}, "linear"),
        ("contact", (("hull", "a"),), {}, "stiffness"),
        ("tyre", (("hull", "a"), ("arm", "b")), {}, "expected one"),
        ("external", (("hull", "a"), ("arm", "b")), {"function": 3}, "External"),
        ("joint", (), {"joint": "j6"}, "one coordinate"),
        ("joint", (), {}, "names no joint"),
        ("point_force", (("hull", "a"),), {"force": (1, 2)}, "3 numbers"),
    ],
)
def test_wrong_elements_are_refused_with_a_sentence(kind, points, values, words):
    with pytest.raises(ModelError, match=words):
        wrenches(build_tree(machine()), [Force("x", kind, points, values)])


def test_unknown_points_are_refused_with_the_nearest_name():
    tree = build_tree(machine())
    with pytest.raises(NameLookupError, match="'hull'"):
        frame_of(tree, ("hul", ""))
    with pytest.raises(NameLookupError, match="'a'"):
        frame_of(tree, ("hull", "c"))


class Asked(FrozenMapping):
    """Values of a force element that remember which of them its law reads."""

    def __init__(self, values):
        super().__init__(values)
        self.names = set()

    def get(self, key, default=None):
        self.names.add(key)
        return super().get(key, default)


NOT_THERE = {0: ("divisors",), 3: ("joints", "coefficients")}  # over joints; through points


def variants():
    """(kind, points, words, values) of every choice of words that the table of kinds offers."""
    for name, kind in FORCE_ELEMENTS.items():
        for count in (0, 3) if "path" in kind.where else [n for n in kind.points if n] or (1,):
            for words in itertools.product(*(kind.variants[k] for k in kind.variants)):
                chosen = dict(zip(kind.variants, words))
                values = {n: f for n, f in kind.fields_for(chosen).items() if n not in chosen}
                if count == 2:
                    values.pop("joint", None)
                if "path" in kind.where:
                    values = {n: f for n, f in values.items() if n not in NOT_THERE[count]}
                if name == "external":
                    with_function = {"function": values.pop("function")}
                    yield pytest.param(name, count, chosen, with_function, id=f"{name}-{count}-function")
                    values = {} if count == 2 else values
                yield pytest.param(name, count, chosen, values, id="-".join([name, str(count), *words]))


@pytest.mark.parametrize(("kind", "count", "words", "values"), list(variants()))
def test_the_laws_read_just_the_values_that_the_table_of_kinds_lists(kind, count, words, values):
    """A value that loads is used, and what a law can use may be given."""
    zero = {"number": 0.3, "vector": (1, 2, 3), "numbers": (0.0, 1.0, 2.0), "joint": "j2", "joints": ("j1", "j2")}
    if kind == "tendon":
        zero["numbers"] = (1.0, 2.0)
    six = {True: lambda *x: [0] * 6, False: lambda *x: 0}[kind == "tyre" or count == 1]
    given = {k: v.words[0] if v.words else zero.get(v.form, six) for k, v in values.items()}
    tree = build_tree(machine())
    asked = Asked({**words, **given})
    points = (("hull", "a"), ("arm", "b"), ("world", ""))[:count] if "joint" not in values else (("arm", ""),)
    wrenches(tree, [Force("x", kind, points, asked)]).account()
    lower = {k for k in asked.names if not k.isupper()}  # the others are coefficients of tyre files
    expected = {k for k in (*words, *values) if not k.isupper()} | ({"function"} if kind == "external" else set())
    placed = {"joint", "joints", *(NOT_THERE[count] if kind == "tendon" else ())}  # asked for to know the place
    assert lower - placed == expected - placed
