"""Robot files that nobody here wrote: read as Pinocchio and MuJoCo read them, or refused with a reason."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.robot_files import compare, mjcf_files, urdf_files

URDF = {label: (path, root) for label, path, root in urdf_files()}
MJCF = {label: (path, root) for label, path, root in mjcf_files()}
SAID = re.compile(r"[\w.-]+:\d+: .*(expected|Known|Did you mean|load the file)")


def check(label: str, kind: str) -> None:
    path, root = (URDF if kind == "urdf" else MJCF)[label]
    found = compare(path, kind, label, [root])
    if found.status == "refused":
        assert SAID.search(found.reason), found.reason
    else:
        assert found.status != "differs", found.reason


@pytest.mark.slow
@pytest.mark.parametrize("label", URDF or ["none"])
def test_a_urdf_moves_as_in_pinocchio(label):
    if label not in URDF:
        pytest.skip("the package example-robot-data is not installed")
    check(label, "urdf")


@pytest.mark.slow
@pytest.mark.parametrize("label", MJCF or ["none"])
def test_an_mjcf_file_moves_as_in_mujoco(label):
    if label not in MJCF:
        pytest.skip("none of the packages dm_control, gymnasium and gymnasium-robotics is installed")
    pytest.importorskip("mujoco")
    check(label, "mjcf")
