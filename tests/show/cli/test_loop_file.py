"""`--loops FILE`: models that are trees, closed by a side file on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

import symbody as sb

LEGS = Path(__file__).parents[4] / "shared" / "data" / "closed_loop_urdf"

LINK = """
  <link name="{name}">
    <inertial><origin xyz="{half} 0 0"/><mass value="1"/>
      <inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>"""
HINGE = """
  <joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/><origin xyz="{at} 0 0"/>
    <axis xyz="0 0 1"/></joint>"""
END = """
  <link name="{name}"/>
  <joint name="{name}_joint" type="fixed"><parent link="{parent}"/><child link="{name}"/>
    <origin xyz="{at} 0 0"/></joint>"""


@pytest.fixture
def linkage(here):
    """A four-bar of 1, 2 and 1.5 m on a ground of 2.2 m as a URDF, which holds trees only, and its side file."""
    text = '<robot name="linkage">\n  <link name="ground"/>'
    for name, length in (("crank", 1), ("coupler", 2), ("rocker", 1.5)):
        text += LINK.format(name=name, half=length / 2)
    text += HINGE.format(name="a", parent="ground", child="crank", at=0)
    text += HINGE.format(name="b", parent="crank", child="coupler", at=1)
    text += HINGE.format(name="c", parent="ground", child="rocker", at=2.2)
    text += END.format(name="coupler_end", parent="coupler", at=2) + END.format(
        name="rocker_end", parent="rocker", at=1.5
    )
    (here / "linkage.urdf").write_text(text + "\n</robot>\n")
    (here / "loops.yaml").write_text("closed_loop: [[coupler_end, rocker_end]]\ntype: [3d]\nname_mot: [a]\n")
    return "linkage.urdf", "--loops", "loops.yaml"


def test_info_counts_the_loops_of_the_side_file(call, linkage):
    assert json.loads(call("info", linkage[0], "--json").stdout)["loops"] is None
    facts = json.loads(call("info", *linkage, "--json").stdout)
    assert facts["mobility"] == 1
    assert facts["loops"]["constraints"] == 2


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("verify", "--states", "2"), marks=pytest.mark.slow, id="verify"),
        ("count", "--quantity", "inverse", "--formalism", "base"),
        ("emit", "--quantity", "forward", "--formalism", "base", "--out", "generated"),
        ("simulate", "-t", "50ms", "--q0", "a=60deg", "--partition", "a"),
        ("equilibrium", "--stable"),
        ("linearize", "--q0", "a=60deg", "--matrices", "M"),
        ("modes", "--q0", "a=60deg"),
        ("report", "--no-certificate", "--no-equations", "--no-animation"),
    ],
    ids=lambda words: words[0],
)
def test_every_command_closes_the_loops(call, linkage, words):
    """--json of each, with one degree of freedom where it says so."""
    command, *options = words
    result = call(command, *linkage, *options, "--json")
    assert result.exit_code == 0, result.stderr
    json.loads(result.stdout)


def test_the_motion_is_that_of_the_closed_linkage(call, linkage):
    """Three bars in a plane: the ends of coupler and rocker stay together, and energy is kept."""
    words = ("-t", "1", "--q0", "a=60deg", "--qd0", "a=3", "--output", "energy", "--out", "run.npz")
    assert call("simulate", *linkage, *words, "--quiet").exit_code == 0
    run = sb.Trajectory.load("run.npz")
    a, b, c = run["q"].T
    coupler = np.array([np.cos(a) + 2 * np.cos(a + b), np.sin(a) + 2 * np.sin(a + b)])
    rocker = np.array([2.2 + 1.5 * np.cos(c), 1.5 * np.sin(c)])
    assert coupler == pytest.approx(rocker, abs=1e-9)
    assert np.ptp(run["energy"]) < 1e-6


@pytest.mark.parametrize(
    ("side", "words"),
    [
        (None, "side.yaml: the file of loops cannot be read: No such file or directory."),
        ("closed_loop: [[coupler_end, rocket_end]]\n", "closed_loop names 'rocket_end', which is no body or frame"),
        ("closed_loop: [[coupler_end, rocker_end]]\ntype: [4d]\n", "expected one of 6d, 3d"),
        ("bodies: {}\n", "expected a mapping with closed_loop, type, name_mot"),
    ],
)
def test_a_wrong_side_file_is_a_sentence(call, linkage, here, side, words):
    if side is not None:
        (here / "side.yaml").write_text(side)
    result = call("info", "linkage.urdf", "--loops", "side.yaml")
    assert result.exit_code == 1
    assert result.stderr.startswith("symbody: side.yaml")
    assert words in result.stderr


def test_a_checkpoint_needs_the_model_beside_the_side_file(call, linkage):
    run = call("simulate", *linkage, "-t", "20ms", "--q0", "a=60deg", "--checkpoint", "run.ckpt", "--quiet")
    assert run.exit_code == 0, run.stderr
    assert call("simulate", "--resume", "run.ckpt", "-t", "20ms", "--loops", "loops.yaml").exit_code == 2
    again = call("simulate", *linkage, "--resume", "run.ckpt", "-t", "20ms", "--report", "run.html", "--quiet")
    assert again.exit_code == 0, again.stderr


def test_files_and_joints_are_proposed(call, linkage):
    def propose(line):
        env = {"_SYMBODY_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
        return call(prog_name="symbody", env=env).stdout.split()

    assert propose("symbody info linkage.urdf --loops lo") == ["loops.yaml"]
    # the side file is no model, wherever it stands
    assert propose("symbody simulate --loops loops.yaml linkage.urdf --q0 ") == ["a=", "b=", "c="]


@pytest.mark.parametrize(
    ("robot", "joints", "rows", "mobility"), [("cassie_like", 19, 12, 7), ("digit_like", 27, 18, 9)]
)
def test_published_legs_close_on_the_command_line(call, robot, joints, rows, mobility):
    """Rank and mobility as Pinocchio has them (closure_reference.json)."""
    if not LEGS.is_dir():
        pytest.skip("the shared data are not here")
    result = call(
        "info", LEGS / f"{robot}.urdf", "--loops", LEGS / f"{robot}.yaml", "--partition", "heuristic", "--json"
    )
    facts = json.loads(result.stdout)
    assert facts["mobility"] == mobility
    assert facts["loops"]["constraints"] - len(facts["loops"]["redundant"]) == rows
    assert len(facts["loops"]["independent"]) + rows == joints
