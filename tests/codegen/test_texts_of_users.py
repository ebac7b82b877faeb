"""Names, units and origins of a System are data: in emitted files they are never more than a comment."""

from __future__ import annotations

import ast

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
