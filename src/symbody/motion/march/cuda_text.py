"""The text of a march on a device: a member of the batch a thread, its state in registers from start to end.

A schedule that all members share says what happens when: entry m is an instant t[m], a step of length h[m] from there,
and in `what` the bits RECORD (a sample there), COUNT (it counts for reductions) and one for each clock that is due.
Adaptive marches have no schedule: each member has its own time and step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symbody.basics.errors import DefinitionError
from symbody.codegen.cuda.cuda_language import (
    PRELUDE,
    REALS,
    DeviceProgram,
    cuda_language,
    device_program,
    setup_solves,
)
from symbody.motion.march.cuda_equations import DeviceEquations
from symbody.motion.march.method_tables import Method, RungeKutta, Splitting
from symbody.motion.march.step_control import BACK, GROW, ROUNDING, SAFETY, SHRINK, SMALLEST_MEMORY, exponents
from symbody.symbolic.system.ports import Port

BLOCK = 128  # threads of a block
BY_VALUE = 3000  # bytes of derived values that go with the arguments of a launch
RECORD, COUNT, CLOCK = 1, 2, 4  # bits of an entry; CLOCK << c: clock c is due
# outcomes of a member: those of `march.run.Run`
OPENED, NOT_FINITE, TOO_SMALL, TOO_MANY, FAILED = 1, 2, 3, 4, 5


@dataclass(frozen=True, eq=False)
class MarchText:
    """text, and what a caller must know: `words` names the arguments of 8 bytes in their order."""

    text: str
    functions: dict[str, DeviceProgram]
    words: tuple[str, ...]
    each: bool
    by_value: bool
    options: tuple[str, ...]
    entry: str = "march_kernel"


def march_text(
    equations: DeviceEquations,
    method: Method,
    *,
    adaptive: bool = False,
    precision: str = "double",
    each: bool = False,
    reduce: bool = False,
) -> MarchText:
    """each: whether parameters differ from member to member; reduce: sums and extremes of all states on the way."""
    return _CudaWriter(equations, method, adaptive, precision, each, reduce).done()


class _CudaWriter:
    def __init__(
        self, equations: DeviceEquations, method: Method, adaptive: bool, precision: str, each: bool, reduce: bool
    ) -> None:
        self.e, self.method, self.adaptive, self.reduce = equations, method, adaptive, reduce
        self.precision, self.real = precision, REALS[precision]
        self.literal = cuda_language(precision).literal
        programs = equations.programs()
        if not isinstance(method, Splitting):
            programs.pop("drift", None)
        self.each = each or any(setup_solves(p) for p in programs.values())
        self.functions = {kind: device_program(p, precision, kind, setup=self.each) for kind, p in programs.items()}
        self.clocks = [device_program(c.program, precision, f"clock{k}") for k, c in enumerate(equations.clocks)]
        self.numbers = {name: k for k, name in enumerate(equations.parameters())}
        self.words = ["n"]
        self.arguments = ["const long long n"]
        self.body: list[str] = []

    # -- arguments

    def word(self, kind: str, name: str) -> str:
        self.words.append(name)
        self.arguments.append(f"{kind}{'' if kind.endswith('*') else ' '}g_{name}")
        return f"g_{name}"

    def done(self) -> MarchText:
        e, real = self.e, self.real
        helpers = [self._evaluation(kind) for kind in self.functions]
        helpers += [self._moving()] if e.moving else []
        self._load()
        if self.adaptive:
            assert isinstance(self.method, RungeKutta)
            self._adaptive(self.method)
        else:
            self._fixed()
        self._store()
        struct = ""
        if not self.each:
            fields = "".join(f" {real} {kind}[{max(len(f.derived), 1)}];" for kind, f in self.functions.items())
            struct = f"struct march_constants {{{fields} }};\n\n"
            if self.by_value:  # last: the other arguments are words of 8 bytes
                self.arguments.append("const __grid_constant__ march_constants constants")
        programs = "\n".join(f.text for f in [*self.functions.values(), *self.clocks])
        body = "\n".join(f"    {line}" for line in self.body)
        arguments = ",\n    ".join(self.arguments)
        text = (
            f"// a march of {e.rates.name} by {self.method.name}, {self.precision} precision\n{PRELUDE}\n{programs}\n"
            f"{struct}{self._tables()}{''.join(helpers)}"
            f'extern "C" __global__ void __launch_bounds__({BLOCK})\nmarch_kernel(\n    {arguments})\n{{\n{body}\n}}\n'
        )
        options = ("--use_fast_math",) if self.precision == "fast" else ()
        return MarchText(text, self.functions, tuple(self.words), self.each, self.by_value, options)

    @property
    def by_value(self) -> bool:
        """Whether what setup made of shared parameters goes with the arguments of a launch."""
        size = 8 if self.real == "double" else 4
        return size * sum(max(len(f.derived), 1) for f in self.functions.values()) <= BY_VALUE

    def _tables(self) -> str:
        """Coefficients of the method that loops read."""
        m, real = self.method, self.real
        if not isinstance(m, RungeKutta):
            return ""
        s = m.stages

        def array(name: str, numbers: Sequence[float]) -> str:
            listed = ", ".join(self.literal(x) for x in numbers)
            return f"static __constant__ {real} {name}[{len(numbers)}] = {{{listed}}};\n"

        c = [*m.c, 1.0]
        out = f"static __constant__ double march_c[{s + 1}] = {{{', '.join(repr(float(x)) for x in c)}}};\n"
        if not self.adaptive and _low_storage(m):
            return out + array("march_a", [*(m.a[k + 1][k] for k in range(s - 1)), 0.0]) + array("march_b", m.b) + "\n"
        rows = [*m.a, m.b] if self.adaptive else list(m.a)
        flat = [(row[j] if j < len(row) else 0.0) for row in rows for j in range(s)]
        return out + array("march_a", flat) + "\n"

    # -- Programs at a state

    def _evaluation(self, kind: str) -> str:
        """A function that evaluates one Program at (t, x, u); false where a solve block failed."""
        e, f, real = self.e, self.functions[kind], self.real
        lines = [f"const {real} at[1] = {{({real})t}};", "(void)at;", f"int status[{max(f.blocks, 1)}] = {{0}};"]
        lines += [f"{real} work[{f.work}];"] if f.work else []
        inputs = {p.name: self._place(p) for p in f.program.inputs}
        outputs: dict[str, str] = {}
        for k, out in enumerate(f.program.outputs):
            state = next((n for n, rate in e.rate_of.items() if rate == out.name), None)
            if kind in ("rates", "drift") and state is not None:
                outputs[out.name] = f"out + {e.states[state][0]}"
            elif kind == "project":
                outputs[out.name] = f"out + {e.states[out.name][0]}"
            elif kind == "watch" and out.name == "gap":
                outputs[out.name] = "out"
            else:
                outputs[out.name] = f"spare{k}"
                lines.append(f"{real} spare{k}[{max(len(out.values), 1)}];")
        lines.append(f.call(inputs, outputs))
        failed = " || ".join(f"status[{k}] < 0" for k in range(f.blocks))
        lines.append(f"return !({failed});" if failed else "return true;")
        body = "\n".join(f"    {line}" for line in lines)
        return (
            f"static __device__ __forceinline__ bool {kind}_at(const double t, const {real} *x, const {real} *u, "
            f"const {real} *derived, {real} *out)\n{{\n{body}\n}}\n\n"
        )

    def _place(self, port: Port) -> str:
        if port.name == "t":
            return "at"
        if port.name in self.e.states:
            return f"x + {self.e.states[port.name][0]}"
        if port.name in self.e.signals:
            return f"u + {self.e.signals[port.name][0]}"
        raise DefinitionError(f"{self.e.rates.name} reads {port.name!r} on the way, which is no state or signal.")

    def _moving(self) -> str:
        """Signals from the table at t: `place` is where the last one was found."""
        real, columns = self.real, self.e.moving
        puts = "\n".join(
            f"    u[{c}] = ({real})(v[{j}] + w*(v[{len(columns) + j}] - v[{j}]));" for j, c in enumerate(columns)
        )
        return f"""static __device__ __forceinline__ void moving(const double t, const long long knots,
    const double *__restrict__ times, const double *__restrict__ values, long long &place, {real} *u)
{{
    while (place + 2 < knots && times[place + 1] <= t)
        ++place;
    while (place > 0 && times[place] > t)
        --place;
    double w = (t - times[place])/(times[place + 1] - times[place]);
    w = w < 0.0 ? 0.0 : (w > 1.0 ? 1.0 : w);
    const double *v = values + place*{len(columns)};
{puts}
}}

