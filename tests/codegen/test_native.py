"""Native code against the interpreter, and against itself: lanes, threads, tiers and chunk sizes give the same bits."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from helpers.programs import CUBIC, Builder, arcsine, nested_roots, pendulum, random_inputs, random_program, square_root
from symbody.basics.errors import CompileError, NameLookupError, ShapeError, SolveError
from symbody.codegen.kernel.compile_program import compile_program
from symbody.codegen.kernel.native_kernel import NativeKernel as Kernel
from symbody.codegen.llvm import chunks as partition
from symbody.symbolic.expr.external import External, Piecewise
from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.lower.fuse import fuse_multiply_add
from symbody.symbolic.lower.interpret import interpret
from symbody.symbolic.lower.program import Program


def native(program: Program, **options: Any) -> Kernel:
    return compile_program(program, cache=False, **options)


def bits(result: Any) -> np.ndarray:
    arrays = result if isinstance(result, tuple) else (result,)
    return np.concatenate([np.asarray(a, dtype=float).ravel() for a in arrays]).view(np.int64)


def same(a: Any, b: Any) -> bool:
    return np.array_equal(bits(a), bits(b))


def agrees(result: Any, expected: dict[str, np.ndarray], tolerance: float = 1e-9) -> bool:
    arrays = result if isinstance(result, tuple) else (result,)
    return all(
        np.allclose(a, e, rtol=tolerance, atol=tolerance, equal_nan=True)
        for a, e in zip(arrays, expected.values(), strict=True)
    )


# -- against the interpreter, and among the ways to run


@pytest.mark.parametrize("seed", [*range(11), 19])
def test_random_programs_agree_with_the_interpreter_in_every_way_to_run_them(seed: int) -> None:
    program = random_program(seed, size=40 + 15 * seed, blocks=seed % 4)
    x = random_inputs(program, seed, (19,))
    expected, status = interpret(program, x, status=True)
    kernel = native(program)
    result, outcome = kernel.call_with_status(*x)
    assert agrees(result, expected)
    assert np.array_equal(outcome > 0, status > 0)
    for other in (
        kernel.call_with_status(*x, lanes=1),
        kernel.call_with_status(*x, threads=3),
        native(program, level="quick").call_with_status(*x),
        native(program, lanes=4).call_with_status(*x),
        native(program, lanes=2).call_with_status(*x),
    ):
        assert same(other[0], result)
        assert np.array_equal(other[1], outcome)
    for i in range(19):
        one, k = kernel.call_with_status(*(a[i] for a in x))
        assert same(one, tuple(a[i] for a in result))
        assert np.array_equal(k, outcome[i])


@pytest.mark.parametrize("size", [1, 5, 40])
def test_chunk_size_does_not_change_a_bit(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = [random_program(s, size=150, blocks=3) for s in (101, 102)]
    whole = [native(p) for p in programs]
    monkeypatch.setattr(partition, "CHUNK", size)
    monkeypatch.setattr(partition, "WHOLE", 0)
    for program, kernel in zip(programs, whole, strict=True):
        x = random_inputs(program, 5, (9,))
        cut = native(program)
        assert cut.signature.layout.main_frame > kernel.signature.layout.main_frame
        assert same(cut(*x), kernel(*x))
        assert same(cut(*x, lanes=1), kernel(*x))


def test_many_modules_run_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from symbody.codegen.llvm import modules as llvm_ir

    program = random_program(55, size=400, blocks=2)
    x = random_inputs(program, 5, (9,))
    expected = native(program)(*x)
    monkeypatch.setattr(partition, "CHUNK", 20)
    monkeypatch.setattr(partition, "WHOLE", 0)
    monkeypatch.setattr(llvm_ir, "MODULE", 100)
    assert same(native(program)(*x), expected)


def test_threads_and_ranges_give_the_same_bits() -> None:
    program = random_program(3, size=120, blocks=1, externals=False)
    x = random_inputs(program, 1, (1000,))
    kernel = native(program)
    expected = kernel(*x, threads=1)
    for threads in (2, 3, 7):
        assert same(kernel(*x, threads=threads), expected)
    with ThreadPoolExecutor(4) as pool:
        assert all(same(r, expected) for r in pool.map(lambda _: kernel(*x), range(8)))
        ones = list(pool.map(lambda i: kernel(*(a[i] for a in x)), range(300)))
    assert all(same(one, tuple(a[i] for a in expected)) for i, one in enumerate(ones))


def test_the_same_sine_may_stand_twice() -> None:
    b = Builder()
    (x,) = b.input("x")
    b.output("y", [b.make(op, x) for op in ("sin", "cos", "sin", "cos")])
    assert native(b.program())(np.array(0.5)).tolist() == native(b.program())(np.full(8, 0.5))[3].tolist()


def every_function() -> Program:
    b = Builder("functions")
    (x,), (y,) = b.input("x"), b.input("y")
    for op, row in FUNCTIONS.items():
        b.output(op, [b.make(op, *(x, y, x)[: row.arity])], ())
    b.output("select lt", [b.make("select", b.make("lt", x, y), y, x)], ())
    return b.program()


def test_every_function_on_special_values() -> None:
    program = every_function()
    kernel = native(program)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-310, 1e300, -1e300, math.inf, -math.inf, math.nan]
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    result = kernel(x, y)
    assert same(result, kernel(x, y, lanes=1))
    for i in range(len(x)):
        expected = interpret(program, [x[i], y[i]])
        for name, got in result._asdict().items():
            assert np.allclose(got[i], expected[name], rtol=1e-15, atol=0, equal_nan=True), (name, x[i], y[i])


def test_fused_operations_round_once_and_products_are_never_contracted() -> None:
    b = Builder()
    x, y, z = (b.input(n)[0] for n in "xyz")
    for sp in (1, -1):
        for sc in (1, -1):
            b.output(f"f{sp}{sc}", [b.make("add", x, x)], ())
            v = b.outputs[-1].values[0]
            b.ops[v], b.args[v] = "fma", (x, y, z, sp, sc)
    b.output("plain", [b.make("add", b.make("mul", x, y), z)], ())
    program = b.program()
    rng = np.random.default_rng(0)
    x_, y_ = 1 + rng.uniform(0, 1e-8, (2, 40))
    z_ = -x_ * y_
    expected = interpret(program, [x_, y_, z_])
    for fma in (True, False):
        # with fma=True the sum of a product would be fused at lowering: keep it apart here
        kernel = native(program, fma=fma)
        result = kernel(x_, y_, z_)
        assert same(result, kernel(x_, y_, z_, lanes=1))
        assert all(np.array_equal(result[i], e) for i, e in enumerate(list(expected.values())[:4]))
        assert np.any(result.plain != 0) if fma else np.all(result.plain == 0)


def test_a_machine_without_fused_operations_computes_the_same_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    from symbody.codegen.kernel import compile_program as module

    program = fuse_multiply_add(random_program(21, size=60, functions=False, tables=False))
    assert "fma" in program.ops
    x = random_inputs(program, 0, (9,))
    expected = native(program)(*x)
    host = module.host()
    monkeypatch.setattr(module, "host", lambda: replace(host, fma=False))
    assert agrees(native(program)(*x), expected._asdict(), 1e-13)


def test_fusion_is_the_one_of_lowering() -> None:
    program = random_program(8, size=100, blocks=1, functions=False, tables=False)
    x = random_inputs(program, 2)
    kernel = native(program)
    expected = interpret(fuse_multiply_add(program), x)
    without_block = [o.name for o in program.outputs]
    assert all(np.allclose(kernel(*x)[n], expected[n], rtol=1e-13) for n in without_block)


# -- solve blocks


def test_a_batch_marks_the_states_that_fail_and_a_single_call_raises() -> None:
    kernel = native(square_root())
    a = np.array([4.0, -1.0, 2.0, 9.0, math.nan, 0.25, 16.0, 1e3, 3.0])
    result, status = kernel.call_with_status(a)
    expected, told = interpret(square_root(), [a], status=True)
    assert np.array_equal(status, told)
    assert status.shape == (9, 1)
    bad = status[:, 0] < 0
    assert np.array_equal(bad, [False, True, False, False, True, False, False, False, False])
    for r, e in zip(result, expected.values(), strict=True):
        assert np.isnan(r[bad]).all()
        assert np.allclose(r[~bad], e[~bad], rtol=1e-14)
    assert same(kernel(a), result)
    assert same(kernel(a, lanes=1), result)
    with pytest.raises(SolveError, match=r"'root' of 'square_root'.*after 25 evaluations"):
        kernel(-1.0)
    with pytest.raises(SolveError, match="not finite"):
        kernel(np.array(math.nan))
    assert kernel.call_with_status(-1.0)[1].tolist() == [-25]


def test_an_angle_that_ran_away_is_no_solution() -> None:
    kernel = native(arcsine())
    a = np.array([0.3, math.pi / 2, -math.pi / 2, 1.0, 700.0, 1e5])
    found, status = kernel.call_with_status(a)
    expected, told = interpret(arcsine(), [a], status=True)
    assert np.array_equal(status, told)
    assert np.array_equal(np.isnan(found), [False, True, True, False, False, False])
    assert agrees(found, expected)
    assert same(found, kernel(a, lanes=1))


def test_nested_blocks() -> None:
    kernel = native(nested_roots())
    a = np.array([0.5, 2.0, 7.0, -3.0, 11.0])
    result, status = kernel.call_with_status(a)
    expected, told = interpret(nested_roots(), [a], status=True)
    assert agrees(result, expected)
    assert np.array_equal(status > 0, told > 0)
    assert same(result, kernel(a, lanes=1))


def test_a_block_solved_in_setup() -> None:
    b = Builder("setup_root")
    (a,), (q,) = b.parameter("a", (), (4.0,)), b.input("q")
    (x,) = b.open_block([b.make("add", b.const(1), a)], 0)
    residual = b.make("sub", b.make("mul", x, x), a)
    b.close_block("root", [residual], [b.make("neg", b.make("div", residual, b.make("add", x, x)))])
    b.output("y", [b.make("mul", x, q)], ())
    kernel = native(b.program())
    assert kernel(3.0) == pytest.approx(6.0)
    assert np.allclose(kernel(np.ones(5), parameters={"a": np.array([1.0, 4, 9, 16, -1])})[:4], [1, 2, 3, 4])
    _, status = kernel.call_with_status(1.0, parameters=[-4.0])
    assert status[0] < 0
    with pytest.raises(SolveError, match="root"):
        kernel(1.0, parameters=[-4.0])


# -- external functions and tables


def test_exceptions_of_external_functions_come_through() -> None:
    def picky(a: float) -> float:
        if a > 1:
            raise ZeroDivisionError("too large")
        return a

    b = Builder()
    (x,) = b.input("x")
    b.output("y", b.call(External("picky", 1, 1, function=picky), x), ())
    kernel = native(b.program())
    assert kernel(0.5) == 0.5
    with pytest.raises(ZeroDivisionError, match="too large"):
        kernel(2.0)
    with pytest.raises(ZeroDivisionError, match="too large"):
        kernel(np.linspace(0, 2, 20))
    with pytest.raises(ZeroDivisionError, match="too large"):
        kernel(np.linspace(0, 2, 2000), threads=2)
    assert kernel(np.linspace(0, 1, 20)).tolist() == np.linspace(0, 1, 20).tolist()


def test_external_by_address_and_results_read_far_from_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    import ctypes

    prototype = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double))

    @prototype
    def swap(given: Any, out: Any) -> None:
        out[0], out[1] = given[1], 2 * given[0]

    external = External("swap", 2, 2, address=ctypes.cast(swap, ctypes.c_void_p).value)
    b = Builder()
    x = b.input("x", (2,))
    r = b.call(external, *x)
    again = b.call(external, *r)
    b.output("y", [*r, *again, b.make("add", r[0], again[1])])
    monkeypatch.setattr(partition, "CHUNK", 1)
    monkeypatch.setattr(partition, "WHOLE", 0)
    kernel = native(b.program())
    batch = np.arange(22.0).reshape(11, 2)
    expected = np.stack([batch[:, 1], 2 * batch[:, 0], 2 * batch[:, 0], 2 * batch[:, 1], 3 * batch[:, 1]], axis=1)
    assert np.array_equal(kernel(batch), expected)
    assert np.array_equal(kernel(batch[3]), expected[3])


def test_an_external_without_code_is_refused() -> None:
    b = Builder()
    b.output("y", b.call(External("ghost", 1, 1), *b.input("x")), ())
    with pytest.raises(CompileError, match="ghost"):
        native(b.program())


def test_tables_at_and_beyond_their_ends() -> None:
    rng = np.random.default_rng(1)
    knots = tuple(np.sort(rng.uniform(-3, 3, 18)))
    table = Piecewise(knots, tuple(tuple(rng.uniform(-1, 1, 17)) for _ in range(4)))
    b = Builder()
    (x,) = b.input("x")
    b.output("y", [b.table(table, x)], ())
    b.output("z", [b.table(Piecewise((0.0, 1.0), ((2.0,), (1.0,))), x)], ())
    kernel = native(b.program())
    points = np.concatenate([knots, rng.uniform(-5, 5, 200), np.nextafter(knots, -9)])
    expected = interpret(b.program(), [points])
    result = kernel(points)
    assert all(np.array_equal(r, e) for r, e in zip(result, expected.values(), strict=True))
    assert same(result, kernel(points, lanes=1))


# -- arguments


@pytest.fixture(scope="module")
def pend() -> Kernel:
    return native(pendulum())


def torque(q: Any, qdd: Any, m: Any = 2.0, length: Any = 0.5, g: Any = 9.81) -> Any:
    return m * length * length * qdd + m * length * g * np.sin(q)


def test_parameters_by_default_by_name_by_vector_and_bound(pend: Kernel) -> None:
    assert pend(0.3, 1.0) == pytest.approx(torque(0.3, 1.0))
    assert pend(0.3, 1.0, parameters={"m": 3.0}) == pytest.approx(torque(0.3, 1.0, m=3.0))
    assert pend(0.3, 1.0, parameters=[3.0, 2.0, 1.0]) == pytest.approx(torque(0.3, 1.0, 3.0, 2.0, 1.0))
    bound = pend.bind({"l": 2.0})
    assert bound(0.3, 1.0) == pytest.approx(torque(0.3, 1.0, length=2.0))
    assert bound(qdd=1.0, q=0.3) == bound(0.3, qdd=1.0) == bound(0.3, 1.0)
    assert "bound" in repr(bound)
    assert "bound" not in repr(pend.bind and native(pendulum()))


def test_parameters_may_differ_by_state(pend: Kernel) -> None:
    rng = np.random.default_rng(0)
    q, m = rng.uniform(-3, 3, 29), rng.uniform(1, 2, 29)
    result = pend(q, 1.0, parameters={"m": m})
    assert np.allclose(result, torque(q, 1.0, m=m), rtol=1e-14)
    assert same(result, pend(q, 1.0, parameters={"m": m}, lanes=1))
    assert same(result, pend.bind({"m": m})(q, 1.0))
    assert same(result, np.array([pend(a, 1.0, parameters={"m": b}) for a, b in zip(q, m, strict=True)]))
    grid = pend(q[:, None], 1.0, parameters={"m": m[:4]})
    assert grid.shape == (29, 4)
    assert np.allclose(grid, torque(q[:, None], 1.0, m=m[:4]))


def test_many_derived_values_may_differ_by_state_too() -> None:
    b = Builder()
    p, x = b.parameter("p", (300,), (1.0,) * 300), b.input("x", (2,))
    total = b.make("mul", p[0], x[0])
    for i in range(1, 300):
        total = b.make("add", total, b.make("mul", p[i], x[i % 2]))
    b.output("y", [total], ())
    kernel = native(b.program())
    rng = np.random.default_rng(0)
    x_, p_ = rng.uniform(-1, 1, (20, 2)), rng.uniform(-1, 1, (20, 300))
    expected = np.sum(p_ * np.tile(x_, 150), axis=1)
    assert np.allclose(kernel(x_, parameters={"p": p_}), expected)
    assert np.allclose(kernel(x_, parameters={"p": p_[0]}), np.tile(x_, 150) @ p_[0])


def test_a_missing_default_is_named() -> None:
    b = Builder("body")
    (m,), (i,) = b.parameter("mass"), b.parameter("inertia")
    b.output("y", [b.make("mul", b.make("add", m, i), b.input("x")[0])], ())
    kernel = native(b.program())
    with pytest.raises(NameLookupError, match="mass, inertia"):
        kernel(1.0)
    assert kernel(2.0, parameters={"mass": 1.0, "inertia": 2.0}) == 6.0


def test_loop_dimensions_broadcast(pend: Kernel) -> None:
    q, qdd = np.linspace(-1, 1, 5)[:, None], np.linspace(0, 1, 7)
    expected = torque(q, qdd)
    assert pend(q, qdd).shape == (5, 7)
    assert np.allclose(pend(q, qdd), expected, rtol=1e-14)
    long = np.linspace(-1, 1, 41)
    assert np.allclose(pend(long[::-2], 1.0), torque(long[::-2], 1.0))
    assert np.allclose(pend(np.asfortranarray(np.ones((3, 4))), qdd[:4]), torque(1.0, np.tile(qdd[:4], (3, 1))))
    assert pend(np.zeros((1, 1)), 1).shape == (1, 1)
    assert pend(np.float32(0.5), [1, 2]).dtype == np.float64
    unaligned = np.frombuffer(b"x" + long.tobytes(), offset=1)
    assert same(pend(unaligned, 1.0), pend(long, 1.0))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 130])
def test_batches_of_every_length(pend: Kernel, n: int) -> None:
    q = np.linspace(-2, 2, n)
    out = np.full(n + 2, 7.0)
    assert pend(q, 1.0, out=out[1:-1]).base is out
    assert np.allclose(out[1:-1], torque(q, 1.0))
    assert out[0] == out[-1] == 7.0
    assert same(pend(q, 1.0, threads=2), pend(q, 1.0, lanes=1))


def test_out_is_written_whatever_its_layout(pend: Kernel) -> None:
    q = np.linspace(-2, 2, 20)
    expected = pend(q, 1.0)
    wide = np.zeros((20, 3))
    pend(q, 1.0, out=wide[:, 1])
    assert same(wide[:, 1].copy(), expected)
    same_memory = q.copy()
    pend(same_memory, 1.0, out=same_memory)
    assert same(same_memory, expected)
    one = np.zeros(())
    assert pend(0.5, 1.0, out=one) is one
    assert one == pend(0.5, 1.0)
    with pytest.raises(ShapeError, match=r"\(19,\)"):
        pend(q, 1.0, out=np.zeros(19))
    with pytest.raises(ShapeError, match="float32"):
        pend(q, 1.0, out=np.zeros(20, dtype=np.float32))


def test_mistakes_are_named(pend: Kernel) -> None:
    random = native(random_program(1))
    x = random_inputs(random_program(1), 0)
    with pytest.raises(ShapeError, match=r"'q' has shape \(4,\); expected \(..., 3\)"):
        random(np.zeros(4), *x[1:])
    with pytest.raises(ShapeError, match="1 inputs were given; expected 2"):
        pend(1.0)
    with pytest.raises(NameLookupError, match="Did you mean 'qdd'"):
        pend(1.0, qddd=2.0)
    with pytest.raises(NameLookupError, match="by position and by name"):
        pend(1.0, 2.0, q=2.0)
    with pytest.raises(NameLookupError, match="There is no parameter 'mm'"):
        pend(1.0, 2.0, parameters={"mm": 1})
    with pytest.raises(ShapeError, match="complex"):
        pend(1j, 2.0)
    with pytest.raises(ShapeError, match="do not broadcast"):
        pend(np.zeros(3), np.zeros(4))
    with pytest.raises(ShapeError, match="parameters"):
        pend(np.zeros(3), 1.0, parameters={"m": np.ones(4)})
    with pytest.raises(CompileError, match="level"):
        native(pendulum(), level="best")
    for lanes in (3, "2", 2.0, np.ones(2)):
        with pytest.raises(CompileError, match="lanes"):
            native(pendulum(), lanes=lanes)
    assert native(pendulum(), lanes=np.int64(2))(0.5, 1.0) == pend(0.5, 1.0)


def test_several_outputs_have_names_even_odd_ones() -> None:
    b = Builder()
    x = b.input("x", (2,))
    b.output("count", [x[0]], ())
    b.output("d(f)/dx", [x[1]], ())
    b.output("class", x, (2, 1))
    b.output("nothing", [], (0, 3))
    result = native(b.program())(np.array([1.0, 2.0]))
    assert result.count == 1.0
    assert result["d(f)/dx"] == 2.0
    assert result["class"].shape == (2, 1)
    assert result["nothing"].shape == (0, 3)
    first, second, *_ = result
    assert (first, second) == (1.0, 2.0)
    with pytest.raises(NameLookupError, match="cuont"):
        result["cuont"]
    assert pickle.loads(pickle.dumps(result))["d(f)/dx"] == 2.0


def test_programs_without_inputs_or_outputs() -> None:
    b = Builder("constant")
    b.output("y", [b.const(2.5), b.make("add", b.const(1), b.const(2))])
    assert native(b.program())().tolist() == [2.5, 3.0]
    assert native(b.program())(out=np.zeros(2)).tolist() == [2.5, 3.0]
    empty = Builder("empty")
    empty.input("x", (0,))
    kernel = native(empty.program())
    assert tuple(kernel(np.zeros(0))) == ()
    assert tuple(kernel(np.zeros((5, 0)))) == ()
    two = Builder("two")
    two.output("y", [], (0,))
    two.input("x", (3,))
    assert native(two.program())(np.zeros((4, 3))).shape == (4, 0)


def test_repr_tells_names_shapes_units_and_size(pend: Kernel) -> None:
    text = repr(pend)
    for part in ("pendulum", "q[1] rad", "tau[1] N m", "m[1]", "lanes", "operations"):
        assert part in text


def test_native_time_is_positive_and_leaves_results_alone(pend: Kernel) -> None:
    assert 0 < pend.time_native(0.3, 1.0, repeat=100) < 1e-3
    assert 0 < pend.time_native(np.zeros(64), 1.0, lanes=8) < 1e-3


def test_the_text_can_be_read() -> None:
    from symbody.codegen.llvm.modules import emit_text

    text = emit_text(pendulum(), lanes=4)
    assert "define void @sb_main" in text
    assert "<4 x double>" in text


# -- tiers


def test_large_programs_answer_from_the_quick_tier_first(monkeypatch: pytest.MonkeyPatch) -> None:
    from symbody.codegen.kernel import compile_program as module

    program = random_program(77, size=600, blocks=2)
    x = random_inputs(program, 0, (11,))
    expected = native(program)(*x)
    monkeypatch.setattr(module, "AUTO_QUICK", 100)
    monkeypatch.setattr(module, "PARALLEL", 100)
    kernel = native(program)
    assert same(kernel(*x), expected)
    bound = kernel.bind()
    assert kernel.wait().tier == bound.tier == "optimized"
    assert same(kernel(*x), expected)
    assert same(bound(*x), expected)
    assert native(program, wait=True).tier == "optimized"


def test_background_compilation_does_not_keep_the_interpreter_from_ending() -> None:
    script = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "import symbody.codegen.kernel.compile_program as k\n"
        "from helpers.programs import random_program\n"
        "k.AUTO_QUICK = 10; k.PARALLEL = 10\n"
        "print(k.compile_program(random_program(1, size=3000), cache=False).tier)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, *sys.path], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_externals_of_a_program_given_as_a_function() -> None:
    b = Builder()
    b.output("y", b.call(CUBIC, *b.input("x", (2,))))
    kernel = compile_program(b.program, cache=False)
    assert kernel(np.array([2.0, 3.0])).tolist() == [14.0, 1.0]
