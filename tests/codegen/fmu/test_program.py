"""`--main`: a C program that reads parameters and inputs from files and writes what `sb.simulate` gives."""

import csv
import io
import shutil
import subprocess

import numpy as np
import pytest

import symbody as sb
from symbody.codegen.fmu.description import Stepping
from symbody.codegen.fmu.fmu_model import motion_of
from symbody.codegen.fmu.standalone_program import program_files

pytestmark = pytest.mark.skipif(not all(map(shutil.which, ("cc", "make"))), reason="no C compiler or make here")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A mass on a spring, driven by a force."""
    folder = tmp_path_factory.mktemp("program")
    x, v, u = sb.symbol("x", "state"), sb.symbol("v", "state"), sb.symbol("u")
    k, m = (sb.symbol(n, "parameter", default=d) for n, d in (("k", 3.0), ("m", 0.5)))
    system = sb.System("mass", inputs={"x": x, "v": v, "u": u}, outputs={"dx": v, "dv": (u - k * x) / m},
                       states={"x": "dx", "v": "dv"})  # fmt: skip
    for name, text in program_files(
        motion_of(system, {}, {}, {"x": 0.3}, derivatives=False), Stepping("rk4", 1e-3)
    ).items():
        (folder / name).write_text(text)
    subprocess.run(["make", "-s"], cwd=folder, check=True)
    return system, folder


def run(folder, *words):
    return subprocess.run(["./mass", *map(str, words)], cwd=folder, capture_output=True, text=True)


def columns(text):
    rows = list(csv.reader(io.StringIO(text)))
    return dict(zip(rows[0], np.array(rows[1:], dtype=float).T))


def test_files_of_parameters_and_inputs_act_as_in_simulate(program):
    system, folder = program
    (folder / "values.txt").write_text("# heavier, and stiffer\nm=0.8\n\nk=5.5\n")
    times, forces = np.array([0.0, 0.2, 0.5, 2.0]), np.array([0.0, 1.0, -0.5, 0.25])
    table = "".join(f"{t},{u}\n" for t, u in zip(times, forces))
    (folder / "force.csv").write_text(f"time,u\n{table}\n")
    done = run(folder, "--duration", 1, "--parameters", "values.txt", "--inputs", "force.csv")
    assert done.returncode == 0, done.stderr
    found = columns(done.stdout)
    parameters = {"m": 0.8, "k": 5.5}
    expected = sb.simulate(
        system, 1.0, 1e-3, states0={"x": 0.3}, inputs={"u": (times, forces)}, method="rk4", parameters=parameters
    )
    for name in ("x", "v"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-10, atol=1e-12)
    lighter = columns(run(folder, "--duration", 1, "m=0.2").stdout)
    assert abs(lighter["x"] - found["x"]).max() > 0.1


@pytest.mark.parametrize(
    ("name", "text", "option", "told"),
    [
        ("a.txt", "mass=1\n", "--parameters", "no state, input or parameter for mass=1"),
        ("b.txt", "m=one\n", "--parameters", "no number in m=one"),
        ("c.csv", "u,time\n1,0\n", "--inputs", "first column is not time"),
        ("d.csv", "time,w\n0,1\n", "--inputs", "no input is called w"),
        ("e.csv", "time,u\n0,1\n0,2\n", "--inputs", "times do not increase"),
        ("f.csv", "time,u\n0\n", "--inputs", "a row is short"),
        ("missing.csv", None, "--inputs", "cannot read missing.csv"),
    ],
)
def test_a_wrong_file_is_refused_with_a_sentence(program, name, text, option, told):
    _, folder = program
    if text is not None:
        (folder / name).write_text(text)
    done = run(folder, option, name)
    assert done.returncode == 1
    assert told in done.stderr
