"""Every hook is one row: asked where a run needs it, in the order of the table; added rows run like the others."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from helpers.passage_models import five_bar
from helpers.simulation_models import ball, oscillator
from symbody.basics.errors import DefinitionError, NameLookupError
from symbody.extend import Change, HookRow, Quiet, add_hook, hooks, remove_hook

BOUNCE = sb.When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.8*qd.z"})
TABLE = ([0.0, 0.1], [0.0, 1.0], "hold")
# a run that needs the hook of each row, and one that does not
NEEDED = {
    "loops": lambda: sb.simulate(five_bar(), 0.01, 1e-3),
    "events": lambda: sb.simulate(ball(), 0.1, 1e-2, q0=[1.0], events=[BOUNCE]),
    "clocks": lambda: sb.simulate(oscillator(), 0.2, 1e-2, inputs={"x": TABLE}),
    "stiffness": lambda: sb.simulate(ball(), 0.1, q0=[1.0]),
}


def names(run: sb.Trajectory) -> list[str]:
    return [hook.name for hook in run.run.last.plan.hooks]


@pytest.mark.parametrize("name", hooks())
def test_a_hook_is_asked_where_it_is_needed(name):
    assert hooks()[name].about
    bare = names(sb.simulate(ball(), 0.1, 1e-2, q0=[1.0]))
    assert bare == []
    if name in NEEDED:
        found = names(NEEDED[name]())
        assert name in found
        assert found == [n for n in hooks() if n in found]  # in the order of the table


class Counter(Quiet):
    """Counts the stretches of a run, and nudges it at 0.1 s."""

    name = "counter"

    def next(self, plan, state):
        return 0.05 * (1 + round(state.t / 0.05))

    def after(self, plan, state, leg):
        due = state.t > 0.0999 and not state.marks.get(self.name, False)
        jump = state.x + np.array([0.0, 1.0]) if due else None
        return Change(mark=due or None, jump=jump, counts={"looks": 1}, memory={} if due else None)


@pytest.fixture
def counter():
    yield add_hook(HookRow("counter", "counts and nudges", lambda making: Counter() if making.flow.nx == 2 else None))
    remove_hook("counter")


@pytest.mark.parametrize("options", [{"step": 0.01}, {}, {"method": "radau"}, {"step": 0.01, "events": [BOUNCE]}])
def test_an_added_hook_runs_with_every_stepper(counter, options):
    run = sb.simulate(ball(), 0.2, q0=[1.0], **options)
    assert run.statistics["looks"] >= 4
    assert run.q[-1, 0] == pytest.approx(1.0 - 9.81 * 0.2**2 / 2 + 0.1, abs=1e-6)  # 1 m/s more for the last 0.1 s


def test_members_of_a_batch_are_runs_of_their_own_then(counter):
    heights = np.array([[1.0], [1.5]])
    many = sb.simulate(ball(), 0.2, 0.01, q0=heights, samples=5)
    for k in range(2):
        one = sb.simulate(ball(), 0.2, 0.01, q0=heights[k], samples=5)
        assert np.array_equal(many.q[k, -1], one.q[-1])


def test_a_longer_run_goes_on_with_its_mark(counter):
    part = sb.simulate(ball(), 0.1, 0.01, q0=[1.0])
    whole = sb.simulate(ball(), 0.2, 0.01, q0=[1.0])
    assert np.array_equal(sb.resume(part, 0.1).q[-1], whole.q[-1])


def test_what_is_refused(counter, tmp_path):
    with pytest.raises(DefinitionError, match="'counter' remembers"):
        sb.simulate(ball(), 0.2, 0.01, q0=[1.0], checkpoint=tmp_path / "run")
    with pytest.raises(DefinitionError, match="a hook 'loops' already"):
        add_hook(HookRow("loops", "", lambda making: None))
    with pytest.raises(DefinitionError, match="one of symbody's own"):
        remove_hook("events")
    with pytest.raises(NameLookupError, match="no hook 'conter'"):
        remove_hook("conter")
    with pytest.raises(DefinitionError, match="expected a HookRow"):
        add_hook(Counter())
