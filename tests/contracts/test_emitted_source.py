"""Every source target, by its row: what it writes builds without a warning, runs, and gives what the interpreter gives.

The generated test program carries stored values of the interpreter; it must pass, and fail where one is changed. Text
in a language whose program is not here (Julia, Maple) is read by `tests/codegen/source_readers`, as is a document
(LaTeX).
"""

import ctypes
import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from codegen.source_readers.julia import run_julia
from codegen.source_readers.latex import Document
from codegen.source_readers.maple import run_maple
from contracts import test_target_agrees_with_interpreter as kinds
from symbody.codegen.target_row import Source, Target
from symbody.codegen.targets import TARGETS
from symbody.symbolic.lower.interpret import interpret
from symbody.symbolic.lower.lowering import lower
from symbody.symbolic.system.together import together

CHECKED = [row for row in TARGETS.values() if row.check]
# compilers and programs that every machine of ours has; the others run with `make test-slow`
QUICK = {"c", "cpp", "fortran77", "fortran2008", "python", "javascript", "julia", "maple", "fmu2", "fmu3"}
READERS = {"julia": run_julia, "maple": run_maple}


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
    if row.lacks() and row.name not in READERS:
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
    if row.lacks():
        try:
            return subprocess.CompletedProcess(
                [], 0, READERS[row.name](folder / row.check[0][-1].format(name=name)), ""
            )
        except ValueError as error:
            return subprocess.CompletedProcess([], 1, "", str(error))
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


