"""Where compilers work: a folder of their own, and a sentence where the disk has no room for it."""

from __future__ import annotations

import tempfile

import pytest

import symbody as sb
from symbody.errors import CompileError


def test_a_temporary_folder_that_cannot_be_written_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with sb.Graph():
        x = sb.symbols("x")
        system = sb.System("formula", inputs={"x": x}, outputs={"y": 2 * x})
    with pytest.raises(CompileError, match=r"gone, cannot be written: No such file .*TMPDIR"):
        system.compile("c")
