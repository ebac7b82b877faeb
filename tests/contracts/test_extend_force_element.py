"""One row in one file adds a force element: a brake pad that warms up and glazes (a state, a mode, an event), and a
drag with memory at a point. They are used in a tree, in closed loops and by every verb."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import symbody as sb
from helpers.work_between_events import work
from symbody.basics.errors import DefinitionError, ModelError
from symbody.extend import (
    Account,
    Effect,
    Event,
    Field,
    ForceElement,
    Mode,
    State,
    add_force_element,
    force_elements,
    remove_force_element,
)
from symbody.model.files.yaml_file import read_text
from symbody.model.files.yaml_writer import to_yaml
from symbody.model.library.law_functions import select, tanh
from symbody.model.record.mechanism import Mechanism

# -- the rows


def hot_brake(place):
    """Friction that warms the pad; at `limit` the pad glazes, sheds its hot layer and holds half as well ever after."""
    warmth, glazed = place.state("T"), place.mode("glazed")
    level = place.value("level") * (1 - glazed / 2)
    force = -level * tanh(place.v / place.value("width"))
    heat = -force * place.v
    warming = (heat - place.value("cooling") * warmth) / place.value("capacity")
    glazes = Event(select(glazed > 0.5, -1, warmth - place.value("limit")), 1, {"glazed": 1, "T": warmth / 2})
    return Effect(force, rates={"T": warming}, events={"glazes": glazes}, account=lambda: Account(lost=heat))


BRAKE = ForceElement(
    "hot_brake",
    "a brake pad that warms up and glazes",
    ("joint", "link"),
    hot_brake,
    {
        "level": Field(needed=True, unit="{F}", bound="positive"),
        "capacity": Field(needed=True, unit="J/K", bound="positive"),
        "cooling": Field(default=0, unit="W/K"),
        "limit": Field(needed=True, unit="K"),
        "width": Field(default=0.05, unit="{x}/s", bound="positive"),
    },
    states={"T": State("warmth of the pad above the air", "K", start=1.0)},
    modes={"glazed": Mode("whether the pad has glazed", {0.0: "fresh", 1.0: "glazed"})},
    events={"glazes": "the pad glazes"},
    drawing="damper",
)


def wake(place):
    """Drag of a fluid that follows with a lag: F = -drag w, w' = (v - w) / lag."""
    drag, lag, v = place.value("drag"), place.value("lag"), place.velocity
    w = [place.state(n) for n in ("wx", "wy", "wz")]
    force = tuple(-drag * x for x in w)
    rates = {n: (a - x) / lag for n, a, x in zip(("wx", "wy", "wz"), v, w)}

    def account():
        # drag w . v = drag |w|^2 + d/dt (drag lag |w|^2 / 2)
        size = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
        return Account(stored=drag * lag * size / 2, lost=drag * size)

    return Effect(force, rates=rates, account=account)


WAKE = ForceElement(
    "wake",
    "drag with memory at a point",
    ("point",),
    wake,
    {"drag": Field(needed=True, unit="N s/m"), "lag": Field(needed=True, unit="s")},
    states={n: State(f"flow along {n[1]}", "m/s") for n in ("wx", "wy", "wz")},
)


@pytest.fixture(autouse=True)
def rows():
    for row in (BRAKE, WAKE):
        add_force_element(row)
    yield
    for row in (BRAKE, WAKE):
        remove_force_element(row.kind)


PAD = {"level": 0.3, "capacity": 0.5, "cooling": 0.02, "limit": 1.6}


def level_of(glazed):
    return PAD["level"] * (1 - glazed / 2)


# -- a tree


def wheel() -> Mechanism:
    b = Mechanism.builder("wheel", gravity=[0, 0, 0])
    b.body("disc", 1.0, inertia=[0.05, 0.1, 0.05]).joint("hub", "revolute", "world", "disc", axis="y")
    return b.force("pad", "hot_brake", joint="hub", **PAD).done()


