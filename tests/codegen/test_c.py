"""The C target: compiled without a warning, bit for bit the interpreter, and its operators are those counted."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.programs import (
    Builder,
    arcsine,
    nested_roots,
    pendulum,
    random_inputs,
    random_program,
    setup_root,
    square_root,
)
from symbody.basics.errors import CompileError, DefinitionError, ShapeError, SolveError
from symbody.codegen.c.build import CKernel, build_c, find_compiler
from symbody.codegen.c.c_language import literal
from symbody.codegen.c.c_source import emit_c
from symbody.symbolic.expr.external import External
from symbody.symbolic.expr.graph import Graph, symbols
from symbody.symbolic.lower.count import count_program
from symbody.symbolic.lower.fuse import fuse_multiply_add
from symbody.symbolic.lower.groups import group
from symbody.symbolic.lower.interpret import interpret
from symbody.symbolic.lower.program import Program
from symbody.symbolic.system.system import System

needs_compiler = pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler here")

# -fno-builtin: functions of constants are called and not folded at a higher precision
STRICT = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2", "-ffp-contract=off", "-fno-builtin")
FORMS = [{}, {"reuse_names": True}, {"chunk": 12}, {"chunk": 12, "reuse_names": True}]


def build(program: Program, **options: object) -> CKernel:
    return build_c(emit_c(program, own_trig=False, **options), program, flags=STRICT)  # type: ignore[arg-type]


def check_bits(program: Program, seed: int, **options: object) -> None:
    x = random_inputs(program, seed)
    found, status = build(program, **options).call_with_status(*x)
    expected, outcome = interpret(program, x, status=True)
    np.testing.assert_array_equal(status, outcome)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)


# ---- a counter of operators that knows nothing of the emitter


def count_operators(text: str) -> tuple[int, int, int]:
    """(mul, add, div): binary operators; unary signs, exponents, declarations, indices and loops are none."""
    text = re.sub(r"\b\d+\.?\d*(?:[eE][+-]?\d+)?", "N", text)
    mul = add = div = 0
    before = ""
    for token in re.findall(r"/\*.*?\*/|[A-Za-z_]\w*|\+\+|--|->|.", text, re.DOTALL):
        if token.startswith("/*") or token.isspace():
            continue
        binary = bool(re.fullmatch(r"[A-Za-z_]\w*|\)|\]", before)) and before not in ("double", "int", "return")
        if token == "fma":
            mul, add = mul + 1, add + 1
        elif binary and token in "+-":
            add += 1
        elif binary and token == "*":
            mul += 1
        elif binary and token == "/":
            div += 1
        before = token
    return mul, add, div


def sections(source: str) -> dict[str, str]:
    """The parts of an emitted source by name, with what lies inside solve blocks taken out into 'solve NAME'."""
    parts = re.split(r"/\* ==== (\w+) ==== \*/\n", source)
    found = dict(zip(parts[1::2], parts[2::2]))
    for name in [n for n in found if n != "helpers"]:
        kept, depth, inside = [], [], []
        for piece in re.split(r"(/\* (?:end of )?solve \w+.*?\*/\n)", found[name]):
            mark = re.match(r"/\* (end of )?solve (\w+)", piece)
            if mark and mark[1]:
                depth.pop()
            elif mark:
                depth.append(mark[2])
            elif depth:
                inside.append((depth[-1], piece))
            else:
                kept.append(piece)
        found[name] = "".join(kept)
        for block, piece in inside:
            found[f"solve {block}"] = found.get(f"solve {block}", "") + piece
    return found


def test_the_counter_of_operators_sees_binary_ones_only() -> None:
    assert count_operators("const double a = -b*c[2] - -1e-5/(-d) + e-2.0;") == (1, 3, 1)
    assert count_operators("x = fma(-a, b, -c); for (int k = 1;; ++k) { f(&x, k); } /* a+b */") == (1, 1, 0)


def total(text: str) -> tuple[int, int, int]:
    # declarations of pointers are no products
    return count_operators(re.sub(r"\*restrict", "", text))


@pytest.mark.parametrize("options", FORMS, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_operators_in_the_text_are_those_counted(seed: int, options: dict[str, object]) -> None:
    program = random_program(seed, 150)
    for p in (program, fuse_multiply_add(program)):
        counts, found = count_program(p), sections(emit_c(p, **options)[f"{p.name}.c"])  # type: ignore[arg-type]
        assert total(found[p.name]) == (counts.mul, counts.add, counts.div)
        assert sum(total(found[f"{p.name}_setup"])) == counts.setup
        for block, per_iteration in zip(p.blocks, counts.blocks):
            here = total(found[f"solve {block.name}"])
            assert here == (per_iteration.mul, per_iteration.add, per_iteration.div)


def test_operators_of_grouped_functions_are_those_counted() -> None:
    program = random_program(3, 150)
    grouped = group(program, {"f": ["x_out", "rest"], "g": ["y_out"]})
    found = sections(emit_c(grouped)[f"{program.name}.c"])
    for name, part in (("step", grouped.step), ("f", grouped.functions["f"]), ("g", grouped.functions["g"])):
        assert sum(total(found[f"{program.name}_{name}"])) == count_program(part).total


# ---- against the interpreter


@needs_compiler
@pytest.mark.parametrize("options", FORMS, ids=str)
@pytest.mark.parametrize("seed", range(10))
def test_c_agrees_with_the_interpreter_bit_for_bit(seed: int, options: dict[str, object]) -> None:
    program = random_program(seed, 120, blocks=3)
    check_bits(fuse_multiply_add(program) if seed % 2 else program, seed, **options)


@needs_compiler
@pytest.mark.parametrize("options", FORMS, ids=str)
def test_blocks_nest_and_fail_as_in_the_interpreter(options: dict[str, object]) -> None:
    a = np.array([1.0, 5.0, -20.0, 0.0, np.nan])
    for program in (nested_roots(), square_root()):
        found, status = build(program, **options).call_with_status(a)
        expected, outcome = interpret(program, [a], status=True)
        np.testing.assert_array_equal(status, outcome)
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value)


@needs_compiler
@pytest.mark.parametrize("options", FORMS)
def test_an_angle_that_ran_away_is_no_solution(options: dict[str, object]) -> None:
    a = np.array([0.3, np.pi / 2, -np.pi / 2, 1.0, 700.0])
    found, status = build(arcsine(), **options).call_with_status(a)
    expected, outcome = interpret(arcsine(), [a], status=True)
    np.testing.assert_array_equal(status, outcome)
    np.testing.assert_array_equal(found, expected["x"])
    np.testing.assert_array_equal(np.isnan(found), [False, True, True, False, False])


@needs_compiler
def test_a_body_longer_than_a_chunk_is_cut_as_well() -> None:
    program = random_program(4, 60, blocks=3)
    assert max(len(b.body) for b in program.blocks) > 3
    check_bits(program, 1, chunk=3)
    check_bits(program, 1, chunk=1, reuse_names=True)


@needs_compiler
def test_one_failed_state_raises_and_a_batch_gives_nan() -> None:
    kernel = build(square_root())
    with pytest.raises(SolveError, match="'root'"):
        kernel(-1.0)
    np.testing.assert_array_equal(np.isnan(kernel(np.array([4.0, -1.0])).echo), [False, True])


@needs_compiler
def test_blocks_of_setup_report_their_failure() -> None:
    kernel = build(setup_root())
    assert kernel(3.0) == pytest.approx(6.0)
    with pytest.raises(SolveError):
        kernel(3.0, parameters={"m": -1.0})
    y = kernel(np.ones(2), parameters={"m": np.array([9.0, -1.0])})
    np.testing.assert_allclose(y, [3.0, np.nan])


@needs_compiler
def test_batches_and_batched_parameters_broadcast() -> None:
    kernel = build(pendulum())
    q, qdd, m = np.linspace(-1, 1, 3)[:, None], np.linspace(0, 1, 4), np.array([1.0, 2.0])[:, None, None]
    tau = kernel(q, qdd=qdd, parameters={"m": m})
    assert tau.shape == (2, 3, 4)
    np.testing.assert_allclose(tau, interpret(pendulum(), [q, qdd], {"m": m})["tau"], rtol=1e-14)
    assert kernel.bind({"m": 2.0})(q[2, 0], qdd[3]) == tau[1, 2, 3]
    with pytest.raises(ShapeError, match="complex128"):
        kernel(1j, 0.0)


@needs_compiler
@pytest.mark.parametrize("seed", range(4))
def test_grouped_functions_give_the_bits_of_the_whole(seed: int) -> None:
    program = fuse_multiply_add(random_program(seed, 120, outputs=3))
    groups = {"f": ["x_out", "rest"], "g": ["y_out"], "step_": ["z_out"]}
    grouped = group(program, groups)
    for options in FORMS:
        kernels = build_c(emit_c(grouped, **options), grouped, flags=STRICT)  # type: ignore[arg-type]
        inputs = dict(zip((p.name for p in program.inputs), random_inputs(program, seed)))
        inputs["workspace"] = kernels["step"](**{p.name: inputs[p.name] for p in grouped.step.inputs})
        expected = interpret(program, {p.name: inputs[p.name] for p in program.inputs})
        for name in ("f", "g"):
            found = kernels[name](**{p.name: inputs[p.name] for p in grouped.functions[name].inputs})
            for k, output in enumerate(groups[name]):
                np.testing.assert_array_equal(found[k] if len(groups[name]) > 1 else found, expected[output])


@needs_compiler
def test_an_error_in_an_external_function_comes_back() -> None:
    def refuse(x: float) -> float:
        raise ValueError(f"no value at {x}")

    b = Builder()
    (x,) = b.input("x")
    b.output("y", b.call(External("refuse", 1, 1, function=refuse), x), ())
    with pytest.raises(ValueError, match=r"no value at 2\.0"):
        build(b.program())(2.0)


# ---- the text


def test_the_text_is_the_same_in_any_process() -> None:
    code = (
        "from helpers.programs import random_program; from symbody.codegen.c.c_source import emit_c; import hashlib\n"
        "text = ''.join(emit_c(random_program(7, 200), chunk=50, reuse_names=True).values())\n"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    here = "".join(emit_c(random_program(7, 200), chunk=50, reuse_names=True).values())
    expected = hashlib.sha256(here.encode()).hexdigest()
    root = Path(__file__).parents[2]
    for seed in ("1", "2"):
        path = os.pathsep.join(str(root / folder) for folder in ("src", "tests"))
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected


@pytest.mark.parametrize("number", [2, 0.1, -0.0, 1e-300, 5e-324, 1e22, -7, 1.7976931348623157e308, 2**70])
def test_literals_are_exact(number: float) -> None:
    text = literal(number).strip("()")
    assert float(text) == float(number)
    assert "." in text or "e" in text


def test_names_are_readable_unique_and_legal() -> None:
    b = Builder("my robot-3")
    x, y = b.input("double", (2,))
    made = [b.make(op, x, y) for op in ("add", "sub", "mul", "div", "min", "max")]
    b.names.update(zip(made, ["M[2,3]", "M[2,3]", "while", "t5", "3rd", "v_double"]))
    b.output("sin", made)
    files = emit_c(b.program())
    text = files["my_robot_3.c"]
    for name in ("M_2_3 =", "M_2_3_2 =", "while_2 =", "t5_2 =", "v_3rd =", "sin_2[0] =", "double_2[1]"):
        assert name in text, name


@pytest.mark.parametrize(("system", "argument"), [("arm", "arm_length"), ("q", "Q"), ("v", "v"), ("é", "v_v")])
def test_arguments_may_begin_with_the_name_of_their_system(system: str, argument: str) -> None:
    with Graph():
        x = symbols("x")
        text = System(system, inputs={argument: x}, outputs={"y": 2 * x}).emit("c")
    assert "y" in text


def test_header_tells_sizes_shapes_units_roles_and_certificate() -> None:
    header = emit_c(pendulum(), certificate="checked: power */ balance")["pendulum.h"]
    for text in ("#define PENDULUM_DERIVED_SIZE", "[rad/s^2]", "input", "9.81", "power * / balance", 'extern "C"'):
        assert text in header, text


@needs_compiler
def test_long_programs_are_cut_and_stay_reentrant() -> None:
    program = random_program(2, 3000, blocks=4)
    source = emit_c(program, chunk=500)[f"{program.name}.c"]
    assert len(re.findall(r"^static void \w+_part\d+", source, re.MULTILINE)) >= 3
    assert not re.search(r"^static (?!const|void|double|int)|malloc|^double ", source, re.MULTILINE)
    check_bits(program, 1, chunk=500)


# ---- failures


def test_a_missing_compiler_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(CompileError, match="no C compiler"):
        find_compiler()


@needs_compiler
def test_the_message_of_the_compiler_is_passed_on() -> None:
    program = random_program(0)
    broken = replace(program, externals=(External("cubic", 2, 2, c_body="out[0] = nonsense;"), *program.externals[1:]))
    with pytest.raises(CompileError, match="nonsense"):
        build(broken)


def test_a_useless_chunk_is_refused() -> None:
    with pytest.raises(DefinitionError, match="chunk"):
        emit_c(pendulum(), chunk=0)
