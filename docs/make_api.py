"""Write docs/api.md from the docstrings: python docs/make_api.py

Names stand in groups, in the order of the journey. "sb." names are those of `import symbody as sb`; a public name that
no group lists appears at the end.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import symbody

PAGE = Path(__file__).resolve().parent / "api.md"
STUDIES = "symbody.studies"

# title, what it is for, names
GROUPS: list[tuple[str, str, list[str]]] = [
    ("Describe", "A model from a file, from a name, or piece by piece.", [
        "sb.load", "sb.save", "sb.Mechanism", "symbody.model.build.builder.Builder",
        "symbody.model.files.yaml_writer.write", "symbody.model.files.urdf_writer.write",
    ]),
    ("Equations", "Verbs that take a Mechanism and give an optimised System.", [
        "sb.inverse_dynamics", "sb.semi_explicit", "sb.forward_dynamics", "sb.kinematics", "sb.energy", "sb.reactions",
        "sb.driven_efforts", "sb.coriolis", "sb.gravity", "sb.center_of_mass", "sb.centroidal_momentum",
        "sb.equations", "symbody.mechanics.verbs.textbook.textbook_equations.Equations",
        "sb.regressor", "sb.base_parameters", "sb.closure", "sb.assemble",
    ]),
    ("Trust", "Programs against a reference written apart; energy, power, closed loops.", ["sb.verify"]),
    ("Systems and Kernels", "From expressions with names to programs that run.", [
        "sb.System", "symbody.codegen.kernel.passport.Kernel", "symbody.codegen.kernel.native_kernel.NativeKernel",
        "symbody.symbolic.lower.count.Counts",
    ]),
    ("Motion", "See [simulation.md](simulation.md).", [
        "sb.simulate", "sb.resume", "sb.with_limits", "sb.saturated", "sb.When", "sb.Trajectory",
    ]),
    ("Analysis", "See [analysis.md](analysis.md).", [
        "sb.linearize", f"{STUDIES}.linear.linear.Linear", "sb.modes", f"{STUDIES}.modal.modes.Modes",
        f"{STUDIES}.steady.equilibrium.equilibrium", f"{STUDIES}.steady.trim.trim",
        f"{STUDIES}.control.frequency.frequency_response", f"{STUDIES}.control.time_response.time_response",
        f"{STUDIES}.control.time_response.step_response", f"{STUDIES}.control.time_response.impulse_response",
        f"{STUDIES}.control.transfer.transfer", f"{STUDIES}.control.symbolic_transfer.symbolic_transfer",
        f"{STUDIES}.control.measured_response.experimental_response", f"{STUDIES}.control.discretize.discretize",
        f"{STUDIES}.control.controllability.controllability", f"{STUDIES}.control.controllability.observability",
        f"{STUDIES}.control.placement.place", f"{STUDIES}.control.placement.lqr",
        f"{STUDIES}.inverse.sensitivity.sensitivity", f"{STUDIES}.inverse.inverse_kinematics.inverse_kinematics",
        f"{STUDIES}.inverse.inverse_kinematics.inverse_kinematics_along",
        f"{STUDIES}.inverse.point_to_point.point_to_point", f"{STUDIES}.inverse.inverse_along.inverse_along",
    ]),
    ("Identification", "See [identification.md](identification.md).", [
        f"symbody.studies.identification.{n}" for n in (
            "series.Series", "data_files.read_series", "filtering.prepare", "linear_inverse.inverse_model",
            "linear_inverse.InverseModel", "extra_columns.Extra", "estimators.least_squares.OLS",
            "estimators.least_squares.WLS", "estimators.least_squares.Huber", "estimators.least_squares.TLS",
            "estimators.least_squares.Prior", "estimators.likelihood.MaximumLikelihood", "estimators.simulated.IDIMIV",
            "estimators.simulated.DIDIM", "estimators.consistent.PhysicallyConsistent", "estimate.Estimate",
            "diagnostics.essential", "diagnostics.cross_validate", "identified.identified_mechanism",
            "drives.drive_gains", "recursive.RecursiveLS", "recursive.recursive_system", "exciting.excitation",
            "nonlinear.fit_system", "nonlinear.profile", "nonlinear.screen", "nonlinear.morris",
            "linear_systems.linear_regressor",
            "linear_systems.independent_columns",
        )
    ]),
    ("Optimisation", "Smallest values within bounds and constraints.", ["sb.minimize"]),
    ("Report", "One HTML file that opens anywhere.", [
        "sb.write_report", "symbody.show.report.identification.write_identification_report",
    ]),
    ("Expressions", "Symbols, and what can be made of them.", [
        "sb.symbols", "sb.symbol", "sb.parse", "sb.define", "sb.solve", "sb.evaluate", "sb.substitute", "sb.mask",
        "sb.unmask", "sb.select", "sb.table", "sb.extern", "sb.External", "sb.Graph", "sb.Node", "sb.arrays",
    ]),
    ("Functions of expressions", "They take nodes and numbers.", [
        "sb.sin", "sb.cos", "sb.tan", "sb.asin", "sb.acos", "sb.atan", "sb.atan2", "sb.sinh", "sb.cosh", "sb.tanh",
        "sb.asinh", "sb.acosh", "sb.atanh", "sb.exp", "sb.log", "sb.sqrt", "sb.hypot", "sb.sign", "sb.minimum",
        "sb.maximum", "sb.floor", "sb.ceil", "sb.equal",
    ]),
    ("Extending", "See [extending.md](extending.md).", ["sb.extend"]),
    ("Errors", "See [errors.md](errors.md).", ["sb.SymbodyError"]),
]  # fmt: skip


def page() -> str:
    """The text of docs/api.md."""
    groups = [(title, lead, [_public(n) for n in names]) for title, lead, names in GROUPS]
    listed = {n for _, _, names in groups for n in names}
    others = [f"sb.{n}" for n in sorted(symbody.__all__) if f"sb.{n}" not in listed]
    if others:
        groups.append(("Others", "", others))
    lines = [
        "# Every public name",
        "",
        "Made by `python docs/make_api.py` from the docstrings; the tests compare. `import symbody as sb`; other names",
        "are imported from the module that is given.",
        "",
        *(
            f"- [{title}](#{_anchor(title)}): {', '.join(f'`{_short(n)}`' for n in names)}"
            for title, _, names in groups
        ),
    ]
    for title, lead, names in groups:
        lines += ["", f"## {title}", *(["", lead] if lead else [])]
        if title == "Functions of expressions":
            lines += ["", "| function | |", "|---|---|"]
            lines += [f"| `{n}{_signature(_found(n))}` | {_first(_found(n))} |" for n in names]
            continue
        for name in names:
            lines += _entry(name)
    return "\n".join(lines) + "\n"


def _entry(name: str) -> list[str]:
    thing = _found(name)
    lines = ["", f"### {_short(name)}", ""]
    call = _short(name) + (_signature(thing) if callable(thing) else "")
    if not name.startswith("sb."):
        module, _, own = name.rpartition(".")
        lines += [f"`from {module} import {own}`", ""]
    lines += ["```text", call, "", *_doc(thing).splitlines(), "```"]
    if inspect.isclass(thing):
        methods = [(n, m) for n, m in _members(thing) if _first(m)]
        if methods:
            lines += ["", "| | |", "|---|---|", *(f"| `.{n}{_signature(m)}` | {_first(m)} |" for n, m in methods)]
    return lines


def _found(name: str) -> Any:
    if name.startswith("sb."):
        return getattr(symbody, name[3:])
    module, _, own = name.rpartition(".")
    return getattr(import_module(module), own)


def _public(name: str) -> str:
    """Under `sb` where it is offered there."""
    own = name.rpartition(".")[2]
    offered = own in symbody.__all__ and getattr(symbody, own) is _found(name)
    return f"sb.{own}" if offered else name


def _short(name: str) -> str:
    if name.startswith("sb."):
        return name
    *_, module, own = name.split(".")
    return f"{module}.{own}" if own == "write" else own


def _members(thing: Any) -> list[tuple[str, Any]]:
    """Public methods and properties of a class, in the order of writing."""
    out = []
    for name, value in vars(thing).items():
        value = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        value = getattr(value, "func", value) if not inspect.isfunction(value) else value  # cached properties
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
            out.append((name, value))
    return out


def _signature(thing: Any) -> str:
    """Names and defaults; types are in the source."""
    if isinstance(thing, property):
        return ""
    try:
        parameters = list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return "(...)"
    parts: list[str] = []
    starred = False
    for p in parameters:
        if p.name in ("self", "cls"):
            continue
        if p.kind is p.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        starred = starred or p.kind is p.VAR_POSITIONAL
        default = "" if p.default is p.empty else f"={_value(p.default)}"
        parts.append(f"{star}{p.name}{default}")
    return f"({', '.join(parts)})"


def _value(default: Any) -> str:
    text = repr(default)
    return text if isinstance(default, (int, float, str, bool, tuple, type(None))) and len(text) < 40 else "..."


def _doc(thing: Any) -> str:
    """The docstring; where a record has none of its own, that of its making is left out."""
    doc = inspect.getdoc(thing) or ""
    return "" if re.match(r"\w+\(.*\)$", doc) else doc


def _first(thing: Any) -> str:
    text = _doc(thing).partition("\n\n")[0].replace("\n", " ")
    return text.replace("|", r"\|")


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
