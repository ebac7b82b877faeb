"""Rows of states into lanes and back, in LLVM text: an array holds state after state, a vector one element of many."""

from __future__ import annotations

from symbody.codegen.llvm.writer import LaneTypes, LlvmWriter


def gather_functions(width: int) -> str:
    """`gather(source, stride, size, target)`: element j of `width` consecutive states to vector j of the target.

    `stride` is the distance of states in doubles. Two elements of a state are loaded at a time and placed by unpacking,
    which costs a third of gathering them one by one. `gather_some` serves the last, incomplete vector: missing lanes
    repeat the last state.
    """
    kind = f"<{width} x double>"
    rows = "\n".join(
        f"  %o{i} = mul i64 %stride, {i}\n  %r{i} = getelementptr double, ptr %source, i64 %o{i}" for i in range(width)
    )
    loads = "\n".join(
        f"  %a{i} = getelementptr double, ptr %r{i}, i64 %j\n  %p{i} = load <2 x double>, ptr %a{i}, align 8"
        for i in range(width)
    )
    even, text = _concatenated([f"%p{i}" for i in range(0, width, 2)], "e")
    odd, more = _concatenated([f"%p{i}" for i in range(1, width, 2)], "d")
    low = ", ".join(f"i32 {i + h * width}" for i in range(0, width, 2) for h in (0, 1))
    high = ", ".join(f"i32 {i + 1 + h * width}" for i in range(0, width, 2) for h in (0, 1))
    singles = "\n".join(
        f"  %s{i} = getelementptr double, ptr %r{i}, i64 %last\n  %x{i} = load double, ptr %s{i}\n"
        f"  %v{i} = insertelement {kind} {'poison' if i == 0 else f'%v{i - 1}'}, double %x{i}, i64 {i}"
        for i in range(width)
    )
    return f"""
define internal void @gather(ptr noalias %source, i64 %stride, i64 %size, ptr noalias %target) #0 {{
entry:
  %last = sub i64 %size, 1
  %one = icmp eq i64 %size, 1
  %dense = icmp eq i64 %stride, 1
  %copy = and i1 %one, %dense
  br i1 %copy, label %straight, label %check
straight:
  %whole = load {kind}, ptr %source, align 8
  store {kind} %whole, ptr %target, align {_align(width)}
  ret void
check:
  %same = icmp eq i64 %stride, 0
  br i1 %same, label %repeat, label %rows
repeat:
  %k = phi i64 [ 0, %check ], [ %k1, %repeat.do ]
  %k.more = icmp slt i64 %k, %size
  br i1 %k.more, label %repeat.do, label %done
repeat.do:
  %k.at = getelementptr double, ptr %source, i64 %k
  %k.x = load double, ptr %k.at
  %k.v = insertelement {kind} poison, double %k.x, i64 0
  %k.all = shufflevector {kind} %k.v, {kind} poison, <{width} x i32> zeroinitializer
  %k.to = getelementptr {kind}, ptr %target, i64 %k
  store {kind} %k.all, ptr %k.to, align {_align(width)}
  %k1 = add i64 %k, 1
  br label %repeat
rows:
{rows}
  br label %pairs
pairs:
  %j = phi i64 [ 0, %rows ], [ %j2, %pair ]
  %more = icmp slt i64 %j, %last
  br i1 %more, label %pair, label %rest
pair:
{loads}
{text}
{more}
  %low = shufflevector {kind} {even}, {kind} {odd}, <{width} x i32> <{low}>
  %high = shufflevector {kind} {even}, {kind} {odd}, <{width} x i32> <{high}>
  %t0 = getelementptr {kind}, ptr %target, i64 %j
  store {kind} %low, ptr %t0, align {_align(width)}
  %t1 = getelementptr {kind}, ptr %t0, i64 1
  store {kind} %high, ptr %t1, align {_align(width)}
  %j2 = add i64 %j, 2
  br label %pairs
rest:
  %odd = icmp eq i64 %j, %last
  br i1 %odd, label %single, label %done
single:
{singles}
  %to = getelementptr {kind}, ptr %target, i64 %last
  store {kind} %v{width - 1}, ptr %to, align {_align(width)}
  ret void
done:
  ret void
}}

define internal void @gather_some(ptr %source, i64 %stride, i64 %size, ptr %target, i64 %count) #0 {{
entry:
  %end = mul i64 %size, {width}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %do ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %do, label %done
do:
  %element = udiv i64 %i, {width}
  %lane = urem i64 %i, {width}
  %top = sub i64 %count, 1
  %beyond = icmp sgt i64 %lane, %top
  %state = select i1 %beyond, i64 %top, i64 %lane
  %row = mul i64 %state, %stride
  %at = add i64 %row, %element
  %from = getelementptr double, ptr %source, i64 %at
  %x = load double, ptr %from
  %to = getelementptr double, ptr %target, i64 %i
  store double %x, ptr %to
  %i1 = add i64 %i, 1
  br label %loop
done:
  ret void
}}
"""


