"""symbody: from the description of a mechanical system to the smallest correct program for its motion.

import symbody as sb
x, y = sb.symbols("x y")
f = sb.System("f", inputs={"x": x, "y": y}, outputs={"f": x * sb.sin(y) + y * sb.sin(y)})
f.optimize().compile()(0.1, 0.2)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from symbody.basics import errors as errors
from symbody.basics.errors import SymbodyError
from symbody.basics.words import VERBS, nearest_word
from symbody.symbolic.expr import arrays as arrays
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.external import External
from symbody.symbolic.expr.functions import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    ceil,
    cos,
    cosh,
    equal,
    exp,
    extern,
    floor,
    hypot,
    log,
    maximum,
    minimum,
    select,
    sign,
    sin,
    sinh,
    sqrt,
    table,
    tan,
    tanh,
)
from symbody.symbolic.expr.graph import Graph, symbol, symbols
from symbody.symbolic.expr.implicit import solve
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import substitute
from symbody.symbolic.system.system import System

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from symbody.bondgraph.graph.bond_graph import BondGraph
    from symbody.codegen.kernel.grouped import GroupedKernel
    from symbody.codegen.kernel.passport import Kernel
    from symbody.mechanics.loops.cutting.cutting import recut
    from symbody.mechanics.verbs.assemble import assemble
    from symbody.mechanics.verbs.centroidal import center_of_mass, centroidal_momentum
    from symbody.mechanics.verbs.certify.verify import verify
    from symbody.mechanics.verbs.closed_dynamics import closure
    from symbody.mechanics.verbs.driven_efforts import driven_efforts
    from symbody.mechanics.verbs.dynamics import forward_dynamics, inverse_dynamics, semi_explicit
    from symbody.mechanics.verbs.energy import energy
    from symbody.mechanics.verbs.identifiable_parameters import base_parameters, regressor
    from symbody.mechanics.verbs.kinematics import kinematics
    from symbody.mechanics.verbs.limits import saturated, with_limits
    from symbody.mechanics.verbs.partition_record import partition
    from symbody.mechanics.verbs.reactions import reactions
    from symbody.mechanics.verbs.split_bias import coriolis, gravity
    from symbody.mechanics.verbs.textbook.textbook_equations import equations
    from symbody.model.load import load, save
    from symbody.model.record.mechanism import Mechanism
    from symbody.motion.derivatives.function import differentiable
    from symbody.motion.flow.event_rules import When
    from symbody.motion.flow.loop_treatment import Augmented, Reduced
    from symbody.motion.run.environment import environment
    from symbody.motion.run.settings import Sampling, Tolerance
    from symbody.motion.run.simulate import resume, simulate
    from symbody.motion.trajectory.stream import Stream
    from symbody.motion.trajectory.trajectory import Trajectory
    from symbody.show.report.model_report import write_report
    from symbody.studies.inverse.inverse_along import inverse_along
    from symbody.studies.inverse.inverse_kinematics import inverse_kinematics
    from symbody.studies.inverse.sensitivity import sensitivity
    from symbody.studies.linear.linearize import linearize
    from symbody.studies.modal.modes import modes
    from symbody.studies.optimisation.minimum_search import minimize
    from symbody.studies.steady.equilibrium import equilibrium
    from symbody.studies.steady.trim import trim
    from symbody.symbolic.expr.define import define
    from symbody.symbolic.expr.parse import parse
    from symbody.symbolic.lower.count import Counts
    from symbody.symbolic.rewrite.mask import mask, unmask
    from symbody.symbolic.rewrite.runner import Report

__version__ = "0.1.0"

# Found only when asked for, so that `import symbody` stays quick.
_LAZY = {
    "load": "symbody.model.load",
    "save": "symbody.model.load",
    "Mechanism": "symbody.model.record.mechanism",
    "BondGraph": "symbody.bondgraph.graph.bond_graph",
    "inverse_dynamics": "symbody.mechanics.verbs.dynamics",
    "semi_explicit": "symbody.mechanics.verbs.dynamics",
    "forward_dynamics": "symbody.mechanics.verbs.dynamics",
    "kinematics": "symbody.mechanics.verbs.kinematics",
    "energy": "symbody.mechanics.verbs.energy",
    "reactions": "symbody.mechanics.verbs.reactions",
    "driven_efforts": "symbody.mechanics.verbs.driven_efforts",
    "regressor": "symbody.mechanics.verbs.identifiable_parameters",
    "base_parameters": "symbody.mechanics.verbs.identifiable_parameters",
    "equations": "symbody.mechanics.verbs.textbook.textbook_equations",
    "coriolis": "symbody.mechanics.verbs.split_bias",
    "gravity": "symbody.mechanics.verbs.split_bias",
    "center_of_mass": "symbody.mechanics.verbs.centroidal",
    "centroidal_momentum": "symbody.mechanics.verbs.centroidal",
    "with_limits": "symbody.mechanics.verbs.limits",
    "saturated": "symbody.mechanics.verbs.limits",
    "verify": "symbody.mechanics.verbs.certify.verify",
    "closure": "symbody.mechanics.verbs.closed_dynamics",
    "partition": "symbody.mechanics.verbs.partition_record",
    "simulate": "symbody.motion.run.simulate",
    "environment": "symbody.motion.run.environment",
    "resume": "symbody.motion.run.simulate",
    "When": "symbody.motion.flow.event_rules",
    "Augmented": "symbody.motion.flow.loop_treatment",
    "Reduced": "symbody.motion.flow.loop_treatment",
    "Sampling": "symbody.motion.run.settings",
    "Tolerance": "symbody.motion.run.settings",
    "Trajectory": "symbody.motion.trajectory.trajectory",
    "Stream": "symbody.motion.trajectory.stream",
    "linearize": "symbody.studies.linear.linearize",
    "equilibrium": "symbody.studies.steady.equilibrium",
    "trim": "symbody.studies.steady.trim",
    "inverse_along": "symbody.studies.inverse.inverse_along",
    "inverse_kinematics": "symbody.studies.inverse.inverse_kinematics",
    "sensitivity": "symbody.studies.inverse.sensitivity",
    "differentiable": "symbody.motion.derivatives.function",
    "assemble": "symbody.mechanics.verbs.assemble",
    "recut": "symbody.mechanics.loops.cutting.cutting",
    "modes": "symbody.studies.modal.modes",
    "write_report": "symbody.show.report.model_report",
    "minimize": "symbody.studies.optimisation.minimum_search",
    "define": "symbody.symbolic.expr.define",
    "parse": "symbody.symbolic.expr.parse",
    "mask": "symbody.symbolic.rewrite.mask",
    "unmask": "symbody.symbolic.rewrite.mask",
}
_LAZY_MODULES = {"extend": "symbody.extend"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    if name in _LAZY_MODULES:
        return import_module(_LAZY_MODULES[name])
    raise AttributeError(f"module 'symbody' has no attribute {name!r}. {nearest_word(name, __dir__(), VERBS)}")


def __dir__() -> list[str]:
    return sorted(__all__)


# -- System's verbs: one-line delegates to the folders further down the journey


def _optimize(self: System, preset: str = "full", **options: Any) -> System:
    """A System with the same values in fewer operations; presets "none", "standard", "full"."""
    from symbody.symbolic.lower.optimize import optimize_system

    return optimize_system(self, preset, **options)


def _optimize_with_report(self: System, preset: str = "full", **options: Any) -> tuple[System, Report]:
    """As `optimize`, with a report of what each pass saved."""
    from symbody.symbolic.lower.optimize import optimize_with_report

    return optimize_with_report(self, preset, **options)


def _count(self: System) -> Counts:
    """Operations of the System as it is: .mul .add .div .total .trig .other .setup .checks."""
    from symbody.symbolic.lower.optimize import count_system

    return count_system(self)


def _compile(self: System, target: str = "native", **options: Any) -> Kernel | GroupedKernel:
    """A Kernel: "native" (LLVM, no compiler needed), "python" (interpreter) or "c" (system compiler)."""
    from symbody.codegen.compile import compile_system

    return compile_system(self, target, **options)


def _emit(self: System, target: str = "c", **options: Any) -> str:
    """Source text: "c", "c_header", "llvm" or "text"."""
    from symbody.codegen.compile import emit_system

    return emit_system(self, target, **options)


def _jacobian(self: System, output: str, variable: str) -> System:
    """Raw partial derivative of an output by an input or parameter."""
    from symbody.symbolic.system.differentiate import jacobian_system

    return jacobian_system(self, output, variable)


def _gradient(self: System, output: str, variable: str) -> System:
    """Gradient of a scalar output, by reverse accumulation."""
    from symbody.symbolic.system.differentiate import gradient_system

    return gradient_system(self, output, variable)


def _hessian(self: System, output: str, variable: str) -> System:
    """Second derivatives of a scalar output."""
    from symbody.symbolic.system.differentiate import hessian_system

    return hessian_system(self, output, variable)


def _jvp(self: System, output: str, variable: str) -> System:
    """Derivative along a direction, which becomes the input v_<variable>, or v_<variable>_ beside one of that name."""
    from symbody.symbolic.system.differentiate import jvp_system

    return jvp_system(self, output, variable)


def _save(self: System, path: str | Path) -> Path:
    """Write the System to a file that `sb.System.load` reads."""
    from symbody.symbolic.system.save import save_system

    return save_system(self, path)


def _load(path: str | Path, externals: Iterable[External] = ()) -> System:
    """Read a System that `save` wrote; `externals` gives the external functions that it calls."""
    from symbody.symbolic.system.save import load_system

    return load_system(path, externals)


for _name, _verb in {
    "optimize": _optimize,
    "optimize_with_report": _optimize_with_report,
    "count": _count,
    "compile": _compile,
    "emit": _emit,
    "jacobian": _jacobian,
    "gradient": _gradient,
    "hessian": _hessian,
    "jvp": _jvp,
    "save": _save,
    "load": staticmethod(_load),
}.items():
    setattr(System, _name, _verb)

__all__ = [
    "Augmented", "BondGraph", "External", "Graph", "Mechanism", "Node", "Reduced", "Sampling", "Stream", "SymbodyError",
    "System", "Tolerance", "Trajectory", "When", "acos", "acosh",
    "arrays", "asin", "asinh", "assemble", "atan", "atan2", "atanh", "base_parameters", "ceil", "center_of_mass",
    "centroidal_momentum", "closure", "coriolis", "cos", "cosh", "define", "differentiable", "driven_efforts",
    "energy", "environment", "equal", "equations",
    "equilibrium", "errors", "evaluate", "exp", "extend", "extern", "floor", "forward_dynamics", "gravity",
    "hypot", "inverse_along", "inverse_dynamics", "inverse_kinematics", "kinematics", "linearize", "load", "log",
    "mask", "maximum", "minimize", "minimum", "modes", "parse", "partition", "reactions", "recut", "regressor",
    "resume", "saturated", "save", "select", "semi_explicit", "sensitivity", "sign", "simulate", "sin", "sinh", "solve",
    "sqrt", "substitute", "symbol", "symbols", "table", "tan", "tanh", "trim", "unmask", "verify", "with_limits",
    "write_report",
]  # fmt: skip
