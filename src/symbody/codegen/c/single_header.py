"""All of an emitted C module in one header, for microcontrollers: static functions, only math.h, a bound of the stack.

The bound counts what a compiler may put on the stack: every named value and every array of a function, what it saves of
registers and keeps of expressions (`SPARE`), and the functions that it calls.
"""

from __future__ import annotations

import re

from symbody.codegen.c.c_language import comment
from symbody.codegen.printer.module_layout import EmittedModule, ModulePart

SPARE = 512  # bytes a function: saved registers, return address, alignment, parts of one expression
HELPER = 3 * SPARE  # the deepest chain of helpers: sincos, turn, and a function of the C library


def stack_bytes(module: EmittedModule, part: ModulePart) -> int:
    """How much stack a call of a public function takes at most."""

    def of(lines: list[str], arrays: int) -> int:
        # a value is named once; at -O0 each operation of an expression may have a place, too
        operators = sum(len(re.findall(r"[-+*/?(]", line)) for line in lines)
        return 8 * (len(lines) + arrays + operators) + SPARE

    assert part.text is not None
    inner = [of(f.lines, sum(size for _, size in f.arrays)) for f in part.functions]
    angles = 3 * len(part.angles)
    own = of(part.text.lines, sum(size for _, size in part.text.arrays) + angles)
    return own + sum(inner) + HELPER  # parts of parts: all of them bound any chain


def single_header(files: dict[str, str], module: EmittedModule) -> dict[str, str]:
    """NAME.h with everything in it, of the header and the source that `emit_c` wrote."""
    name = module.name
    header, source = files[f"{name}.h"], files[f"{name}.c"]
    bounds = [f"#define {part.name.upper()}_STACK_BYTES {stack_bytes(module, part)}" for part in module.every]
    told = comment("what a call takes of the stack at most, whatever the compiler makes of it: bytes")
    body = source[source.index("#include <math.h>") :]
    functions = [part.name for part in module.every] + [f"{module.parts[0].name}_batch"]
    for function in functions:
        body = re.sub(rf"^void {function}\(", f"static inline void {function}(", body, flags=re.MULTILINE)
        header = re.sub(rf"^void {function}\(", f"static inline void {function}(", header, flags=re.MULTILINE)
    body = re.sub(r"^static (?!inline|const)", "static inline ", body, flags=re.MULTILINE)
    body = re.sub(rf"^const (\w+) {name}_parameters", rf"static const \1 {name}_parameters", body, flags=re.MULTILINE)
    header = re.sub(rf"^extern const .*{name}_parameters.*\n", "", header, flags=re.MULTILINE)
    end = header.index("#ifdef __cplusplus\n}")
    text = header[:end] + told + "\n".join(bounds) + "\n\n" + body + "\n" + header[end:]
    others = {n: t for n, t in files.items() if n not in (f"{name}.h", f"{name}.c", f"{name}_ctypes.py")}
    if "Makefile" in others:
        others["Makefile"] = re.sub(rf"^all: .*\n\nlib{name}.*\n\t.*\n\n", "", others["Makefile"], flags=re.MULTILINE)
        others["Makefile"] = others["Makefile"].replace(f" {name}.c", "")
    return {f"{name}.h": text, **others}
