"""`symbody simulate`: motions that physics knows, files, interrupts, and what it says when it is used wrongly."""

import contextlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.trajectory_files import load_trajectory

SOURCES = str(Path(__file__).resolve().parents[3] / "src")
ENV = {**os.environ, "PYTHONPATH": SOURCES}


def shell(*words, **options):
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "symbody", *map(str, words)],
        env=ENV, capture_output=True, text=True, timeout=120, **options,
    )  # fmt: skip


@pytest.fixture
def bench(call, here):
    """A mass of 2 kg on a spring of 200 N/m and a damper of 1.5 N s/m: omega = 10 rad/s undamped."""
    assert call("new", "bench", "--kind", "slider").exit_code == 0
    return "bench.yaml"


def data(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


# -- physics


def test_an_oscillator_is_back_after_one_period(call, bench):
    words = ("-t", 2 * math.pi / 10, "--q0", "slide=50mm", "-p", "b=0", "--rtol", "1e-12", "--output", "energy")
    facts = data(call("simulate", bench, *words, "--json"))
    assert facts["quantities"]["q"]["start"] == [0.05]
    assert facts["quantities"]["q"]["end"][0] == pytest.approx(0.05, rel=1e-9)
    assert facts["energy"]["start"] == pytest.approx(0.5 * 200 * 0.05**2)
    assert facts["energy"]["change"] < 1e-10
    assert facts["energy"]["swing"] == pytest.approx(0.25, rel=1e-3)  # all of it goes to and fro
    assert facts["energy"]["relative"] == pytest.approx(facts["energy"]["change"] / facts["energy"]["swing"])
    assert facts["quantities"]["q"]["units"] == ["m"]


def test_a_damper_takes_energy_and_the_text_says_how_much_of_the_swing(call, bench):
    """From 0.25 J in the spring; without kinetic or potential energy there is nothing to compare with."""
    text = call("simulate", bench, "-t", "1", "--q0", "slide=50mm", "--output", "energy").stdout
    found = re.search(r"largest change (\S+) J, (\S+) of the 0\.25 J that kinetic or potential energy range over", text)
    assert float(found[1]) == pytest.approx(0.25 * float(found[2]), rel=0.05)
    alone = data(call("simulate", bench, "-t", "1", "--q0", "slide=50mm", "--output", "kinetic", "--json"))
    assert alone["energy"] is None
    both = data(call("simulate", bench, "-t", "1", "--q0", "slide=50mm", "--output", "kinetic,potential", "--json"))
    assert both["energy"]["swing"] == pytest.approx(0.25)
    rest = data(call("simulate", bench, "-t", "1", "--output", "energy", "--json"))
    assert rest["energy"]["relative"] is None


def test_units_and_repeated_or_joined_options_mean_the_same(call, here):
    one = data(call("simulate", "pendulum2", "-t", "100ms", "--q0", "joint1=30deg,joint2=-10deg", "--json"))
    two = data(
        call("simulate", "pendulum2", "-t", "0.1", "--q0", "joint1=pi/6", "--q0", f"joint2={-math.pi / 18!r}", "--json")
    )
    assert one["quantities"]["q"]["end"] == pytest.approx(two["quantities"]["q"]["end"], rel=1e-12)


def test_a_constant_force_gives_its_static_deflection(call, bench):
    facts = data(call("simulate", bench, "-t", "30", "--input", "slide=10N", "-p", "b=20", "--json"))
    assert facts["quantities"]["q"]["end"][0] == pytest.approx(10 / 200, rel=1e-6)


def test_expressions_and_tables_drive_inputs_alike(call, bench, here):
    t = np.linspace(0, 1, 2001)
    np.savetxt(here / "force.csv", np.column_stack([t, 5 * np.sin(6 * t)]), delimiter=",")
    law = data(call("simulate", bench, "-t", "1", "--input", "slide=5*sin(6*t)", "--json"))
    table = data(call("simulate", bench, "-t", "1", "--input", "slide=force.csv", "--json"))
    # between its rows, half a millisecond apart, the table is off by up to h^2/8 of its second derivative: 6e-6 N
    assert table["quantities"]["q"]["end"] == pytest.approx(law["quantities"]["q"]["end"], abs=5e-7)


def test_what_was_written_can_be_an_input(call, bench, here):
    first = data(
        call("simulate", bench, "-t", "1", "--input", "slide=3*t", "--samples", "11", "--out", "a.csv", "--json")
    )
    again = data(call("simulate", bench, "-t", "1", "--input", "tau.slide=a.csv", "--json"))
    assert again["quantities"]["q"]["end"] == pytest.approx(first["quantities"]["q"]["end"], rel=1e-6)


def test_a_stop_condition_ends_the_run_where_it_becomes_true(call, bench):
    facts = data(
        call("simulate", bench, "-t", "5", "--q0", "slide=5cm", "-p", "b=0", "--stop-when", "q.slide < 0", "--json")
    )
    assert facts["outcome"]["code"] == "STOPPED"
    assert facts["end"] == pytest.approx(math.pi / 20, rel=1e-6)  # a quarter of a period
    assert facts["events"][0]["name"] == "q.slide < 0"


def test_loops_start_closed_with_the_named_joint_where_it_was_put(call, here):
    facts = data(call("simulate", "four_bar", "-t", "10ms", "--q0", "crank=30deg", "--output", "energy", "--json"))
    q = facts["quantities"]["q"]["start"]
    assert q[0] == pytest.approx(math.pi / 6)
    crank, coupler, rocker = q[0], q[0] + q[1], q[2]
    end = np.array([-0.1 * math.sin(crank), 0.1 * math.cos(crank)])
    end += [0.4 * math.cos(coupler) - 0.2 * math.sin(coupler), 0.4 * math.sin(coupler) + 0.2 * math.cos(coupler)]
    assert end == pytest.approx([0.4 - 0.3 * math.sin(rocker), 0.3 * math.cos(rocker)], abs=1e-9)
    assert facts["energy"]["change"] < 1e-7


def test_own_quantities_are_recorded(call, bench, here):
    out = here / "m.npz"
    call("simulate", bench, "-t", "1", "--q0", "slide=0.1", "--output", "twice=2*q.slide,v.carriage", "--out", out)
    traj = load_trajectory(out)
    assert traj["twice"] == pytest.approx(2 * traj["q.slide"])
    assert traj["v.carriage"][:, 0] == pytest.approx(traj["qd.slide"])


# -- what it writes and prints


def test_text_tells_outcome_method_speed_values_and_files(call, bench, here):
    words = ["--out", "a.csv", "--out", "a.npz", "--plot", "a.svg", "--report", "a.html", "--checkpoint", "a.ckpt"]
    result = call(
        "simulate", bench, "-t", "1", "--q0", "slide=5mm", "--output", "energy", "--stop-when", "t > 0.5", *words
    )
    assert result.exit_code == 0, result.stderr
    for text in ("A stop condition was met", "dopri8", "steps", "times as fast", "q.slide", "0.005", "m/s", "energy:",
                 "event at t = 0.5 s: t > 0.5", "wrote a.csv", "wrote a.html", "wrote a.ckpt"):  # fmt: skip
        assert text in result.stdout
    assert not result.stderr
    assert sorted(p.name for p in here.iterdir()) == ["a.ckpt", "a.csv", "a.html", "a.npz", "a.svg", "bench.yaml"]
    assert "<svg" in (here / "a.svg").read_text()


def test_quiet_prints_nothing(call, bench):
    result = call("simulate", bench, "-t", "10ms", "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_too_many_steps_name_the_option_that_raises_the_limit(call, bench):
    result = call("simulate", bench, "-t", "100", "--q0", "slide=10mm", "--max-steps", "20")
    assert result.exit_code == 1
    assert "Raise --max-steps" in result.stdout
    assert call("simulate", bench, "-t", "100ms", "--max-steps", "0").exit_code == 2


def test_speed_below_which_dry_friction_falls_off_is_an_option(call, here):
    """A block of 1 kg slides into rest: v' = -2 v / sqrt(v^2 + slow^2)."""
    (here / "block.yaml").write_text(
        "symbody: 1\nname: block\ngravity: [0, 0, 0]\nbodies: {block: {mass: 1}}\n"
        "joints: {slide: {kind: prismatic, axis: x, parent: world, child: block, coulomb: 2}}\n"
    )
    left = {}
    for slow in ("0.5", "1e-4"):
        words = ("simulate", "block.yaml", "-t", "600ms", "--qd0", "slide=1", "--slow", slow, "--json")
        left[slow] = data(call(*words))["quantities"]["qd"]["end"][0]
    # separated and integrated: sqrt(v^2 + s^2) - s asinh(s / v) falls by 2 m/s each second
    law = lambda v, s: math.sqrt(v * v + s * s) - s * math.asinh(s / v)  # noqa: E731
    assert law(left["0.5"], 0.5) == pytest.approx(law(1.0, 0.5) - 1.2, abs=1e-6)
    assert abs(left["1e-4"]) < 1e-6


def test_a_run_that_fails_keeps_what_it_has_and_says_so(call, bench, here):
    # an effort that grows with the square of the speed: infinite after a finite time
    words = ("simulate", bench, "-t", "100", "--qd0", "slide=10", "--input", "slide=100*qd.slide^2", "--out", "a.csv")
    result = call(*words)
    assert result.exit_code == 1
    kept = load_trajectory(here / "a.csv")
    assert not kept.outcome.ok
    assert 0 < kept.t[-1] < 100
    assert "wrote a.csv" in result.stdout
    silent = call(*words, "--json")
    assert silent.exit_code == 1
    assert silent.stderr.startswith("symbody: ")
    assert json.loads(silent.stdout)["outcome"]["complete"] is False


def test_a_checkpoint_is_not_lost_to_the_motion_of_the_same_name(call, here):
    (here / "link.npz").symlink_to("run.npz")
    for given in (("--out", "run.npz"), ("--out", "link.npz"), ("--out", "a.csv", "--out", "./run.npz")):
        refused = call("simulate", "pendulum2", "--duration", "0.05", "--checkpoint", "run.npz", *given)
        assert refused.exit_code == 2
        assert "is the same file as --checkpoint run.npz" in refused.stderr
    kept = ("--checkpoint", "run.npz")
    assert call("simulate", "pendulum2", "--duration", "0.05", *kept, "--out", "a.csv").exit_code == 0
    refused = call("simulate", "--resume", "run.npz", "--duration", "0.1", "--out", "run.npz")
    assert "is the same file as --resume run.npz" in refused.stderr
    assert call("simulate", "--resume", "run.npz", "--duration", "0.1", *kept).exit_code == 0


def test_a_run_is_resumed_from_its_checkpoint_as_if_never_stopped(call, bench, here):
    start = ("simulate", bench, "--q0", "slide=1", "--samples")
    assert call(*start, "11", "-t", "1", "--checkpoint", "a.ckpt").exit_code == 0
    longer = data(call("simulate", "--resume", "a.ckpt", "-t", "1", "--out", "b.csv", "--json"))
    whole = data(call(*start, "21", "-t", "2", "--json"))
    assert longer["end"] == 2.0
    assert longer["quantities"]["q"]["end"] == pytest.approx(whole["quantities"]["q"]["end"], rel=1e-7)
    assert len(load_trajectory(here / "b.csv")) == 21
    for words, text in (
        (("--resume", "a.ckpt", "--q0", "slide=1"), "--q0"),
        (("--resume", "a.ckpt", "--report", "r.html"), "--report"),
    ):
        wrong = call("simulate", *words)
        assert wrong.exit_code == 2
        assert text in wrong.stderr
    other = call("simulate", "pendulum2", "--resume", "a.ckpt", "-t", "1")
    assert other.exit_code == 1
    assert "checkpoint of bench, not of pendulum2" in other.stderr


# -- interrupts, pipes, full disks


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_keeps_what_was_computed(bench, here):
    quick = "import symbody.motion.run.simulate as s; s.CHECKPOINT_SECONDS = 0.2; "
    quick += "from symbody.show.cli.app import main; main()"
    words = ["-t", "1e6", "--step", "1ms", "--samples", "1000001", "--out", "a.csv", "--checkpoint", "a.ckpt"]
    process = subprocess.Popen(
        [sys.executable, "-c", quick, "simulate", bench, *words],
        env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=here,
    )  # fmt: skip
    # the checkpoint appears when the run is on its way
    for _ in range(600):
        if (here / "a.ckpt").exists() or process.poll() is not None:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "was interrupted" in out
    assert "simulate --resume a.ckpt" in err
    assert "Traceback" not in err
    kept = load_trajectory(here / "a.csv")
    assert kept.outcome is Outcome.INTERRUPTED
    assert 0 < kept.t[-1] < 1e6
    assert not list(here.glob(".*part"))


@pytest.mark.skipif(os.name == "nt", reason="terminals of POSIX")
@pytest.mark.parametrize("quiet", [False, True])
def test_progress_shows_on_a_terminal_only_and_not_in_the_output(bench, here, quiet):
    import pty

    terminal, end = pty.openpty()
    words = ["simulate", bench, "-t", "1", *(["--quiet"] if quiet else ["--json"])]
    with subprocess.Popen(
        [sys.executable, "-m", "symbody", *words], env={**ENV, "TERM": "xterm", "COLUMNS": "100"}, cwd=here,
        stdout=subprocess.PIPE, stderr=end,
    ) as process:  # fmt: skip
        out = process.communicate(timeout=60)[0]
    os.close(end)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal is closed at the other end
        while part := os.read(terminal, 4096):
            shown += part
    os.close(terminal)
    assert process.returncode == 0
    if quiet:
        assert (out, shown) == (b"", b"")
    else:
        assert json.loads(out)["outcome"]["complete"]
        assert b"of 1 s" in shown


def test_a_reader_that_leaves_early_is_no_error(here):
    words = f"{sys.executable} -m symbody info puma560 --json | head -n 1"
    done = subprocess.run(["sh", "-c", words], env=ENV, capture_output=True, text=True, timeout=60)
    assert done.stdout == "{\n"
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_behind_the_output_is_a_sentence(here):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "symbody", "info", "pendulum2"],
            env=ENV,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("symbody: the output was not written")
    assert "Traceback" not in done.stderr


def test_devices_are_not_replaced_by_files(call, bench, here):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    (here / "full.csv").symlink_to("/dev/full")
    result = call("simulate", bench, "-t", "1", "--out", "full.csv")
    assert result.exit_code == 2
    assert "device" in result.stderr
    assert (here / "full.csv").is_symlink()


@pytest.mark.parametrize("target", ["a.csv", "a.npz", "a.png", "a.html"])
def test_a_full_disk_leaves_the_old_file_and_the_other_files_are_written(call, bench, here, monkeypatch, target):
    import errno

    (here / target).write_text("old")
    real = os.fsync

    def fsync(handle):
        name = os.readlink(f"/proc/self/fd/{handle}") if Path("/proc/self/fd").exists() else ""
        if target in name or not name:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    option = {".png": "--plot", ".html": "--report"}.get(Path(target).suffix, "--out")
    result = call("simulate", bench, "-t", "10ms", option, target, "--out", "other.csv")
    assert result.exit_code == 1
    assert f"{target} was not written: No space left on device" in result.stderr
    assert (here / target).read_text() == "old"
    assert not list(here.glob(".*part"))
    if Path("/proc/self/fd").exists():
        assert len(load_trajectory(here / "other.csv")) > 1
        assert "wrote other.csv" in result.stdout


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_that_cannot_be_written_is_refused_before_the_run(call, bench, here):
    (here / "closed").mkdir()
    (here / "closed").chmod(0o500)
    result = call("simulate", bench, "-t", "1", "--out", "closed/a.csv")
    assert result.exit_code == 1
    assert "does not let new files in" in result.stderr


def test_a_limit_on_the_size_of_files_is_a_sentence(bench, here):
    resource = pytest.importorskip("resource")
    (here / "a.csv").write_text("old")
    done = shell(
        "simulate", bench, "-t", "1", "--out", "a.csv", cwd=here,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )  # fmt: skip
    assert done.returncode == 1
    assert "a.csv was not written" in done.stderr
    assert "Traceback" not in done.stderr
    assert (here / "a.csv").read_text() == "old"


# -- used wrongly

RUN = ("simulate", "pendulum2", "-t", "1")
WRONG = [
    (("simulate",), 2, "MODEL"),
    (("simulate", "pendulum2"), 2, "--duration"),
    (("simulate", "pendulum9", "-t", "1"), 1, "'pendulum5'"),
    (("simulate", "pendulum2", "-t", "0"), 2, "--duration 0.0; expected a positive number of seconds"),
    (("simulate", "pendulum2", "-t", "3kg"), 2, "expected a time: s or ms"),
    (("simulate", "pendulum2", "-t", "nan"), 2, "finite"),
    (("simulate", "pendulum2", "-t", "forever"), 2, "expected a time"),
    ((*RUN, "--q0", "joint1=3kg"), 2, "q0 of 'joint1' is 3kg; expected an angle: rad or deg."),
    ((*RUN, "--q0", "joint1=nan"), 2, "finite"),
    ((*RUN, "--q0", "joint3=1"), 2, "'joint1'"),
    ((*RUN, "--q0", "joint1"), 2, "name=value"),
    ((*RUN, "--q0", "joint1="), 2, "name=value"),
    ((*RUN, "--q0", "=1"), 2, "name=value"),
    ((*RUN, "--q0", "joint1=1,joint1=2"), 2, "twice"),
    ((*RUN, "--q0", "joint1=1,2"), 2, "an angle"),
    ((*RUN, "--q0", "joint1=[1,2]"), 2, "1 value"),
    ((*RUN, "--qd0", "joint1=1m/s"), 2, "an angular velocity"),
    (("simulate", "satellite_arm", "-t", "1", "--q0", "base=1"), 2, "7 components"),
    (("simulate", "satellite_arm", "-t", "1", "--q0", "base=[1,2]"), 2, "7 values"),
    (("simulate", "satellite_arm", "-t", "1", "--q0", "base=[0,0,0,0,0,0,0]"), 1, "quaternion"),
    ((*RUN, "--input", "joint9=1"), 2, "'tau.joint1'"),
    ((*RUN, "--input", "joint1=1N"), 2, "a torque"),
    ((*RUN, "--input", "joint1=sin("), 2, "expected"),
    ((*RUN, "--input", "joint1=sin(y)"), 2, "'y' is unknown"),
    ((*RUN, "--input", "joint1=none.csv"), 1, "there is no file 'none.csv'"),
    ((*RUN, "--parameter", "mass=1"), 2, "has no parameter 'mass'"),
    ((*RUN, "--parameter", "m1=2m"), 2, "a mass: kg or g"),
    ((*RUN, "--output", "enrgy"), 2, "'energy'"),
    ((*RUN, "--output", "a="), 2, "name=expression"),
    ((*RUN, "--output", "a=2+"), 2, "expected"),
    ((*RUN, "--method", "rk5"), 2, "'rk4'"),
    ((*RUN, "--method", "rk4"), 2, "give --step"),
    ((*RUN, "--method", "radau", "--step", "1ms"), 2, "leave --step out"),
    ((*RUN, "--step", "2"), 2, "--step 2 is longer than --duration 1"),
    ((*RUN, "--step", "-1ms"), 2, "positive"),
    ((*RUN, "--rtol", "0"), 2, "--rtol"),
    ((*RUN, "--rtol", "-1e-6"), 2, "--rtol"),
    ((*RUN, "--rtol", "1e-30"), 2, "1e-15"),
    ((*RUN, "--rtol", "nan"), 2, "--rtol"),
    ((*RUN, "--atol", "0"), 2, "--atol"),
    ((*RUN, "--atol", "tiny"), 2, "--atol"),
    ((*RUN, "--samples", "1"), 2, "--samples"),
    ((*RUN, "--stop-when", "q.joint9 > 1"), 2, "'q.joint1'"),
    ((*RUN, "--stop-when", "q.joint1 >"), 2, "expected"),
    ((*RUN, "--formalism", "newton"), 2, "newton_euler"),
    ((*RUN, "--out", "a.txt"), 2, ".csv"),
    ((*RUN, "--out", "no/such/a.csv"), 2, "there is no folder 'no/such'"),
    ((*RUN, "--out", "folder.csv"), 2, "is a folder"),
    ((*RUN, "--plot", "a.gif"), 2, ".png"),
    ((*RUN, "--report", "a.pdf"), 2, ".html"),
    (("simulate", "--resume", "none.ckpt"), 1, "there is no checkpoint 'none.ckpt'"),
    (("simulate", "--resume", "damaged.ckpt"), 1, "not a checkpoint"),
    ((*RUN, "--bogus"), 2, "--bogus"),
]


@pytest.mark.parametrize(("words", "status", "text"), WRONG, ids=[" ".join(w[0]) for w in WRONG])
def test_wrong_use_gives_a_sentence_and_a_status(call, here, words, status, text):
    (here / "folder.csv").mkdir()
    (here / "damaged.ckpt").write_bytes(b"\x93NUMPY and nothing more")
    result = call(*words)
    assert result.exit_code == status
    assert text in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert sorted(p.name for p in here.iterdir()) == ["damaged.ckpt", "folder.csv"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no rows of numbers"),
        ("t,f\n", "no rows of numbers"),
        ("0,1,2\n1,2,3\n", "3 columns; expected 2"),
        ("t,a,b\n0,1,2\n", "Its columns are t, a, b"),
        ("0,1\n1\n", "a row of 1 values"),
        ("0,1\n1,x\n", "no table of numbers"),
        ("1,1\n0,2\n", "ascend"),
        ("0,nan\n1,2\n", "finite"),
        ("\x00\xff", "table"),
    ],
)
def test_a_wrong_table_is_named(call, bench, here, text, words):
    (here / "f.csv").write_bytes(text.encode("latin-1"))
    result = call("simulate", bench, "-t", "1", "--input", "slide=f.csv")
    assert result.exit_code == 1
    assert words in result.stderr
    assert "f.csv" in result.stderr or "slide" in result.stderr
