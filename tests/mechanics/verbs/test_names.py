"""Names with dots, blanks and digits, and those of parameters: every verb gives what it gives for plain names."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import DefinitionError, ModelError, NameLookupError
from symbody.symbolic.system.names import identifier

PLAIN = {"A": "alpha", "B": "beta", "C": "gamma", "j1": "one", "j2": "two", "j3": "three", "eye": "eye", "tip": "tip",
         "f1": "strut", "f2": "motor", "s1": "camera", "c1": "mesh", "k1": "home"}  # fmt: skip
OTHERS = {
    "dots": {"A": "base.x", "B": "base.x.y", "C": "base", "j1": "j.1", "j2": "j", "j3": "j.1.2", "eye": "eye",
             "tip": "tip", "f1": "f.1", "f2": "f.2", "s1": "s.1", "c1": "c.1", "k1": "home.1"},
    "blanks": {"A": "left arm", "B": "left  arm", "C": "left", "j1": "left knee", "j2": "knee", "j3": "third one",
               "eye": "an eye", "tip": "a tip", "f1": "f 1", "f2": "f-2", "s1": "cam 1", "c1": "c 1", "k1": "my home"},
    "digits": {"A": "1", "B": "2nd", "C": "3.5", "j1": "1", "j2": "2nd", "j3": "3", "eye": "1", "tip": "2", "f1": "1",
               "f2": "2nd", "s1": "1s", "c1": "1", "k1": "1"},
    "symbols": {"A": "q", "B": "qd", "C": "tau", "j1": "q", "j2": "qd", "j3": "t", "eye": "M", "tip": "c", "f1": "x",
                "f2": "u", "s1": "p", "c1": "lam", "k1": "zero"},
}  # fmt: skip
PARAMETERS = {"length": "la", "mass": "ma", "k": "ka"}


def model(n, loop=False, p=PARAMETERS):
    """Two arms and a cylindrical joint, a strut, a motor with a lag, a sensor; a coupling closes a loop."""
    b = sb.Mechanism.builder("model")
    for name, value in ((p["length"], 0.5), (p["mass"], 1.5), (p["k"], 10.0)):
        b.parameter(name, value, nonzero=True)
    frames = {n["eye"]: [0.2, 0, -0.1], n["tip"]: [0, 0.1, -0.5]}
    b.body(n["A"], mass=p["mass"], com=[0.1, 0, -0.3], inertia=[0.1, 0.2, 0.15], frames=frames)
    b.body(n["B"], mass=1, com=[0.1, 0, -0.2], inertia=[0.1, 0.1, 0.15], frames={n["eye"]: [0.2, 0.1, -0.1]})
    b.body(n["C"], mass=0.5, com=[0, 0, -0.1], inertia=[0.02, 0.02, 0.02])
    b.joint(n["j1"], "revolute", "world", n["A"], axis="y", viscous=0.1)
    b.joint(n["j2"], "revolute", n["A"], n["B"], axis="x", position=[0, 0, p["length"]])
    b.joint(n["j3"], "cylindrical", n["B"], n["C"], axis="z", mode="passive")
    b.force(n["f1"], "spring_damper", [f"{n['B']}.{n['eye']}", "world"], stiffness=p["k"], damping=1, length=0.3)
    b.force(n["f2"], "joint", joint=n["j1"], law="actuator", gain=2.0, time_constant=0.1)
    b.sensor(n["s1"], n["A"], frame=n["eye"])
    if loop:
        b.coupling(n["c1"], f"`q.{n['j3']}.2` - 0.5*`q.{n['j2']}`")
    return b.keyframe(n["k1"], q={n["j1"]: 0.2, n["j3"]: [0.1, 0.3]}).done()


def called(system):
    """Outputs at fixed arguments."""
    given = {name: np.linspace(0.1, 0.4, a.size).reshape(a.shape) for name, a in system.inputs.items()}
    out = system.compile("python")(**given)
    return [np.asarray(x) for x in out] if isinstance(out, tuple) else [np.asarray(out)]


def answers(m, n, loop):
    """What the verbs give, by what was asked."""
    tip, first, second = f"{n['A']}.{n['tip']}", n["j1"], n["j2"]
    options = {"step": 1e-2, "inputs": {f"tau.{first}": 0.3, identifier(f"u_{n['f2']}"): 0.2}}
    run = sb.simulate(m, 0.1, q0={first: 0.3}, outputs=[f"p.{n['s1']}"], **options)
    f = sb.differentiable(m, 0.05, [f"q.{first}", f"tau.{second}"], of=["q"], step=1e-2)
    linear = sb.linearize(m, outputs=[f"p.{n['s1']}", f"q.{first}"])
    stop = sb.When("stop", f"`q.{first}` - 0.25", stop=True)
    yield "frames", called(sb.kinematics(m, [n["s1"], n["B"], tip]))
    yield "inverse dynamics", called(sb.inverse_dynamics(m))
    yield "forward dynamics", called(sb.forward_dynamics(m))
    yield "reactions", called(sb.reactions(m, [first, second]))
    yield "regressor", called(sb.regressor(m))
    yield "run", [run.q[-1], np.ravel(run[f"p.{n['s1']}"][-1])]
    yield "run from a keyframe", [sb.simulate(m, 0.05, 1e-2, q0=n["k1"]).q[-1]]
    yield "event", [sb.simulate(m, 0.2, 1e-2, q0={first: 0.3}, events=[stop]).t[-1]]
    yield "derivatives", [f.jacobian(f.start)]
    yield "linear model", [linear.A, linear.C]
    yield "equilibrium", [sb.equilibrium(m, free=[first, second]).q]
    yield "trim", [sb.trim(m, [f"tau.{first}"], [f"qdd.{first}"]).tau]
    yield "inverse kinematics", [sb.inverse_kinematics(m, {tip: [0.1, 0.1, -0.5]}).q]
    yield "assembly", [sb.assemble(m, {second: 0.2})]
    yield "drawing", [len(m.show().axes)]
    if loop:
        yield "partition", [sb.partition(m, [first, second, f"{n['j3']}.1"]).independent]
        yield "closure", called(sb.closure(m))


def differing(m, n, plain, loop):
    wanted = dict(answers(plain, PLAIN, loop))
    return [
        what
        for what, found in answers(m, n, loop)
        if not all(np.allclose(a, b, rtol=1e-6, atol=1e-8) for a, b in zip(found, wanted[what], strict=True))
    ]


@pytest.mark.parametrize(
    ("kind", "loop"),
    [
        pytest.param(kind, loop, marks=() if (kind, loop) == ("dots", True) else pytest.mark.slow)
        for kind in OTHERS
        for loop in (False, True)
    ],
)
def test_verbs_take_any_name(kind, loop):
    assert differing(model(OTHERS[kind], loop), OTHERS[kind], model(PLAIN, loop), loop) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["blanks", "digits", "symbols"])
def test_models_with_any_names_are_certified(kind):
    assert sb.verify(model(OTHERS[kind]), states=1).passed


def test_a_force_on_a_frame_of_a_body_with_a_dot_is_certified():
    assert sb.verify(model(OTHERS["dots"]), states=1).passed


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [("M", "c", "h"), ("x", "u", "y"), ("lam", "Y", "B"), ("J", "A", "C"), ("kinetic", "power", "multipliers"),
     ("v_q", "w_tau", "S"), ("lambda", "int", "double"), ("p", "v", "R"), ("step", "dt", "E")],
)  # fmt: skip
def test_parameters_of_any_name_change_no_answer(names):
    p = dict(zip(PARAMETERS, names, strict=True))
    assert differing(model(PLAIN, p=p), PLAIN, model(PLAIN), False) == []


@pytest.mark.parametrize("name", ["q", "qd", "qdd", "tau", "t", "qdd_driven"])
def test_names_of_arguments_are_no_parameters(name):
    with pytest.raises(ModelError, match="meaning of its own"):
        model(PLAIN, p={**PARAMETERS, "k": name})


def test_a_parameter_called_as_a_state_of_an_element_is_refused_by_name():
    with pytest.raises(DefinitionError, match="'x_motor' is in both"):
        sb.inverse_dynamics(model(PLAIN, p={**PARAMETERS, "k": "x_motor"}))


def test_joints_whose_labels_are_the_same_are_refused():
    b = sb.Mechanism.builder("labels").body("a", mass=1).body("b", mass=1)
    b.joint("j", "cylindrical", "world", "a").joint("j.1", "prismatic", "a", "b")
    with pytest.raises(ModelError, match=r"2 coordinates are called 'j\.1'"):
        b.done()


def test_a_frame_that_no_body_has_is_refused_by_name():
    with pytest.raises(NameLookupError, match=r"base\.x\.nose"):
        sb.kinematics(model(OTHERS["dots"]), "base.x.nose")
