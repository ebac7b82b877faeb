"""Long programs as C: CPU time to write them and to compile them by gcc -O2, cut into functions or not."""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.casadi_c import compiler
from benchmarks.record import Missing, Options, Section
from benchmarks.timing import TooSlow, limited


def chain(joints: int) -> Any:
    """Inverse dynamics of a spatial chain, without passes: some 120 operations a joint."""
    import symbody as sb

    b = sb.Mechanism.builder(f"chain{joints}")
    before = "world"
    for k in range(joints):
        b.body(f"b{k}", 1.0, (0.1, 0.02, -0.5), (0.2, 0.3, 0.25))
        b.joint(f"j{k}", "revolute", before, f"b{k}", position=(0, 0, -1 if k else 0), axis="xyz"[k % 3])
        before = f"b{k}"
    return sb.inverse_dynamics(b.done(), formalism="newton_euler")


def run(options: Options) -> Section:
    """Emission includes the lowering of the System to a Program."""
    section = Section(
        "long_source",
        "Long programs as C",
        ["joints", "operations", "s to write", "characters", "s of gcc -O2"],
    )
    from symbody.codegen.compile import emit_files

    for joints in (60,) if options.quick else (100, 300, 830):
        system = chain(joints)
        start = time.process_time()
        files = emit_files(system, "c")
        spent = time.process_time() - start
        row: dict[str, Any] = {"joints": joints, "operations": system.count().total, "s to write": spent}
        row["characters"] = len(files[f"{system.name}.c"])
        gcc = compiler()
        if gcc is None:
            row["s of gcc -O2"] = Missing("gcc is not installed")
        else:
            row["s of gcc -O2"] = _compiled(files, system.name, gcc, 10 * options.budget)
        section.rows.append(row)
    return section


def _compiled(files: dict[str, str], name: str, gcc: str, limit: float) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        for file, text in files.items():
            (Path(folder) / file).write_text(text)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        try:
            status, _, errors = limited([gcc, "-std=c99", "-O2", "-c", f"{name}.c"], limit, cwd=Path(folder))
        except TooSlow as why:
            return Missing(str(why))
        if status:
            raise RuntimeError(f"gcc failed: {errors[:300]}")
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
