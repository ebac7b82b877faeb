"""A System with states as a stand-alone C program that integrates it and writes a table (`symbody emit --main`)."""

from __future__ import annotations

import json

from symbody.codegen.fmu.description import Stepping, scalars
from symbody.codegen.fmu.fmu_model import HERE, FmuModel, core_text


def program_files(motion: FmuModel, stepping: Stepping) -> dict[str, str]:
    """NAME_main.c, which includes the rest, and a Makefile."""
    name = motion.name
    names = ",\n    ".join(json.dumps(label) for label, _, _ in scalars(motion))
    head = "/* emitted by symbody */\n"
    head += f'#define MODEL_NAME "{name}"\n#define METHOD {stepping.method.upper()}\n'
    head += f"#define STEP {float(stepping.step)!r}\n"
    head += f"#define RTOL {stepping.rtol!r}\n#define ATOL {stepping.atol!r}\n"
    head += f'#include "motion.h"\n\nstatic const char *const motion_names[NV] = {{\n    {names}\n}};\n\n'
    text = head + (HERE / "main.c").read_text(encoding="utf-8")
    make = (
        "# emitted by symbody\nCC = cc\nCFLAGS = -std=c99 -O2 -Wall -Wextra -pedantic -Werror\n\n"
        f"{name}: {name}_main.c motion.h core.c\n\t$(CC) $(CFLAGS) -o $@ {name}_main.c -lm\n\n"
        f"test: {name}\n\t./{name} --duration 0.1 > /dev/null\n\n.PHONY: test\n"
    )
    return {f"{name}_main.c": text, "Makefile": make, "core.c": core_text(), **motion.files}