"""

    # -- the kernel

    def add(self, *lines: str) -> None:
        self.body += lines

    def each_of(self, statement: str, indent: str = "", name: str = "c", count: int | None = None) -> list[str]:
        """A statement for every component, unrolled: registers have no index at run time."""
        count = self.e.nx if count is None else count
        return [
            f"{indent}#pragma unroll",
            f"{indent}for (int {name} = 0; {name} < {count}; ++{name})",
            f"{indent}    {statement}",
        ]

    def _load(self) -> None:
        e, real = self.e, self.real
        self.add("const long long i = (long long)blockIdx.x*blockDim.x + threadIdx.x;", "if (i >= n)", "    return;")
        self.add(f"{real} x[{e.nx}], u[{max(e.nu, 1)}];", "u[0] = 0;")
        g = self.word(f"const {real} *__restrict__ ", "x")
        self.add(*(f"x[{k}] = {g}[i*{e.nx} + {k}];" for k in range(e.nx)))
        g, s = self.word(f"const {real} *__restrict__ ", "u"), self.word("const long long", "u_stride")
        self.add(*(f"u[{k}] = {g}[i*{s} + {k}];" for k in range(e.nu)))
        if e.clocks:
            g = self.word(f"{real} *__restrict__ ", "memory")
            self.add(f"{real} memory[{max(e.memory, 1)}];")
            self.add(*(f"memory[{k}] = {g}[i*{e.memory} + {k}];" for k in range(e.memory)))
        if not self.each and not self.by_value:
            g = self.word("const march_constants *__restrict__ ", "constants")
            self.add(f"const march_constants &constants = *{g};")
        for kind in self.functions:
            self._derived(kind)
        if e.moving:
            knots, times = self.word("const long long", "knots"), self.word("const double *__restrict__ ", "times")
            values = self.word("const double *__restrict__ ", "values")
            self.move = f"moving({{0}}, {knots}, {times}, {values}, place, u);"
            self.add("long long place = 0;")

    def _derived(self, kind: str) -> None:
        """What setup makes of the parameters: given, or made here of the parameters of this member."""
        f, real = self.functions[kind], self.real
        if not self.each:
            self.add(f"const {real} *const d_{kind} = constants.{kind};", f"(void)d_{kind};")
            return
        self.add(f"{real} d_{kind}[{max(len(f.derived), 1)}];", "{")
        self.add(f"    {real} parameters[{max(f.program.parameter_size, 1)}];")
        self.add(f"    int status[{max(f.blocks, 1)}] = {{0}};", "    (void)parameters; (void)status;")
        if f.work:
            self.add(f"    {real} work[{f.work}];")
        for port in f.program.parameters:
            name = f"par{self.numbers[port.name]}"
            if name not in self.words:
                self.word(f"const {real} *__restrict__ ", name)
                self.word("const long long", f"{name}_stride")
            g, s = f"g_{name}", f"g_{name}_stride"
            self.add(*(f"    parameters[{port.start + k}] = {g}[i*{s} + {k}];" for k in range(port.size)))
        self.add("    " + f.setup(derived=f"d_{kind}"), "}")

    def _record(self, row: str, t: str = "") -> list[str]:
        """The state, and signals that are held, as a sample."""
        e = self.e
        lines = [f"{{ {self.real} *sample = g_samples + (i*g_room + {row})*{e.nx};"]
        lines += [f"  sample[{k}] = x[{k}];" for k in range(e.nx)] + ["}"]
        columns = self._overlay()
        if columns:
            lines += [f"{{ {self.real} *sample = g_held_samples + (i*g_room + {row})*{len(columns)};"]
            lines += [f"  sample[{j}] = u[{c}];" for j, c in enumerate(columns)] + ["}"]
        return [*lines, f"++{row};"]

    def _overlay(self) -> list[int]:
        """Columns of u that change at entries of the schedule."""
        return sorted({*self.e.held, *(c for clock in self.e.clocks for c in clock.writes[0])})

    # -- fixed steps

    def _fixed(self) -> None:
        e, real = self.e, self.real
        steps = self.word("const long long", "steps")
        begin, stride = self.word("const double *__restrict__ ", "begin"), self.word("const long long", "begin_stride")
        times, lengths = self.word("const double *__restrict__ ", "t"), self.word("const double *__restrict__ ", "h")
        what = self.word("const int *__restrict__ ", "what")
        self.word(f"{real} *__restrict__ ", "samples")
        self.word("const long long", "room")
        if self._overlay():
            self.word(f"{real} *__restrict__ ", "held_samples")
        if e.held:
            rows, held = (
                self.word("const int *__restrict__ ", "held_row"),
                self.word("const double *__restrict__ ", "held"),
            )
        self.add(f"const double since = {begin}[i*{stride}];", "long long row = 0, m = 0;", "int outcome = 0;")
        if self.reduce:
            self.add(f"{real} sum[{e.nx}], low[{e.nx}], high[{e.nx}];", f"{real} counted = 0;")
            self.add(*self.each_of("sum[c] = 0, low[c] = INFINITY, high[c] = -INFINITY;"))
        self.add("#pragma unroll 1", "for (;; ++m) {")
        inner = [f"const double t = since + {times}[m];", f"const int due = {what}[m];", "(void)due;"]
        if e.held:
            inner += [f"const int changed = {rows}[m];", "if (changed >= 0) {"]
            inner += [f"    u[{c}] = ({real}){held}[changed*{len(e.held)} + {j}];" for j, c in enumerate(e.held)] + [
                "}"
            ]
        for k in range(len(e.clocks)):
            inner += [f"if (due & {CLOCK << k}) {{", *(f"    {line}" for line in self._clock(k)), "}"]
        inner += [f"if (due & {RECORD}) {{", *(f"    {line}" for line in self._record("row")), "}"]
        if self.reduce:
            inner += [f"if (due & {COUNT}) {{", "    counted += 1;"]
            extremes = "low[c] = x[c] < low[c] ? x[c] : low[c], high[c] = x[c] > high[c] ? x[c] : high[c]"
            inner += [*self.each_of(f"sum[c] += x[c], {extremes};", "    "), "}"]
        inner += [
            f"if (m >= {steps})",
            "    break;",
            f"const double h = {lengths}[m];",
            f"const {real} rh = ({real})h;",
        ]
        inner += ["bool good = true;", f"{real} y[{e.nx}];"]
        if isinstance(self.method, Splitting):
            inner += self._splitting(self.method)
        elif _low_storage(self.method):
            inner += self._low_storage(self.method)
        else:
            inner += self._stages(self.method)
        inner += self._judged("t + h")
        inner += ["if (outcome)", "    break;", *self.each_of("x[c] = y[c];")]
        self.add(*(f"    {line}" for line in inner), "}")

    def _judged(self, t: str) -> list[str]:
        """The new state y corrected and checked; `outcome` says what is wrong with it."""
        e, real = self.e, self.real
        lines = []
        if e.project is not None:
            lines += ["if (good) {", f"    {real} corrected[{e.nx}];", *self.each_of("corrected[c] = y[c];", "    ")]
            lines += [f"    {self.move.format(t)}"] if e.moving else []
            lines += [f"    good = project_at({t}, y, u, d_project, corrected);"]
            lines += [*self.each_of("y[c] = corrected[c];", "    "), "}"]
        lines += [f"if (!good)", f"    outcome = {FAILED};"]  # noqa: F541
        lines += self.each_of(f"outcome = outcome == 0 && !isfinite(y[c]) ? {NOT_FINITE} : outcome;")
        if e.watch is not None:
            size = len(e.bounds)
            lines += ["if (!outcome) {", f"    {real} gap[{max(size, 1)}], open = 0;"]
            lines += [f"    watch_at({t}, y, u, d_watch, gap);"]
            for k, bound in enumerate(e.bounds):
                lines += [f"    open += (gap[{k}]*{self.literal(1 / bound)})*(gap[{k}]*{self.literal(1 / bound)});"]
            lines += ["    if (!(open <= 1))", f"        outcome = {OPENED};", "}"]
        return lines

    def _at(self, t: str, x: str, out: str) -> list[str]:
        lines = [self.move.format(t)] if self.e.moving else []
        return [*lines, f"good &= rates_at({t}, {x}, u, d_rates, {out});"]

    def _low_storage(self, m: RungeKutta) -> list[str]:
        """Methods whose stages read only the rates before: two vectors beside the state."""
        nx, real = self.e.nx, self.real
        lines = [f"{real} total[{nx}];", *self.each_of("y[c] = x[c], total[c] = 0;")]
        lines += ["#pragma unroll 1", f"for (int s = 0; s < {m.stages}; ++s) {{", f"    {real} k[{nx}];"]
        lines += [f"    {line}" for line in self._at("t + march_c[s]*h", "y", "k")]
        lines += [f"    const {real} wa = rh*march_a[s], wb = march_b[s];"]
        lines += self.each_of("total[c] += wb*k[c], y[c] = x[c] + wa*k[c];", "    ")
        return [*lines, "}", *self.each_of("y[c] = x[c] + rh*total[c];")]

    def _stages(self, m: RungeKutta) -> list[str]:
        nx, real, s = self.e.nx, self.real, m.stages
        lines = [f"{real} k[{s}][{nx}];", "#pragma unroll 1", f"for (int s = 0; s < {s}; ++s) {{"]
        lines += [f"    {line}" for line in self._stage(s, "t + march_c[s]*h")]
        lines += ["}", *self.each_of("y[c] = x[c];")]
        for j, b in enumerate(m.b):
            if b:
                lines += self.each_of(f"y[c] += (rh*{self.literal(b)})*k[{j}][c];")
        return lines

    def _stage(self, stages: int, t: str) -> list[str]:
        """Stage s: its state from the rates before, and its rates to their place. The body exists once; `j` is known
        to the compiler, so that rates stay in registers."""
        nx, real, before = self.e.nx, self.real, self.method.stages if isinstance(self.method, RungeKutta) else 1
        lines = [f"{real} f[{nx}];", *self.each_of("y[c] = x[c];")]
        lines += ["#pragma unroll", f"for (int j = 0; j < {before}; ++j)", "    if (j < s) {"]
        lines += [f"        const {real} w = rh*march_a[s*{before} + j];"]
        lines += [*self.each_of("y[c] += w*k[j][c];", "        "), "    }"]
        lines += self._at(t, "y", "f")
        lines += ["#pragma unroll", f"for (int j = 0; j < {stages}; ++j)", "    if (j == s) {"]
        return [*lines, *self.each_of("k[j][c] = f[c];", "        "), "    }"]

    def _splitting(self, m: Splitting) -> list[str]:
        """Semi-implicit Euler: all that is no position first, then positions with the new velocities."""
        e, real = self.e, self.real
        if m.substeps:
            raise DefinitionError(
                f"method {m.name!r} is not marched on a device; take semi_implicit_euler or a Runge-Kutta method there."
            )
        places = [k for n in e.positions for k in range(e.states[n][0], e.states[n][0] + e.states[n][1])]
        lines = [f"{real} k[{e.nx}];", *self._at("t", "x", "k"), *self.each_of("y[c] = x[c];")]
        lines += [f"y[{k}] += rh*k[{k}];" for k in range(e.nx) if k not in places]
        if e.drift is None:
            for q, v, size in e.pairs:
                lines += [f"y[{q + k}] += rh*y[{v + k}];" for k in range(size)]
        else:
            lines += [f"good &= drift_at(t, y, u, d_drift, k);"]  # noqa: F541
            lines += [f"y[{k}] += rh*k[{k}];" for k in places]
        return lines

    def _clock(self, index: int) -> list[str]:
        """A sampled System at its tick: signals that it holds, and its memory."""
        clock, f, real = self.e.clocks[index], self.clocks[index], self.real
        lines = [f"const {real} now[1] = {{({real})t}};", "(void)now;", f"int ticked[{max(f.blocks, 1)}] = {{0}};"]
        lines += [f"{real} work[{f.work}];"] if f.work else []
        lines += [f"{real} derived[{max(len(f.derived), 1)}];"]
        lines += [f"const {real} *parameters = now;", f.setup(status="ticked")]
        base = {"memory": "memory", "x": "x"}
        inputs = {n: "now" if kind == "t" else f"{base[kind]} + {at}" for n, (kind, at) in clock.reads.items()}
        outputs = {}
        for k, out in enumerate(clock.program.outputs):
            outputs[out.name] = f"out{k}"
            lines.append(f"{real} out{k}[{max(len(out.values), 1)}];")
        lines.append(f.call(inputs, outputs, status="ticked"))
        columns, name = clock.writes
        lines += [f"u[{c}] = {outputs[name]}[{j}];" for j, c in enumerate(columns)]
        for output, at in clock.kept.items():
            size = next(len(o.values) for o in clock.program.outputs if o.name == output)
            lines += [f"memory[{at + j}] = {outputs[output]}[{j}];" for j in range(size)]
        failed = " || ".join(f"ticked[{k}] < 0" for k in range(f.blocks))
        if failed:
            lines += [f"if ({failed})", f"    outcome = {FAILED};"]
        return lines

    # -- steps of each member

    def _adaptive(self, m: RungeKutta) -> None:
        e, real, nx, s = self.e, self.real, self.e.nx, m.stages
        for kind, name in (
            ("const double", "t_start"), ("const double", "t_stop"), ("const double", "rtol"),
            ("const double *__restrict__ ", "atol"), ("const double", "longest"), ("const long long", "most"),
            ("double *__restrict__ ", "control"), ("const double *__restrict__ ", "instants"),
            ("const long long", "wanted"), (f"{real} *__restrict__ ", "samples"), ("const long long", "room"),
            ("long long *__restrict__ ", "rejected"),
        ):  # fmt: skip
            self.word(kind, name)
        if e.clocks or e.held:
            raise DefinitionError("sampled controllers and held tables need a fixed step on a device; give step=...")
        power, beta = exponents(m)
        self.add(
            "double t = g_t_start, h = g_control[3*i], old = g_control[3*i + 1];",
            "bool cut = g_control[3*i + 2] != 0.0, good = true;",
            "int outcome = 0, why = 0;", "long long row = 0, m = 0, rejected = 0;",
            f"{real} k[{s + 1}][{nx}], y[{nx}];",
        )  # fmt: skip
        self.add(f"{real} rh = 0;", *self.each_of("y[c] = x[c];"))
        # rates at the start, and a first step where none is given: an Euler step shows how fast they change
        self.add("{", f"    {real} f[{nx}];", *(f"    {line}" for line in self._at("t", "x", "f")))
        self.add(*self.each_of("k[0][c] = f[c];", "    "), "}")
        self.add("if (!good)", f"    outcome = {FAILED};")
        self.add("if (!outcome && h == 0.0) {", "    double d0 = 0.0, d1 = 0.0, d2 = 0.0;")
        self.add(*self.each_of(
            "{ const double scale = g_atol[c] + g_rtol*fabs((double)x[c]), a = x[c]/scale, b = k[0][c]/scale; "
            "d0 += a*a; d1 += b*b; }", "    "))  # fmt: skip
        self.add(
            f"    d0 = sqrt(d0/{nx}), d1 = sqrt(d1/{nx});",
            "    h = d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01*(d0/d1);",
            "    h = fmin(fmin(h, g_longest), g_t_stop - t);",
            f"    rh = ({real})h;", *self.each_of("y[c] = x[c] + rh*k[0][c];", "    "),
            f"    {real} f[{nx}];", *(f"    {line}" for line in self._at("t + h", "y", "f")), "    good = true;",
        )  # fmt: skip
        self.add(*self.each_of(
            "{ const double scale = g_atol[c] + g_rtol*fabs((double)x[c]), b = (f[c] - k[0][c])/scale; d2 += b*b; }",
            "    "))  # fmt: skip
        self.add(
            f"    d2 = sqrt(d2/{nx})/h;", "    const double largest = d1 > d2 ? d1 : d2;",
            f"    double first = largest <= 1e-15 ? fmax(h*1e-3, 1e-6) : pow(0.01/largest, {1 / m.error_order!r});",
            "    first = first < 100.0*h ? first : 100.0*h;",
            "    h = fmin(fmin(first, g_longest), g_t_stop - t);", "}",
        )  # fmt: skip
        self.add("#pragma unroll 1", "while (!outcome && t < g_t_stop) {")
        dense = self._dense(m)
        inner = [
            "h = fmin(h, g_longest);", "const double asked = h;", "const bool last = t + 1.01*h > g_t_stop;",
            "if (last)", "    h = g_t_stop - t;",
            f"if ((0.1*h <= fabs(t)*{ROUNDING!r} && (!last || cut)) || h < 1e-300) {{",
            f"    outcome = why ? why : {TOO_SMALL};", "    break;", "}",
            "if (m + rejected >= g_most) {", f"    outcome = {TOO_MANY};", "    break;", "}",
            f"rh = ({real})h;", "good = true;", "#pragma unroll 1", f"for (int s = 1; s <= {s}; ++s) {{",
            *(f"    {line}" for line in self._stage(s + 1, "t + march_c[s]*h")), "}",
            # y is the new state: the last stage is at it
            "double error = 0.0;",
        ]  # fmt: skip
        total = " + ".join(f"{self.literal(w)}*k[{j}][c]" for j, w in enumerate(m.error[0]) if w)
        sizes = "const double a = fabs((double)x[c]), b = fabs((double)y[c])"
        sizes += ", scale = g_atol[c] + g_rtol*(a > b ? a : b)"
        inner += self.each_of(f"{{ {sizes}, r = h*({total})/scale; error += r*r; }}")
        inner += [
            f"error = sqrt(error/{nx});", "const bool judged = good && isfinite(error);",
            "if (judged && error <= 1.0) {", "    int bad = outcome;", *(f"    {x}" for x in self._end_of_step()),
            f"    const double up = pow(error, {power!r})/pow(old, {beta!r})/{SAFETY!r};",
            f"    double factor = fmin(fmax(up, {1 / GROW!r}), {1 / SHRINK!r});",
            "    double next = h/factor;", "    if (cut)", "        next = fmin(next, h);",
            "    if (last)", "        next = fmax(next, asked);",
            "    if (bad) {", f"        why = bad, cut = true, h = h*{BACK!r}, ++rejected;", "        continue;",
            "    }",
            "    const double t_new = last ? g_t_stop : t + h;", *(f"    {x}" for x in dense),
            f"    old = fmax(error, {SMALLEST_MEMORY!r}), cut = false, why = 0, t = t_new, h = next, ++m;",
            *self.each_of("x[c] = y[c];", "    "),
        ]  # fmt: skip
        if e.project is None:
            inner += self.each_of(f"k[0][c] = k[{s}][c];", "    ")
        else:
            inner += ["    {", f"        {real} f[{nx}];", *(f"        {x}" for x in self._at("t", "x", "f"))]
            inner += [*self.each_of("k[0][c] = f[c];", "        "), "    }"]
            inner += ["    if (!good)", f"        outcome = {FAILED};"]
        inner += [
            "} else {", f"    why = judged ? 0 : (good ? {NOT_FINITE} : {FAILED});",
            f"    const double down = judged ? fmin({1 / SHRINK!r}, pow(error, {power!r})/{SAFETY!r}) : {1 / BACK!r};",
            "    h = h/down, cut = true, ++rejected;", "}",
        ]  # fmt: skip
        self.add(*(f"    {line}" for line in inner), "}")
        self.add("g_control[3*i] = h, g_control[3*i + 1] = old, g_control[3*i + 2] = cut ? 1.0 : 0.0;")
        self.add("g_rejected[i] = rejected;")

    def _end_of_step(self) -> list[str]:
        """Projection and watch of the accepted step: `bad` where it cannot stand."""
        lines = self._judged("t + h")
        return [line.replace("outcome", "bad") for line in lines]

    def _dense(self, m: RungeKutta) -> list[str]:
        """Samples inside the accepted step by the continuous extension; at its very end the state itself."""
        e, real = self.e, self.real
        if m.extra_a:
            raise DefinitionError(
                f"method {m.name!r} needs further evaluations for samples within steps; take dopri5 on a device."
            )
        terms = len(m.dense[0])
        lines = [
            "while (row < g_wanted && g_instants[row] <= t_new) {",
            "    const double part = (g_instants[row] - t)/h;",
        ]
        lines += [f"    {real} *sample = g_samples + (i*g_room + row)*{e.nx};", "    if (g_instants[row] >= t_new) {"]
        lines += [*self.each_of("sample[c] = y[c];", "        "), "    } else {"]
        for j, row in enumerate(m.dense):
            poly = repr(float(row[terms - 1]))
            for p in range(terms - 2, -1, -1):
                poly = f"({poly})*part + {float(row[p])!r}"
            lines.append(f"        const {real} w{j} = ({real})(part*({poly}));")
        total = " + ".join(f"w{j}*k[{j}][c]" for j in range(len(m.dense)))
        lines += [*self.each_of(f"sample[c] = x[c] + rh*({total});", "        "), "    }"]
        return [*lines, "    ++row;", "}"]

    # -- the end

    def _store(self) -> None:
        e, real = self.e, self.real
        g = self.word(f"{real} *__restrict__ ", "x_end")
        self.add(*(f"{g}[i*{e.nx} + {k}] = x[{k}];" for k in range(e.nx)))
        columns = self._overlay()
        if columns:
            g = self.word(f"{real} *__restrict__ ", "u_end")
            self.add(*(f"{g}[i*{len(columns)} + {j}] = u[{c}];" for j, c in enumerate(columns)))
        if e.clocks:
            self.add(*(f"g_memory[i*{e.memory} + {k}] = memory[{k}];" for k in range(e.memory)))
        status, taken = self.word("int *__restrict__ ", "status"), self.word("long long *__restrict__ ", "taken")
        rows = self.word("long long *__restrict__ ", "rows")
        self.add(f"{status}[i] = outcome;", f"{taken}[i] = m;", f"{rows}[i] = row;")
        if self.reduce and not self.adaptive:
            g = self.word(f"{real} *__restrict__ ", "reduced")
            for j, text in enumerate(("sum[{0}]/counted", "low[{0}]", "high[{0}]")):
                self.add(*(f"{g}[i*{3 * e.nx} + {j * e.nx + k}] = {text.format(k)};" for k in range(e.nx)))


def _low_storage(m: RungeKutta) -> bool:
    """Whether each stage reads only the rates of the one before it."""
    return all(not any(row[:-1]) for row in m.a)