def test_a_wheel_runs_down_against_the_brake():
    run = sb.simulate(wheel(), 3.0, qd0={"hub": 4.0}, samples=31, rtol=1e-10, atol=1e-12, outputs=["energy"])

    def rates(t, y, glazed):
        force = -level_of(glazed) * np.tanh(y[0] / 0.05)
        return [force / 0.1, (-force * y[0] - PAD["cooling"] * y[1]) / PAD["capacity"]]

    def hot(t, y, glazed):
        return y[1] - PAD["limit"]

    hot.terminal, hot.direction = True, 1
    first = solve_ivp(rates, (0, 3), [4.0, 1.0], "DOP853", args=(0.0,), events=hot, rtol=1e-11, atol=1e-13)
    start = [first.y[0, -1], first.y[1, -1] / 2]
    second = solve_ivp(rates, (first.t[-1], 3), start, "DOP853", args=(1.0,), rtol=1e-11, atol=1e-13)
    assert [(e.name, e.t) for e in run.events] == [("pad_glazes", pytest.approx(first.t[-1], abs=1e-8))]
    assert run.qd[-1, 0] == pytest.approx(second.y[0, -1], abs=1e-8)
    assert run["x_pad_T"][0] == 1.0
    assert run["x_pad_T"][-1] == pytest.approx(second.y[1, -1], abs=1e-8)
    assert run["m_pad_glazed"][-1] == 1.0


def test_the_linear_model_has_the_warmth_among_its_states():
    linear = sb.linearize(wheel(), qd0={"hub": 4.0}, states={"m_pad_glazed": 1.0})
    assert linear.states == ("q.hub", "qd.hub", "x_pad_T")
    slope = level_of(1.0) / 0.05 / np.cosh(4.0 / 0.05) ** 2
    heating = level_of(1.0) * np.tanh(4.0 / 0.05) / PAD["capacity"]
    expected = [[0, 1, 0], [0, -slope / 0.1, 0], [0, heating, -PAD["cooling"] / PAD["capacity"]]]
    assert np.allclose(linear.A, expected, atol=1e-12)


def test_at_rest_the_pad_is_cold():
    rest = sb.equilibrium(wheel())
    assert rest.ok
    assert rest.states["x_pad_T"] == pytest.approx(0.0, abs=1e-9)


def test_programs_in_c_have_the_state_the_guard_and_the_resets():
    text = sb.forward_dynamics(wheel(), "base").with_events().emit("c")
    for word in ("x_pad_T", "m_pad_glazed", "x_pad_T_dot", "guard_pad_glazes", "reset_pad_glazes_x_pad_T"):
        assert word in text


def test_the_certificate_judges_it_and_names_it_as_not_transcribed():
    found = sb.verify(wheel(), states=6)
    assert found.passed, str(found)
    assert "not transcribed" in str(found)
    assert "pad" in str(found)


def test_a_wrong_account_of_energy_is_not_certified():
    """A row whose account forgets half of the heat fails the power balance."""
    wrong = ForceElement("half_brake", "friction that forgets heat", ("joint",), _half, {"level": Field(needed=True)})
    add_force_element(wrong)
    try:
        b = Mechanism.builder("wheel", gravity=[0, 0, 0])
        b.body("disc", 1.0, inertia=[0.05, 0.1, 0.05]).joint("hub", "revolute", "world", "disc", axis="y")
        found = sb.verify(b.force("pad", "half_brake", joint="hub", level=0.3).done(), states=6)
    finally:
        remove_force_element("half_brake")
    assert not found.passed
    assert "FAIL" in next(line for line in str(found).splitlines() if "rate of the energy" in line)


def _half(place):
    """Viscous friction with an account of half its heat."""
    force = -place.value("level") * place.v
    return Effect(force, account=lambda: Account(lost=-force * place.v / 2))


def test_a_model_file_holds_it_and_is_checked():
    text = to_yaml(wheel())
    again = read_text(text, "wheel.yaml")
    assert again.forces[0].kind == "hot_brake"
    with pytest.raises(ModelError, match=r"has no use for 'levle'. Did you mean 'level'"):
        read_text(text.replace("level:", "levle:"), "wheel.yaml")


# -- closed loops


