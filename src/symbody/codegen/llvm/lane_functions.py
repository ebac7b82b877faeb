"""Helper functions in LLVM text for what has no vector form: calls lane by lane, external functions, tables."""

from __future__ import annotations

from symbody.codegen.llvm.writer import double_literal
from symbody.symbolic.expr.external import Piecewise


def lanes_function(width: int, arity: int) -> str:
    """`lanes<arity>(vectors..., f)`: a C function of doubles called for every lane."""
    kind = f"<{width} x double>"
    names = [f"%a{k}" for k in range(arity)]
    lines = []
    for i in range(width):
        for k in range(arity):
            lines.append(f"  %x{i}.{k} = extractelement {kind} %a{k}, i64 {i}")
        lines.append(f"  %y{i} = call double %f({', '.join(f'double %x{i}.{k}' for k in range(arity))})")
        before = "poison" if i == 0 else f"%v{i - 1}"
        lines.append(f"  %v{i} = insertelement {kind} {before}, double %y{i}, i64 {i}")
    body = "\n".join(lines)
    arguments = ", ".join(f"{kind} {n}" for n in names)
    return f"""
define internal {kind} @lanes{arity}({arguments}, ptr %f) noinline #0 {{
{body}
  ret {kind} %v{width - 1}
}}
"""


def extern_function(width: int) -> str:
    """`extern_lanes(f, in, out, room, arity, results)`: an external function called lane by lane.

    room: (arity + results) doubles, where the numbers of one lane stand end to end.
    """
    return f"""
define internal void @extern_lanes(ptr %f, ptr %in, ptr %out, ptr %room, i64 %arity, i64 %results) noinline #0 {{
entry:
  %y = getelementptr double, ptr %room, i64 %arity
  br label %lane
lane:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  br label %pack
pack:
  %j = phi i64 [ 0, %lane ], [ %j1, %pack.do ]
  %j.more = icmp slt i64 %j, %arity
  br i1 %j.more, label %pack.do, label %call
pack.do:
  %j.w = mul i64 %j, {width}
  %j.k = add i64 %j.w, %i
  %j.from = getelementptr double, ptr %in, i64 %j.k
  %j.x = load double, ptr %j.from
  %j.to = getelementptr double, ptr %room, i64 %j
  store double %j.x, ptr %j.to
  %j1 = add i64 %j, 1
  br label %pack
call:
  call void %f(ptr %room, ptr %y)
  br label %unpack
unpack:
  %k = phi i64 [ 0, %call ], [ %k1, %unpack.do ]
  %k.more = icmp slt i64 %k, %results
  br i1 %k.more, label %unpack.do, label %next
unpack.do:
  %k.from = getelementptr double, ptr %y, i64 %k
  %k.x = load double, ptr %k.from
  %k.w = mul i64 %k, {width}
  %k.k = add i64 %k.w, %i
  %k.to = getelementptr double, ptr %out, i64 %k.k
  store double %k.x, ptr %k.to
  %k1 = add i64 %k, 1
  br label %unpack
next:
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, {width}
  br i1 %more, label %lane, label %done
done:
  ret void
}}
"""


def table_function(table: Piecewise, index: int, width: int) -> str:
    """`table<index>(x)`: the piece by bisection, then Horner's rule in x - x[i] from the highest power down."""
    pieces = len(table.x) - 1

    def array(name: str, numbers: tuple[float, ...]) -> str:
        items = ", ".join(f"double {double_literal(float(n))}" for n in numbers)
        return f"@{name} = private unnamed_addr constant [{len(numbers)} x double] [{items}], align 8\n"

    top = len(table.c) - 1
    data = array(f"table{index}.x", table.x) + "".join(array(f"table{index}.c{k}", r) for k, r in enumerate(table.c))
    horner = []
    for k in range(top, -1, -1):
        y = "y" if k == top else "c"
        horner.append(f"  %c{k}.at = getelementptr double, ptr @table{index}.c{k}, i64 %low")
        horner.append(f"  %{y}{k} = load double, ptr %c{k}.at")
        if k < top:
            horner.append(f"  %p{k} = fmul double %y{k + 1}, %t\n  %y{k} = fadd double %p{k}, %c{k}")
    name = f"table{index}" if width == 1 else f"table{index}.one"
    text = f"""
{data}
define internal double @{name}(double %x) noinline #0 {{
entry:
  br label %loop
loop:
  %low = phi i64 [ 0, %entry ], [ %low1, %do ]
  %high = phi i64 [ {pieces}, %entry ], [ %high1, %do ]
  %gap = sub i64 %high, %low
  %more = icmp sgt i64 %gap, 1
  br i1 %more, label %do, label %found
do:
  %half = ashr i64 %gap, 1
  %mid = add i64 %low, %half
  %m.at = getelementptr double, ptr @table{index}.x, i64 %mid
  %m = load double, ptr %m.at
  %right = fcmp oge double %x, %m
  %low1 = select i1 %right, i64 %mid, i64 %low
  %high1 = select i1 %right, i64 %high, i64 %mid
  br label %loop
found:
  %x0.at = getelementptr double, ptr @table{index}.x, i64 %low
  %x0 = load double, ptr %x0.at
  %t = fsub double %x, %x0
{chr(10).join(horner)}
  ret double %y0
}}
"""
    if width == 1:
        return text
    kind = f"<{width} x double>"
    lines = []
    for i in range(width):
        lines.append(f"  %x{i} = extractelement {kind} %x, i64 {i}\n  %y{i} = call double @{name}(double %x{i})")
        before = "poison" if i == 0 else f"%v{i - 1}"
        lines.append(f"  %v{i} = insertelement {kind} {before}, double %y{i}, i64 {i}")
    body = "\n".join(lines)
    head = f"define internal {kind} @table{index}({kind} %x) noinline #0 {{"
    return f"{text}\n{head}\n{body}\n  ret {kind} %v{width - 1}\n}}\n"
