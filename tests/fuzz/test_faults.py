"""Kills, full disks, an attacked cache, cycles and large models, in short; the tools beside do it at length."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from symbody.model.files import yaml_data

kills = pytest.importorskip("fuzz.kills", reason="needs a system with fork") if os.name == "posix" else None
pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs kills, links and modes of POSIX")

if kills is not None:
    from fuzz import cache_attack, flips, large

    @pytest.fixture
    def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("SYMBODY_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("SYMBODY_CONFIG", str(tmp_path / "config"))
        cache_attack.forget()
        return tmp_path / "cache"

    @pytest.mark.slow
    @pytest.mark.parametrize("name", kills.WRITERS)
    def test_a_kill_leaves_the_old_or_the_new_version_whole(name: str, tmp_path: Path) -> None:
        needed = {"parquet": "pyarrow", "stream": "pyarrow", "h5": "h5py", "report": "meshcat"}
        if name in needed:
            pytest.importorskip(needed[name])
        assert kills.kill_many(name, 10, tmp_path, random.Random(name))["within"]

    @pytest.mark.parametrize("name", ["cache", "secret"])
    def test_a_kill_of_what_is_written_in_passing_does_no_harm(name: str, tmp_path: Path) -> None:
        assert kills.kill_many(name, 12, tmp_path, random.Random(name))["within"]

    @pytest.mark.slow
    def test_a_disk_of_one_megabyte_leaves_old_files_as_they_were(tmp_path: Path) -> None:
        try:
            disk = kills.small_disk(tmp_path)
            with disk as place:
                for name in ("yaml", "system", "npz", "checkpoint", "cache", "secret"):
                    found = kills.fill_disk(name, place, random.Random(name), 4)
                    assert found["refused"] or name in ("cache", "secret")
        except PermissionError as error:
            pytest.skip(f"no disk can be mounted here: {error}")

    @pytest.mark.parametrize("name", flips.formats())
    def test_a_flipped_bit_is_refused_or_changes_nothing(name: str, tmp_path: Path) -> None:
        found = flips.flip(name, flips.chosen(name, 60, 7), tmp_path)
        assert found["refused"] > 10

    def test_no_corrupted_entry_of_the_cache_is_loaded(folder: Path) -> None:
        tried = cache_attack.corrupt(1600, folder)
        assert set(tried) == set(cache_attack.CORRUPTIONS)

    def test_nothing_else_in_the_place_of_an_entry_is_loaded(folder: Path) -> None:
        assert cache_attack.things(folder)

    @pytest.mark.slow
    def test_processes_that_share_an_attacked_folder_load_what_was_stored(folder: Path, tmp_path: Path) -> None:
        done = cache_attack.together(folder, tmp_path / "config", 3.0)
        assert done["hits"]
        assert done["attacks"]

    @pytest.mark.slow
    @pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
    def test_cycles_of_new_code_keep_no_memory(tmp_path: Path) -> None:
        """The first hundred let the allocators find their size; what a cycle keeps shows in the next."""
        command = [sys.executable, "-m", "fuzz.cycles", "--count", "300", "--first", "150"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1])
        assert done.returncode == 0, done.stdout + done.stderr

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["mjcf mimic", "mjcf back", "yaml couplings", "yaml names", "yaml forces"])
    def test_time_grows_with_the_size_of_a_model_and_not_faster(kind: str) -> None:
        """Ten times the bodies take ten times the time; with the square it would be a hundred."""
        small, big = large.seconds(kind, 150), large.seconds(kind, 1500)
        assert big < 30 * small


DAMAGED = (
    "a: [1, 2", "a: {b: 1\n", "- a\nb: c\n", "a: b: c\n", "{a:}\n", "[a: , b]\n", "a: 'x\n", "a: *b\n", "? a\n: b\n",
    "a: \tb\n", "a: &x [1]\nb: *x\n", "a: |\n  text\n", "a: 1\na: 2\n", "--- 1\n--- 2\n", "a: \0",
)  # fmt: skip


@pytest.mark.parametrize("text", DAMAGED)
def test_both_parsers_of_yaml_say_the_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> str:
        try:
            return repr(yaml_data.read_yaml(text, "file"))
        except yaml_data.ModelError as error:
            return str(error)

    fast = told()
    monkeypatch.setattr(yaml_data, "FAST", None)
    assert told() == fast