def scatter_functions(width: int) -> str:
    """`scatter(source, size, target, stride)`, the inverse of `gather`; `scatter_some` writes `count` lanes.

    As many elements as there are lanes are turned into rows at a time and stored as whole vectors: large results wait
    for memory, and a cache line that is written at once waits once. The rest goes by pairs.
    """
    kind = f"<{width} x double>"
    loads = "\n".join(
        f"  %m{i} = add i64 %m, {i}\n  %b{i}.at = getelementptr {kind}, ptr %source, i64 %m{i}\n"
        f"  %b{i} = load {kind}, ptr %b{i}.at, align {_align(width)}"
        for i in range(width)
    )
    turned, turning = _transposed([f"%b{i}" for i in range(width)], kind)
    wide = "\n".join(
        f"  %w{i} = getelementptr double, ptr %r{i}, i64 %m\n  store {kind} {x}, ptr %w{i}, align 8"
        for i, x in enumerate(turned)
    )
    rows = "\n".join(
        f"  %o{i} = mul i64 %stride, {i}\n  %r{i} = getelementptr double, ptr %target, i64 %o{i}" for i in range(width)
    )
    stores = "\n".join(
        f"  %p{i} = shufflevector {kind} %a, {kind} %b, <2 x i32> <i32 {i}, i32 {i + width}>\n"
        f"  %a{i} = getelementptr double, ptr %r{i}, i64 %j\n  store <2 x double> %p{i}, ptr %a{i}, align 8"
        for i in range(width)
    )
    singles = "\n".join(
        f"  %s{i} = getelementptr double, ptr %r{i}, i64 %last\n  %x{i} = extractelement {kind} %v, i64 {i}\n"
        f"  store double %x{i}, ptr %s{i}"
        for i in range(width)
    )
    return f"""
define internal void @scatter(ptr noalias %source, i64 %size, ptr noalias %target, i64 %stride) #0 {{
entry:
  %last = sub i64 %size, 1
  %one = icmp eq i64 %size, 1
  %dense = icmp eq i64 %stride, 1
  %copy = and i1 %one, %dense
  br i1 %copy, label %straight, label %rows
straight:
  %whole = load {kind}, ptr %source, align {_align(width)}
  store {kind} %whole, ptr %target, align 8
  ret void
rows:
{rows}
  br label %blocks
blocks:
  %m = phi i64 [ 0, %rows ], [ %m.next, %block ]
  %m.next = add i64 %m, {width}
  %m.fits = icmp sle i64 %m.next, %size
  br i1 %m.fits, label %block, label %pairs
block:
{loads}
{turning}
{wide}
  br label %blocks
pairs:
  %j = phi i64 [ %m, %blocks ], [ %j2, %pair ]
  %more = icmp slt i64 %j, %last
  br i1 %more, label %pair, label %rest
pair:
  %f0 = getelementptr {kind}, ptr %source, i64 %j
  %a = load {kind}, ptr %f0, align {_align(width)}
  %f1 = getelementptr {kind}, ptr %f0, i64 1
  %b = load {kind}, ptr %f1, align {_align(width)}
{stores}
  %j2 = add i64 %j, 2
  br label %pairs
rest:
  %odd = icmp eq i64 %j, %last
  br i1 %odd, label %single, label %done
single:
  %from = getelementptr {kind}, ptr %source, i64 %last
  %v = load {kind}, ptr %from, align {_align(width)}
{singles}
  ret void
done:
  ret void
}}

define internal void @scatter_some(ptr %source, i64 %size, ptr %target, i64 %stride, i64 %count) #0 {{
entry:
  %end = mul i64 %size, {width}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %do, label %done
do:
  %element = udiv i64 %i, {width}
  %lane = urem i64 %i, {width}
  %valid = icmp slt i64 %lane, %count
  br i1 %valid, label %move, label %next
move:
  %from = getelementptr double, ptr %source, i64 %i
  %x = load double, ptr %from
  %row = mul i64 %lane, %stride
  %at = add i64 %row, %element
  %to = getelementptr double, ptr %target, i64 %at
  store double %x, ptr %to
  br label %next
next:
  %i1 = add i64 %i, 1
  br label %loop
done:
  ret void
}}
"""


