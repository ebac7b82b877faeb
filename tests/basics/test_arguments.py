"""Wrong arguments of every verb: a sentence of symbody, never an error from far inside."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import numpy as np
import pytest

import symbody as sb
from symbody.basics.arguments import declared
from symbody.basics.errors import DefinitionError, SymbodyError
from symbody.model.record.mechanism import Mechanism
from symbody.studies.control.frequency import frequency_response
from symbody.studies.control.measured_response import experimental_response
from symbody.studies.control.placement import lqr, place
from symbody.studies.control.time_response import step_response, time_response
from symbody.studies.identification.data_files import read_series
from symbody.studies.identification.filtering import prepare
from symbody.studies.identification.identified import identified_mechanism
from symbody.studies.identification.linear_inverse import inverse_model
from symbody.studies.identification.recursive import RecursiveLS
from symbody.studies.identification.series import Series
from symbody.studies.inverse.point_to_point import point_to_point

WRONG = [None, 3.5, "nothing", [None], {"nothing": None}, object(), np.zeros((2, 2, 2)), print]
# where anything may be given: not looked at by the signature, and told by the verb itself
LEFT_OUT = {"title", "progress"}
VERBS = sorted(name for name in sb.__all__ if getattr(getattr(sb, name), "__wrapped__", None) is not None)


def test_every_verb_is_among_them():
    assert {"simulate", "linearize", "inverse_dynamics", "kinematics", "load", "save", "write_report"} <= set(VERBS)
    assert len(VERBS) > 30


@pytest.fixture(scope="module")
def given():
    arm = sb.load("pendulum2")
    motion = sb.simulate(arm, 0.01)
    return {"mech": arm, "mechanism": arm, "duration": 0.01, "targets": {"rod2": [0, 0, -1]}, "source": motion,
            "trajectory": motion, "path": "out.html", "states": 1}  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_a_wrong_argument_is_a_sentence(verb, given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function = getattr(sb, verb)
    signature = inspect.signature(function).parameters.values()
    parameters = [p for p in signature if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    needed = {p.name: given.get(p.name, {}) for p in parameters if p.default is p.empty}
    few = {"states": 1} if verb == "verify" else {"equations": None} if verb == "write_report" else {}
    for p in parameters:
        # what is written to a file, certified or drawn takes long, and is the same for the rest
        if p.name in LEFT_OUT or (verb in ("verify", "write_report") and p.default is not p.empty):
            continue
        for value in WRONG:
            try:
                function(**{**needed, **few, p.name: value})
            except SymbodyError:
                continue
            except Exception as error:
                raise AssertionError(f"{verb}({p.name}={value!r})") from error


def test_an_error_of_another_is_left_as_it_is():
    @declared
    def verb(mech: Mechanism, names: Sequence[str] = (), count: int = 1) -> None:
        raise ValueError("from inside")

    arm = sb.load("pendulum2")
    with pytest.raises(ValueError, match="from inside"):
        verb(arm, ["a"], 2)
    with pytest.raises(DefinitionError, match=r"verb: names=\[1\]; expected a list of names\.") as told:
        verb(arm, [1])
    assert isinstance(told.value.__cause__, ValueError)
    with pytest.raises(DefinitionError, match=r"count=1\.5; expected a whole number"):
        verb(arm, count=1.5)
    with pytest.raises(DefinitionError, match="expected a Mechanism"):
        verb("arm")
    with pytest.raises(TypeError, match="missing"):
        verb()


def test_functions_of_modules_tell_wrong_arguments_too(tmp_path):
    arm = sb.load("pendulum2")
    series = Series(np.arange(9.0), {"q": np.zeros((9, 2))})
    (tmp_path / "record.csv").write_text("t,q.a\n0,1\n1,2\n2,4\n")
    for call in (
        lambda: inverse_model("arm"), lambda: inverse_model(arm, laws=3), lambda: prepare("series"),
        lambda: point_to_point("arm", [0, 0], [1, 1]), lambda: point_to_point(arm, [0, 0], [1, 1], duration="long"),
        lambda: experimental_response([1, 2], [1, 2], 0.1, segment="x"), lambda: prepare(series, period="x"),
        lambda: read_series(tmp_path / "record.csv", labels=3), lambda: identified_mechanism(3),
    ):  # fmt: skip
        with pytest.raises(SymbodyError):
            call()


def test_numbers_of_linear_models_and_of_estimates_are_numbers():
    line = sb.linearize(sb.load("pendulum2")).state_space
    series = Series(np.arange(9.0), {"q": np.zeros((9, 2))})
    recursive = RecursiveLS(2)
    run = sb.differentiable(sb.load("pendulum2"), 0.02, ["m1"], of=["q.joint1"], step=0.01)
    t, day = np.linspace(0, 1, 5), np.datetime64("2020-01-01")
    for call in (
        lambda: line.channel([0.5]), lambda: line.channel(True), lambda: line.channel(1.5),
        lambda: place(line, ["x"]), lambda: lqr(line, "x", 1), lambda: lqr(line, 1, [[1], [1, 2]]),
        lambda: time_response(line, "x"), lambda: time_response(line, t, x0=[1, 2]), lambda: step_response(line, [day]),
        lambda: frequency_response(line, {}), lambda: experimental_response(np.zeros(9), [1j] * 9, 0.1),
        lambda: series.folds(-1), lambda: series.folds("x"), lambda: Series([day, day], {}), lambda: Series([0, 1], 3),
        lambda: RecursiveLS(2, spread=np.nan), lambda: RecursiveLS(2, start=[np.nan, 1]),
        lambda: recursive.update([1, 2], [day]), lambda: recursive.update([1, 2], [1], sigma=0.0),
        lambda: run.gradient(weights=np.nan), lambda: run.gradient(weights=day), lambda: run.gradients("x"),
        lambda: run.hessian_vector([1.0], ["x"]), lambda: sb.modes(sb.load("pendulum2")).largest(-1),
        lambda: sb.BondGraph.load("rlc").in_mode(3),
    ):  # fmt: skip
        with pytest.raises(SymbodyError):
            call()
