"""Every row of the table of force elements: power, energy, derivatives, dissipation, and the way through a file.

A row joins by being listed. Where it acts on a joint and on a link, it is judged at both.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import symbody as sb
from symbody.mechanics.formalisms.applied_forces import wrenches
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.verbs.certify.certificate import output_of
from symbody.mechanics.verbs.certify.states import States
from symbody.mechanics.verbs.system_of_tree import make_system, time_input
from symbody.model.files.yaml_file import read_text
from symbody.model.files.yaml_writer import to_yaml
from symbody.model.library.force_elements import FORCE_ELEMENTS
from symbody.model.record.mechanism import Mechanism

STATES, STEP = 12, 1e-30
CASES = [(kind, where) for kind, row in FORCE_ELEMENTS.items() for where in row.where]
MEASURED = [(kind, where) for kind, where in CASES if where in ("joint", "link", "path", "joints")]
LAWS = [(kind, where) for kind, where in MEASURED if callable(FORCE_ELEMENTS[kind].law)]
# slips of tyres: relaxed forces lag behind the sliding, and may push along it for a while
NOT_PASSIVE = ("tyre",)
# they store what their force gives, at rest
CONSERVATIVE = ("spring_damper", "contact", "maxwell", "tendon", "bushing")


@cache
def machine(kind: str, where: str) -> Mechanism:
    """A wheel that slides, lifts, rolls sideways and spins, with one element named e."""
    b = Mechanism.builder("machine")
    b.body("car", 2.0, com=[0.1, 0, 0.2], inertia=[0.1, 0.2, 0.3]).joint("go", "prismatic", "world", "car", axis="x")
    b.body("lift", 1.0).joint("up", "prismatic", "car", "lift", axis="z", position=[0, 0, 0.9])
    b.body("fork", 0.5, inertia=[0.1, 0.1, 0.2]).joint("roll", "revolute", "lift", "fork", axis="x")
    b.body("wheel", 0.7, com=[0.1, 0, 0], inertia=[0.1, 0.2, 0.1], frames={"rim": [0.3, 0.1, 0.4]})
    b.joint("spin", "revolute", "fork", "wheel", axis="y", position=[0.2, 0, 0.1])
    b.body("ground", frames={"pin": [0.4, 1.5, -0.3]}).joint("fix", "fixed", "world", "ground")
    values = dict(FORCE_ELEMENTS[kind].example)
    points = {"joint": [], "link": ["wheel.rim", "ground.pin"], "point": ["wheel.rim"], "wheel": ["wheel"]}
    points["frames"] = ["wheel.rim", "fork"]
    points = {**points, "path": ["wheel.rim", "car", "lift", "ground.pin"], "joints": []}[where]
    if where == "joint":
        values["joint"] = "spin"
    if where == "joints":
        values |= {"joints": ["up", "spin"], "coefficients": [0.7, -0.4]}
    return b.force("e", kind, points, values).done()


@cache
def bare() -> Mechanism:
    return machine("link", "link").replace(forces=())


def point(mech: Mechanism) -> States:
    return States(mech, STATES, seed=3)


def element_system(mech: Mechanism):
    """Account, rates of states and observed quantities of the element, as a System."""
    tree = build_tree(mech)
    made = wrenches(tree)
    account = made.account()
    outputs = {"stored": account.stored, "given": account.given, "lost": account.lost, **made.outputs}
    outputs |= {f"{n}_dot": x for n, x in made.derivatives.items()}
    outputs |= {f"{n}_guard": event.guard for n, event in made.events.items()}
    inputs = {"q": tree.q, "qd": tree.qd, **made.inputs, **made.states, **made.modes, **time_input(outputs.values())}
    system = make_system(tree, "element", {n: np.ravel(a) for n, a in inputs.items()}, outputs, {}, {})
    return system.replace(inputs={n: inputs.get(n, a) for n, a in system.inputs.items()}), made


def efforts(mech: Mechanism, at: States, **given):
    """(n, nv) generalized forces of the element: what inverse dynamics needs less because of it."""
    own = output_of(at.evaluate(sb.inverse_dynamics(mech, "newton_euler", preset="none"), **given), "tau")
    without = output_of(at.evaluate(sb.inverse_dynamics(bare(), "newton_euler", preset="none"), **given), "tau")
    return without - own


@pytest.mark.parametrize(("kind", "where"), MEASURED)
def test_power_is_force_times_velocity(kind, where):
    mech = machine(kind, where)
    at = point(mech)
    found = at.evaluate(element_system(mech)[0])
    v = at.qd[:, 3] if where == "joint" else found.e_Zd
    power = np.sum(efforts(mech, at) * at.qd, axis=-1)
    assert np.allclose(power, found.e_F * v, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize(("kind", "where"), CASES)
def test_power_is_what_is_given_less_what_is_lost_and_stored(kind, where):
    """d stored / dt by a complex step along the motion, on which the states of the element change at their rates."""
    mech = machine(kind, where)
    at = point(mech)
    system, made = element_system(mech)
    here = at.evaluate(system)
    q, qd = at.after(1j * STEP)
    moved = {n: at.number(n, ()) + 1j * STEP * output_of(here, f"{n}_dot") for n in made.states}
    storing = np.imag(at.evaluate(system, q=q, qd=qd, **moved).stored) / STEP
    power = np.sum(efforts(mech, at) * at.qd, axis=-1)
    size = 1 + np.abs(power) + np.abs(here.lost) + np.abs(here.given)
    assert np.all(np.abs(power - (here.given - here.lost - storing)) <= 1e-9 * size)


@pytest.mark.parametrize(("kind", "where"), CASES)
def test_what_is_lost_is_not_negative(kind, where):
    """At states that a motion can reach: no guard stands on the far side of its event."""
    mech = machine(kind, where)
    at = point(mech)
    system, made = element_system(mech)
    here = at.evaluate(system, **{n: at.number(n, ()) * 1e-4 for n in made.states if made.events})
    if kind in NOT_PASSIVE or np.any(here.given):
        pytest.skip("it brings energy, or lags behind")
    reached = np.ones(STATES, dtype=bool)
    for name, event in made.events.items():
        reached &= event.direction * output_of(here, f"{name}_guard") <= 0
    assert reached.sum() >= 4
    assert np.all(np.broadcast_to(here.lost, STATES)[reached] >= -1e-9)


@pytest.mark.parametrize(("kind", "where"), [c for c in CASES if c[0] in CONSERVATIVE])
def test_at_rest_the_force_is_the_gradient_of_the_stored_energy(kind, where):
    mech = machine(kind, where)
    at = point(mech)
    still = 0 * at.qd
    system = element_system(mech)[0]
    found = efforts(mech, at, qd=still, qdd=still)
    for k in range(mech.nv):
        q = at.q.astype(complex)
        q[:, k] += 1j * STEP
        slope = np.imag(np.broadcast_to(at.evaluate(system, q=q, qd=still).stored, len(q))) / STEP
        assert np.allclose(found[:, k], -slope, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("kind", "where"), CASES)
def test_derivatives_equal_complex_steps(kind, where):
    """Of the accelerations by q, qd and the states of the element, of the rates of these by the same."""
    mech = machine(kind, where)
    at = point(mech)
    system = sb.forward_dynamics(mech, "newton_euler", preset="none")
    given = {"tau": np.ones(mech.nv)}
    base = {"q": at.q, "qd": at.qd, **{n: at.number(n, ()) for n in system.states}}
    for name, value in base.items():
        columns = []
        for k in range(max(1, system.inputs[name].size)):
            step = np.zeros(system.inputs[name].shape)
            step[(k,) if step.shape else ()] = 1
            columns.append(at.evaluate(system, **given, **{name: value + 1j * STEP * step}))
        for output in system.outputs:
            found = output_of(at.evaluate(system.jacobian(output, name), **given), f"d_{output}_d_{name}")
            wanted = np.stack([np.imag(output_of(c, output)) / STEP for c in columns], axis=-1)
            wanted = wanted.reshape(STATES, *system.outputs[output].shape, *system.inputs[name].shape)
            assert np.allclose(np.broadcast_to(found, wanted.shape), wanted, rtol=1e-9, atol=1e-9), (output, name)


@pytest.mark.parametrize(("kind", "where"), CASES)
def test_it_survives_a_model_file(kind, where):
    mech = machine(kind, where)
    again = read_text(to_yaml(mech), "again.yaml")
    assert [again.forces[0].kind, again.forces[0].points] == [kind, mech.forces[0].points]
    both = [sb.forward_dynamics(m, "newton_euler", preset="none").emit("c") for m in (mech, again)]
    assert both[0] == both[1]


class Numbers:
    """A Place of plain numbers, as arrays or complex ones."""

    def __init__(self, kind, values, x, v, held):
        self.row, self.values, self.x, self.v, self.held, self.time = FORCE_ELEMENTS[kind], values, x, v, held, 0.3

    def value(self, name):
        given = self.values.get(name)
        return self.row.fields_for(self.values)[name].default if given is None else given

    def given(self, name):
        return self.values.get(name) is not None

    def option(self, name):
        return self.values.get(name, self.row.fields_for(self.values)[name].words[0])

    def state(self, name=""):
        return self.held[f"x_e_{name}" if name else "x_e"]

    def mode(self, name=""):
        return self.held[f"m_e_{name}" if name else "m_e"]

    def input(self, letter, unit=""):
        return self.held[f"{letter}_e"]

    def observe(self, name, value, unit=""):
        pass


@pytest.mark.parametrize(("kind", "where"), LAWS)
def test_the_law_over_numbers_is_the_law_of_the_program(kind, where):
    mech = machine(kind, where)
    at = point(mech)
    system, made = element_system(mech)
    found = at.evaluate(system)
    x, v = (at.q[:, 3], at.qd[:, 3]) if where == "joint" else (found.e_Z, found.e_Zd)
    held = {n: at.number(n, ()) for n in (*made.inputs, *made.states)} | {n: at._mode(n, STATES) for n in made.modes}
    effect = FORCE_ELEMENTS[kind].law(Numbers(kind, dict(FORCE_ELEMENTS[kind].example), x, v, held))
    account = effect.account()
    assert np.allclose(effect.force, found.e_F, rtol=1e-12)
    assert np.allclose(account.stored, found.stored, rtol=1e-12)
    assert np.allclose(account.lost, found.lost, rtol=1e-9, atol=1e-12)
    for name, rate in effect.rates.items():
        assert np.allclose(rate, output_of(found, f"x_e_{name}_dot" if name else "x_e_dot"), rtol=1e-12)


@pytest.mark.parametrize("kind", FORCE_ELEMENTS)
def test_what_a_row_declares_is_what_its_law_makes(kind):
    row = FORCE_ELEMENTS[kind]
    for where in row.where:
        made = wrenches(build_tree(machine(kind, where)))
        assert set(made.states) <= {f"x_e_{n}" if n else "x_e" for n in row.states}
        assert set(made.modes) == {f"m_e_{n}" if n else "m_e" for n in row.modes}
        assert set(made.events) == {f"e_{n}" for n in row.events}
        assert set(made.states) == set(made.derivatives)
        for mode in row.modes.values():
            assert len(mode.values) > 1
