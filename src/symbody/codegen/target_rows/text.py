"""The target "text": assignments in infix notation, for people and for other algebra systems."""

from __future__ import annotations

from symbody.basics.errors import CompileError
from symbody.codegen.target_row import Source, Target
from symbody.symbolic.expr.infix_text import to_assignments


def _emit(source: Source) -> dict[str, str]:
    if source.groups is not None:
        raise CompileError("text is written for a whole System; groups are emitted as C.")
    from symbody.codegen.printer.language import identifier

    lines = to_assignments(source.system.expressions())
    return {f"{identifier(source.system.name)}.txt": "\n".join(lines)}


TEXT = Target(name="text", groups=False, about="assignments in infix notation, to read", emit=_emit)