def braked_four_bar() -> tuple[Mechanism, Mechanism]:
    """(with the brake on its rocker, the same without)."""
    bare = sb.load("four_bar")
    text = to_yaml(bare)
    pad = "".join(f"      {n}: {x}\n" for n, x in PAD.items())
    joint = bare.joints[0].name
    braked = read_text(
        f"{text}forces:\n  pad:\n    kind: hot_brake\n    joint: {joint}\n    values:\n{pad}", "braked.yaml"
    )
    return braked, bare


@pytest.mark.parametrize(
    "options", [{}, {"formulation": "augmented"}, {"partition": ["rocker"]}], ids=["reduced", "augmented", "switched"]
)
def test_a_closed_loop_runs_against_the_brake(options):
    """The brake on the crank is an effort on the crank: the bare linkage with that effort, by SciPy.

    With the rocker independent the run comes to a dead point, where another partition takes over.
    """
    braked, bare = braked_four_bar()
    joint = bare.joints[0].name
    start = sb.simulate(bare, 1e-3, qd0={joint: 6.0}, samples=[0.0, 1e-3])
    run = sb.simulate(
        braked, 1.0, q0=start.q[0], qd0=start.qd[0], rtol=1e-9, samples=2001,
        outputs=["energy", "power", "dissipated"], **options,
    )  # fmt: skip
    kernel = sb.forward_dynamics(bare, "base").compile()
    n = bare.nv

    def rates(t, y, glazed):
        force = -level_of(glazed) * np.tanh(y[n] / 0.05)
        tau = np.zeros(n)
        tau[0] = force
        qdd = np.asarray(kernel(q=y[:n], qd=y[n : 2 * n], tau=tau))
        return [*y[n : 2 * n], *qdd, (-force * y[n] - PAD["cooling"] * y[-1]) / PAD["capacity"]]

    def hot(t, y, glazed):
        return y[-1] - PAD["limit"]

    hot.terminal, hot.direction = True, 1
    y = [*start.q[0], *start.qd[0], 1.0]
    first = solve_ivp(rates, (0, 1), y, "DOP853", args=(0.0,), events=hot, rtol=1e-10, atol=1e-12)
    y = [*first.y[:-1, -1], first.y[-1, -1] / 2]
    second = solve_ivp(rates, (first.t[-1], 1), y, "DOP853", args=(1.0,), rtol=1e-10, atol=1e-12)
    own = [(e.name, e.t) for e in run.events if e.name != "partition"]
    assert own == [("pad_glazes", pytest.approx(first.t[-1], abs=1e-6))]
    assert (len(run.events) > 1) == ("partition" in options)
    assert np.allclose(run.q[-1], second.y[:n, -1], atol=1e-6)
    assert run["x_pad_T"][-1] == pytest.approx(second.y[-1, -1], abs=1e-6)
    change = work(run, run["power"] - run["dissipated"])
    assert run["energy"][-1] - run["energy"][0] == pytest.approx(change, abs=1e-6)


def test_the_system_of_a_closed_loop_has_the_guard_at_the_closed_position():
    """A pad between two points of the linkage: guard and resets are bound to the closed q, as rates are."""
    braked, _ = braked_four_bar()
    system = sb.forward_dynamics(braked, "base", formulation="reduced")
    assert set(system.guards) == {"pad_glazes"}
    assert set(system.resets) == {"pad_glazes.m_pad_glazed", "pad_glazes.x_pad_T"}
    assert "guard_pad_glazes" in system.with_events().emit("c")
    linear = sb.linearize(braked)
    assert linear.states[-1] == "x_pad_T"


@pytest.mark.slow
def test_the_certificate_of_a_closed_loop_judges_it():
    found = sb.verify(braked_four_bar()[0], states=6)
    assert found.passed, str(found)
    assert "not transcribed" in str(found)


