"""Emitted C in its styles: names, one header with a bound of the stack, own sines and cosines, many states."""

import ctypes
import platform
import re
import shutil
import subprocess

import mpmath
import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import NameLookupError
from symbody.codegen.compile import emit_files

pytestmark = pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler here")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-ffp-contract=off")


@pytest.fixture(scope="module")
def robot():
    """Six joints: enough angles to be taken together."""
    return sb.inverse_dynamics(sb.load("puma560"), formalism="base")


def built(files, folder, name, *flags):
    for file, text in files.items():
        (folder / file).write_text(text)
    source = f"{name}.c" if f"{name}.c" in files else "only.c"
    if source == "only.c":
        (folder / source).write_text(
            f'#include "{name}.h"\nvoid run(const double *q, const double *qd, const double *qdd, double *tau);\n'
            "void run(const double *q, const double *qd, const double *qdd, double *tau)\n{\n    double d[200];\n"
            f"    int s[1];\n    {name}_setup({name}_parameters, d);\n    {name}(q, qd, qdd, d, tau, s);\n}}\n"
        )
    subprocess.run(
        ["cc", *STRICT, "-O1", "-fPIC", "-shared", *flags, source, "-o", "m.so", "-lm"], cwd=folder, check=True
    )
    return ctypes.CDLL(str(folder / "m.so"))


def pointers(*arrays):
    return [ctypes.c_void_p(a.ctypes.data) for a in arrays]


def torques(library, name, q, qd, qdd):
    out, derived, status = np.zeros(6), np.zeros(200), np.zeros(1, dtype=np.int32)
    defaults = np.array(list((ctypes.c_double * 200).in_dll(library, f"{name}_parameters")))
    getattr(library, f"{name}_setup")(*pointers(defaults, derived))
    getattr(library, name)(*pointers(q, qd, qdd, derived, out, status))
    return out


def test_names_change_the_text_and_not_a_bit_of_the_results(robot, tmp_path):
    rng = np.random.default_rng(0)
    state = [rng.uniform(-2, 2, 6) for _ in range(3)]
    found, sizes = [], {}
    for names in ("plain", "staged", "compact"):
        folder = tmp_path / names
        folder.mkdir()
        files = emit_files(robot, "c", names=names)
        sizes[names] = len(files[f"{robot.name}.c"])
        found.append(torques(built(files, folder, robot.name), robot.name, *state))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_allclose(found[0], robot.compile()(*state), rtol=1e-12)
    assert sizes["compact"] < 0.7 * sizes["plain"]
    with pytest.raises(NameLookupError, match="staged"):
        emit_files(robot, "c", names="stage")


def test_staged_text_has_the_names_of_parameters_and_sections_with_their_sources(robot):
    text = emit_files(robot, "c", names="staged")[f"{robot.name}.c"]
    call = text[text.index(f"void {robot.name}(") :]
    assert "const double a2 = derived[" in call
    assert "/* positions and velocities: what depends on q, qd only */" in call
    assert re.search(r"/\* tau \[N m\]: efforts .*\(Gautier and Khalil 1990\) \*/", call)


def test_one_header_gives_the_same_and_keeps_its_bound_of_the_stack(robot, tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not here: only it tells what functions take of the stack")
    files = emit_files(robot, "c", single_header=True, project=True)
    assert f"{robot.name}.c" not in files
    library = built(files, tmp_path, robot.name)
    rng = np.random.default_rng(0)
    state, out = [rng.uniform(-2, 2, 6) for _ in range(3)], np.zeros(6)
    library.run(*pointers(*state, out))
    np.testing.assert_allclose(out, robot.compile()(*state), rtol=1e-12)
    bound = {n: int(b) for n, b in re.findall(r"#define (\w+)_STACK_BYTES (\d+)", files[f"{robot.name}.h"])}
    for level in ("-O0", "-Os", "-O3"):
        subprocess.run(["gcc", *STRICT, level, "-fstack-usage", "-c", "only.c"], cwd=tmp_path, check=True)
        used = dict(re.findall(r":(\w+)\t(\d+)\t", (tmp_path / "only.su").read_text()))
        helpers = sum(int(n) for f, n in used.items() if f not in ("run", robot.name, f"{robot.name}_setup"))
        for name in (robot.name, f"{robot.name}_setup"):
            assert int(used.get(name, 0)) + helpers <= bound[name.upper()]
    done = subprocess.run(["make", "-s", "test"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_own_sines_and_cosines_are_right_to_two_units_in_the_last_place(tmp_path):
    angles = np.array([sb.symbol(f"a{k}") for k in range(4)])
    outputs = {"s": [sb.sin(a) for a in angles], "c": [sb.cos(a) for a in angles]}
    system = sb.System("waves", inputs={"a": angles}, outputs=outputs)
    files = emit_files(system, "c")
    assert "waves_sincos(4" in files["waves.c"]
    library = built(files, tmp_path, "waves")
    rng = np.random.default_rng(2)
    near = np.concatenate([np.nextafter(k * np.pi / 2, [-np.inf, np.inf]) for k in (1, 2, 3, 355, 710, 63000)])
    points = np.concatenate([rng.uniform(-1e5, 1e5, 400), rng.uniform(-7, 7, 400), near, [0.0, 1e-300, 1e-9, 99999.9]])
    s, c, status, derived = np.zeros(4), np.zeros(4), np.zeros(1, dtype=np.int32), np.zeros(1)
    for group in points.reshape(-1, 4):
        library.waves(*pointers(group, derived, s, c, status))
        for k, x in enumerate(group):
            with mpmath.workdps(60):
                exact = mpmath.sin(mpmath.mpf(x)), mpmath.cos(mpmath.mpf(x))
                for found, value in zip((s[k], c[k]), exact):
                    assert abs(mpmath.mpf(found) - value) <= 2 * np.spacing(abs(float(value))), (x, found)
    wild = np.array([1e5, -3e7, np.inf, np.nan])
    library.waves(*pointers(wild, derived, s, c, status))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(s, np.sin(wild))
        np.testing.assert_array_equal(c, np.cos(wild))


def test_a_loop_over_states_is_made_of_vectors(robot, tmp_path):
    if shutil.which("gcc") is None or platform.machine() != "x86_64":
        pytest.skip("gcc for x86-64 is not here")
    for file, text in emit_files(robot, "c", batch=True).items():
        (tmp_path / file).write_text(text)
    loop = (tmp_path / f"{robot.name}.c").read_text().splitlines()
    line = 1 + next(k for k, text in enumerate(loop) if text.startswith("    for (int i = 0; i < n; ++i) {"))
    for flags in (["-mavx512f"], ["-mavx2", "-fno-trapping-math"]):
        command = ["gcc", "-std=gnu99", "-O3", *flags, "-fopt-info-vec", "-c", f"{robot.name}.c"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert f"{robot.name}.c:{line}:5: optimized: loop vectorized" in done.stderr
