"""Every source target, by its row: what it writes builds without a warning, runs, and gives what the interpreter gives.

The generated test program carries stored values of the interpreter; it must pass, and fail where one is changed.
"""

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from contracts import test_target_agrees_with_interpreter as kinds
from symbody.codegen.target_row import Source, Target
from symbody.codegen.targets import TARGETS
from symbody.system.together import together

CHECKED = [row for row in TARGETS.values() if row.check]
# compilers and programs that every machine of ours has; the others run with `make test-slow`
QUICK = {"c", "cpp", "fortran77", "fortran2008", "python", "javascript", "fmu2", "fmu3"}


def everything() -> sb.System:
    """Arithmetic, arrays, blocks, tables, functions from outside and choices in one module."""
    makers = (kinds.scalars, kinds.arrays, kinds.solve_block, kinds.tables, kinds.externals, kinds.choices)
    return together("everything", {make.__name__: make() for make in makers})


def puma() -> sb.System:
    return sb.inverse_dynamics(sb.load("puma560"), formalism="base")


def motorcycle() -> sb.System:
    """Tyres, springs and dampers."""
    return sb.forward_dynamics(sb.load("motorcycle"), formalism="order_n")


def linear_model() -> sb.System:
    return sb.linearize(sb.load("pendulum2"), symbolic=True)


def element_with_states() -> sb.System:
    """A spring behind a damper: an internal state and its rate."""
    b = sb.Mechanism.builder("hung", gravity=(0, 0, -9.81))
    b.body("bob", 1.5, (0, 0, -0.4), (0.02, 0.02, 0.01), frames={"tip": (0.3, 0, -0.8)})
    b.joint("swing", "revolute", "world", "bob", axis="y")
    b.force("mount", "maxwell", [("bob", "tip"), ("world", "")], stiffness=300.0, damping=20.0)
    return sb.forward_dynamics(b.done(), formalism="newton_euler").with_events()


SYSTEMS = [everything, kinds.mechanism, kinds.loop, puma, motorcycle, linear_model, element_with_states]
EVERY = [
    pytest.param(
        row,
        make,
        id=f"{row.name}-{make.__name__}",
        marks=[] if row.name in QUICK and make in (everything, kinds.loop) else [pytest.mark.slow],
    )
    for row in CHECKED
    if not row.name.startswith("fmu")
    for make in SYSTEMS
]


def emitted(row: Target, make, folder: Path, groups: bool = False, **options) -> tuple[sb.System, dict]:
    if row.lacks():
        pytest.skip(row.lacks())
    with sb.Graph():
        system = make()
        names = list(system.outputs)
        cut = {"first": names[:1], "all_of_it": names} if groups and len(names) > 1 else None
        files = row.emit(Source(system, cut), project=True, **options)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return system, files


def run(row: Target, folder: Path, name: str) -> subprocess.CompletedProcess:
    for command in row.check:
        words = [word.format(python=sys.executable, name=name) for word in command]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)
        if done.returncode:
            break
    return done


@pytest.mark.parametrize(("row", "make"), EVERY)
def test_what_is_written_builds_without_a_warning_and_gives_the_stored_values(row, make, tmp_path):
    system, _ = emitted(row, make, tmp_path)
    done = run(row, tmp_path, system.name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "agrees with the stored values" in done.stdout
    assert "warning" not in done.stderr.lower()


@pytest.mark.parametrize(
    "row", [pytest.param(r, marks=[] if r.name in QUICK else [pytest.mark.slow], id=r.name) for r in CHECKED
            if not r.name.startswith("fmu")],
)  # fmt: skip
def test_groups_give_the_same_and_a_changed_stored_value_is_found(row, tmp_path):
    system, files = emitted(row, everything, tmp_path, groups=row.groups)
    done = run(row, tmp_path, system.name)
    assert done.returncode == 0, done.stdout + done.stderr
    test = next(n for n in files if n.startswith("test"))
    text = files[test]
    place = list(re.finditer(r"\d\.\d{6,}", text))[-1]  # digits of the last stored result
    digit = text[place.start()]
    (tmp_path / test).write_text(text[: place.start()] + str((int(digit) + 1) % 10) + text[place.start() + 1 :])
    assert run(row, tmp_path, system.name).returncode != 0


@pytest.mark.slow
@pytest.mark.parametrize("make", [everything, kinds.loop, puma, motorcycle], ids=lambda f: f.__name__)
@pytest.mark.parametrize("row", [r for r in CHECKED if "single" in r.precisions], ids=lambda r: r.name)
def test_single_precision(row, make, tmp_path):
    system, _ = emitted(row, make, tmp_path, precision="single")
    done = run(row, tmp_path, system.name)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_loop_over_a_structure_of_arrays_gives_each_state_what_a_call_gives(tmp_path):
    if TARGETS["c"].lacks():
        pytest.skip(TARGETS["c"].lacks())
    system = kinds.mechanism()
    files = TARGETS["c"].emit(Source(system), batch=True)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    n, name = 70, system.name  # a whole strip and a rest
    flags = ["-std=c99", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fPIC", "-shared"]
    subprocess.run(["cc", *flags, f"{name}.c", "-o", "b.so", "-lm"], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "b.so"))
    rng = np.random.default_rng(1)
    arrays = {k: rng.uniform(-1, 1, (n, a.size)) for k, a in system.inputs.items()}
    kernel = system.compile("python")
    states = {k: a.reshape((n, *system.inputs[k].shape)) for k, a in arrays.items()}
    expected = next(iter(kernel.call_named(**states).values()))
    size = int(re.search(r"DERIVED_SIZE +(\d+)", files[f"{name}.h"])[1])
    derived, out = np.zeros(size + 1), np.zeros((2, n))
    parameters = np.array([x for p in kernel.parameters for x in p.default])
    columns = [np.ascontiguousarray(a.T) for a in arrays.values()]
    pointer = lambda a: ctypes.c_void_p(a.ctypes.data)  # noqa: E731
    getattr(library, f"{name}_setup")(pointer(parameters), pointer(derived))
    getattr(library, f"{name}_batch")(ctypes.c_int(n), *map(pointer, columns), pointer(derived), pointer(out))
    np.testing.assert_array_equal(out.T, expected)
