"""The C of a System with states: rates and outputs, guards, resets, projections and directional derivatives.

All numbers of an instance stand in one vector: time, states, rates, inputs, modes, parameters, outputs, guards. The
functions of the emitted modules get pointers into it; `core.c` integrates it and knows nothing of the model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from symbody.basics.errors import CompileError, DefinitionError
from symbody.codegen.c.c_language import C, columns, comment, literal
from symbody.codegen.c.c_source import c_module, emit_c
from symbody.codegen.c.header import outside
from symbody.codegen.printer.module_layout import ModulePart
from symbody.symbolic.expr import derivative
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.lower.lowering import lower
from symbody.symbolic.system.system import System

HERE = Path(__file__).parent
PROJECTION = "projection"  # origin of outputs project_<state>: the states corrected after a step
METHODS = ("euler", "rk4", "dopri5")


@dataclass(frozen=True)
class FmuArray:
    """An array of the vector of an instance: kind state, rate, input, mode, parameter, output, guard or time."""

    name: str
    kind: str
    start: int
    shape: tuple[int, ...] = ()
    unit: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    of: str = ""  # the state that a rate belongs to
    reads: tuple[frozenset[str], ...] = ()  # for each component: the arguments it depends on, as name or name[k]

    @property
    def size(self) -> int:
        size = 1
        for n in self.shape:
            size *= n
        return size


@dataclass
class FmuModel:
    """What FMUs and stand-alone programs are made of."""

    name: str
    system: System
    variables: list[FmuArray]
    guards: list[tuple[str, int]]  # name and direction of every element
    files: dict[str, str] = field(default_factory=dict)  # modules and motion.h
    derivatives: bool = True
    derivative_names: dict[str, str] = field(default_factory=dict)

    def of(self, kind: str) -> list[FmuArray]:
        return [v for v in self.variables if v.kind == kind]

    def size(self, kind: str) -> int:
        return sum(v.size for v in self.of(kind))


def motion_of(
    system: System,
    labels: Mapping[str, Sequence[str]] | None = None,
    units: Mapping[str, str | Sequence[str]] | None = None,
    start: Mapping[str, Any] | None = None,
    derivatives: bool = True,
) -> FmuModel:
    """The C files of a System with states. start: values of states, modes and inputs that do not begin at zero."""
    if not system.states:
        raise DefinitionError(
            f"System {system.name!r} has no states; expected states={{'x': 'x_dot'}}: an FMU and a program that "
            "integrates need them."
        )
    if system.clocks:
        raise DefinitionError(
            f"System {system.name!r} is sampled (clocks={system.clocks!r}); FMUs and programs that integrate have "
            "continuous states and events at guards. Give it a timer, a state with the rate 1 that a guard resets, or "
            "emit its functions and call them at its instants."
        )
    system.check_modes()
    made = _Making(system, dict(labels or {}), dict(units or {}), dict(start or {}))
    return made.motion(derivatives)


class _Making:
    def __init__(self, system: System, labels: dict[str, Any], units: dict[str, Any], start: dict[str, Any]) -> None:
        self.system, self.labels, self.start = system, labels, start
        self.units = {**system.units, **units}
        modes = {n for n, x in system.modes.items() if n in system.inputs and not isinstance(x, str)}
        reset = {key.rpartition(".")[2] for key in system.resets}
        self.modes = [n for n in system.inputs if n in modes or (n in reset and n not in system.states)]
        self.inputs = [n for n in system.inputs if n not in system.states and n != "t" and n not in self.modes]
        rates = set(system.states.values())
        projected = {n for n in system.outputs if system.origins.get(n) == PROJECTION}
        self.results = [n for n in system.outputs if n not in rates and n not in projected]
        self.projected = {n.removeprefix("project_"): n for n in projected}

    def motion(self, derivatives: bool) -> FmuModel:
        system = self.system
        variables = [FmuArray("time", "time", 0, unit=("s",))]
        at = 1

        def add(name: str, kind: str, shape: tuple[int, ...], **more: Any) -> None:
            nonlocal at
            made = FmuArray(
                name, kind, at, shape, labels=self._labels(name, shape), unit=self._unit(name, shape), **more
            )
            variables.append(made)
            at += made.size

        for n in system.states:
            add(n, "state", system.inputs[n].shape, values=self._start(n))
        for n, rate in system.states.items():
            shape = system.inputs[n].shape
            made = FmuArray(
                f"der({n})", "rate", at, shape, labels=self._labels(n, shape), unit=_per_second(self._unit(n, shape)),
                of=n, reads=self._reads(system.outputs[rate]),
            )  # fmt: skip
            variables.append(made)
            at += made.size
        for n in self.inputs:
            add(n, "input", system.inputs[n].shape, values=self._start(n))
        for n in self.modes:
            add(n, "mode", system.inputs[n].shape, values=self._start(n))
        for n, a in system.parameters.items():
            add(n, "parameter", a.shape, values=system.default(n) or (0.0,) * a.size)
        for n in self.results:
            shape = system.outputs[n].shape
            called = f"{n}_out" if n in system.inputs or n in system.parameters else n
            labels = tuple(called + label[len(n) :] for label in self._labels(n, shape))
            reads, unit = self._reads(system.outputs[n]), self._unit(n, shape)
            variables.append(FmuArray(called, "output", at, shape, labels=labels, unit=unit, reads=reads))
            at += variables[-1].size
        guards = [
            (n if a.size == 1 else f"{n}[{k + 1}]", self._direction(n))
            for n, a in system.guards.items()
            for k in range(a.size)
        ]
        for (n, _), node in zip(guards, [x for a in system.guards.values() for x in a.flat]):
            reads = self._reads(np.array([node], dtype=object))
            variables.append(FmuArray(f"guard.{n}", "guard", at, unit=("",), labels=(f"guard.{n}",), reads=reads))
            at += 1
        motion = FmuModel(system.name, system, variables, guards, derivatives=derivatives)
        self._write(motion, at)
        return motion

    def _labels(self, name: str, shape: tuple[int, ...]) -> tuple[str, ...]:
        given = tuple(self.labels.get(name, ()))
        size = int(np.prod(shape)) if shape else 1
        if len(given) == size and len(set(given)) == size:
            return tuple(f"{name}.{label}" if label else name for label in given)
        if not shape:
            return (name,)
        return tuple(f"{name}[{','.join(str(k + 1) for k in index)}]" for index in np.ndindex(shape))

    def _unit(self, name: str, shape: tuple[int, ...]) -> tuple[str, ...]:
        given = self.units.get(name, "")
        size = int(np.prod(shape)) if shape else 1
        return (given,) * size if isinstance(given, str) else tuple(given) if len(given) == size else ("",) * size

    def _start(self, name: str) -> tuple[float, ...]:
        value = self.start.get(name, self.system.modes.get(name, 0.0))
        array = np.broadcast_to(np.asarray(value, dtype=float), self.system.inputs[name].shape)
        return tuple(float(x) for x in array.ravel())

    def _direction(self, guard: str) -> int:
        value = self.system.modes.get(f"{guard}.direction", 0)
        return {"up": 1, "down": -1, "both": 0}.get(value, 0) if isinstance(value, str) else int(np.sign(value))

    def _reads(self, nodes: np.ndarray) -> tuple[frozenset[str], ...]:
        owner = {}
        for n in (*self.system.states, *self.inputs, *self.modes):
            for k, s in enumerate(self.system.inputs[n].flat):
                owner[s] = f"{n}#{k}"
        return tuple(frozenset(owner[s] for s in free_symbols([x]) if s in owner) for x in nodes.flat)

    # -- C

    def _write(self, motion: FmuModel, total: int) -> None:
        """The emitted modules, and motion.h with the calls and the layout of the vector."""
        system, name = self.system, self.system.name
        place = {v.name: v.start for v in motion.variables if v.kind != "rate"} | {"t": 0}
        files, lines = {}, []
        derived: list[str] = []
        setups: list[str] = []
        seeded = self._seed_names()

        def module(key: str, outputs: dict[str, np.ndarray], where: dict[str, str], more: dict[str, Any] | None = None,
                   arguments: str = "const double *v, const motion_derived *d") -> None:  # fmt: skip
            """An emitted module, and a function motion_<key> that calls it."""
            made = System(
                f"{name}_{key}", inputs={**system.inputs, **(more or {})}, outputs=outputs,
                parameters=system.parameters, defaults=system.defaults,
            )  # fmt: skip
            program = lower(made)
            planned = c_module(program, C)
            if outside(planned):
                raise CompileError(
                    f"System {name!r} calls {', '.join(outside(planned))} from outside; an FMU is self-contained: give "
                    "their C text (External(c_body=...))."
                )
            files.update(emit_c(program))
            prefix = planned.name
            derived.append(f"    double {key}[{max(len(planned.derived), 1)}];")
            setups.append(_setup_call(planned.setup, key))
            part = planned.parts[0]
            given = []
            for a in part.arguments.values():
                if a.role == "input":
                    assert a.port is not None
                    base = "seed" if a.port.name in (more or {}) else "v"
                    given.append(f"{base} + {place[seeded.get(a.port.name, a.port.name)]}")
                elif a.role == "output":
                    assert a.port is not None
                    given.append(where[a.port.name])
                else:
                    given.append({"derived": f"d->{key}"}.get(a.role, a.role))
            blocks, work = len(program.blocks), part.work
            lines.extend([f"static int motion_{key}({arguments})", "{"])
            lines.append(f"    int status[{max(blocks, 1)}] = {{0}};")
            lines.extend([f"    double work[{work}];"] if work else [])
            lines.append(f"    {prefix}({', '.join(given)});")
            read = set(re.findall(r"\w+", " ".join(given)))
            lines.extend(f"    (void){n};" for n in re.findall(r"\*(\w+)", arguments) if n not in read)
            if blocks:
                lines.append(
                    f"    for (int k = 0; k < {blocks}; ++k)\n        if (status[k] < 0)\n            return 1;"
                )
            else:
                lines.append("    (void)status;")
            lines.extend(["    return 0;", "}", ""])

        nx = motion.size("state")
        offset: dict[str, int] = {}
        count = 0
        for n in system.states:
            offset[n] = count
            count += system.inputs[n].size
        ny, k = {}, 0
        for n in self.results:
            ny[n] = k
            k += system.outputs[n].size
        rates: dict[str, np.ndarray] = {}
        where = {}
        for n, rate in system.states.items():
            rates[f"{n}_rate"] = system.outputs[rate]
            where[f"{n}_rate"] = f"dx + {offset[n]}"
        for n in self.results:
            rates[f"out_{n}"] = system.outputs[n]
            where[f"out_{n}"] = f"y + {ny[n]}"
        module("rates", rates, where, None, "const double *v, const motion_derived *d, double *dx, double *y")
        if system.guards:
            flat = np.concatenate([a.reshape(-1) for a in system.guards.values()])
            module("guards", {"guard": flat}, {"guard": "guard"}, None,
                   "const double *v, const motion_derived *d, double *guard")  # fmt: skip
            self._resets(module, lines, place)
        if self.projected:
            outputs = {f"new_{n}": system.outputs[out] for n, out in self.projected.items()}
            module("project", outputs, {f"new_{n}": f"x + {offset[n]}" for n in self.projected}, None,
                   "const double *v, const motion_derived *d, double *x")  # fmt: skip
        if motion.derivatives:
            motion.derivatives = self._seeded(module, rates, where, seeded)
        counts = {
            "NX": nx, "NU": motion.size("input"), "NM": motion.size("mode"), "NP": motion.size("parameter"),
            "NY": motion.size("output"), "NG": len(motion.guards), "NV": total,
            "AT_X": 1, "AT_DX": 1 + nx, "AT_U": 1 + 2 * nx, "AT_M": 1 + 2 * nx + motion.size("input"),
        }  # fmt: skip
        counts["AT_P"] = counts["AT_M"] + counts["NM"]
        counts["AT_Y"] = counts["AT_P"] + counts["NP"]
        counts["AT_G"] = counts["AT_Y"] + counts["NY"]
        flags = {"HAS_GUARDS": bool(system.guards), "HAS_PROJECTION": bool(self.projected),
                 "HAS_DERIVATIVES": motion.derivatives}  # fmt: skip
        told = "the vector v of an instance is time, states, rates, inputs, modes,\nparameters, outputs, guards"
        head = comment(f"{name}: emitted by symbody; {told}")
        macros = "".join(f"#define {k} {v}\n" for k, v in counts.items())
        macros += "".join(f"#define {k} {int(v)}\n" for k, v in flags.items())
        starts = [0.0] * total
        for v in motion.variables:
            starts[v.start : v.start + len(v.values)] = v.values
        arrays = f"static const double motion_start[NV] = {{\n{columns(map(literal, starts))}}};\n"
        listed = ", ".join(str(d) for _, d in motion.guards) or "0"
        arrays += f"static const int motion_direction[] = {{{listed}}};\n" if motion.guards else ""
        includes = "".join(f'#include "{n}"\n' for n in files if n.endswith(".c"))
        struct = "typedef struct {\n" + "\n".join(derived) + "\n} motion_derived;\n\n"
        setup = "static int motion_setup(const double *p, motion_derived *d)\n{\n    int bad = 0;\n"
        setup += "\n".join(setups) + "\n    return bad;\n}\n"
        motion.files = {
            **files,
            "motion.h": f"{head}{macros}\n{includes}\n{arrays}\n{struct}{setup}\n" + "\n".join(lines),
        }

    def _resets(self, module: Any, lines: list[str], place: Mapping[str, int]) -> None:
        """motion_resets: new values of states and modes at the event of each guard, all from those before it."""
        system = self.system
        outputs: dict[str, np.ndarray] = {}
        where: dict[str, str] = {}
        body: list[str] = []
        element = 0
        for guard, a in system.guards.items():
            body.append(f"    if ({' || '.join(f'fired[{element + k}]' for k in range(a.size))}) {{")
            for key, value in system.resets.items():
                owner, dot, target = key.rpartition(".")
                if dot and owner != guard:
                    continue
                out = f"reset_{len(outputs)}"
                base = f"r + {sum(x.size for x in outputs.values())}"
                outputs[out], where[out] = value, base
                body += [f"        v[{place[target] + k}] = ({base})[{k}];" for k in range(value.size)]
            body.append("    }")
            element += a.size
        size = sum(a.size for a in outputs.values())
        if outputs:
            module("values", outputs, where, None, "const double *v, const motion_derived *d, double *r")
        lines += ["static int motion_resets(double *v, const motion_derived *d, const int *fired)", "{"]
        lines += [f"    double r[{max(size, 1)}];"] + (
            ["    if (motion_values(v, d, r))", "        return 1;"] if outputs else []
        )
        lines += body if outputs else ["    (void)r;", "    (void)v;", "    (void)d;", "    (void)fired;"]
        lines += ["    return 0;", "}", ""]

    def _seed_names(self) -> dict[str, str]:
        """Names of the directions of states and inputs, none of which an argument has."""
        prefix, taken = "seed_", {*self.system.inputs, *self.system.parameters}
        while any(n.startswith(prefix) for n in taken):
            prefix += "_"
        return {f"{prefix}{n}": n for n in (*self.system.states, *self.inputs)}

    def _seeded(self, module: Any, rates: dict[str, np.ndarray], where: dict[str, str], seeded: dict[str, str]) -> bool:
        """motion_along: derivatives of rates and outputs along a direction of states and inputs."""
        system = self.system
        seeds, symbols, directions = {}, [], []
        for seed, n in seeded.items():
            array = np.empty(system.inputs[n].shape, dtype=object)
            for i in range(array.size):
                array.flat[i] = system.graph.symbol(f"{seed}_{i}", "input", scope="seed")
            seeds[seed] = array
            symbols += list(system.inputs[n].flat)
            directions += list(array.flat)
        flat: list[Node] = [x for a in rates.values() for x in a.flat]
        found = iter(derivative.jvp(flat, symbols, directions))
        outputs = {}
        for n, a in rates.items():
            array = np.empty(a.shape, dtype=object)
            for i in range(a.size):
                array.flat[i] = next(found)
            outputs[f"d_{n}"] = array
        module("along", outputs, {f"d_{n}": text for n, text in where.items()}, seeds,
               "const double *v, const motion_derived *d, const double *seed, double *dx, double *y")  # fmt: skip
        return True


def _setup_call(setup: ModulePart, key: str) -> str:
    """The call of a module's setup inside of motion_setup."""
    blocks, given, declared = len(setup.program.blocks), [], []
    for a in setup.arguments.values():
        if a.role == "status":
            declared.append(f"        int status[{max(blocks, 1)}] = {{0}};")
        elif a.role == "work":
            declared.append(f"        double work[{max(a.size, 1)}];")
        given.append({"parameters": "p", "derived": f"d->{key}"}.get(a.role, a.role))
    test = (
        f"\n        for (int k = 0; k < {blocks}; ++k)\n            bad |= status[k] < 0;" if setup.of("status") else ""
    )
    return "    {\n" + "\n".join([*declared, f"        {setup.name}({', '.join(given)});"]) + test + "\n    }"


def _per_second(units: tuple[str, ...]) -> tuple[str, ...]:
    def one(unit: str) -> str:
        if not unit:
            return ""
        return f"{unit}^2" if unit.endswith("/s") else f"{unit}/s"

    return tuple(one(u) for u in units)


def core_text() -> str:
    """The integrator that every motion shares."""
    return (HERE / "core.c").read_text(encoding="utf-8")
