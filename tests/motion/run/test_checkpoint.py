"""A run that goes on is the run that was never interrupted."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import symbody as sb
from helpers.passage_models import five_bar, slider_crank
from helpers.simulation_models import ball, brick, chain, oscillator
from motion.run import kill_runs
from symbody.basics import atomic_file
from symbody.basics.errors import DefinitionError, FormatError, NameLookupError
from symbody.model.load import load
from symbody.motion.flow.event_rules import When
from symbody.motion.methods import implicit_stepper as implicit
from symbody.motion.methods import lane_stepper as lanes
from symbody.motion.methods import native_stepper as native
from symbody.motion.run import checkpoint, closed_checkpoint, ensemble
from symbody.motion.run import simulate as verbs
from symbody.motion.run.simulate import resume, simulate
from symbody.motion.trajectory.outcome import Outcome
from symbody.symbolic.expr.external import External
from symbody.symbolic.expr.functions import extern
from symbody.symbolic.expr.graph import symbols
from symbody.symbolic.system.system import System

CASES = {
    "rk4": dict(step=1e-3),
    "symplectic4": dict(step=1e-3, method="symplectic4"),
    "generalized_alpha": dict(step=1e-3, method="generalized_alpha"),
    "no whole number of steps": dict(step=0.0137),
    "dopri8": dict(samples=501),
    "law of time": dict(step=1e-3, inputs={"j1": "3*sin(7*t)"}),
    "table": dict(step=1e-3, inputs={"j1": ([0, 0.3, 2], [0, 1, -1])}),
    "held table": dict(step=1e-3, inputs={"j1": ([0, 0.3, 1.2], [0, 1, -1], "hold")}),
    "batch": dict(step=1e-3, parameters={}, inputs={"j1": np.array([0.0, 1.0, 2.0])}),
}


@pytest.mark.parametrize("case", CASES)
def test_resume_equals_an_uninterrupted_run(case, tmp_path):
    options = dict(q0=[0.5, 0.3], outputs="energy", **CASES[case])
    whole = simulate(chain(2), 2.0, **options)
    if "samples" in options:
        options["samples"] = 251  # of one half: the same distance
    half = simulate(chain(2), 1.0, checkpoint=tmp_path / "half.npz", **options)
    for part in (resume(half, 1.0), resume(tmp_path / "half.npz", 1.0)):
        assert (part.t == whole.t).all()
        for name in ("q", "qd", "qdd", "tau", "energy"):
            assert (part[name] == whole[name]).all(), name
        assert part.outcome is Outcome.FINISHED


def test_python_functions_are_given_again(tmp_path):
    path = tmp_path / "run.npz"
    control = lambda t, q, qd: -2.0 * q - qd  # noqa: E731
    options = dict(step=1e-2, q0=[1.0], period=0.05)
    whole = simulate(oscillator(), 2.0, inputs={"x": control}, **options)
    simulate(oscillator(), 1.0, inputs={"x": control}, checkpoint=path, **options)
    with pytest.raises(DefinitionError, match="'x'"):
        resume(path, 1.0)
    with pytest.raises(NameLookupError, match="'y'"):
        resume(path, 1.0, inputs={"x": control, "y": control})
    with pytest.raises(DefinitionError, match="arguments"):
        resume(path, 1.0, inputs={"x": np.sin})
    again = resume(path, 1.0, inputs={"x": control})
    assert (again.q == whole.q).all()
    assert (again.tau == whole.tau).all()
    # a function of time inside of adaptive steps
    simulate(oscillator(), 1.0, inputs={"x": np.sin}, checkpoint=path, samples=11)
    later = resume(path, 1.0, inputs={"x": np.sin})
    assert later.q == pytest.approx(simulate(oscillator(), 2.0, inputs={"x": np.sin}, samples=21).q, abs=1e-12)


def test_sampled_system_keeps_its_memory(tmp_path):
    n = symbols("n")
    system = System("counter", inputs={"n": n}, outputs={"x": n, "n_next": n + 1}, states={"n": "n_next"},
                    clocks={"period": 0.25})  # fmt: skip
    whole = simulate(oscillator(), 2.0, 0.05, inputs={"x": system})
    simulate(oscillator(), 0.9, 0.05, inputs={"x": system}, checkpoint=tmp_path / "run.npz")
    assert (resume(tmp_path / "run.npz", 1.1).tau == whole.tau).all()


def test_events_go_on_after_a_checkpoint(tmp_path):
    bounce = When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.8*qd.z"}, limit=4)
    whole = simulate(ball(), 5.0, 0.01, q0={"z": 1.0}, events=[bounce])
    simulate(ball(), 1.3, 0.01, q0={"z": 1.0}, events=[bounce], checkpoint=tmp_path / "run.npz")
    again = resume(tmp_path / "run.npz", 3.7)
    assert again.outcome is Outcome.STOPPED
    assert len(again.events) == 4
    assert [e.t for e in again.events] == [e.t for e in whole.events]
    assert (again.q == whole.q).all()


def test_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    simulate(oscillator(), 1.0, 0.01, q0=[1.0], checkpoint=path)
    before = path.read_bytes()

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic_file.os, "fsync", full)
    with pytest.raises(FormatError, match="No space left"):
        simulate(oscillator(), 1.0, 0.01, q0=[2.0], checkpoint=path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "run.npz"
    with pytest.raises(FormatError, match="no checkpoint"):
        resume(path, 1.0)
    path.write_bytes(b"not a file")
    with pytest.raises(FormatError):
        resume(path, 1.0)
    np.savez(path, a=np.zeros(3))
    with pytest.raises(FormatError, match="not a checkpoint"):
        resume(path, 1.0)
    simulate(oscillator(), 0.1, 0.01, checkpoint=path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(FormatError):
        resume(path, 1.0)


def test_what_would_unfold_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "run.npz"
    for depth in (900, 100_000):
        np.savez(path, meta=np.frombuffer(b"[" * depth + b"]" * depth, dtype=np.uint8))
        with pytest.raises(FormatError, match="not a checkpoint"):
            resume(path, 1.0)
    simulate(oscillator(), 0.1, 0.01, checkpoint=path)
    with np.load(path) as arrays:
        np.savez_compressed(path, **arrays, more=np.zeros(2**20))
    with pytest.raises(FormatError, match="packed"):
        resume(path, 1.0)
    with pytest.raises(FormatError, match="name too long"):
        resume(tmp_path / ("x" * 5000), 1.0)


def test_numbers_of_a_file_belong_to_one_array_each():
    arrays = {}
    record = checkpoint.packed({"a": np.arange(3.0), "b": [np.zeros((2, 0)), np.ones((2, 1))]}, arrays)
    assert np.shape(checkpoint.unpacked(record, arrays)["b"][0]) == (2, 0)
    for wrong in ([record["a"], record["a"]], {"@": [0, [0, 10**9]]}, {"@": [0, [-1]]}):
        with pytest.raises(ValueError, match="an array"):
            checkpoint.unpacked(wrong, arrays)


def _signed(path, change):
    """Another file: its record and arrays are changed, and its checksum is right again."""
    with np.load(path) as found:
        arrays = dict(found)
    meta = json.loads(bytes(arrays.pop("meta")))
    change(meta, arrays)
    meta["checksum"] = checkpoint._checksum(meta, arrays)
    other = path.with_suffix(".other")
    with other.open("wb") as file:
        np.savez(file, **arrays, meta=np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8))
    return other


@pytest.fixture
def stretches(monkeypatch):
    """Runs of many stretches, so that files hold more than a beginning."""
    for module in (native, implicit, lanes):
        monkeypatch.setattr(module, "WORK", 1)


def _halved(meta, arrays):
    arrays["t"], arrays["x"] = arrays["t"][::2], arrays["x"][..., ::2, :]


def _doubled(meta, arrays):
    arrays["t"], arrays["x"] = np.insert(arrays["t"], 3, arrays["t"][3]), np.insert(arrays["x"], 3, 0.0, axis=-2)


def _set(name, change):
    return lambda meta, arrays: arrays.update({name: change(arrays[name])})


def _put(*place):
    def change(meta, arrays):
        *path, last, value = place
        for name in path:
            meta = meta[name]
        meta[last] = value

    return change


OPEN_CHANGES = {
    "fewer samples": _halved,
    "a sample twice": _doubled,
    "other instants": _set("t", lambda t: t + 1e-3 * (t > 0.1)),
    "samples of another kind": _set("x", lambda x: x.astype(bool)),
    "samples that are no numbers": _set("x", lambda x: x * np.nan),
    "no state": _set("x_now", lambda x: x * np.nan),
    "quaternion of length 2": _set("x_now", lambda x: x * np.repeat([1.0, 2.0, 1.0], [3, 4, 6])),
    "asked instants": lambda meta, arrays: arrays.update(instants=arrays["t"][::-1].copy()),
    "signals from later on": _set("log_t", lambda t: 0.1 * np.ones_like(t)),
    "no time of signals": _set("log_t", lambda t: t * np.nan),
    "pairs of no states": _put("flow", "second", [["q", "nothing"]]),
    "units that are no texts": _put("flow", "units", {"q": [5]}),
    "steps below none": _put("statistics", {"steps": -10}),
    "an end that was not reached": _put("end", 0.7),
    "other steps": _put("settings", "step", 0.011),
    "more samples than memory": _put("spacing", 5e-8),
    "labels of fewer components": _put("flow", "labels", {"qd": ["a"]}),
    "labels that are a text": _put("flow", "labels", {"qd": "abcdef"}),
    "events of no rules": _put("happened", [[0.1, "x", ""]]),
    "rates that end too early": lambda meta, arrays: (
        meta.update(segments=[{"start": 0}]), arrays.update({"segment0.rates": np.zeros((2, arrays["x"].shape[-1]))})
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", OPEN_CHANGES.values(), ids=OPEN_CHANGES)
def test_states_that_no_run_has_are_refused_behind_a_right_checksum(change, tmp_path, stretches):
    path = tmp_path / "run.npz"
    simulate(brick(), 0.5, 0.01, qd0=[0.0, 0.0, 0.0, 1.0, 2.0, 3.0], samples=11, checkpoint=path)
    with pytest.raises(FormatError, match="damaged"):
        resume(_signed(path, change), 0.1)
    resume(_signed(path, lambda meta, arrays: None), 0.1)


def _without(name):
    return lambda meta, arrays: arrays.pop(name)


CONSTANT = dict(inputs={"joint1": 0.5})
TABLE = dict(inputs={"joint1": ([0.0, 0.1, 0.3], [0.5, 1.0, 2.0], "hold")})
GENERAL = dict(method="generalized_alpha")
EVENT = dict(events=[When("down", "q.joint1 - 0.2", direction=-1, reset={"qd.joint1": "-qd.joint1"})])
CHOSEN = dict(step=None, rtol=1e-4)
OWN_CHANGES = {
    "no inputs": (CONSTANT, _put("lines", [])),
    "another constant": (CONSTANT, _set("held", lambda u: 2 * u)),
    "signals that were no numbers": (CONSTANT, _set("log_u", lambda u: u * np.nan)),
    "a constant that is no number": (CONSTANT, _set("line0.values", lambda u: u * np.inf)),
    "values of another table": (TABLE, _set("held", lambda u: u + 1)),
    "a table of whole numbers": (TABLE, _set("line0.values", lambda u: u.astype(int))),
    "a table that may be held": (TABLE, _put("lines", 0, "hold", 1)),
    "a table at another instant": (TABLE, _set("memory.now", lambda t: t + np.inf)),
    "a method without its instant": (GENERAL, _without("memory.t")),
    "a method at another instant": (GENERAL, _set("memory.t", lambda t: 0 * t)),
    "a method at another state": (GENERAL, _set("memory.state", lambda x: x + 1)),
    "a method that remembers more": (GENERAL, _set("memory.memory", lambda x: x[None])),
    "an event of the future": (EVENT, _put("happened", 0, 0, 1e5)),
    "an event that was not counted": (EVENT, _put("happened", [])),
    "an event at another instant": (EVENT, _set("memory.now", lambda t: t - 0.1)),
    "steps backwards": (EVENT, _set("memory.h", lambda h: h - 1)),
    "a run that has not begun": (EVENT, _set("memory.begun", lambda k: 0 * k)),
    "many next steps": (CHOSEN, lambda meta, arrays: arrays.update({"memory.next": np.zeros(3)})),
    "a next step that is no number": (CHOSEN, lambda meta, arrays: arrays.update({"memory.next": np.array(np.nan)})),
}  # fmt: skip


@pytest.mark.parametrize(("options", "change"), OWN_CHANGES.values(), ids=OWN_CHANGES)
def test_what_inputs_and_methods_remember_is_of_the_same_run(options, change, tmp_path, stretches):
    path = tmp_path / "run.npz"
    whole = simulate(
        load("pendulum2"), 0.6, **{"step": 0.01, "q0": [0.3, 0.1], "samples": 11, **options}, checkpoint=path
    )
    with pytest.raises(FormatError, match="damaged"):
        resume(_signed(path, change), 0.1)
    assert (resume(_signed(path, lambda meta, arrays: None), 0.0).q == whole.q).all()


def test_a_batch_is_not_resumed_by_a_method_for_one_state(tmp_path, stretches):
    path = tmp_path / "run.npz"
    simulate(oscillator(), 0.1, 0.01, q0=[[1.0], [2.0]], checkpoint=path)
    with pytest.raises(FormatError, match="go apart"):
        resume(_signed(path, _put("settings", "method", "bdf")), 0.1)


def test_a_controller_is_asked_at_its_next_tick_alone(tmp_path, stretches):
    q = symbols("q")
    law = System("law", inputs={"q.z": q}, outputs={"tau": -q}, clocks={"period": 0.02})
    path = tmp_path / "run.npz"
    bounce = When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.9*qd.z"})
    simulate(ball(), 0.9, 0.01, q0=[1.0], inputs={"z": law}, events=[bounce], samples=11, checkpoint=path)
    for ticks in (2**40, 2**63 - 1):
        with pytest.raises(FormatError, match="tick"):
            resume(_signed(path, _set("ticks", lambda j, ticks=ticks: np.full_like(j, ticks))), 0.1)


def _member(name, value):
    return _put("closed", "members", 0, name, value)


def _moved(meta, arrays):
    """The state, off the closed loops."""
    first, shape = meta["closed"]["members"][0]["x"]["@"]
    arrays["numbers"][first : first + shape[0]] += 0.01


def _last_samples(meta, arrays):
    member = meta["closed"]["members"][0]
    first, (count,) = member["samples"][0]["@"]
    arrays["numbers"][first + 1 : first + count] = arrays["numbers"][first]


def _whole_numbers(meta, arrays):
    meta["closed"]["members"][0]["samples"][0] = {"@": [[0, 0, 0, 0, 0], "<i8"]}


CLOSED_CHANGES = {
    "instants of another type": _whole_numbers,
    "an event of nothing": _member("events", [[0.1, "x", ""]]),
    "an open loop": _moved,
    "samples twice": _last_samples,
    "another method": _member("method", "euler"),
    "events of no rules": _member("happened", [[1], [0.1], []]),
    "events without names": _member("events", [[0.1, 5, None]]),
    "rates of samples before the first": _member("segments", [[-3, 0, None]]),
    "rates of later samples alone": _member("segments", [[10**9, 0, None]]),
    "a way from the end": _member("way", -1),
    "steps below none": _member("counts", {"steps": -5}),
    "no texts": _member("notes", "notes"),
}


@pytest.mark.parametrize("change", CLOSED_CHANGES.values(), ids=CLOSED_CHANGES)
def test_states_that_no_closed_run_has_are_refused_behind_a_right_checksum(change, tmp_path, stretches):
    path = tmp_path / "run.npz"
    simulate(load("four_bar"), 0.2, 0.01, samples=5, qd0={"crank": 2.0}, checkpoint=path)
    with pytest.raises(FormatError, match="damaged"):
        resume(_signed(path, change), 0.1)
    resume(_signed(path, lambda meta, arrays: None), 0.1)


def test_resume_from_a_trajectory_leaves_it_as_it_is():
    half = simulate(oscillator(), 1.0, 0.01, q0=[1.0])
    before = half.q.copy()
    first, second = resume(half, 1.0), resume(half, 1.0)
    assert (first.q == second.q).all()
    assert (half.q == before).all()
    assert len(half) == 101
    assert (resume(resume(half, 0.5), 0.5).q == first.q).all()
    with pytest.raises(DefinitionError, match="duration"):
        resume(half, -1.0)
    with pytest.raises(DefinitionError, match="simulate"):
        resume(half.replace(run=None), 1.0)


@pytest.mark.parametrize(
    "options",
    [{"inputs": {"tau": lambda t, q, qd: -0.3 * qd}, "step": 0.01, "period": 0}, {"step": 0.01, "samples": 7}, {}],
    ids=["period 0", "few samples", "adaptive"],
)
def test_checkpoints_of_unusual_settings_are_accepted(tmp_path, options):
    """What the checks of a file refuse must be nothing that a run can have."""
    mech, path = load("pendulum2"), tmp_path / "run.npz"
    first = simulate(mech, 0.4, q0=[1.0, 0.2], checkpoint=path, **options)
    again = {"inputs": options["inputs"]} if "inputs" in options else {}
    assert np.array_equal(resume(path, 0.4, **again).q, resume(first, 0.4).q)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("name", kill_runs.NAMES)
def test_a_killed_run_goes_on_as_if_it_had_never_stopped(name):
    assert kill_runs.kill_runs(name, 5) > 0


# -- closed mechanisms: their equations change on the way


def _same_run(again, whole):
    assert again.outcome is whole.outcome
    assert (again.t == whole.t).all()
    for name, values in whole.values.items():
        np.testing.assert_array_equal(again[name], values, err_msg=name)
    told = [[(e.t, e.name, e.text, e.member) for e in run.events] for run in (again, whole)]
    assert told[0] == told[1]
    assert again.notes == whole.notes


SLOWER = When("slower", "q.crank - 2", reset={"qd.crank": "0.9*qd.crank"})
CLOSED = {
    "one": {},
    "steps": dict(step=1e-3),
    "multipliers": dict(closing=sb.Augmented()),
    "batch": dict(qd0={"crank": np.array([4.0, 5.0, 8.0])}),
    "own constants": dict(inputs={"crank": np.array([0.1, 0.2])}),
    "event": dict(events=[SLOWER]),
    "table": dict(inputs={"crank": ([0, 0.3, 2], [0, 1, -1])}),
    "recorded": dict(outputs=["energy"], parameters={}),
}


@pytest.mark.parametrize("case", CLOSED)
def test_closed_mechanisms_are_resumed_to_the_bit(case, tmp_path):
    # the slide is no independent joint where crank and rod stand in line, which comes after the file was written
    options = dict(q0={"crank": 1.0}, qd0={"crank": 5.0}, closing=["slide"]) | CLOSED[case]
    mech, samples = slider_crank(0.2, 0.5), {} if "step" in options else {"sampling": 9}
    whole = simulate(mech, 0.5, **options, **samples)
    part = simulate(mech, 0.125, checkpoint=tmp_path / "half", **options, **dict.fromkeys(samples, 3))
    if case != "multipliers":
        assert part.statistics.get("partitions", 0) < whole.statistics["partitions"]
    _same_run(resume(part, 0.375), whole)
    _same_run(resume(tmp_path / "half", 0.375), whole)


def test_a_batch_of_closed_mechanisms_goes_on_from_any_of_its_checkpoints(tmp_path, monkeypatch):
    mech = five_bar()
    q = sb.assemble(mech, [2.2, -1.53337591, 0.9, 1.56706369], fixed=["a1", "b1"])
    qd = sb.closure(mech, partition=["a1", "b1"]).compile()(q, [1.66940919, 0, -0.79089627, 0]).qd
    options = dict(q0=np.repeat(q[None], 5, axis=0), qd0=np.linspace(0.9, 1.1, 5)[:, None] * qd, sampling=5)
    whole = simulate(mech, 0.4, **options)
    files = []

    def save(run, path):
        files.append(tmp_path / f"{len(files)}")
        return written(run, files[-1])

    written = checkpoint.save_checkpoint
    monkeypatch.setattr(checkpoint, "save_checkpoint", save)
    monkeypatch.setattr(verbs, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(ensemble, "GROUP", 2)  # some members are done, some on their way, some not begun
    simulate(mech, 0.4, checkpoint=tmp_path / "run", **options)
    monkeypatch.undo()
    assert len(files) > 20
    _same_run(resume(files[len(files) // 2]), whole)


def test_what_a_file_cannot_hold_is_said_before_a_closed_run(tmp_path):
    event = When("jump", "q.crank - 2", reset={"qd.crank": symbols("speed")})
    with pytest.raises(DefinitionError, match=r"'jump' holds .*, which a checkpoint cannot"):
        simulate(slider_crank(0.2, 0.5), 1e9, events=[event], checkpoint=tmp_path / "run")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_numbers_of_numpy_are_kept_as_those_of_python(tmp_path, closed):
    mech = load("four_bar") if closed else load("pendulum2")
    joint = "crank" if closed else "joint1"
    turn = When("turn", f"q.{joint} - 0.1", np.int64(-1), {f"qd.{joint}": np.float32(0.5)}, limit=np.int64(9))
    numbers = dict(t0=np.int64(0), period=np.float32(0.01), max_steps=np.int64(999), threads=np.int64(1))
    numbers |= dict(rtol=np.float32(1e-6), atol=np.longdouble(1e-6), slow=np.float32(0.01), samples=np.int64(3))
    inputs, parameters = {joint: np.longdouble(0.1)}, {"m1": np.longdouble(1.5)}
    whole = simulate(
        mech, np.float32(0.1), np.float32(0.01), events=[turn], inputs=inputs, parameters=parameters,
        checkpoint=tmp_path / "run", **numbers,
    )  # fmt: skip
    assert (resume(tmp_path / "run", 0.0).q == whole.q).all()


def test_what_a_file_cannot_hold_is_said_before_an_open_run(tmp_path):
    x = symbols("x")
    function = External("outside", 1, 1, np.cos)
    system = System("outside", inputs={"x": x}, outputs={"x_dot": extern(function, x)}, states={"x": "x_dot"})
    with pytest.raises(DefinitionError, match="external function 'outside', which a checkpoint cannot hold"):
        simulate(system, 1.0, 0.01, checkpoint=tmp_path / "run")
    asked = []
    rule = When("turn", lambda t, values: asked.append(t) or values["q"][0])
    with pytest.raises(DefinitionError, match="which a checkpoint cannot"):
        simulate(oscillator(), 1.0, 0.01, q0=[1.0], events=[rule], checkpoint=tmp_path / "run")
    assert not asked


def test_functions_of_closed_runs_are_given_again(tmp_path):
    mech, control = slider_crank(0.2, 0.5), lambda t, q, qd: -0.2 * qd[:1]
    options = dict(step=1e-2, qd0={"crank": 5.0}, inputs={"crank": control}, sampling=sb.Sampling(period=0.02))
    whole = simulate(mech, 0.4, **options)
    simulate(mech, 0.2, checkpoint=tmp_path / "run", **options)
    with pytest.raises(DefinitionError, match="'crank'"):
        resume(tmp_path / "run", 0.2)
    with pytest.raises(DefinitionError, match="arguments"):
        resume(tmp_path / "run", 0.2, inputs={"crank": np.sin})
    _same_run(resume(tmp_path / "run", 0.2, inputs={"crank": control}), whole)


def test_a_file_of_other_equations_is_refused(tmp_path, monkeypatch):
    simulate(slider_crank(0.2, 0.5), 0.1, qd0={"crank": 5.0}, checkpoint=tmp_path / "run")
    monkeypatch.setattr(closed_checkpoint, "equations_of", lambda flow: "others")
    with pytest.raises(FormatError, match="other equations"):
        resume(tmp_path / "run", 0.1)
