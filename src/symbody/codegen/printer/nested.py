"""Solve blocks as functions that a helper `newton` is handed, for languages of arrays and for those without assignment.

    def block12(in12):                    the body at the unknowns
        (t5,) = in12
        ...
        return (steps), (values that are read later)
    (t5,), status_3, (t9,) = NAME_newton(block12, (guess,), tolerance, limit, span)

The helper iterates until every state of a batch has stopped.
"""

from __future__ import annotations

from collections.abc import Sequence

from symbody.codegen.printer.statements import FunctionUnit, Loop, StatementWriter, bounded


def _listed(texts: Sequence[str]) -> str:
    return "(" + ", ".join(texts) + ("," if len(texts) == 1 else "") + ")"


class NestedWriter(StatementWriter):
    """Statements whose results are names: elements of outputs and of `status` are put together at the end."""

    def loop_lines(self, unit: FunctionUnit, loop: Loop, around: tuple[Loop, ...]) -> list[str]:
        language, block, p = self.language, self.program.blocks[loop.block], self.module.prefix
        status = f"status{loop.block}"
        lines = [language.said(f"solve {block.name}")]
        if block.unknowns:
            guesses = [self.name(g, unit) for g in block.guess]
            names = [self.local[v] for v in block.unknowns]
            body = self.item_lines(unit, loop.items, (*around, loop), language.indent)
            steps = [self.name(s, unit) for s in block.step]
            later = [self.local[v] for v in self._read_after(loop)]
            later += [f"status{b}" for b in self._blocks(loop)]
            lines += [
                f"def block{loop.value}(in{loop.value}):",
                f"{language.indent}{_listed(names)} = in{loop.value}",
                *body,
            ]
            lines += [f"{language.indent}return {_listed(steps)}, {_listed(later)}", ""]
            tolerance = language.literal(max(block.tolerance, language.tolerance))
            given = f"block{loop.value}, {_listed(guesses)}, {tolerance}, {block.max_iterations}"
            given += f", {language.literal(block.span) if bounded(block) else '0.0'}"
            lines.append(f"{_listed(names)}, {status}, {_listed(later) if later else '_'} = {p}newton({given})")
        else:
            lines.append(f"{status} = 1")
        for j, (check, value, limit) in enumerate(zip(block.checks, block.watched, block.limits, strict=True)):
            sign = "<=" if check.kind == "below" else ">"
            test = f"abs({self.name(value, unit)}) {sign} {self.name(limit, unit)}"
            lines.append(f"{status} = {p}checked({status}, {test}, {-(block.max_iterations + 1 + j)})")
        if block.checks and block.unknowns:
            names = [self.local[v] for v in block.unknowns]
            lines.append(f"{_listed(names)} = {p}kept({status}, {_listed(names)})")
        if not around:
            for v in self.inside(loop):
                lines += self.stored(unit, v)
        return lines

    def _read_after(self, loop: Loop) -> list[int]:
        """Values of the body that are read after the loop."""
        unknowns = set(self.program.blocks[loop.block].unknowns)
        return [v for v in self.inside(loop) if v in self.early and v not in unknowns]

    def _blocks(self, loop: Loop) -> list[int]:
        """Blocks inside of this one."""
        found: list[int] = []
        for item in loop.items:
            if isinstance(item, Loop):
                found += [item.block, *self._blocks(item)]
        return found

    def failed(self, unit: FunctionUnit, solves: Sequence[int]) -> list[str]:
        return []  # the frame puts results and outcomes together
