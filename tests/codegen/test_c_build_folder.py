"""Where compilers work: a folder of their own, and a sentence where the disk has no room for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

import pytest

import symbody as sb
from symbody.basics.errors import CompileError
from symbody.codegen.c import build
from symbody.codegen.fmu import package

COMPILED = pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler here")


def formula():
    with sb.Graph():
        x = sb.symbols("x")
        return sb.System("formula", inputs={"x": x}, outputs={"y": 2 * x})


def test_a_temporary_folder_that_cannot_be_written_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(CompileError, match=r"gone, cannot be written: No such file .*TMPDIR"):
        formula().compile("c")


@COMPILED
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no names of open folders")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_what_others_put_into_the_place_of_the_folder_is_not_loaded(monkeypatch, tmp_path, moment):
    """Where everyone can write the folder for temporary files, everyone can rename what lies in it."""
    run = build.run_compiler

    def exchanged():
        (folder,) = tmp_path.glob("symbody_c_*")
        folder.rename(tmp_path / "moved")
        shutil.copytree(tmp_path / "moved", folder)
        for source in folder.glob("*.c"):
            source.write_text(source.read_text().replace("2.0", "666.0"))
        made = [p.name for p in folder.glob("*.so")]
        for name in made:
            command = [build.find_compiler(), "-fPIC", "-shared", "-o", name, "formula.c", "batch.c"]
            subprocess.run(command, cwd=folder, check=True)

    def late(*given):
        if moment == "before":
            exchanged()
        run(*given)
        if moment == "after":
            exchanged()

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(build, "run_compiler", late)
    assert formula().compile("c")(3.0) == 6.0


@COMPILED
@pytest.mark.skipif(sys.platform == "win32", reason="programs of POSIX")
def test_compilers_that_are_no_compilers_are_named(monkeypatch, tmp_path):
    for command in ("true", "sh -c exit"):
        monkeypatch.setenv("CC", command)
        with pytest.raises(CompileError, match=f"'{command}' made cannot be loaded: .*TMPDIR"):
            formula().compile("c")
        with pytest.raises(CompileError, match=f"'{command}' made no library"):
            package._compile({"all.c": ""}, "all", ".so")
    monkeypatch.setenv("CC", "  ")  # as if there were none
    assert formula().compile("c")(3.0) == 6.0
    with pytest.raises(CompileError, match="cannot be run"):
        build.run_compiler(" ", [], str(tmp_path))


@COMPILED
@pytest.mark.skipif(sys.platform == "win32", reason="programs of POSIX")
def test_a_compiler_may_be_named_from_the_working_folder(monkeypatch, tmp_path):
    (tmp_path / "mine").symlink_to(shutil.which(build.find_compiler()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CC", "./mine")
    assert formula().compile("c")(3.0) == 6.0


@COMPILED
def test_a_folder_that_stays_a_while_does_no_harm(monkeypatch, tmp_path):
    """As on disks in a network, which keep what is open."""

    def refuse(*_, **__):
        raise OSError(39, "Directory not empty")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "rmdir", refuse)
    kernel = formula().compile("c")
    monkeypatch.undo()
    assert kernel(3.0) == 6.0
