"""Newton loop of a `solve` block in LLVM text.

A lane that has stopped keeps its unknowns while others go on: evaluated again, its body gives the same values, so that
lanes and scalar code agree bit for bit.
"""

from __future__ import annotations

from symbody.codegen.llvm.chunk_text import ARGUMENTS, CALL, ProgramSection, Scope
from symbody.codegen.llvm.writer import LlvmWriter
from symbody.symbolic.expr.node import REACH
from symbody.symbolic.lower.program import SolveBlock

INFINITY, NAN = float("inf"), float("nan")


def _times(w: LlvmWriter, factor: float, value: str) -> str:
    return w.line(f"fmul {w.lanes.double} {w.lanes.number(factor)}, {value}")


def write_solve(section: ProgramSection, b: int) -> LlvmWriter:
    """The function `<prefix>solve<b>`: unknowns, body values and outcome (+k or -k evaluations) end in the frame."""
    block, part, lanes = section.program.blocks[b], section.part, section.lanes
    kind, flag, num = lanes.double, lanes.boolean, lanes.number
    w = LlvmWriter(lanes, section.fma)
    scope = Scope(section, w)
    slots = [part.slots[u] for u in block.unknowns]

    w.do(f"define void @{section.prefix}solve{b}({ARGUMENTS}) #0 {{")
    w.start("entry")
    guess = [scope.operand(v) for v in block.guess]
    for slot, g in zip(slots, guess, strict=True):
        scope.write(-1, slot, g)
    if block.span <= REACH:
        far = [num(block.span)] * len(guess)
    else:
        far = [_times(w, REACH, w.line(f"fadd {kind} {num(1.0)}, {w.intrinsic('fabs', g)}")) for g in guess]
    w.do("br label %loop")

    w.start("loop")
    w.do(f"%k = phi {kind} [ {num(1.0)}, %entry ], [ %k1, %loop ]")
    w.do(f"%active = phi {flag} [ {lanes.truth(True)}, %entry ], [ %going, %loop ]")
    w.do(f"%outcome = phi {kind} [ {num(0.0)}, %entry ], [ %result, %loop ]")
    for c in part.bodies[b]:
        w.do(f"call void @{section.prefix}{c}{CALL}")
    inside = Scope(section, w)
    x = [inside.operand(u) for u in block.unknowns]
    step = [inside.operand(v) for v in block.step]
    finite, small = lanes.truth(True), lanes.truth(True)
    for xi, si, fi in zip(x, step, far, strict=True):
        size, reached = w.intrinsic("fabs", si), w.intrinsic("fabs", xi)
        near = w.line(f"fcmp olt {kind} {reached}, {fi}")
        limit = w.line(f"fadd {kind} {num(1.0)}, {w.line(f'select {flag} {near}, {kind} {reached}, {kind} {fi}')}")
        limit = _times(w, block.tolerance, limit)
        finite = w.line(f"and {flag} {finite}, {w.line(f'fcmp olt {kind} {size}, {num(INFINITY)}')}")
        small = w.line(f"and {flag} {small}, {w.line(f'fcmp ole {kind} {size}, {limit}')}")

    done = w.line(f"and {flag} {finite}, {small}")
    last = w.line(f"fcmp oge {kind} %k, {num(float(block.max_iterations))}")
    lost = w.line(f"or {flag} {w.line(f'xor {flag} {finite}, {lanes.truth(True)}')}, {last}")
    stop = w.line(f"or {flag} {done}, {lost}")
    signed = w.line(f"select {flag} {done}, {kind} %k, {kind} {w.line(f'fneg {kind} %k')}")
    now = w.line(f"and {flag} %active, {stop}")
    w.do(f"%result = select {flag} {now}, {kind} {signed}, {kind} %outcome")
    w.do(f"%going = and {flag} %active, {w.line(f'xor {flag} {stop}, {lanes.truth(True)}')}")
    for slot, xi, si in zip(slots, x, step, strict=True):
        moved = w.line(f"fadd {kind} {xi}, {si}")
        scope.write(-1, slot, w.line(f"select {flag} %going, {kind} {moved}, {kind} {xi}"))
    w.do(f"%k1 = fadd {kind} %k, {num(1.0)}")
    w.do(f"br i1 {w.any('%going')}, label %loop, label %done")

    w.start("done")
    result = _checked(block, inside, "%result")
    scope.write(-1, part.outcomes[b], result)
    # whoever reads the unknowns of a failed block gets NaN
    failed = w.line(f"fcmp olt {kind} {result}, {num(0.0)}")
    for slot, xi in zip(slots, x, strict=True):
        scope.write(-1, slot, w.line(f"select {flag} {failed}, {kind} {num(NAN)}, {kind} {xi}"))
    w.do("ret void")
    w.do("}")
    return w


def _checked(block: SolveBlock, scope: Scope, result: str) -> str:
    """The outcome, or that of the first check that does not hold."""
    w = scope.w
    kind, flag, num = w.lanes.double, w.lanes.boolean, w.lanes.number
    for j, (check, value, limit) in enumerate(zip(block.checks, block.watched, block.limits, strict=True)):
        size = w.intrinsic("fabs", scope.operand(value))
        # unordered comparisons: NaN fails
        broken = "ugt" if check.kind == "below" else "ule"
        fails = w.line(f"fcmp {broken} {kind} {size}, {scope.operand(limit)}")
        now = w.line(f"and {flag} {w.line(f'fcmp ogt {kind} {result}, {num(0.0)}')}, {fails}")
        outcome = num(-float(block.max_iterations + 1 + j))
        result = w.line(f"select {flag} {now}, {kind} {outcome}, {kind} {result}")
    return result
