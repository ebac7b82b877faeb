"""modelDescription.xml of FMI 2.0 and 3.0: variables with units and starts, and the complete structure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from symbody.codegen.fmu.fmu_model import FmuArray, FmuModel

_BASE = {"m": "m", "kg": "kg", "s": "s", "rad": "rad", "A": "A", "K": "K"}
_DERIVED = {"N": {"kg": 1, "m": 1, "s": -2}, "J": {"kg": 1, "m": 2, "s": -2}, "W": {"kg": 1, "m": 2, "s": -3},
            "Pa": {"kg": 1, "m": -1, "s": -2}, "Hz": {"s": -1}, "V": {"kg": 1, "m": 2, "s": -3, "A": -1}}  # fmt: skip


@dataclass(frozen=True)
class Stepping:
    """The integrator inside of a co-simulation."""

    method: str = "dopri5"
    step: float = 1e-3
    rtol: float = 1e-9
    atol: float = 1e-11


def base_units(unit: str) -> dict[str, int] | None:
    """Exponents of the base units of a text such as kg m^2/s; None if it is not understood."""
    found: dict[str, int] = {}
    sign = 1
    for token in re.findall(r"[A-Za-z]+(?:\^-?\d+)?|/|1|\S", unit.replace("*", " ")):
        if token == "/":
            sign = -1
            continue
        if token == "1":
            continue
        name, _, power = token.partition("^")
        exponent = sign * int(power or 1)
        if name in _BASE:
            found[name] = found.get(name, 0) + exponent
        elif name in _DERIVED:
            for base, e in _DERIVED[name].items():
                found[base] = found.get(base, 0) + e * exponent
        else:
            return None
    return {name: e for name, e in found.items() if e}


def _units(motion: FmuModel) -> list[str]:
    known: dict[str, dict[str, int]] = {}
    for v in motion.variables:
        for unit in v.unit:
            base = base_units(unit) if unit else None
            if base is not None:
                known[unit] = base
    if not known:
        return []
    lines = ["  <UnitDefinitions>"]
    for unit, base in sorted(known.items()):
        exponents = " ".join(f'{n}="{e}"' for n, e in base.items())
        lines += [
            f"    <Unit name={quoteattr(unit)}>",
            f"      <BaseUnit{' ' + exponents if exponents else ''}/>",
            "    </Unit>",
        ]
    return [*lines, "  </UnitDefinitions>"]


def _unit(unit: str) -> str:
    return f" unit={quoteattr(unit)}" if unit and base_units(unit) is not None else ""


def rate_label(label: str) -> str:
    return f"der({label})"


def scalars(motion: FmuModel) -> Iterator[tuple[str, FmuArray, int]]:
    """(name, variable, component) of every number, in the order of value references."""
    for v in motion.variables:
        for k in range(v.size):
            label = v.labels[k] if v.labels else v.name
            yield (rate_label(label) if v.kind == "rate" else label), v, k


def fmi2_description(motion: FmuModel, token: str, stepping: Stepping, sources: list[str]) -> str:
    order = list(scalars(motion))
    index = {(v.name, k): i + 1 for i, (_, v, k) in enumerate(order)}
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<fmiModelDescription", '  fmiVersion="2.0"']
    lines += [f"  modelName={quoteattr(motion.name)}", f'  guid="{token}"', '  generationTool="symbody"']
    lines += ['  variableNamingConvention="flat"', f'  numberOfEventIndicators="{len(motion.guards)}">']
    along = ' providesDirectionalDerivative="true"' if motion.derivatives else ""
    files = [*("      <File name=" + quoteattr(n) + "/>" for n in sources)]
    same = f'modelIdentifier="{motion.name}" canNotUseMemoryManagementFunctions="true" canGetAndSetFMUstate="true" '
    same += f'canSerializeFMUstate="true"{along}'
    for kind in (f"ModelExchange {same}", f'CoSimulation {same} canHandleVariableCommunicationStepSize="true"'):
        lines += [f"  <{kind}>", "    <SourceFiles>", *files, "    </SourceFiles>", f"  </{kind.split()[0]}>"]
    lines += _units(motion)
    lines += ["  <LogCategories>", '    <Category name="logStatusError" description="errors"/>', "  </LogCategories>"]
    lines += [f'  <DefaultExperiment startTime="0" stopTime="1" stepSize="{max(stepping.step, 1e-2)!r}"/>']
    lines += ["  <ModelVariables>"]
    for i, (name, v, k) in enumerate(order):
        told, start, more = _attributes(v, k)
        more += f' derivative="{index[(v.of, k)]}"' if v.kind == "rate" else ""
        unit = _unit(v.unit[k] if v.unit else "")
        lines += [f'    <ScalarVariable name={quoteattr(name)} valueReference="{v.start + k}" {told}>']
        lines += [f"      <Real{unit}{start}{more}/>", "    </ScalarVariable>"]
        assert i + 1 == index[(v.name, k)]
    lines += ["  </ModelVariables>", "  <ModelStructure>"]
    outputs = [(v, k) for _, v, k in order if v.kind in ("state", "output")]
    rates = [(v, k) for _, v, k in order if v.kind == "rate"]

    def listed(tag: str, unknowns: list[tuple[FmuArray, int]]) -> list[str]:
        if not unknowns:
            return []
        rows = [f"    <{tag}>"]
        for v, k in unknowns:
            found = [(v.name, k)] if v.kind == "state" else _dependencies(v, k, motion)
            places = sorted(index[d] for d in found)
            rows.append(f'      <Unknown index="{index[(v.name, k)]}" dependencies="{" ".join(map(str, places))}"/>')
        return [*rows, f"    </{tag}>"]

    lines += listed("Outputs", outputs) + listed("Derivatives", rates)
    initial = sorted([(v, k) for v, k in outputs + rates if v.kind != "state"], key=lambda p: index[(p[0].name, p[1])])
    if initial:
        lines += ["    <InitialUnknowns>", *(f'      <Unknown index="{index[(v.name, k)]}"/>' for v, k in initial)]
        lines += ["    </InitialUnknowns>"]
    return "\n".join([*lines, "  </ModelStructure>", "</fmiModelDescription>", ""])


def _dependencies(v: FmuArray, k: int, motion: FmuModel) -> list[tuple[str, int]]:
    """States, inputs and modes that a component depends on."""
    known = {x.name for x in motion.variables}
    found = []
    for text in v.reads[k] if v.reads else ():
        name, _, place = text.rpartition("#")
        if name in known:
            found.append((name, int(place)))
    return found


def _attributes(v: FmuArray, k: int) -> tuple[str, str, str]:
    """Attributes of a ScalarVariable, its start, and more."""
    start = f' start="{v.values[k]!r}"' if v.values else ""
    return {
        "time": ('causality="independent" variability="continuous"', "", ""),
        "state": ('causality="output" variability="continuous" initial="exact"', start, ' reinit="true"'),
        "rate": ('causality="local" variability="continuous" initial="calculated"', "", ""),
        "input": ('causality="input" variability="continuous"', start, ""),
        "mode": ('causality="local" variability="discrete" initial="exact"', start, ""),
        "parameter": ('causality="parameter" variability="tunable" initial="exact"', start, ""),
        "guard": ('causality="local" variability="continuous" initial="calculated"', "", ""),
        "output": ('causality="output" variability="continuous" initial="calculated"', "", ""),
    }[v.kind]


def fmi3_description(motion: FmuModel, token: str, stepping: Stepping) -> str:
    """Arrays stay arrays; a value reference is the place of the first element."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<fmiModelDescription", '  fmiVersion="3.0"']
    lines += [f"  modelName={quoteattr(motion.name)}", f'  instantiationToken="{token}"', '  generationTool="symbody"']
    lines += ['  variableNamingConvention="flat">']
    along = ' providesDirectionalDerivatives="true"' if motion.derivatives else ""
    same = f'modelIdentifier="{motion.name}" canGetAndSetFMUState="true" canSerializeFMUState="true"{along}'
    fixed = f' fixedInternalStepSize="{stepping.step!r}"' if stepping.method != "dopri5" else ""
    lines += [f'  <ModelExchange {same} needsCompletedIntegratorStep="true"/>']
    lines += [f'  <CoSimulation {same} canHandleVariableCommunicationStepSize="true"{fixed}/>']
    lines += _units(motion)
    lines += ["  <LogCategories>", '    <Category name="logStatusError" description="errors"/>', "  </LogCategories>"]
    lines += [f'  <DefaultExperiment startTime="0" stopTime="1" stepSize="{max(stepping.step, 1e-2)!r}"/>']
    lines += ["  <ModelVariables>"]
    place = {v.name: v.start for v in motion.variables}
    for v in motion.variables:
        told, start, more = _attributes(v, 0)
        start = f' start="{" ".join(repr(x) for x in v.values)}"' if v.values else start
        more += f' derivative="{place[v.of]}"' if v.kind == "rate" else ""
        units = set(v.unit)
        unit = _unit(v.unit[0]) if len(units) == 1 else ""
        labels = ", ".join(label.removeprefix(f"{v.name}.") for label in v.labels) if v.size > 1 else ""
        shown = labels if labels and "[" not in labels else ""
        described = f" description={quoteattr(shown)}" if shown else ""
        name = rate_label(v.of) if v.kind == "rate" else v.name
        told = told.replace(' initial="exact"', "") if v.kind == "input" else told
        head = f'    <Float64 name={quoteattr(name)} valueReference="{v.start}" {told}{described}{unit}{start}{more}'
        if v.shape:
            lines += [f"{head}>", *(f'      <Dimension start="{n}"/>' for n in v.shape), "    </Float64>"]
        else:
            lines += [f"{head}/>"]
    lines += ["  </ModelVariables>", "  <ModelStructure>"]

    def reads(v: FmuArray) -> str:
        if v.kind == "state":
            return f' dependencies="{v.start}"'
        found = sorted({place[n] for k in range(v.size) for n, _ in _dependencies(v, k, motion)})
        return f' dependencies="{" ".join(map(str, found))}"'

    for tag, kinds in (("Output", ("state", "output")), ("ContinuousStateDerivative", ("rate",))):
        lines += [f'    <{tag} valueReference="{v.start}"{reads(v)}/>' for v in motion.variables if v.kind in kinds]
    lines += [
        f'    <InitialUnknown valueReference="{v.start}"/>' for v in motion.variables if v.kind in ("rate", "output")
    ]
    lines += [f'    <EventIndicator valueReference="{v.start}"/>' for v in motion.of("guard")]
    return "\n".join([*lines, "  </ModelStructure>", "</fmiModelDescription>", ""])
