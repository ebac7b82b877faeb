"""Sine and cosine in LLVM text: the same operations for one double and for a vector of them, so equal bit for bit.

x = n pi/2 + r - t with |r| <= pi/4 and t the rounding error of r (Cody and Waite, Software Manual for the Elementary
Functions, 1980, ch. 8), then the polynomials of fdlibm (k_sin.c, k_cos.c). Below `LIMIT` the error stays under one unit
in the last place; lanes above it, infinite or not a number go to libm through a branch that is taken only when some
lane needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symbody.codegen.llvm.writer import LaneTypes, LlvmWriter

LIMIT = 1e5

# Adding and subtracting it rounds to the nearest integer, which then stands in the low bits of the sum.
ROUNDER = 6755399441055744.0  # 1.5 * 2**52
TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")

# pi/2 as a sum of doubles; a fused multiply-add forms x - n*PI_A without error. PI_B has 33 bits: where subtracting
# n*PI_B cancels, the difference is exact, elsewhere its rounding error can be computed.
PI_A = float.fromhex("0x1.921fb54442d18p+0")
PI_B = float.fromhex("0x1.1a62633100000p-54")
PI_C = float.fromhex("0x1.1701b839a2520p-88")

# pi/2 in pieces of 33 bits: without a fused operation their products with n < 2**17 are exact.
PIECES = (
    float.fromhex("0x1.921fb54400000p+0"),
    float.fromhex("0x1.0b4611a600000p-34"),
    float.fromhex("0x1.3198a2e000000p-69"),
)
PIECES_REST = float.fromhex("0x1.b839a252049c1p-104")

SIN = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
COS = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Request:
    """An angle (an operand of the lanes' type, rad) and which of its functions are wanted."""

    angle: str
    sin: bool
    cos: bool


def write_sincos(w: LlvmWriter, requests: Sequence[Request], libm: str) -> list[tuple[str, str]]:
    """Add code for all requests with one shared slow branch; (sine, cosine) operands, "" where not wanted.

    `libm` is the operand that points to the table of C functions, for `slow_function`.
    """
    kind = w.lanes.double
    results = [_fast(w, r) for r in requests]
    wild = ""
    for r in requests:
        size = w.intrinsic("fabs", r.angle)
        # "uge" is also true for NaN
        beyond = w.line(f"fcmp uge {kind} {size}, {w.lanes.number(LIMIT)}")
        wild = w.line(f"or {w.lanes.boolean} {wild}, {beyond}") if wild else beyond

    slow, done, before = w.label("slow"), w.label("done"), w.block
    w.do(f"br i1 {w.any(wild)}, label %{slow}, label %{done}, !prof !0")
    w.start(slow)
    repaired = _repair(w, requests, results, libm)
    w.do(f"br label %{done}")
    w.start(done)

    def joined(fast: str, mended: str) -> str:
        return w.line(f"phi {kind} [ {fast}, %{before} ], [ {mended}, %{slow} ]") if fast else ""

    return [(joined(f[0], m[0]), joined(f[1], m[1])) for f, m in zip(results, repaired, strict=True)]


def call_sincos(w: LlvmWriter, requests: Sequence[Request], libm: str, pack: int) -> list[tuple[str, str]]:
    """As `write_sincos` by calls of `sincos_function`: shorter code; scalar code packs `pack` angles in a vector."""
    if w.lanes.width > 1:
        return [pair for r in requests for pair in _call(w, w.lanes, r.angle, [(0, r)], libm)]
    made: list[tuple[str, str]] = []
    for start in range(0, len(requests), pack):
        group = requests[start : start + pack]
        lanes = LaneTypes(1 << (len(group) - 1).bit_length())
        angles = group[0].angle
        if lanes.width > 1:
            # unused lanes hold zeros, which never need the slow branch
            angles = "zeroinitializer"
            for i, r in enumerate(group):
                angles = w.line(f"insertelement {lanes.double} {angles}, double {r.angle}, i64 {i}")
        made += _call(w, lanes, angles, list(enumerate(group)), libm)
    return made


def _call(
    w: LlvmWriter, lanes: LaneTypes, angles: str, wanted: Sequence[tuple[int, Request]], libm: str
) -> list[tuple[str, str]]:
    """Results for the requests in the given lanes of a vector (all lanes for requests of the vector's own type)."""
    kind = lanes.double
    w.used.add(f"sincos {lanes.width}")
    both = w.line(f"call {{ {kind}, {kind} }} @sincos{lanes.width}({kind} {angles}, ptr {libm})")

    def part(index: int, lane: int) -> str:
        vector = w.line(f"extractvalue {{ {kind}, {kind} }} {both}, {index}")
        return vector if lanes == w.lanes else w.line(f"extractelement {kind} {vector}, i64 {lane}")

    return [(part(0, i) if r.sin else "", part(1, i) if r.cos else "") for i, r in wanted]


def sincos_function(width: int, fma: bool) -> LlvmWriter:
    """`sincos<width>(angles, libm)` returns sines and cosines: the code of `write_sincos` as a function."""
    w = LlvmWriter(LaneTypes(width), fma)
    kind = w.lanes.double
    ((s, c),) = write_sincos(w, [Request("%angles", True, True)], "%libm")
    first = w.line(f"insertvalue {{ {kind}, {kind} }} poison, {kind} {s}, 0")
    w.do(f"ret {{ {kind}, {kind} }} {w.line(f'insertvalue {{ {kind}, {kind} }} {first}, {kind} {c}, 1')}\n}}")
    head = f"define internal {{ {kind}, {kind} }} @sincos{width}({kind} %angles, ptr %libm) noinline #0 {{"
    w.lines.insert(0, f"{head}\nentry:\n{w.trig_alloca()}")
    return w


def _fast(w: LlvmWriter, request: Request) -> tuple[str, str]:
    """Sine and cosine where |x| < LIMIT; anything elsewhere."""
    kind, whole, num = w.lanes.double, w.lanes.integer, w.lanes.number
    r, t, bits = _reduce(w, request.angle)
    z = w.line(f"fmul {kind} {r}, {r}")

    # sin(r - t) = r - (t - r z S(z)); this grouping keeps the sign of -0.0
    p = num(SIN[-1])
    for c in reversed(SIN[:-1]):
        p = w.multiply_add(p, z, num(c))
    cube = w.line(f"fmul {kind} {r}, {z}")
    minus = w.line(f"fneg {kind} {cube}")
    s = w.line(f"fsub {kind} {r}, {w.multiply_add(minus, p, t)}")

    # cos(r - t) = 1 - z/2 + (rounding error of that + z^2 C(z) + r t)
    p = num(COS[-1])
    for c in reversed(COS[:-1]):
        p = w.multiply_add(p, z, num(c))
    half = w.line(f"fmul {kind} {z}, {num(0.5)}")
    top = w.line(f"fsub {kind} {num(1.0)}, {half}")
    lost = w.line(f"fsub {kind} {w.line(f'fsub {kind} {num(1.0)}, {top}')}, {half}")
    square = w.line(f"fmul {kind} {z}, {z}")
    small = w.multiply_add(square, p, w.line(f"fmul {kind} {r}, {t}"))
    c_ = w.line(f"fadd {kind} {top}, {w.line(f'fadd {kind} {lost}, {small}')}")

    # quadrant n mod 4: odd ones swap the two, bit 1 changes the sign
    odd = w.line(f"and {whole} {bits}, {w.lanes.count(1)}")
    swap = w.line(f"icmp ne {whole} {odd}, {w.lanes.count(0)}")

    def placed(straight: str, crossed: str, quadrant: str) -> str:
        value = w.line(f"select {w.lanes.boolean} {swap}, {kind} {crossed}, {kind} {straight}")
        two = w.line(f"and {whole} {quadrant}, {w.lanes.count(2)}")
        sign = w.line(f"shl {whole} {two}, {w.lanes.count(62)}")
        flipped = w.line(f"xor {whole} {w.line(f'bitcast {kind} {value} to {whole}')}, {sign}")
        return w.line(f"bitcast {whole} {flipped} to {kind}")

    sine = placed(s, c_, bits) if request.sin else ""
    cosine = placed(c_, s, w.line(f"add {whole} {bits}, {w.lanes.count(1)}")) if request.cos else ""
    return sine, cosine


def _reduce(w: LlvmWriter, x: str) -> tuple[str, str, str]:
    """(r, t, bits): x = n pi/2 + r - t, and an integer whose two low bits are those of n."""
    kind, num = w.lanes.double, w.lanes.number
    shifted = w.multiply_add(x, num(TWO_OVER_PI), num(ROUNDER))
    n = w.line(f"fsub {kind} {shifted}, {num(ROUNDER)}")
    bits = w.line(f"bitcast {kind} {shifted} to {w.lanes.integer}")
    if w.fma:
        minus = w.line(f"fneg {kind} {n}")
        a = w.multiply_add(minus, num(PI_A), x)
        r = w.multiply_add(minus, num(PI_B), a)
        lost = w.multiply_add(n, num(PI_B), w.line(f"fsub {kind} {r}, {a}"))
        return r, w.multiply_add(n, num(PI_C), lost), bits

    products = [w.line(f"fmul {kind} {n}, {num(p)}") for p in (*PIECES, PIECES_REST)]
    a = w.line(f"fsub {kind} {x}, {products[0]}")
    r, t = _difference(w, a, products[1])
    t = w.line(f"fadd {kind} {t}, {w.line(f'fadd {kind} {products[2]}, {products[3]}')}")
    r, rest = _difference(w, r, t)
    return r, rest, bits


def _difference(w: LlvmWriter, a: str, b: str) -> tuple[str, str]:
    """(d, e) with a - b = d - e exactly (Knuth's two-sum)."""
    kind = w.lanes.double
    d = w.line(f"fsub {kind} {a}, {b}")
    back = w.line(f"fsub {kind} {d}, {a}")
    e = w.line(f"fadd {kind} {b}, {back}")
    rest = w.line(f"fsub {kind} {w.line(f'fsub {kind} {d}, {back}')}, {a}")
    return d, w.line(f"fadd {kind} {e}, {rest}")


def _repair(
    w: LlvmWriter, requests: Sequence[Request], results: Sequence[tuple[str, str]], libm: str
) -> list[tuple[str, str]]:
    """In the slow branch: hand all angles to `slow_function`, which replaces what the fast code got wrong."""
    kind, width, count = w.lanes.double, w.lanes.width, len(requests)
    room = 8 * width * count
    w.trig_room = max(w.trig_room, 3 * width * count)
    w.used.add("sincos_slow")
    for i, (r, (s, c)) in enumerate(zip(requests, results, strict=True)):
        w.store(r.angle, kind, "%trig", 8 * width * i, 8)
        if s:
            w.store(s, kind, "%trig", room + 8 * width * i, 8)
        if c:
            w.store(c, kind, "%trig", 2 * room + 8 * width * i, 8)
    w.do(f"call void @sincos_slow(ptr %trig, i64 {width * count}, ptr {libm})")
    return [
        (
            w.load("%trig", room + 8 * width * i, kind, 8) if s else "",
            w.load("%trig", 2 * room + 8 * width * i, kind, 8) if c else "",
        )
        for i, (s, c) in enumerate(results)
    ]


def slow_function(sin_index: int, cos_index: int) -> str:
    """IR of `sincos_slow(angles | sines | cosines, n, libm)`: libm's values where |x| >= LIMIT or x is not a number."""
    limit = LaneTypes(1).number(LIMIT)
    return f"""
define internal void @sincos_slow(ptr %buffer, i64 %n, ptr %libm) cold noinline #0 {{
entry:
  %sin.at = getelementptr ptr, ptr %libm, i64 {sin_index}
  %sin = load ptr, ptr %sin.at
  %cos.at = getelementptr ptr, ptr %libm, i64 {cos_index}
  %cos = load ptr, ptr %cos.at
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %x.at = getelementptr double, ptr %buffer, i64 %i
  %x = load double, ptr %x.at
  %size = call double @llvm.fabs.f64(double %x)
  %wild = fcmp uge double %size, {limit}
  br i1 %wild, label %call, label %next
call:
  %s = call double %sin(double %x)
  %c = call double %cos(double %x)
  %s.at = getelementptr double, ptr %x.at, i64 %n
  store double %s, ptr %s.at
  %c.at = getelementptr double, ptr %s.at, i64 %n
  store double %c, ptr %c.at
  br label %next
next:
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
