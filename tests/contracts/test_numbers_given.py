"""Numbers that callers give: what NumPy would bend into floats is refused."""

from __future__ import annotations

import gc
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symbody as sb

BENT = {
    "imaginary parts": np.array([1 + 5j, 2]),
    "a scalar with one": np.complex128(1 + 5j),
    "dates": np.array(["2020", "2021"], "M8[Y]"),
    "masks": np.ma.array([0.1, 0.2], mask=[False, True]),
    "beyond doubles": [10**400, 1],
}
MECH = sb.load("pendulum2")
X = sb.symbols("x")
USES = {
    "q0": lambda v: sb.simulate(MECH, 0.05, 0.01, q0=v),
    "by name": lambda v: sb.simulate(MECH, 0.05, 0.01, q0={"joint1": v}),
    "input": lambda v: sb.simulate(MECH, 0.05, 0.01, inputs={"tau": v}),
    "function": lambda v: sb.simulate(MECH, 0.05, 0.01, inputs={"tau": lambda t: v}),
    "parameter": lambda v: sb.simulate(MECH, 0.05, 0.01, parameters={"m1": v}),
    "duration": lambda v: sb.simulate(MECH, v, 0.01),
    "samples": lambda v: sb.simulate(MECH, 0.05, sampling=v),
    "linearize": lambda v: sb.linearize(MECH, q0=v),
    "default": lambda v: sb.System("s", {}, {"f": X}, {"x": X}, defaults={"x": v}),
    "symbol": lambda v: sb.symbol("p", "parameter", default=v),
    "table": lambda v: sb.table(X, [0, 1], v),
    "show": lambda v: MECH.show(v),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("value", BENT)
def test_what_is_no_real_number_is_refused(use: str, value: str) -> None:
    with pytest.raises(sb.SymbodyError):
        USES[use](BENT[value])


@pytest.mark.parametrize("number", [np.float32, np.float16, np.int64, Fraction, Decimal])
@pytest.mark.parametrize("model", ["pendulum2", "four_bar"])
def test_numbers_of_other_kinds_are_those_of_python(number: Any, model: str, tmp_path: Path) -> None:
    """Single ones of NumPy would round what they meet, and a checkpoint that could not be written ended the run."""
    path = tmp_path / "run.npz"
    whole = np.int64 if number is np.float32 else int
    events = [sb.When("pass", "t - 0.5", direction=whole(1), limit=whole(9), slowest=number(0))]
    given = dict(t0=number(1), tolerance=sb.Tolerance(number(1), number(2)), sampling=sb.Sampling(whole(3), number(1)),
                 max_steps=whole(99), threads=whole(1), slow=number(1), events=events)  # fmt: skip
    half = sb.simulate(sb.load(model), number(2), number(1), checkpoint=path, **given)
    same = sb.simulate(sb.load(model), 2.0, 1.0, t0=1.0, tolerance=sb.Tolerance(1.0, 2.0), sampling=3)
    assert np.array_equal(half.q, same.q)
    assert np.array_equal(sb.resume(path).q, same.q)


@pytest.mark.parametrize("number", [np.float32, np.int64])
def test_a_checkpoint_holds_what_events_set(number: Any, tmp_path: Path) -> None:
    hit = sb.When("hit", "t - 0.05", reset={"qd.joint1": number(2)})
    run = sb.simulate(MECH, 0.1, 0.01, events=[hit], checkpoint=tmp_path / "run.npz")
    assert np.array_equal(sb.resume(tmp_path / "run.npz").q, run.q)


def test_tables_are_made_of_what_can_be_gone_through() -> None:
    rows = {0.0: 1.0, 2.0: 5.0}
    for values in (rows.values(), iter([1.0, 5.0]), np.array([1, 5]), (1, 5)):
        assert sb.evaluate(sb.table(X, rows.keys(), values), {X: 1.0}) == 3.0
    with pytest.raises(sb.SymbodyError, match="expected numbers"):
        sb.table(X, [0, 1], rows)


def test_samples_at_one_instant_are_refused_before_the_run() -> None:
    """The second one lies behind the end by a rounding: the checkpoint of such a run could not be read."""
    with pytest.raises(sb.SymbodyError, match="ascending"):
        sb.simulate(MECH, 1.0, 0.1, sampling=[0.5, 1.0, 1.0 + 1e-10])
    assert sb.simulate(MECH, 1.0, 0.1, sampling=[0.5, 1.0 + 1e-10]).t.tolist() == [0.5, 1.0]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_drawing_needs_finite_coordinates(value: float) -> None:
    with pytest.raises(sb.SymbodyError, match="expected finite numbers"):
        MECH.show([value, 1.0])


@pytest.mark.parametrize(
    ("field", "value"),
    [("limit", 2.7), ("limit", "3"), ("slowest", float("nan")), ("slowest", None), ("reset", ["q.1"]), ("rest", 1.0),
     ("direction", np.ones(2)), ("name", 3)],
)  # fmt: skip
def test_events_have_what_they_say(field: str, value: Any) -> None:
    with pytest.raises(sb.SymbodyError, match="expected"):
        sb.When(**{"name": "hit", "guard": "q.1", field: value})


def test_lists_are_evaluated_as_arrays() -> None:
    """They were joined."""
    y = sb.symbols("y")
    assert np.array_equal(sb.evaluate(X + y, {X: [1, 2], y: (3.0, 4.0)}), [4.0, 6.0])
    with pytest.raises(sb.SymbodyError, match="different lengths"):
        sb.evaluate(X + y, {X: [[1, 2], [3]], y: 1.0})
    with pytest.raises(sb.SymbodyError, match="beyond all doubles"):
        sb.evaluate(X, {X: 10**400})


def test_texts_are_texts() -> None:
    for call in (sb.symbols, sb.symbol, sb.parse, lambda name: sb.System(name, {"x": X}, {"f": X})):
        with pytest.raises(sb.SymbodyError, match="expected"):
            call(3.5)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="lists what is loaded")
def test_compiled_c_is_unloaded_with_its_kernel() -> None:
    def loaded() -> int:
        gc.collect()
        return Path("/proc/self/maps").read_text().count("symbody_c_")

    before = loaded()
    kernel = sb.System("s", {"x": X}, {"f": sb.sin(X)}).compile("c")
    bound = kernel.bind()
    assert loaded() > before
    del kernel
    assert bound(0.5) == pytest.approx(np.sin(0.5))
    del bound
    assert loaded() == before
