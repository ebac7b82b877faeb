"""The header of an emitted C file: what it computes, sizes of all arguments, and how to call it."""

from __future__ import annotations

from collections.abc import Sequence

from symbody.codegen.c.module import Module, Part
from symbody.codegen.c.text import Names, comment, literal
from symbody.lower.program import OutputPort, Program
from symbody.system.ports import Port

_ROLES = {
    "derived": "filled by setup",
    "status": "one int a solve block: k converged after k evaluations, negative: failed (all results are NaN then)",
    "work": "scratch array, its contents mean nothing between calls",
    "externals": "functions from outside",
}


def header(module: Module, head: str, setup: Part, parts: Sequence[Part]) -> str:
    """Sizes as macros, then the prototypes, each with a table of its arguments."""
    guard = f"{module.name.upper()}_H"
    lines = [head, f"#ifndef {guard}", f"#define {guard}", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    lines += _sizes(module, setup, parts)
    lines += _parameters(module.source)
    if module.fields:
        lines.append(comment("Functions from outside: pure, numbers in, numbers out.").rstrip())
        lines.append("typedef struct {")
        lines += [f"    void (*{name})(const double *in, double *out);" for name in module.fields]
        lines += [f"}} {module.externals_type};", ""]
    lines += _prototype(module, setup, "Computes what depends on parameters only; call it when they change.")
    for part in parts:
        lines += _prototype(module, part, "No argument may overlap a result.")
    lines += ["#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {guard} */", ""]
    return "\n".join(lines)


def _sizes(module: Module, setup: Part, parts: Sequence[Part]) -> list[str]:
    prefix = module.name.upper()
    macros = [
        (f"{prefix}_PARAMETERS_SIZE", module.source.parameter_size),
        (f"{prefix}_DERIVED_SIZE", len(module.derived)),
    ]
    names = Names([*(name for name, _ in macros), f"{prefix}_H"])
    macros.append((names.unique(f"{prefix}_SETUP_STATUS_SIZE"), len(module.source.blocks)))
    macros.append((names.unique(f"{prefix}_SETUP_WORK_SIZE"), setup.work))
    for part in parts:
        upper = part.name.upper()
        macros.append((names.unique(f"{upper}_STATUS_SIZE"), len(part.program.blocks)))
        macros.append((names.unique(f"{upper}_WORK_SIZE"), part.work))
        ports: list[tuple[str, Port | OutputPort]] = [*part.inputs, *part.outputs]
        for argument, port in ports:
            macros.append((names.unique(f"{upper}_{argument.upper()}_SIZE"), _size(port)))
    width = max(len(name) for name, _ in macros)
    return [*(f"#define {name:<{width}} {size}" for name, size in macros), ""]


def _size(port: Port | OutputPort) -> int:
    return port.size if isinstance(port, Port) else len(port.values)


def _parameters(source: Program) -> list[str]:
    """A comment with the place of each parameter in the vector."""
    if not source.parameters:
        return []
    rows = ["The parameter vector: first element, name, shape, default."]
    for port in source.parameters:
        unit = f" [{port.unit}]" if port.unit else ""
        given = "" if port.default is None else "  " + ", ".join(literal(x).strip("()") for x in port.default)
        rows.append(f"  {port.start:>4}  {port.name}{_shape(port)}{unit}{given}")
    return [comment("\n".join(rows))]


def _shape(port: Port | OutputPort) -> str:
    return "".join(f"[{n}]" for n in port.shape)


def _prototype(module: Module, part: Part, sentence: str) -> list[str]:
    rows = [part.name + ": " + sentence]
    ports: dict[str, Port | OutputPort] = {**dict(part.inputs), **dict(part.outputs)}
    for argument in part.pointers:
        port = ports.get(argument)
        if port is None:
            told = _ROLES.get(argument, "the parameter vector")
        else:
            role = port.role if isinstance(port, Port) else "result"
            told = f"{role}{' ' + _shape(port) if port.shape else ''}{f' [{port.unit}]' if port.unit else ''}"
        rows.append(f"  {argument:<12} {told}")
    arguments = ", ".join(f"{declaration}*{p}" for p, declaration in part.pointers.items())
    return [comment("\n".join(rows)).rstrip(), f"void {part.name}({arguments});", ""]
