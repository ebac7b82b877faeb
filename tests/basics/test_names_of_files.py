"""Names that no file can have, folders that may not be searched and things that are no path: a sentence each."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import symbody as sb
from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import SymbodyError
from symbody.basics.regular_file import missing
from symbody.bondgraph.graph.graph_files import FOLDER as GRAPHS
from symbody.model.files.yaml_writer import to_yaml
from symbody.show.drawing.svg import Picture

MECH = sb.load("pendulum2")
ACTS: dict[str, Callable[[Any], object]] = {
    "load": sb.load,
    "save": lambda path: sb.save(MECH, path),
    "Trajectory.load": sb.Trajectory.load,
    "Trajectory.save": sb.simulate(MECH, 0.02, 0.01).save,
    "System.load": sb.System.load,
    "System.save": sb.inverse_dynamics(MECH, formalism="newton_euler").save,
    "BondGraph.load": sb.BondGraph.load,
    "BondGraph.save": sb.BondGraph.load(GRAPHS / "rlc.bond.yaml").save,
    "Picture.save": Picture("<svg/>", 1, 1).save,
    "resume": lambda path: sb.resume(path, 0.01),
}
LONG = "/".join(["y" * 200] * 25)


@pytest.mark.skipif(os.name != "posix", reason="names and links of POSIX")
@pytest.mark.parametrize("act", ACTS)
def test_names_that_no_file_can_have_are_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "round").symlink_to("round")
    for suffix in (".yaml", ".sdf", ".npz", ".svg", ".bond.yaml", ""):
        for name in ("\ud800", "a\0b", "\ud800/a", "a\0/b", "y" * 300, LONG, "round/a"):
            with pytest.raises(SymbodyError):
                ACTS[act](name + suffix)
            if suffix not in (".yaml", ""):
                continue
            with pytest.raises(SymbodyError):
                ACTS[act](Path(name + suffix))
    assert [p.name for p in tmp_path.iterdir()] == ["round"]


@pytest.mark.parametrize("act", ACTS)
def test_what_is_no_path_is_a_sentence(act: str) -> None:
    for given in (None, 3, 1.5, b"run.csv", ["run.csv"], io.BytesIO()):
        with pytest.raises(SymbodyError):
            ACTS[act](given)


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no text")
def test_files_and_folders_whose_names_are_no_text(tmp_path: Path) -> None:
    """As from a disk of another system: the model gets a name that can be written; a path that cannot is told."""
    folder = tmp_path / os.fsdecode(b"d\xfcr")
    folder.mkdir()
    text = to_yaml(MECH)
    file = folder / os.fsdecode(b"m\xfcller.yaml")
    file.write_text(text[text.index("\n", text.index("name:")) + 1 :])
    mech = sb.load(file)
    assert mech.name == "m?ller"
    motion = sb.simulate(mech, 0.02, 0.01)
    for suffix in (".csv", ".npz", ".h5"):
        assert sb.Trajectory.load(motion.save(folder / f"run{suffix}")).model == mech.name
    with pytest.raises(SymbodyError, match="is no text"):
        write_whole(tmp_path / "file", str(folder))
    for name in ("\ud800", "a\0b"):
        with pytest.raises(SymbodyError, match="expected a text"):
            sb.Mechanism.builder("m").body(name, 1.0)


@pytest.mark.parametrize("act", [name for name in ACTS if "save" not in name])
def test_a_folder_that_may_not_be_searched_is_a_sentence(monkeypatch: pytest.MonkeyPatch, act: str) -> None:
    def refuse(path: object, **_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    for owner, name in ((Path, "stat"), (Path, "is_file"), (Path, "is_dir"), (Path, "exists"), (Path, "iterdir")):
        monkeypatch.setattr(owner, name, refuse)
    for suffix in (".yaml", ".npz", ".bond.yaml"):
        with pytest.raises(SymbodyError):
            ACTS[act](f"closed/a{suffix}")
    assert missing(Path("closed/a")) == "'closed/a' cannot be read: Permission denied"
