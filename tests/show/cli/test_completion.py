"""What the shell proposes while a line is typed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = str(Path(__file__).resolve().parents[3] / "src")


@pytest.fixture
def propose(call):
    def run(line):
        """Proposals for the last word of a line, as bash asks for them."""
        env = {"_SYMBODY_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
        result = call(prog_name="symbody", env=env)
        assert result.exit_code == 0
        return result.stdout.split()

    return run


@pytest.mark.parametrize(
    ("line", "proposals"),
    [
        ("symbody lin", ["linearize"]),
        ("symbody info four", ["four_bar"]),
        ("symbody info three_rrr_3", ["three_rrr_3", "three_rrr_3_centre"]),
        ("symbody simulate four_bar --q0 c", ["crank=", "coupler="]),
        ("symbody simulate four_bar --qd0 crank=1,", ["crank=1,coupler=", "crank=1,rocker="]),
        ("symbody simulate pendulum2 --input tau.joint1=0,tau", ["tau.joint1=0,tau.joint2="]),
        ("symbody modes four_bar --parameter b", ["bx=", "by="]),
        ("symbody simulate pendulum2 --method ra", ["radau"]),
        ("symbody count pendulum2 --formalism new", ["newton_euler"]),
        ("symbody count pendulum2 --quantity s", ["semi_explicit"]),
        ("symbody equilibrium four_bar --fixed r", ["rocker"]),
        ("symbody simulate four_bar --partition c", ["crank", "coupler"]),
        ("symbody info four_bar --independent crank,", ["crank,coupler", "crank,rocker"]),
        ("symbody schema sim", ["simulate"]),
        ("symbody new x --kind v", ["vehicle"]),
        ("symbody examples stew", ["stewart", "stewart_light"]),
        ("symbody simulate nonsense --q0 c", []),
    ],
)
def test_the_shell_is_told_what_fits(propose, here, line, proposals):
    assert propose(line) == proposals


def test_files_are_proposed_beside_bundled_models(propose, here):
    (here / "pen.yaml").write_text("")
    (here / "pen.txt").write_text("")
    (here / "pencils").mkdir()
    (here / "pencils" / "a.urdf").write_text("")
    assert propose("symbody info pen") == [*(f"pendulum{n}" for n in (2, 3, 4, 5)), "pen.yaml", "pencils/"]
    assert propose("symbody info pencils/") == ["pencils/a.urdf"]
    assert propose("symbody info no/such/") == []


def test_joints_of_a_file_are_proposed(propose, call, here):
    call("new", "arm", "--kind", "arm")
    assert propose("symbody simulate arm.yaml --q0 s") == ["shoulder="]


def test_a_damaged_file_proposes_nothing(propose, here):
    (here / "bad.yaml").write_text("joints: [")
    assert propose("symbody simulate bad.yaml --q0 s") == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_completion_installs_itself_for_the_shell_in_use(here):
    program = here / "symbody"
    program.write_text(f"#!{sys.executable}\nfrom symbody.show.cli.app import main\n\nmain()\n")
    program.chmod(0o755)
    env = {**os.environ, "HOME": str(here), "PYTHONPATH": SOURCES, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
    # `; true` keeps bash alive: it is the parent process that tells which shell is in use
    done = subprocess.run(
        ["bash", "-c", "symbody --install-completion; true"], env=env, capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in done.stderr
    assert "_SYMBODY_COMPLETE=complete_bash" in (here / ".bash_completions" / "symbody.sh").read_text()