def test_a_loop_that_opens_keeps_the_states_of_the_brake():
    """A switched cut: the pendulum falls off its rope while the pad warms up; modes and switches live side by side."""
    b = Mechanism.builder("rope")
    b.body("bob", 1.0, inertia=[0.01, 0.01, 0.01]).joint("x", "prismatic", "world", "bob", axis="x")
    b.body("ball", 1.0, inertia=[0.01, 0.01, 0.01]).joint("z", "prismatic", "bob", "ball", axis="z")
    b.body("post", frames={"hook": [0, 0, 1.0]}).joint("post", "fixed", "world", "post")
    b.cut("rope", "rod", "ball", "post.hook", length=2.0, switched=True)
    b.force("pad", "hot_brake", joint="x", **PAD)
    mech = b.done()
    q0, qd0 = {"x": 0.0, "z": -1.0}, {"x": 3.0}
    drop = sb.When("drop", "t - 0.4", reset={"s_rope": 0})
    run = sb.simulate(
        mech, 1.0, q0=q0, qd0=qd0, events=[drop], rtol=1e-9, samples=1001, outputs=["energy", "dissipated"]
    )
    assert [e.name for e in run.events if e.name != "drop"] == ["pad_glazes"]
    assert run["energy"][0] - run["energy"][-1] == pytest.approx(work(run, run["dissipated"]), abs=1e-7)


# -- a point


def test_drag_with_memory_at_a_point_slows_a_pendulum():
    b = Mechanism.builder("pendulum")
    b.body("rod", 1.2, com=[0, 0, -0.4], inertia=[0.1, 0.1, 0.02], frames={"tip": [0, 0, -0.9]})
    b.joint("pin", "revolute", "world", "rod", axis="y")
    mech = b.force("water", "wake", ["rod.tip"], drag=2.0, lag=0.3).done()
    run = sb.simulate(mech, 2.0, q0={"pin": 1.0}, samples=21, rtol=1e-10, atol=1e-12)
    inertia = 0.1 + 1.2 * 0.4**2

    def rates(t, y):
        a, w, x, z = y
        tip = np.array([-0.9 * np.cos(a), 0.9 * np.sin(a)])  # d tip / d angle, in x and z
        torque = -1.2 * 9.81 * 0.4 * np.sin(a) - 2.0 * (tip @ [x, z])
        return [w, torque / inertia, (tip[0] * w - x) / 0.3, (tip[1] * w - z) / 0.3]

    own = solve_ivp(rates, (0, 2), [1.0, 0, 0, 0], "DOP853", run.t, rtol=1e-11, atol=1e-13)
    assert np.allclose(run.q[:, 0], own.y[0], atol=1e-7)
    assert np.allclose(run["x_water_wx"], own.y[2], atol=1e-7)
    assert sb.verify(mech, states=5).passed


# -- rows that are refused


def test_a_second_row_of_the_same_kind_is_refused():
    add_force_element(BRAKE)  # the same one again
    other = ForceElement("hot_brake", "another", ("joint",), hot_brake)
    with pytest.raises(DefinitionError, match="hot_brake"):
        add_force_element(other)
    with pytest.raises(DefinitionError, match="own and stays"):
        remove_force_element("tyre")
    assert list(force_elements())[-2:] == ["hot_brake", "wake"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"where": ("axle",)}, "acts at"),
        ({"kind": "two words"}, "letters, digits"),
        ({"states": {"a b": State("x")}}, "states"),
        ({"fields": {"k": Field("tensor")}}, "tensor"),
    ],
)
def test_rows_that_make_no_sense_are_refused(change, words):
    given = {"kind": "k", "about": "a", "where": ("joint",), "law": hot_brake, **change}
    with pytest.raises(DefinitionError, match=words):
        ForceElement(**given)


def test_a_law_that_forgets_a_rate_or_an_event_is_refused():
    for name, law in {"no_rate": lambda p: Effect(-p.state("T")), "no_event": lambda p: Effect(0 * p.v)}.items():
        row = ForceElement(
            name, "x", ("joint",), law, states=BRAKE.states, events={"e": "x"} if "event" in name else {}
        )
        add_force_element(row)
        try:
            b = Mechanism.builder("m").body("a", 1.0).joint("j", "prismatic", "world", "a")
            with pytest.raises(ModelError, match="rates for x_f_T" if name == "no_rate" else "declares"):
                sb.forward_dynamics(b.force("f", name, joint="j").done(), "base")
        finally:
            remove_force_element(name)
