"""What the shell proposes: models, joints, parameters, formalisms, methods. A proposal never fails."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import typer


def models(incomplete: str) -> list[str]:
    """Bundled names, then model files and folders that begin so."""
    from symbody.model.load import bundled_names, suffixes

    return [n for n in bundled_names() if n.startswith(incomplete)] + _files(incomplete, tuple(suffixes()))


def loop_files(incomplete: str) -> list[str]:
    """YAML files and folders that begin so."""
    return _files(incomplete, (".yaml", ".yml"))


def bundled(incomplete: str) -> list[str]:
    """Bundled names alone."""
    from symbody.model.load import bundled_names

    return [n for n in bundled_names() if n.startswith(incomplete)]


def _files(incomplete: str, suffixes: tuple[str, ...]) -> list[str]:
    head, _, start = incomplete.rpartition("/")
    folder = Path(f"{head}/") if "/" in incomplete else Path(".")
    prefix = f"{head}/" if "/" in incomplete else ""
    out = []
    try:
        for path in sorted(folder.iterdir()):
            if path.name.startswith(start) and not (path.name.startswith(".") and not start):
                if path.is_dir():
                    out.append(f"{prefix}{path.name}/")
                elif path.suffix.lower() in suffixes:
                    out.append(f"{prefix}{path.name}")
    except OSError:
        return []
    return out


def joints(ctx: typer.Context, incomplete: str) -> list[str]:
    """`elbow=` for each joint of the model on the line, after the assignments that stand there already."""
    return _assignments(incomplete, _joint_names(ctx))


def joint_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Joints of the model on the line."""
    return [n for n in _joint_names(ctx) if n.startswith(incomplete)]


def several_joints(ctx: typer.Context, incomplete: str) -> list[str]:
    """Joints of the model on the line, after those that stand there already with commas."""
    before, comma, start = incomplete.rpartition(",")
    taken = before.split(",")
    return [f"{before}{comma}{n}" for n in _joint_names(ctx) if n.startswith(start) and n not in taken]


def parameters(ctx: typer.Context, incomplete: str) -> list[str]:
    """`m1=` for each parameter of the model on the line."""
    mechanism = _model(ctx)
    return _assignments(incomplete, list(mechanism.parameters) if mechanism is not None else [])


def inputs(ctx: typer.Context, incomplete: str) -> list[str]:
    """`tau.elbow=` for each joint of the model on the line."""
    return _assignments(incomplete, [f"tau.{name}" for name in _joint_names(ctx)])


def formalisms(incomplete: str) -> list[str]:
    from symbody.mechanics.verbs.dynamics import FORMALISMS

    return [n for n in FORMALISMS if n.startswith(incomplete)]


def budgets(incomplete: str) -> list[str]:
    from symbody.mechanics.verbs.smallest.budget import BUDGETS

    return [n for n in BUDGETS if n.startswith(incomplete)]


def methods(incomplete: str) -> list[tuple[str, str]]:
    """Integrators, each with what it is."""
    from symbody.motion.methods.methods import METHODS

    known = {"auto": "chosen by step and tolerances", **{n: row.about for n, row in METHODS.items()}}
    return [(n, text) for n, text in known.items() if n.startswith(incomplete)]


def quantities(incomplete: str) -> list[str]:
    return [n for n in ("inverse", "semi_explicit", "forward") if n.startswith(incomplete)]


def targets(incomplete: str) -> list[tuple[str, str]]:
    """Source targets, with what they write."""
    from symbody.codegen.targets import TARGETS

    return [(n, row.about) for n, row in TARGETS.items() if row.emit and n.startswith(incomplete)]


def _assignments(incomplete: str, names: list[str]) -> list[str]:
    before, comma, start = incomplete.rpartition(",")
    taken = {part.partition("=")[0] for part in before.split(",")}
    return [f"{before}{comma}{n}=" for n in names if n.startswith(start) and n not in taken]


def _joint_names(ctx: typer.Context) -> list[str]:
    from symbody.model.record.coordinates import has_coordinates

    mechanism = _model(ctx)
    return [] if mechanism is None else [j.name for j in mechanism.joints if has_coordinates(j)]


def _model(ctx: typer.Context) -> Any:
    """The model on the line; None if there is none, or if it cannot be read."""
    from symbody.basics.errors import SymbodyError
    from symbody.model.load import bundled_names, load, suffixes

    # a line that ends in an option without its value is not parsed: then its words are looked through
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    typed = line.split()[2:]
    words = [(ctx.params or {}).get("model")]
    words += [w for before, w in zip(["", *typed], typed, strict=False) if before != "--loops"]
    known = set(bundled_names())
    name = next((w for w in words if w and (w in known or Path(w).suffix.lower() in suffixes())), None)
    try:
        return load(name) if name else None
    except (SymbodyError, OSError):
        return None
