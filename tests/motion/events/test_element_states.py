"""Force elements that own states, modes and events: motions against hand-written equations and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import symbody as sb
from helpers.work_between_events import work
from symbody.basics.errors import DefinitionError, ModelError
from symbody.model.record.mechanism import Mechanism

TIGHT = {"rtol": 1e-10, "atol": 1e-12}


def slider(kind: str, mass: float = 1.0, gravity: float = 0.0, **values: float) -> Mechanism:
    """A mass on a rail along x, with an element named e on its joint."""
    b = Mechanism.builder("slider", gravity=[gravity, 0, 0])
    b.body("m", mass).joint("x", "prismatic", "world", "m", axis="x")
    return b.force("e", kind, joint="x", **values).done()


def driven(kind: str, law: str, **values: float) -> Mechanism:
    """The element on a joint whose motion is given."""
    b = Mechanism.builder("driven", gravity=[0, 0, 0])
    b.body("m", 1.0).joint("x", "prismatic", "world", "m", axis="x", mode="driven", value=law)
    return b.force("e", kind, joint="x", **values).done()


# -- Maxwell


def test_the_force_of_a_held_maxwell_element_decays_exponentially():
    k, c, stretch = 200.0, 30.0, 0.1
    run = sb.simulate(driven("maxwell", "0.1", stiffness=k, damping=c), 0.5, outputs=["e_F"], samples=51, **TIGHT)
    assert np.allclose(run["e_F"], -k * stretch * np.exp(-k * run.t / c), rtol=1e-8, atol=0)


def test_a_load_on_zeners_solid_creeps_to_the_spring_beside():
    mech = slider("maxwell", 2.0, gravity=9.81, stiffness=200.0, damping=30.0, parallel=100.0)
    rest = sb.equilibrium(mech)
    assert rest.ok
    assert rest.q[0] == pytest.approx(2 * 9.81 / 100)
    assert rest.states["x_e_z"] == pytest.approx(rest.q[0])  # the damper carries nothing
    assert rest.potential == pytest.approx(100 * rest.q[0] ** 2 / 2 - 2 * 9.81 * rest.q[0])
    run = sb.simulate(mech, 40.0, samples=11)
    assert run.q[-1, 0] == pytest.approx(rest.q[0], rel=1e-6)


def test_a_maxwell_element_in_a_linear_model():
    m, k, c = 2.0, 200.0, 30.0
    linear = sb.linearize(slider("maxwell", m, stiffness=k, damping=c))
    assert linear.states == ("q.x", "qd.x", "x_e_z")
    assert np.allclose(linear.A, [[0, 1, 0], [-k / m, 0, k / m], [k / c, 0, -k / c]])


# -- LuGre and Dahl

LUGRE = {"stiffness": 1e4, "damping": 80.0, "coefficient": 0.4, "level": 1.0, "breakaway": 1.5, "speed": 0.01}


@pytest.mark.parametrize("v", [0.002, -0.005, 0.02, 0.3])
def test_lugre_at_a_steady_speed_is_stribecks_curve(v):
    run = sb.simulate(driven("lugre", f"{v}*t", **LUGRE), 0.01 / abs(v), outputs=["e_F"], samples=11, **TIGHT)
    limit = 1.0 + 0.5 * np.exp(-((v / 0.01) ** 2))
    assert run["e_F"][-1] == pytest.approx(-np.sign(v) * limit - 0.4 * v, rel=1e-6)


def test_lugre_stick_slip_is_that_of_the_paper():
    """A mass pulled by a spring whose end moves steadily (Canudas de Wit et al. 1995, section IV), by SciPy."""
    mech = slider("lugre", 1.0, **LUGRE)
    run = sb.simulate(mech, 20.0, inputs={"x": "2*(0.1*t - q.x)"}, method="radau", rtol=1e-8, samples=201)

    def rates(t, y):
        x, v, z = y
        g = 1.0 + 0.5 * np.exp(-((v / 0.01) ** 2))
        zd = v - 1e4 * abs(v) / g * z
        return [v, 2 * (0.1 * t - x) - (1e4 * z + 80 * zd + 0.4 * v), zd]

    own = solve_ivp(rates, (0, 20), [0, 0, 0], "Radau", run.t, rtol=1e-9, atol=1e-11, max_step=0.05)
    assert np.allclose(run.q[:, 0], own.y[0], atol=2e-5)
    assert np.ptp(run.qd[:, 0]) > 0.3  # it does stick and slip


def test_dahls_bristles_bend_exponentially_with_the_way():
    """z = level / stiffness (1 - exp(-stiffness s / level)) for motion in one direction, at any speed."""
    run = sb.simulate(driven("dahl", "0.01*t^2", stiffness=500.0, level=2.0), 2.0, outputs=["e_F"], samples=41, **TIGHT)
    assert np.allclose(run["e_F"], -2.0 * (1 - np.exp(-500 * 0.01 * run.t**2 / 2)), rtol=1e-7, atol=1e-9)


def test_lugre_at_rest_is_a_spring_and_a_damper_in_the_linear_model():
    linear = sb.linearize(slider("lugre", 2.0, **LUGRE))
    assert np.allclose(linear.A, [[0, 1, 0], [0, -(80 + 0.4) / 2, -1e4 / 2], [0, 1, 0]])


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("lugre", {**LUGRE, "stiffness": 400.0, "damping": 4.0, "speed": 0.2}),
        ("dahl", {"stiffness": 400.0, "level": 1.0}),
        ("maxwell", {"stiffness": 100.0, "damping": 5.0, "parallel": 30.0}),
    ],
)
def test_energy_changes_by_power_less_what_is_lost(kind, values):
    wanted = ["energy", "power", "dissipated"]
    run = sb.simulate(
        slider(kind, 1.0, **values), 2.0, inputs={"x": "3*sin(4*t)"}, outputs=wanted, samples=8001, **TIGHT
    )
    change = work(run, run["power"] - run["dissipated"])
    assert run["energy"][-1] - run["energy"][0] == pytest.approx(change, abs=2e-7)
    assert run["dissipated"].min() > -1e-9
    assert abs(change) > 1e-2


def test_a_batch_of_bristles_is_its_members():
    mech = slider("lugre", 1.0, **{**LUGRE, "stiffness": 400.0})
    starts = np.array([[0.5], [0.1], [-0.3]])
    many = sb.simulate(mech, 0.5, step=1e-3, qd0=starts)
    for k, start in enumerate(starts):
        one = sb.simulate(mech, 0.5, step=1e-3, qd0=start)
        assert np.array_equal(many["x_e_z"][k], one["x_e_z"])


# -- stiction: states, modes and events

DRY = {"level": 2.0, "breakaway": 3.0, "stiffness": 4e4, "damping": 100.0}
BELT, SPRING, MASS = 0.1, 50.0, 1.5


def on_belt() -> Mechanism:
    """A mass on a belt that moves with a steady speed, held back by a spring to the wall."""
    b = Mechanism.builder("belt", gravity=[0, 0, 0])
    b.body("belt").joint("feed", "prismatic", "world", "belt", axis="x", mode="driven", value=f"{BELT}*t")
    b.body("m", MASS).joint("slip", "prismatic", "belt", "m", axis="x")
    b.body("wall", frames={"hook": [-100.0, 0, 0]}).joint("fixed", "fixed", "world", "wall")
    b.force("spring", "spring_damper", ["m", "wall.hook"], stiffness=SPRING, length=100.0)
    return b.force("dry", "stiction", joint="slip", **DRY).done()


def test_the_period_of_stick_slip_on_a_belt():
    """Stick lasts 2 (Fs - Fc) / (k V), slip 2 (pi - atan((Fs - Fc) w / (k V))) / w, for bristles that do not bend.

    The bristle's own spring softens both by about SPRING / DRY["stiffness"] = 0.1 %.
    """
    run = sb.simulate(on_belt(), 12.0, rtol=1e-8, samples=[12.0], outputs=["dry_F"])
    breaks = np.array([e.t for e in run.events if e.name == "dry_breaks"])
    sticks = np.array([e.t for e in run.events if e.name == "dry_sticks"])
    w, drop = np.sqrt(SPRING / MASS), (DRY["breakaway"] - DRY["level"])
    slip = 2 * (np.pi - np.arctan(drop * w / (SPRING * BELT))) / w
    stick = 2 * drop / (SPRING * BELT)
    assert len(breaks) >= 6
    assert np.allclose(np.diff(breaks)[1:], slip + stick, rtol=3e-3)
    assert np.allclose((sticks - breaks[: len(sticks)])[1:], slip, rtol=3e-3)
    # while it is loaded, the bristle moves against its damper, and the mass falls behind the belt
    rate = SPRING * BELT
    loading = (DRY["breakaway"] + DRY["damping"] * rate / DRY["stiffness"]) / rate
    assert breaks[0] == pytest.approx(loading + DRY["breakaway"] / (DRY["stiffness"] * BELT), rel=2e-4)


def hand_written(duration: float, force) -> tuple[list[float], np.ndarray]:
    """A mass with the bristle of `stiction` as two motions, by SciPy: instants of changes, state at the end."""
    k, c, level, top, changes = DRY["stiffness"], DRY["damping"], DRY["level"], DRY["breakaway"], []
    t, y, way = 0.0, np.zeros(3), 0

    def stuck(t, y):
        return [y[1], force(t) - k * y[2] - c * y[1], y[1]]

    def sliding(t, y):
        return [y[1], force(t) - level * way, 0.0]

    def breaks(t, y):
        return k * abs(y[2]) - top

    def rests(t, y):
        return y[1] * way

    breaks.terminal = rests.terminal = True
    breaks.direction, rests.direction = 1, -1
    while t < duration:
        run = solve_ivp(sliding if way else stuck, (t, duration), y, "DOP853", rtol=1e-11, atol=1e-13,
                        events=rests if way else breaks)  # fmt: skip
        t, y = run.t[-1], run.y[:, -1].copy()
        if run.status == 1:
            changes.append(t)
            way = 0 if way else int(np.sign(y[2]))
            if way:
                y[2] = way * level / k
    return changes, y


def test_stiction_is_two_motions_that_follow_each_other():
    mech = slider("stiction", 1.0, **DRY)
    run = sb.simulate(mech, 4.0, inputs={"x": "4*sin(2*t)"}, samples=[4.0], **TIGHT)
    changes, y = hand_written(4.0, lambda t: 4 * np.sin(2 * t))
    assert [e.t for e in run.events] == pytest.approx(changes, abs=1e-7)
    assert [run.q[-1, 0], run.qd[-1, 0]] == pytest.approx(y[:2], abs=1e-7)
    assert set(run["m_e"]) <= {0.0, 1.0, -1.0}


def test_the_energy_of_stiction_falls_at_once_where_bristles_break():
    mech = slider("stiction", 1.0, **DRY)
    run = sb.simulate(
        mech, 3.0, inputs={"x": "4*sin(2*t)"}, outputs=["energy", "power", "dissipated"], samples=20001, **TIGHT
    )
    lost = (DRY["breakaway"] ** 2 - DRY["level"] ** 2) / (2 * DRY["stiffness"])
    change = work(run, run["power"] - run["dissipated"])
    count = sum(e.name == "e_breaks" for e in run.events)
    assert count == 2
    assert run["energy"][-1] - run["energy"][0] == pytest.approx(change - count * lost, abs=1e-7)


def test_a_resumed_run_of_stiction_is_the_whole_run(tmp_path):
    mech, push = slider("stiction", 1.0, **DRY), {"x": "4*sin(2*t)"}
    whole = sb.simulate(mech, 3.0, inputs=push, samples=31)
    first = sb.simulate(mech, 1.0, inputs=push, samples=11, checkpoint=tmp_path / "run.npz")
    assert sum(e.name == "e_breaks" for e in first.events) == 1  # it slides where it is interrupted
    for again in (sb.resume(first, 2.0), sb.resume(tmp_path / "run.npz", 2.0)):
        assert [e.name for e in again.events] == [e.name for e in whole.events]
        assert [e.t for e in again.events] == pytest.approx([e.t for e in whole.events], abs=1e-6)
        assert again.q[-1] == pytest.approx(whole.q[-1], abs=1e-6)
        assert again["m_e"][-1] == whole["m_e"][-1]


@pytest.mark.parametrize("method", ["rk4", "symplectic4", "radau", "lsoda", "sdirk3", "generalized_alpha"])
def test_every_kind_of_method_finds_the_events(method):
    mech = slider("stiction", 1.0, **{**DRY, "stiffness": 1000.0, "damping": 20.0})
    step = {"rtol": 1e-9} if method in ("radau", "lsoda") else {"step": 5e-4}
    run = sb.simulate(mech, 2.5, inputs={"x": "4*sin(2*t)"}, method=method, samples=[2.5], **step)
    other = sb.simulate(mech, 2.5, inputs={"x": "4*sin(2*t)"}, samples=[2.5], **TIGHT)
    assert [e.name for e in run.events] == [e.name for e in other.events] != []
    assert [e.t for e in run.events] == pytest.approx([e.t for e in other.events], abs=2e-4)


def test_modes_start_where_the_user_says_and_are_held_in_linear_models():
    mech = slider("stiction", 2.0, **DRY)
    sliding = sb.simulate(mech, 0.2, qd0={"x": 1.0}, states0={"m_e": 1.0})
    assert np.allclose(sliding.qdd[:-1, 0], -1.0)
    stuck = sb.linearize(mech)
    assert np.allclose(stuck.A, [[0, 1, 0], [0, -50.0, -2e4], [0, 1, 0]])
    assert "m_e" not in stuck.inputs
    free = sb.linearize(mech, qd0={"x": 1.0}, states={"m_e": 1.0})
    assert np.allclose(free.A, [[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    rest = sb.equilibrium(mech)
    assert rest.ok
    assert rest.states["m_e"] == 0.0
    assert np.allclose(sb.linearize(mech, **rest.point).A, stuck.A)


def test_each_member_of_a_batch_has_the_events_of_its_own_run():
    mech, starts = slider("stiction", 1.0, **DRY), np.array([[0.0], [0.3], [-0.5]])
    many = sb.simulate(mech, 0.3, step=1e-3, qd0=starts)
    assert len({e.member for e in many.events}) > 1
    for k, start in enumerate(starts):
        one = sb.simulate(mech, 0.3, step=1e-3, qd0=start)
        assert [(e.t, e.name, e.text) for e in one.events] == [
            (e.t, e.name, e.text) for e in many.events if e.member == k
        ]
        assert np.array_equal(many.q[k, -1], one.q[-1])


def test_sensitivities_do_not_pass_events():
    with pytest.raises(ModelError, match="e_breaks"):
        sb.sensitivity(slider("stiction", 1.0, **DRY), 0.1, ["q.x"])


def test_the_program_text_has_states_guards_and_resets():
    system = sb.forward_dynamics(slider("stiction", 1.0, **DRY), "base")
    assert system.states == {"x_e_z": "x_e_z_dot"}
    assert system.units["x_e_z"] == "m"
    assert system.modes == {"m_e": 0.0, "e_breaks.direction": 1, "e_sticks.direction": -1}
    text = system.with_events().emit("c")
    for word in ("x_e_z", "m_e", "x_e_z_dot", "guard_e_breaks", "reset_e_breaks_m_e", "reset_e_sticks_m_e"):
        assert word in text
    values = system.with_events().compile("native")(q=[0.0], qd=[0.1], tau=[0.0], x_e_z=1e-4, m_e=0.0)
    assert values.guard_e_breaks == pytest.approx(4e4 * 1e-4 - 3.0)
    assert values.reset_e_breaks_x_e_z == pytest.approx(2.0 / 4e4)


# -- jumps that carry guards over zero


def test_an_impact_that_reverses_a_sliding_mass_ends_its_sliding():
    """The velocity never is zero; without a new mode, friction would push the mass along."""
    mech = slider("stiction", 1.0, **DRY)
    wall = sb.When("wall", "q.x - 0.1", 1, {"qd.x": "-0.5*qd.x"})
    run = sb.simulate(mech, 0.6, qd0={"x": 1.0}, states0={"m_e": 1.0}, events=[wall], outputs=["energy"], **TIGHT)
    names = [e.name for e in run.events]
    assert names[:3] == ["wall", "e_sticks", "e_breaks"]  # it sticks for the length of a bristle, and slides back
    impact = np.sqrt(1.0 - 2 * 2.0 * 0.1)
    back = run.t > run.events[2].t + 1e-3
    sliding = back & (run["m_e"] == -1)
    assert np.all(run.qd[sliding, 0] < 1e-12)
    assert np.allclose(np.gradient(run.qd[sliding, 0], run.t[sliding])[2:-2], 2.0, rtol=1e-4)
    assert run.qd[:, 0].min() == pytest.approx(-impact / 2, rel=1e-6)


def test_a_start_beyond_a_guard_is_answered_at_once():
    mech = slider("stiction", 1.0, **DRY)
    torn = sb.simulate(mech, 0.01, states0={"x_e_z": 1.0})
    assert [(e.name, e.t) for e in torn.events[:1]] == [("e_breaks", 0.0)]
    assert torn["x_e_z"][0] == pytest.approx(DRY["level"] / DRY["stiffness"])
    wrong = sb.simulate(mech, 0.01, qd0={"x": -1.0}, states0={"m_e": 1.0})
    assert [(e.name, e.t) for e in wrong.events[:1]] == [("e_sticks", 0.0)]
    resting = sb.simulate(mech, 0.01, states0={"m_e": 1.0})  # it would slide back by its own friction
    assert [(e.name, e.t) for e in resting.events[:1]] == [("e_sticks", 0.0)]


def test_friction_that_holds_no_better_at_rest_than_in_motion():
    """level = breakaway: where sliding ends, the guard of breaking is zero but for roundings."""
    mech = slider("stiction", 1.0, **{**DRY, "breakaway": 2.0})
    run = sb.simulate(mech, 4.0, inputs={"x": "4*sin(2*t)"}, samples=[4.0], **TIGHT)
    assert run.outcome.ok
    names = [e.name for e in run.events]
    assert names == ["e_breaks", "e_sticks"] * (len(names) // 2) + ["e_breaks"] * (len(names) % 2)
    assert 3 <= len(names) <= 7


# -- controllers and Systems with modes


def thermostat(clocks=()) -> sb.System:
    """A relay with hysteresis: the effort is +-1 by a mode that position guards turn; it counts its way, too."""
    x, way, on = sb.symbol("q.x"), sb.symbol("way", "state"), sb.symbol("on")
    return sb.System(
        "relay",
        inputs={"q.x": x, "way": way, "on": on},
        outputs={"x": 1 - 2 * on, "way_dot": x * x},
        states={"way": "way_dot"},
        guards={"high": x - 0.1, "low": x + 0.1},
        resets={"high.on": 1, "low.on": 0, "high.way": 0 * x},
        modes={"on": 0.0, "high.direction": 1, "low.direction": -1},
        clocks=dict(clocks),
    )


def test_a_controller_with_modes_and_events_joins_the_motion():
    """A relay about a mass: between the guards parabolas, v^2 = 2 x + const."""
    mech = (
        Mechanism.builder("m", gravity=[0, 0, 0]).body("m", 1.0).joint("x", "prismatic", "world", "m", axis="x").done()
    )
    run = sb.simulate(mech, 3.0, inputs=thermostat(), samples=31, **TIGHT)
    names = [e.name for e in run.events]
    assert names[:2] == ["relay_high", "relay_low"]
    first = np.sqrt(2 * 0.1)  # x = t^2 / 2; then up to rest at 0.2, and from there down to -0.1
    assert [e.t for e in run.events[:2]] == pytest.approx([first, 2 * first + np.sqrt(2 * 0.3)], abs=1e-8)
    assert set(run["on"]) == {0.0, 1.0}
    assert run["way"][run.t > first][0] < 0.1**2 * first  # set back where the relay turns
    with pytest.raises(DefinitionError, match="clock and guards"):
        sb.simulate(mech, 1.0, inputs=thermostat({"period": 0.1}))


def test_a_system_with_a_mode_runs_by_itself():
    """A bouncing count: x' = 1 - 2 down, down turns at 1 and 0: a triangle wave of period 2."""
    x, down = sb.symbol("x", "state"), sb.symbol("down")
    wave = sb.System(
        "wave", inputs={"x": x, "down": down}, outputs={"x_dot": 1 - 2 * down}, states={"x": "x_dot"},
        guards={"top": x - 1, "bottom": x}, resets={"top.down": 1, "bottom.down": 0},
        modes={"down": 1.0, "top.direction": 1, "bottom.direction": -1},
    )  # fmt: skip
    run = sb.simulate(wave, 3.0, states0={"x": 0.5}, samples=[3.0])
    assert [(e.name, round(e.t, 9)) for e in run.events] == [("bottom", 0.5), ("top", 1.5), ("bottom", 2.5)]
    assert run["x"][-1] == pytest.approx(0.5)
