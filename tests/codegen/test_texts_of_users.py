"""Names, units and origins of a System are data: in emitted files they are never more than a comment."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

import symbody as sb

PYTHON = ("python", "numba", "jax", "torch", "casadi")
OTHERS = ("c", "c_header", "cpp", "cuda", "fortran77", "fortran2008", "rust", "julia", "matlab", "maple", "javascript")
HOSTILE = {
    "a line": "\nEVIL()\n",
    "a line of old": "\rEVIL()\r",
    "a line of other scripts": "\u2028EVIL()\x85EVIL()",
    "the end of a docstring": '"""\nEVIL()\n"""',
    "an end that is escaped": '\\"""\nEVIL()\n',
    "the end of a comment": "*/ EVIL(); /*",
    "a zero and half a character": "\0EVIL()\ud800",
}


def system(text: str) -> sb.System:
    with sb.Graph():
        x, y = sb.symbols("x y")
        p = sb.symbol("p", "parameter", default=1.0, unit=text)
        block = sb.solve([y**3 + y - p * x], [y], [0.5], name=text)
        told = {"f": text, "note": text}
        return sb.System("s", inputs={"x": x}, outputs={"f": block.x[0], text: x * x}, units=dict(told, x=text),
                         origins=told)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("target", PYTHON)
def test_texts_are_no_statements_of_python(target: str, text: str) -> None:
    source = system(text).emit(target)
    called = [
        n.func.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    ]
    assert called
    assert "EVIL" not in called
    source.encode()


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("target", OTHERS)
def test_texts_end_no_comment(target: str, text: str) -> None:
    source = system(text).emit(target)
    assert not [line for line in source.splitlines() if line.strip().startswith("EVIL()")]
    assert "*/ EVIL" not in source
    source.encode()


def test_emitted_python_says_that_numbers_are_arrays_of_one() -> None:
    x, p = sb.symbol("x"), sb.symbol("p", "parameter", default=2.0)
    v = np.array([sb.symbol(f"v{k}") for k in range(3)])
    text = sb.System("f", inputs={"x": x, "v": v}, outputs={"a": p * x * x + v[0], "b": v * x}).emit("python")
    said = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.startswith("      ")}
    assert (said["x"], said["v"], said["a"]) == (["input", "[1]"], ["input", "[3]"], ["result", "[1]"])
    names: dict[str, Any] = {}
    exec(text, names)
    derived, _ = names["f_setup"](names["parameter_defaults"])
    a, b, _ = names["f"]([3.0], [1.0, 2.0, 4.0], derived)
    np.testing.assert_array_equal(a, [19.0])
    np.testing.assert_array_equal(b, [3.0, 6.0, 12.0])
    many, _, _ = names["f"](np.array([[3.0, 1.0]]), np.ones((3, 2)), derived)
    np.testing.assert_array_equal(many, [[19.0, 3.0]])
