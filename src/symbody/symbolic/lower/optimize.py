"""System -> smaller System: the presets of `rewrite` applied to all its expressions."""

from __future__ import annotations

from typing import Any

from symbody.symbolic.lower.count import Counts, count_program
from symbody.symbolic.lower.lowering import lower
from symbody.symbolic.rewrite.presets import optimize
from symbody.symbolic.rewrite.runner import Report
from symbody.symbolic.system.system import System


def optimize_system(system: System, preset: str = "full", **options: Any) -> System:
    """A System with the same values in fewer operations; presets "none", "standard", "full"."""
    return optimize_with_report(system, preset, **options)[0]


def optimize_with_report(system: System, preset: str = "full", **options: Any) -> tuple[System, Report]:
    """As `optimize_system`, with what each pass saved."""
    nodes, report = optimize(system.expressions(), preset, **options)
    return system.with_outputs(nodes), report


def count_system(system: System) -> Counts:
    """Operations of the System as it is."""
    return count_program(lower(system))
