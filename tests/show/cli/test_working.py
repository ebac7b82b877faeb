"""The line that says how far a command is: counts and rates, after two seconds, never among what is printed."""

from __future__ import annotations

import io

import pytest

import symbody as sb
from symbody.basics.errors import ModelError
from symbody.basics.progress import listening
from symbody.mechanics.verbs.smallest.budget import Progress
from symbody.show.cli import working as module
from symbody.show.cli.working import Working


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def line():
    clock, stream = Clock(), io.StringIO()
    made = Working(stream, "symbody verify", clock)
    return made, clock, stream


def test_nothing_is_shown_in_the_first_two_seconds(line):
    work, clock, stream = line
    clock.now = 1.9
    work.draw()
    assert stream.getvalue() == ""


def test_parts_are_counted_with_their_rate(line):
    work, clock, stream = line
    for _ in range(12):
        work.made("inverse_dynamics")
    clock.now = 4.0
    work.draw()
    assert stream.getvalue() == "\rsymbody verify: 12 parts (last: inverse dynamics), 3 a second, 4 s"


def test_before_the_first_part_no_rate_is_told(line):
    work, clock, stream = line
    clock.now = 3.0
    work.draw()
    assert stream.getvalue() == "\rsymbody verify: at work, 3 s"


def test_quiet_shows_nothing(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr(module, "AFTER", 0.0)
    for quiet, seen in ((True, False), (False, True)):
        with module.working("symbody simulate", quiet=quiet):
            assert (module._current is not None) is seen


def test_a_search_shows_its_candidates_instead(line):
    work, clock, stream = line
    clock.now = 5.0
    work.search(str(Progress(40, 300, 521, "candidates")), 40, 1.0)
    work.draw()
    assert stream.getvalue() == "\rsymbody verify: candidates: 40 of 300, best 521, 10 a second, 5 s"


def test_the_line_goes_without_a_trace(line):
    work, clock, stream = line
    clock.now = 3.0
    work.draw()
    shown = stream.getvalue()
    with work.hidden():
        assert stream.getvalue().endswith("\r" + " " * (len(shown) - 1) + "\r")
        before = stream.getvalue()
        work.draw()  # a bar of its own is shown meanwhile
        assert stream.getvalue() == before


def test_equations_and_programs_are_told(line):
    work = line[0]
    with listening(work):
        sb.forward_dynamics(sb.load("pendulum2")).compile("python")
    assert int(work.text().partition(": ")[2].partition(" parts")[0]) >= 2


def test_a_batch_names_the_member_that_has_a_negative_mass():
    with pytest.raises(ModelError, match=r"'rod1' has mass -1;.*m1 = -1 of member 2 of the batch"):
        sb.simulate(sb.load("pendulum2"), 0.1, step=1e-2, parameters={"m1": [1.0, 2.0, -1.0, 3.0]})
