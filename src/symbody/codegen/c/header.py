"""The header of an emitted C file: sizes of all arguments, names of their components, and how to call it."""

from __future__ import annotations

from symbody.codegen.c.c_language import comment, kind_of
from symbody.codegen.printer.heading import Heading, argument_lines, parameter_lines
from symbody.codegen.printer.language import Names
from symbody.codegen.printer.module_layout import EmittedModule, ModulePart


def header(module: EmittedModule, heading: Heading, head: str, real: str, more: str = "") -> str:
    """Sizes as macros, then the prototypes, each with a table of its arguments, and `more` of them."""
    guard = f"{module.name.upper()}_H"
    lines = [head, f"#ifndef {guard}", f"#define {guard}", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    lines += [*(f"#define {name} {size}" for name, size in sizes(module).items()), ""]
    table = parameter_lines(module)
    if table:
        lines += [comment("\n".join(table)).rstrip()]
        size = f"{module.name.upper()}_PARAMETERS_SIZE"
        lines += [f"extern const {real} {module.name}_parameters[{size}]; /* the defaults */", ""]
    fields = outside(module)
    if fields:
        lines.append(comment("Functions from outside: pure, numbers in, numbers out.").rstrip())
        lines.append("typedef struct {")
        lines += [f"    void (*{name})(const double *in, double *out);" for name in fields]
        lines += [f"}} {module.name}_externals;", ""]
    lines += _prototype(
        module, module.setup, heading, real, "computes what depends on parameters only; call it when they change."
    )
    for part in module.parts:
        lines += _prototype(module, part, heading, real, "no argument may overlap a result.")
    lines += [more] if more else []
    lines += ["#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {guard} */", ""]
    return "\n".join(lines)


def outside(module: EmittedModule) -> list[str]:
    """Functions from outside that have no C text: the caller hands them over."""
    return [name for e, name in zip(module.source.externals, module.externals) if e.c_body is None]


def sizes(module: EmittedModule) -> dict[str, int]:
    """Macro -> size of an argument."""
    prefix = module.name.upper()
    macros = {
        f"{prefix}_PARAMETERS_SIZE": module.source.parameter_size,
        f"{prefix}_DERIVED_SIZE": len(module.derived),
    }
    names = Names([*macros, f"{prefix}_H"])
    macros[names.unique(f"{prefix}_SETUP_STATUS_SIZE")] = len(module.source.blocks)
    macros[names.unique(f"{prefix}_SETUP_WORK_SIZE")] = module.setup.work
    for part in module.parts:
        upper = part.name.upper()
        macros[names.unique(f"{upper}_STATUS_SIZE")] = len(part.program.blocks)
        macros[names.unique(f"{upper}_WORK_SIZE")] = part.work
        for argument in part.of("input", "output"):
            macros[names.unique(f"{upper}_{argument.name.upper()}_SIZE")] = argument.size
    width = max(map(len, macros))
    return {f"{name:<{width}}": size for name, size in macros.items()}


def _prototype(module: EmittedModule, part: ModulePart, heading: Heading, real: str, sentence: str) -> list[str]:
    rows = [f"{part.name}: {sentence}", *argument_lines(part, heading)]
    arguments = ", ".join(f"{kind_of(a, real, module.name)} *{a.name}" for a in part.arguments.values())
    return [comment("\n".join(rows)).rstrip(), f"void {part.name}({arguments});", ""]
