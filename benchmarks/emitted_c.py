"""Emitted C beside CasADi's C, both by gcc -O3 -march=native in one run: a call, 1024 states, size of the text."""

from __future__ import annotations

import ctypes
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.casadi_c import CasadiC, compiler
from benchmarks.dynamics_models import robot
from benchmarks.dynamics_recursions import workload
from benchmarks.record import Claim, Missing, Options, Section
from benchmarks.timing import interleaved, limited

FLAGS = ("-O3", "-march=native")
STATES = 1024


class Emitted:
    """NAME called for each of many states, and NAME_batch over a structure of arrays."""

    def __init__(self, system: Any, folder: Path, flags: tuple[str, ...], batch: bool) -> None:
        from symbody.codegen.compile import emit_files

        files = emit_files(system, "c", batch=batch, names="compact")
        self.text = len(files[f"{system.name}.c"])
        for name, text in files.items():
            (folder / name).write_text(text)
        name, ports = system.name, [*system.inputs]
        self.sizes = {n: a.size for n, a in system.inputs.items()}
        self.result = next(iter(system.outputs.values())).size
        given = ", ".join(f"in[{k}] + i*{self.sizes[n]}" for k, n in enumerate(ports))
        loop = f"for (long i = 0; i < n; ++i)\n    {name}({given}, derived, out + i*{self.result}, status);"
        if batch:
            loop = f"{name}_batch((int)n, {', '.join(f'in[{k}]' for k in range(len(ports)))}, derived, out);"
        driver = (
            f'#include "{name}.c"\nvoid run(long n, const double *const *in, double *out)\n{{\n'
            f"  double derived[{name.upper()}_DERIVED_SIZE + 1];\n  int status[1]; (void)status;\n"
            f"  {name}_setup({name}_parameters, derived);\n  {loop}\n}}\n"
        )
        (folder / "driver.c").write_text(driver)
        command = [compiler() or "gcc", *flags, "-fPIC", "-shared", "driver.c", "-o", "e.so", "-lm"]
        status, _, errors = limited(command, 120, cwd=folder)
        if status:
            raise RuntimeError(f"gcc failed on emitted C: {errors[:300]}")
        self._run = ctypes.CDLL(str(folder / "e.so")).run
        self.batch = batch

    def prepare(self, arrays: dict[str, np.ndarray]) -> None:
        self.given = [np.ascontiguousarray(arrays[n].T if self.batch else arrays[n]) for n in self.sizes]
        self.pointers = (ctypes.c_void_p * len(self.given))(*(a.ctypes.data for a in self.given))
        self.out = np.zeros((self.result, STATES) if self.batch else (STATES, self.result))

    def seconds(self) -> float:
        start = time.perf_counter()
        self._run(ctypes.c_long(STATES), self.pointers, ctypes.c_void_p(self.out.ctypes.data))
        return (time.perf_counter() - start) / STATES

    def values(self) -> np.ndarray:
        self.seconds()
        return self.out.T if self.batch else self.out


def run(options: Options) -> Section:
    """PUMA 560, inverse dynamics."""
    section = Section(
        "emitted_c",
        "Emitted C and CasADi's C: PUMA 560, inverse dynamics",
        ["program", "ns a call", "ratio", "ns of 1024", "batch ratio", "characters", "text ratio"],
        notes=[f"gcc {' '.join(FLAGS)}; 1024 states as a structure of arrays in one call"],
    )
    library = peers.CasADi()
    if not library.available() or compiler() is None:
        section.rows.append({"program": Missing("CasADi or gcc is not installed")})
        return section
    from symbody.mechanics.verbs.dynamics import inverse_dynamics

    model = robot("puma560")
    system = inverse_dynamics(model.mechanism, "base" if options.quick else "auto")
    rng = np.random.default_rng(0)
    arrays = {n: rng.uniform(-1, 1, (STATES, a.size)) for n, a in system.inputs.items()}
    made = library.build(workload(model, "inverse"))
    other = CasadiC(made, FLAGS, 2 * options.budget)
    other.prepare({n: arrays[n] for n in other.ports})
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        single, many = Emitted(system, Path(one), FLAGS, False), Emitted(system, Path(two), FLAGS, True)
        for program in (single, many):
            program.prepare(arrays)
        other.seconds()
        np.testing.assert_allclose(single.values(), other.result, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(many.values(), other.result, rtol=1e-9, atol=1e-9)
        clocks = {"single": single.seconds, "many": many.seconds, "CasADi": other.seconds}
        best = interleaved({n: partial(f) for n, f in clocks.items()}, 30 if options.quick else 100)
    characters = casadi_characters(library.sx_function(made))
    ns = {n: 1e9 * t for n, t in best.items()}
    section.rows.append({
        "program": "symbody", "ns a call": ns["single"], "ratio": ns["single"] / ns["CasADi"], "ns of 1024": ns["many"],
        "batch ratio": ns["many"] / ns["CasADi"], "characters": single.text, "text ratio": single.text / characters,
    })  # fmt: skip
    section.rows.append({"program": "CasADi", "ns a call": ns["CasADi"], "characters": characters})
    section.claims += [
        Claim("emitted C / CasADi's C, a call", ns["single"] / ns["CasADi"], 0.5),
        Claim("emitted C / CasADi's C, 1024 states", ns["many"] / ns["CasADi"], 0.16),
        Claim("characters of compact C / CasADi's", single.text / characters, 0.5),
    ]
    return section


def casadi_characters(function: Any) -> int:
    import casadi as ca

    generator = ca.CodeGenerator("f.c", {"casadi_int": "long long"})
    generator.add(function)
    return len(generator.dump())
