"""symbody: from the description of a mechanical system to the smallest correct program for its motion.

import symbody as sb
x, y = sb.symbols("x y")
f = sb.System("f", inputs={"x": x, "y": y}, outputs={"f": x * sb.sin(y) + y * sb.sin(y)})
f.optimize().compile()(0.1, 0.2)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from symbody.errors import SymbodyError
from symbody.expr import arrays as arrays
from symbody.expr.evaluate import evaluate
from symbody.expr.external import External
from symbody.expr.functions import (
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
)  # fmt: skip
from symbody.expr.graph import Graph, symbol, symbols
from symbody.expr.implicit import solve
from symbody.expr.node import Node
from symbody.expr.walk import substitute
from symbody.system.system import System
from symbody.words import VERBS, nearest_word

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from symbody.analyse.linear.linearize import linearize
    from symbody.analyse.modal.modes import modes
    from symbody.analyse.motion.inverse_along import inverse_along
    from symbody.analyse.motion.inverse_kinematics import inverse_kinematics
    from symbody.analyse.motion.sensitivity import sensitivity
    from symbody.analyse.steady.equilibrium import equilibrium
    from symbody.analyse.steady.trim import trim
    from symbody.bondgraph.record import BondGraph
    from symbody.codegen.kernel.grouped import GroupedKernel
    from symbody.codegen.kernel.passport import Kernel
    from symbody.derivatives.function import differentiable
    from symbody.expr.define import define
    from symbody.expr.parse import parse
    from symbody.flow.augmented import Augmented, Reduced
    from symbody.flow.events import When
    from symbody.loops.cutting.cutting import recut
    from symbody.lower.count import Counts
    from symbody.model.load import load, save
    from symbody.model.record.mechanism import Mechanism
    from symbody.optimise.search import minimize
    from symbody.report.report import write_report
    from symbody.rewrite.mask import mask, unmask
    from symbody.rewrite.runner import Report
    from symbody.run.environment import environment
    from symbody.run.settings import Sampling, Tolerance
    from symbody.run.simulate import resume, simulate
    from symbody.trajectory.stream import Stream
    from symbody.trajectory.trajectory import Trajectory
    from symbody.verbs.assembly import assemble
    from symbody.verbs.centroidal import center_of_mass, centroidal_momentum
    from symbody.verbs.certify.verify import verify
    from symbody.verbs.closed_dynamics import closure
    from symbody.verbs.driven_efforts import driven_efforts
    from symbody.verbs.dynamics import forward_dynamics, inverse_dynamics, semi_explicit
    from symbody.verbs.energy import energy
    from symbody.verbs.kinematics import kinematics
    from symbody.verbs.limits import saturated, with_limits
    from symbody.verbs.parameters import base_parameters, regressor
    from symbody.verbs.partition import partition
    from symbody.verbs.reactions import reactions
    from symbody.verbs.split_bias import coriolis, gravity
    from symbody.verbs.textbook.equations import equations

__version__ = "0.1.0"

# Found only when asked for, so that `import symbody` stays quick.
_LATER = {
    "load": "symbody.model.load",
    "save": "symbody.model.load",
    "Mechanism": "symbody.model.record.mechanism",
    "BondGraph": "symbody.bondgraph.record",
    "inverse_dynamics": "symbody.verbs.dynamics",
    "semi_explicit": "symbody.verbs.dynamics",
    "forward_dynamics": "symbody.verbs.dynamics",
    "kinematics": "symbody.verbs.kinematics",
    "energy": "symbody.verbs.energy",
    "reactions": "symbody.verbs.reactions",
    "driven_efforts": "symbody.verbs.driven_efforts",
    "regressor": "symbody.verbs.parameters",
    "base_parameters": "symbody.verbs.parameters",
    "equations": "symbody.verbs.textbook.equations",
    "coriolis": "symbody.verbs.split_bias",
    "gravity": "symbody.verbs.split_bias",
    "center_of_mass": "symbody.verbs.centroidal",
    "centroidal_momentum": "symbody.verbs.centroidal",
    "with_limits": "symbody.verbs.limits",
    "saturated": "symbody.verbs.limits",
    "verify": "symbody.verbs.certify.verify",
    "closure": "symbody.verbs.closed_dynamics",
    "partition": "symbody.verbs.partition",
    "simulate": "symbody.run.simulate",
    "environment": "symbody.run.environment",
    "resume": "symbody.run.simulate",
    "When": "symbody.flow.events",
    "Augmented": "symbody.flow.augmented",
    "Reduced": "symbody.flow.augmented",
    "Sampling": "symbody.run.settings",
    "Tolerance": "symbody.run.settings",
    "Trajectory": "symbody.trajectory.trajectory",
    "Stream": "symbody.trajectory.stream",
    "linearize": "symbody.analyse.linear.linearize",
    "equilibrium": "symbody.analyse.steady.equilibrium",
    "trim": "symbody.analyse.steady.trim",
    "inverse_along": "symbody.analyse.motion.inverse_along",
    "inverse_kinematics": "symbody.analyse.motion.inverse_kinematics",
    "sensitivity": "symbody.analyse.motion.sensitivity",
    "differentiable": "symbody.derivatives.function",
    "assemble": "symbody.verbs.assembly",
    "recut": "symbody.loops.cutting.cutting",
    "modes": "symbody.analyse.modal.modes",
    "write_report": "symbody.report.report",
    "minimize": "symbody.optimise.search",
    "define": "symbody.expr.define",
    "parse": "symbody.expr.parse",
    "mask": "symbody.rewrite.mask",
    "unmask": "symbody.rewrite.mask",
}
_LATER_MODULES = {"extend": "symbody.extend"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name in _LATER_MODULES:
        return import_module(_LATER_MODULES[name])
    raise AttributeError(f"module 'symbody' has no attribute {name!r}. {nearest_word(name, __dir__(), VERBS)}")


def __dir__() -> list[str]:
    return sorted(__all__)


# -- System's verbs: one-line delegates to the folders further down the journey


def _optimize(self: System, preset: str = "full", **options: Any) -> System:
    """The same values in fewer operations; presets "none", "standard", "full"."""
    from symbody.lower.optimize import optimize_system

    return optimize_system(self, preset, **options)


def _optimize_with_report(self: System, preset: str = "full", **options: Any) -> tuple[System, Report]:
    """As `optimize`, with a report of what each pass saved."""
    from symbody.lower.optimize import optimize_with_report

    return optimize_with_report(self, preset, **options)


def _count(self: System) -> Counts:
    """Operations of the System as it is: .mul .add .div .total .trig .other .setup .checks."""
    from symbody.lower.optimize import count_system

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
    from symbody.system.differentiate import jacobian_system

    return jacobian_system(self, output, variable)


def _gradient(self: System, output: str, variable: str) -> System:
    """Gradient of a scalar output, by reverse accumulation."""
    from symbody.system.differentiate import gradient_system

    return gradient_system(self, output, variable)


def _hessian(self: System, output: str, variable: str) -> System:
    """Second derivatives of a scalar output."""
    from symbody.system.differentiate import hessian_system

    return hessian_system(self, output, variable)


def _jvp(self: System, output: str, variable: str) -> System:
    """Derivative along a direction, which becomes the input v_<variable>, or v_<variable>_ beside one of that name."""
    from symbody.system.differentiate import jvp_system

    return jvp_system(self, output, variable)


def _save(self: System, path: str | Path) -> Path:
    """Write the System to a file that `sb.System.load` reads."""
    from symbody.system.save import save_system

    return save_system(self, path)


def _load(path: str | Path, externals: Iterable[External] = ()) -> System:
    """Read a System that `save` wrote; `externals` gives the external functions that it calls."""
    from symbody.system.save import load_system

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
    "equilibrium", "evaluate", "exp", "extend", "extern", "floor", "forward_dynamics", "gravity",
    "hypot", "inverse_along", "inverse_dynamics", "inverse_kinematics", "kinematics", "linearize", "load", "log",
    "mask", "maximum", "minimize", "minimum", "modes", "parse", "partition", "reactions", "recut", "regressor",
    "resume", "saturated", "save", "select", "semi_explicit", "sensitivity", "sign", "simulate", "sin", "sinh", "solve",
    "sqrt", "substitute", "symbol", "symbols", "table", "tan", "tanh", "trim", "unmask", "verify", "with_limits",
    "write_report",
]  # fmt: skip