@pytest.mark.parametrize(
    "make", [pytest.param(m, marks=[] if m in (everything, kinds.loop) else [pytest.mark.slow]) for m in SYSTEMS],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_a_document_read_back_gives_what_the_interpreter_gives(make):
    with sb.Graph():
        system = make()
        (text,) = TARGETS["latex"].emit(Source(system)).values()
        program = lower(system)
    outside = {(e.name, str(k + 1)): _result(e, k) for e in program.externals for k in range(e.results)}
    document, rng = Document(text, outside), np.random.default_rng(0)
    defaults = np.array([x for p in program.parameters for x in p.default])
    symbols = list(document.symbols.values())
    assert len(set(symbols)) == len(symbols)
    found = 0
    for _ in range(3):
        given = {p.name: rng.uniform(0.1, 0.5, p.shape) for p in program.inputs}
        expected, status = interpret(program, given, defaults, status=True)
        if (status < 0).any():
            continue
        found += 1
        numbers = document.compute({f"{n}[{k}]": x for n, a in given.items() for k, x in enumerate(np.ravel(a))})
        results = symbols[len(symbols) - sum(np.size(a) for a in expected.values()) :]  # the table ends with them
        computed = [numbers[s] for s in results]
        np.testing.assert_allclose(
            computed, np.hstack([np.ravel(a) for a in expected.values()]), rtol=1e-12, atol=1e-12
        )
    assert found


def _result(external, k):
    return lambda *given: external.function(*given)[k]


def test_a_document_names_joints_and_a_julia_module_is_one_by_its_grammar():
    with sb.Graph():
        mechanism = sb.load("pendulum2")
        labels = {"q": ["joint1", "joint2"], "qdd": ["joint1", "joint2"]}
        system = sb.forward_dynamics(mechanism, formalism="base")
        (text,) = TARGETS["latex"].emit(Source(system, labels=labels)).values()
        assert r"$\ddot{q}_{\text{joint2}}$ & \verb|qdd[1]|" in text
        assert r"\cos\left(q_{\text{joint2}}\right)" in text
        tree_sitter = pytest.importorskip("tree_sitter")
        grammar = tree_sitter.Language(pytest.importorskip("tree_sitter_julia").language())
        for make in (everything, kinds.loop):
            for file in TARGETS["julia"].emit(Source(make()), project=True).values():
                assert not tree_sitter.Parser(grammar).parse(file.encode()).root_node.has_error


def block_that_reads_what_it_may_hide() -> sb.System:
    """An input whose name a function of a block could take for its own."""
    x, u = sb.symbol("x", "state"), sb.symbol("u", "unknown")
    k = sb.symbol("k", "parameter", default=1.3)
    (root,) = sb.solve([u * sb.exp(u) - k * x**2], [u], [0.5], name="lambert")
    return sb.System("hidden", inputs={"x": x}, outputs={"y": sb.sin(root) * x})


@pytest.mark.slow
@pytest.mark.parametrize("row", [r for r in CHECKED if not r.name.startswith("fmu")], ids=lambda r: r.name)
def test_a_block_may_read_an_input_of_any_name(row, tmp_path):
    system, _ = emitted(row, block_that_reads_what_it_may_hide, tmp_path)
    done = run(row, tmp_path, system.name)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("library", ["jax", "torch"])
def test_gradients_go_through_solve_blocks(library, tmp_path, monkeypatch):
    module = pytest.importorskip(library)
    system = block_that_reads_what_it_may_hide()
    for name, text in TARGETS[library].emit(Source(system)).items():
        (tmp_path / f"{library}_{name}").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    if library == "jax":
        module.config.update("jax_enable_x64", True)
    model = importlib.import_module(f"{library}_hidden")
    derived, _ = model.hidden_setup(model.parameter_defaults)
    points = np.array([0.4, 0.7, 1.1])
    expected = system.jacobian("y", "x").compile()(points)
    if library == "jax":
        value = lambda x: model.hidden([x], derived)[0][0]  # noqa: E731
        found = [module.jit(module.vmap(module.grad(value)))(points), module.vmap(module.jacfwd(value))(points)]
    else:
        x = module.tensor(points[None], requires_grad=True)
        model.hidden(x, derived)[0].sum().backward()
        found = [x.grad.numpy()[0]]
    for slope in found:
        np.testing.assert_allclose(slope, np.ravel(expected), rtol=1e-12)


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
    n, name = 70, system.name  # vectors and a rest
    flags = ["-std=c99", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fPIC", "-shared"]
    subprocess.run(["cc", *flags, f"{name}.c", "-o", "b.so", "-lm"], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "b.so"))
    rng = np.random.default_rng(1)
    arrays = {k: rng.uniform(-1, 1, (n, a.size)) for k, a in system.inputs.items()}
    arrays["q"][3], arrays["q"][-1, 1], arrays["q"][17, 0] = 2.5e5, -1e9, np.nan  # beyond the text's own sines
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
    assert np.isnan(out[:, 17]).any()
    np.testing.assert_allclose(out.T, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("make", [everything, kinds.loop], ids=lambda f: f.__name__)
def test_linters_of_the_languages_find_nothing(make, tmp_path):
    """clippy on the crate; tsc on the types, and on a program that uses them."""
    found = 0
    if not TARGETS["rust"].lacks() and shutil.which("cargo-clippy"):
        emitted(TARGETS["rust"], make, tmp_path / "rust")
        command = ["cargo", "clippy", "--offline", "--quiet", "--all-targets", "--", "-D", "warnings"]
        done = subprocess.run(command, cwd=tmp_path / "rust", capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found += 1
    if shutil.which("tsc"):
        system, _ = emitted(TARGETS["javascript"], make, tmp_path / "types")
        name = system.name
        (tmp_path / "types" / "use.mts").write_text(
            f'import {{ parameters, sizes, {name}_setup }} from "./{name}.mjs";\n'
            "const derived = new Float64Array(sizes.derived!);\n"
            f"{name}_setup(parameters, derived);\n"
        )
        flags = ["--noEmit", "--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--module", "nodenext"]
        files = ["use.mts", f"{name}.d.mts"]
        done = subprocess.run(["tsc", *flags, *files], cwd=tmp_path / "types", capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
        (tmp_path / "types" / "wrong.mts").write_text(
            f'import {{ {name}_setup }} from "./{name}.mjs";\n{name}_setup(1);\n'
        )
        done = subprocess.run(["tsc", *flags, "wrong.mts"], cwd=tmp_path / "types", capture_output=True, text=True)
        assert done.returncode != 0
        found += 1
    if not found:
        pytest.skip("neither clippy nor tsc is here")


def test_a_long_program_is_split():
    """20 000 operations; `benchmarks/long_source.py` times 100 000."""
    x = [sb.symbol(f"x{k}") for k in range(10)]
    values = list(x)
    for k in range(10_000):
        values.append(values[-1] * values[k % 10 + len(values) // 2] + values[len(values) // 3])
    system = sb.System("long", inputs={"x": x}, outputs={"y": values[-5:]})
    text = TARGETS["c"].emit(Source(system))["long_2.c"]
    assert text.count("static void long_2_part") >= 5
