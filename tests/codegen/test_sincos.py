"""Sine and cosine of native code: accuracy against exact values, and the same bits in scalar and vector code."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from symbody.codegen.kernel.compile_program import compile_program
from symbody.codegen.kernel.native_kernel import NativeKernel as Kernel
from symbody.symbolic.lower.program import OutputPort, Program
from symbody.symbolic.system.ports import Port


def kernel_of(functions: tuple[str, ...], **options: object) -> Kernel:
    ops = ["input", *functions]
    args = [(0,), *((0,) for _ in functions)]
    outputs = tuple(OutputPort(f, (), (i + 1,)) for i, f in enumerate(functions))
    program = Program("trig", (Port("x", (), 0),), (), outputs, ops, args, [], [], list(range(1, len(ops))))
    return compile_program(program, cache=False, **options)


@pytest.fixture(scope="module", params=[True, False], ids=["fma", "no fma"])
def fused(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def both(fused: bool) -> Kernel:
    return kernel_of(("sin", "cos"), fma=fused)


def samples() -> np.ndarray:
    """Angles of every kind below the limit of the fast way."""
    rng = np.random.default_rng(7)
    n = rng.integers(-63661, 63661, 1500)
    near = n * (math.pi / 2)
    for _ in range(2):
        near = np.concatenate([near, np.nextafter(near, np.inf)])
    exact = np.array([float(mpmath.mpf(int(k)) * mpmath.pi / 2) for k in n[:300]])
    return np.concatenate([
        rng.uniform(-1, 1, 1500), rng.uniform(-10, 10, 1500), rng.uniform(-1e5, 1e5, 1500),
        near[np.abs(near) < 1e5], exact, near[:500] + rng.uniform(-1e-9, 1e-9, 500),
        10.0 ** rng.uniform(-300, 4.9, 500), -(10.0 ** rng.uniform(-20, 0, 500)),
        np.array([5e-324, -5e-324, 1e-310, 1e5, np.nextafter(1e5, 0), -np.nextafter(1e5, 0), math.pi, math.pi / 4]),
    ])  # fmt: skip


def errors(value: np.ndarray, exact: list[mpmath.mpf]) -> np.ndarray:
    """Errors in units of the last place of the exact value."""
    return np.array([
        float(abs(mpmath.mpf(float(v)) - e) / mpmath.mpf(math.ulp(float(e)))) for v, e in zip(value, exact, strict=True)
    ])  # fmt: skip


def test_error_stays_below_one_unit_in_the_last_place(both: Kernel) -> None:
    x = samples()
    with mpmath.workprec(200):
        s, c = both(x)
        points = [mpmath.mpf(float(v)) for v in x]
        assert errors(s, [mpmath.sin(p) for p in points]).max() < 1.0
        assert errors(c, [mpmath.cos(p) for p in points]).max() < 1.0


def test_large_angles_go_to_the_c_library(both: Kernel) -> None:
    rng = np.random.default_rng(3)
    x = np.concatenate([10.0 ** rng.uniform(5, 308, 200), [1e22, 1.7e308, 1e5, -1e5]])
    s, c = both(x)
    assert np.array_equal(s, [math.sin(v) for v in x])
    assert np.array_equal(c, [math.cos(v) for v in x])


def test_one_wild_lane_leaves_its_neighbours_alone(both: Kernel) -> None:
    x = np.linspace(-3, 3, 8)
    calm = both(x)
    for lane in range(8):
        for wild in (1e9, math.inf, math.nan):
            y = x.copy()
            y[lane] = wild
            for a, b in zip(both(y), calm, strict=True):
                others = np.arange(8) != lane
                assert np.array_equal(a[others], b[others])
                assert np.isnan(a[lane]) or wild == 1e9


def test_special_values(both: Kernel) -> None:
    x = np.array([0.0, -0.0, math.inf, -math.inf, math.nan])
    for s, c in (both(x), both(x, lanes=1)):
        assert np.array_equal(np.signbit(s[:2]), [False, True])
        assert np.all(s[:2] == 0)
        assert np.all(c[:2] == 1)
        assert np.isnan(s[2:]).all()
        assert np.isnan(c[2:]).all()


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_lanes_tiers_and_single_functions_give_the_same_bits(both: Kernel, fused: bool, lanes: int) -> None:
    x = np.concatenate([samples()[:3000], [1e7, math.inf, math.nan, -0.0]])
    reference = np.stack(both(x, lanes=1)).view(np.int64)
    assert np.array_equal(np.stack(kernel_of(("sin", "cos"), fma=fused, lanes=lanes)(x)).view(np.int64), reference)
    if lanes == 8:
        for level in ("quick", "optimized"):
            for i, f in enumerate(("sin", "cos")):
                alone = kernel_of((f,), fma=fused, level=level)
                assert np.array_equal(alone(x).view(np.int64), reference[i])
