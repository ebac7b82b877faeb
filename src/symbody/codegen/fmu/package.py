"""FMUs: description, sources, a binary built by the system's compiler, licence and documentation in one archive."""

from __future__ import annotations

import hashlib
import html
import io
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from symbody.basics.errors import CompileError, DefinitionError
from symbody.codegen.c.build import find_compiler, run_compiler, source_folder, temporary_files_inside
from symbody.codegen.fmu.description import Stepping, fmi2_description, fmi3_description, scalars
from symbody.codegen.fmu.fmu_model import HERE, METHODS, FmuModel, core_text, motion_of
from symbody.symbolic.system.save import fingerprint
from symbody.symbolic.system.system import System

DATE = (2020, 1, 1, 0, 0, 0)  # of all files inside: the same System gives the same archive
LICENCE = (
    "This FMU was emitted by symbody from a model of its user; the text that symbody adds is under BSD-3-Clause.\n"
)
# version -> folder of the binary, its ending
PLATFORMS = {
    ("linux", "x86_64"): ("linux64", "x86_64-linux", ".so"),
    ("linux", "aarch64"): ("linux-aarch64", "aarch64-linux", ".so"),
    ("darwin", "x86_64"): ("darwin64", "x86_64-darwin", ".dylib"),
    ("darwin", "arm64"): ("darwin64", "aarch64-darwin", ".dylib"),
    ("win32", "AMD64"): ("win64", "x86_64-windows", ".dll"),
}


def build_fmu(
    system: System,
    version: int,
    *,
    method: str = "dopri5",
    step: float = 1e-3,
    labels: Mapping[str, Sequence[str]] | None = None,
    units: Mapping[str, Any] | None = None,
    start: Mapping[str, Any] | None = None,
    certificate: str | None = None,
    binary: bool = True,
) -> bytes:
    """The bytes of an FMU for model exchange and co-simulation.

    version   2 or 3
    method    of the co-simulation: euler, rk4 (fixed steps) or dopri5 (steps by tolerance, relative 1e-9)
    step      size of fixed steps, s; the longest first step of dopri5
    start     values of states, inputs and modes that do not begin at zero
    binary    False: sources alone, for importers that compile
    """
    if method not in METHODS:
        raise DefinitionError(f"method is {method!r}; expected one of {', '.join(METHODS)}.")
    if not step > 0:
        raise DefinitionError(f"step is {step!r}; expected a positive number of seconds.")
    motion, stepping = motion_of(system, labels, units, start), Stepping(method, step)
    key = f"{fingerprint(system)}{version}{method}{step!r}{sorted((k, str(v)) for k, v in (start or {}).items())}"
    token = "{" + hashlib.sha256(key.encode()).hexdigest()[:32] + "}"
    sources = fmu_sources(motion, version, token, stepping)
    files: dict[str, bytes] = {f"sources/{n}": text.encode() for n, text in sources.items()}
    listed = ["all.c"]
    if version == 2:
        files["modelDescription.xml"] = fmi2_description(motion, token, stepping, listed).encode()
    else:
        files["modelDescription.xml"] = fmi3_description(motion, token, stepping).encode()
        files["sources/buildDescription.xml"] = _build_description(motion.name).encode()
    if binary:
        folder2, folder3, ending = platform_of()
        folder = folder2 if version == 2 else folder3
        files[f"binaries/{folder}/{motion.name}{ending}"] = _compile(sources, motion.name, ending)
    files["documentation/index.html"] = _page(motion, stepping, certificate).encode()
    files["documentation/licenses/license.txt"] = LICENCE.encode()
    return _archive(files)


def platform_of() -> tuple[str, str, str]:
    """Folders of binaries on this machine, for FMI 2 and 3, and the ending of libraries."""
    found = PLATFORMS.get((sys.platform, platform.machine()))
    if found is None:
        raise CompileError(
            f"FMUs have no name for binaries of {sys.platform} on {platform.machine()}; use binary=False."
        )
    return found


def fmu_sources(motion: FmuModel, version: int, token: str, stepping: Stepping) -> dict[str, str]:
    """all.c includes the rest."""
    numbers = {"RTOL": stepping.rtol, "ATOL": stepping.atol, "STEP": float(stepping.step)}
    head = "/* emitted by symbody: this file is the one to compile */\n"
    head += f'#define MODEL_TOKEN "{token}"\n#define METHOD {stepping.method.upper()}\n'
    head += "".join(f"#define {n} {x!r}\n" for n, x in numbers.items())
    pairs = ", ".join(f"{{{v.start}, {v.size}}}" for v in motion.variables)
    head += '#include "motion.h"\n#include "core.c"\n'
    head += f"static const unsigned motion_variables[][2] = {{{pairs}}};\n" if version == 3 else ""
    head += f'#include "fmi{version}.c"\n'
    fmi = (HERE / f"fmi{version}.c").read_text(encoding="utf-8")
    return {"all.c": head, **motion.files, "core.c": core_text(), f"fmi{version}.c": fmi}


def _compile(sources: Mapping[str, str], name: str, ending: str) -> bytes:
    compiler = find_compiler()
    with source_folder(sources, "symbody_fmu_") as folder:
        library = name + ending
        position = [] if sys.platform == "win32" else ["-fPIC", "-fvisibility=hidden"]
        options = ["-std=c99", "-O2", "-ffp-contract=off", *position, "-shared", "-o", library]
        run_compiler(compiler, [*options, "all.c", "-lm"], folder)
        strip = shutil.which("strip")
        if strip and sys.platform == "linux":
            command = [os.path.abspath(strip), "--strip-unneeded", library]
            subprocess.run(command, cwd=folder, env=temporary_files_inside(), check=False, capture_output=True)
        try:
            return Path(folder, library).read_bytes()
        except OSError as error:
            raise CompileError(f"The C compiler '{compiler}' made no library: {error.strerror or error}.") from None


def _build_description(name: str) -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<fmiBuildDescription fmiVersion="3.0">\n'
        f'  <BuildConfiguration modelIdentifier="{name}">\n'
        '    <SourceFileSet language="C99">\n      <SourceFile name="all.c"/>\n    </SourceFileSet>\n'
        "  </BuildConfiguration>\n</fmiBuildDescription>\n"
    )


def _page(motion: FmuModel, stepping: Stepping, certificate: str | None) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{v.kind}</td><td>{html.escape(v.unit[k] if v.unit else '')}</td></tr>\n"
        for name, v, k in scalars(motion)
    )
    events = "".join(f"<li>{html.escape(n)}: {('down', 'either way', 'up')[d + 1]}</li>\n" for n, d in motion.guards)
    proof = f"<pre>{html.escape(certificate)}</pre>\n" if certificate else ""
    return (
        f"<!DOCTYPE html>\n<html><head><meta charset='utf-8'><title>{motion.name}</title></head><body>\n"
        f"<h1>{motion.name}</h1>\n<p>Emitted by symbody. "
        f"Co-simulation: {stepping.method}, step {stepping.step:g} s.</p>\n"
        f"{proof}<table>\n<tr><th>variable</th><th>kind</th><th>unit</th></tr>\n{rows}</table>\n"
        + (f"<h2>Events</h2>\n<ul>\n{events}</ul>\n" if events else "")
        + "</body></html>\n"
    )


def _archive(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files, key=lambda n: (n != "modelDescription.xml", n)):
            info = zipfile.ZipInfo(name, DATE)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
            archive.writestr(info, files[name])
    return buffer.getvalue()