def small_gather(width: int, size: int) -> str:
    """`gather.<size>(source, stride, target)`: `gather` without loops, in half the instructions."""
    w = LlvmWriter(LaneTypes(width), False)
    kind = w.lanes.double
    w.do(f"define internal void @gather.{size}(ptr noalias %source, i64 %stride, ptr noalias %target) #0 {{")
    w.start("entry")
    w.do("%same = icmp eq i64 %stride, 0")
    w.do("br i1 %same, label %repeat, label %rows")
    w.start("repeat")
    w.do(f"call void @gather(ptr %source, i64 0, i64 {size}, ptr %target)")
    w.do("ret void")
    w.start("rows")
    rows = _rows(w, "%source")
    for j in range(0, size - 1, 2):
        pairs = [w.load(r, 8 * j, "<2 x double>", 8) for r in rows]
        even, odd = _joined(w, pairs[::2]), _joined(w, pairs[1::2])
        for h in (0, 1):
            indices = ", ".join(f"i32 {i + h + side * width}" for i in range(0, width, 2) for side in (0, 1))
            vector = w.line(f"shufflevector {kind} {even}, {kind} {odd}, <{width} x i32> <{indices}>")
            w.store(vector, kind, "%target", 8 * width * (j + h), _align(width))
    if size % 2:
        vector = "poison"
        for i, r in enumerate(rows):
            vector = w.line(f"insertelement {kind} {vector}, double {w.load(r, 8 * (size - 1), 'double', 8)}, i64 {i}")
        w.store(vector, kind, "%target", 8 * width * (size - 1), _align(width))
    w.do("ret void\n}")
    return "\n".join(w.lines) + "\n"


def small_scatter(width: int, size: int) -> str:
    """`scatter.<size>(source, target, stride)`: `scatter` without loops."""
    w = LlvmWriter(LaneTypes(width), False)
    kind = w.lanes.double
    w.do(f"define internal void @scatter.{size}(ptr noalias %source, ptr noalias %target, i64 %stride) #0 {{")
    w.start("entry")
    rows = _rows(w, "%target")
    vectors = [w.load("%source", 8 * width * j, kind, _align(width)) for j in range(size)]
    for j in range(0, size - 1, 2):
        for i, r in enumerate(rows):
            indices = f"<2 x i32> <i32 {i}, i32 {i + width}>"
            pair = w.line(f"shufflevector {kind} {vectors[j]}, {kind} {vectors[j + 1]}, {indices}")
            w.store(pair, "<2 x double>", r, 8 * j, 8)
    if size % 2:
        for i, r in enumerate(rows):
            w.store(w.line(f"extractelement {kind} {vectors[-1]}, i64 {i}"), "double", r, 8 * (size - 1), 8)
    w.do("ret void\n}")
    return "\n".join(w.lines) + "\n"


def _rows(w: LlvmWriter, first: str) -> list[str]:
    """Pointers to the rows of all lanes."""
    rows = [first]
    for _ in range(1, w.lanes.width):
        rows.append(w.line(f"getelementptr double, ptr {rows[-1]}, i64 %stride"))
    return rows


def _joined(w: LlvmWriter, pairs: list[str]) -> str:
    """Concatenation of pairs."""
    size = 2
    while len(pairs) > 1:
        indices = ", ".join(f"i32 {i}" for i in range(2 * size))
        kind = f"<{size} x double>"
        pairs = [
            w.line(f"shufflevector {kind} {a}, {kind} {b}, <{2 * size} x i32> <{indices}>")
            for a, b in zip(pairs[::2], pairs[1::2], strict=True)
        ]
        size *= 2
    return pairs[0]


def _transposed(vectors: list[str], kind: str) -> tuple[list[str], str]:
    """(names, lines) of the transpose of a square of lanes: blocks of 1, 2, 4 ... elements change places."""
    width, lines = len(vectors), []
    names, step = list(vectors), 1
    while step < width:
        for i in range(width):
            if i & step:
                continue
            a, b = names[i], names[i + step]
            low = ", ".join(f"i32 {j + width - step if j & step else j}" for j in range(width))
            high = ", ".join(f"i32 {j + width if j & step else j + step}" for j in range(width))
            for place, mask in ((i, low), (i + step, high)):
                names[place] = f"%x{step}.{place}"
                lines.append(f"  {names[place]} = shufflevector {kind} {a}, {kind} {b}, <{width} x i32> <{mask}>")
        step *= 2
    return names, "\n".join(lines)


def _align(width: int) -> int:
    return min(8 * width, 64)


def _concatenated(parts: list[str], stem: str) -> tuple[str, str]:
    """(name, lines) of the concatenation of pairs, halving the number of parts in each round."""
    size, lines, count = 2, [], 0
    while len(parts) > 1:
        indices = ", ".join(f"i32 {i}" for i in range(2 * size))
        joined = []
        for a, b in zip(parts[::2], parts[1::2], strict=True):
            name = f"%{stem}{count}"
            count += 1
            lines.append(
                f"  {name} = shufflevector <{size} x double> {a}, <{size} x double> {b}, <{2 * size} x i32> <{indices}>"
            )
            joined.append(name)
        parts, size = joined, 2 * size
    return parts[0], "\n".join(lines)
