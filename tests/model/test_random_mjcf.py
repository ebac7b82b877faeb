"""Random MJCF files move as in MuJoCo, or are refused for one of a few reasons."""

import pytest

pytest.importorskip("mujoco")

from helpers.random_mjcf import judge, random_mjcf

ALLOWED = (  # what MuJoCo has and a Mechanism has not
    "or third degree", "through sites has armature", "joints of several branches", "moves none",
    "fusestatic='false'", "leaves to actuators that do not act",
)  # fmt: skip


def judged(seed, folder):
    path = folder / "model.xml"
    path.write_text(random_mjcf(seed))
    status, reason = judge(path)
    assert status != "differs", (seed, reason)
    assert status != "refused" or any(words in reason for words in ALLOWED), (seed, reason)
    return status


@pytest.mark.parametrize("seed", range(0, 24, 2))
def test_it_moves_as_in_mujoco(seed, tmp_path):
    judged(seed, tmp_path)


@pytest.mark.slow
def test_most_of_500_files_are_compared(tmp_path):
    found = [judged(seed, tmp_path) for seed in range(2000, 2500)]
    assert found.count("equal") > 0.85 * len(found)
