"""`symbody bondgraph`: causality, equations, structure, drawing, motion and report of a bond graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symbody.basics.errors import DefinitionError, FormatError, SymbodyError, word_argument
from symbody.show.cli.common import print_json
from symbody.show.cli.options import AS_JSON, DURATION, PARAMETER
from symbody.show.cli.output_files import PAGES, TABLES, check_target

if TYPE_CHECKING:
    from symbody.bondgraph.graph.bond_graph import BondGraph
    from symbody.motion.trajectory.trajectory import Trajectory

FORMS = ("state", "dae", "matrices", "second_order", "transfer")
WHAT = ("analyse", "causality", "equations", "loops", "draw", "simulate", "report")


def _graphs(incomplete: str) -> list[str]:
    from symbody.bondgraph.graph.graph_files import bundled_names

    return [n for n in bundled_names() if n.startswith(incomplete)]


def _what(incomplete: str) -> list[str]:
    return [n for n in WHAT if n.startswith(incomplete)]


def bondgraph(
    model: Annotated[
        str,
        typer.Argument(metavar="GRAPH", help="A bundled graph's name, or a .bond.yaml file.", autocompletion=_graphs),
    ],
    what: Annotated[str, typer.Argument(metavar="WHAT", help=f"{', '.join(WHAT)}.", autocompletion=_what)] = "analyse",
    prefer: Annotated[
        str, typer.Option("--prefer", help="Causality of storages: integral or derivative.")
    ] = "integral",
    variables: Annotated[str, typer.Option("--variables", help="States: energy or coenergy.")] = "energy",
    form: Annotated[
        str, typer.Option("--type", help="Equations: state, dae, matrices, second_order or transfer.")
    ] = "state",
    layout: Annotated[str, typer.Option("--layout", help="Places in the drawing: own or graphviz.")] = "own",
    most: Annotated[int, typer.Option("--most", min=1, help="Alternatives that are listed.")] = 20,
    duration: DURATION = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input", "-i", metavar="NAME=VALUE", help="A source: a number, an expression of t, or a .csv table."
        ),
    ] = None,
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--start", metavar="STATE=VALUE", help="A state at the beginning, such as q_C=1e-3; others are 0."
        ),
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output", metavar="NAME", help="Also record: e.<element>, f.<element>, energy, power, dissipated."
        ),
    ] = None,
    parameter: PARAMETER = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the drawing (.svg), motion or page (.html)."),
    ] = None,
    as_json: AS_JSON = False,
) -> None:
    """Work on a bond graph: its structure, or WHAT else is asked for.

    analyse tells ranks, controllability, observability, zeros and what they hang on; causality and loops explain; draw
    writes the graph with its causal strokes; simulate and report need --duration for a motion.
    """
    graph = _load(model)
    word_argument("what", what, WHAT)
    if what == "analyse":
        found = graph.analysis(most=most)
        print_json(analysis_facts(found)) if as_json else print(found)
    elif what == "causality":
        made = [graph.causality(prefer), *graph.alternatives(prefer, most)[1:]]
        facts = {"model": graph.name, "causalities": [causality_facts(c) for c in made]}
        print_json(facts) if as_json else print("\n\n".join(map(str, made)))
    elif what == "equations":
        _equations(graph, variables, form, as_json)
    elif what == "loops":
        loops = graph.loops(most=most, prefer=prefer)
        rows = [{"members": x.members, "gain": str(x.gain), "order": x.order, "solvable": x.solvable} for x in loops]
        print_json({"model": graph.name, "loops": rows}) if as_json else print("\n".join(map(str, loops)) or "no loops")
    elif what == "draw":
        target = out or Path(f"{graph.name}.svg")
        check_target(target, "--out", (".svg",))
        graph.show(prefer, layout=layout).save(target)
        _wrote(graph, target, as_json)
    else:
        numbers = _numbers(graph, parameter)
        traj = None if duration is None else _motion(graph, duration, inputs, start, output, numbers, variables)
        if what == "simulate":
            _simulate(graph, traj, out, as_json)
        else:
            target = out or Path(f"{graph.name}.html")
            check_target(target, "--out", PAGES)
            from symbody.show.report.bond_graph_report import write_bond_graph_report

            write_bond_graph_report(graph, target, traj, parameters=numbers)
            _wrote(graph, target, as_json)


def _load(model: str) -> BondGraph:
    """The graph; what is wrong with it or its file is no mistake of the command line."""
    from symbody.bondgraph.graph.graph_files import load_graph

    try:
        return load_graph(model)
    except SymbodyError as error:
        error.usage = False
        raise


def _wrote(graph: BondGraph, target: Path, as_json: bool) -> None:
    print_json({"model": graph.name, "files": [str(target)]}) if as_json else print(f"wrote {target}")


def _equations(graph: BondGraph, variables: str, form: str, as_json: bool) -> None:
    word_argument("form", form, FORMS)
    states, inputs, rows, notes = _written(graph, variables, form)
    if as_json:
        print_json({"model": graph.name, "states": states, "inputs": inputs, "equations": rows, "notes": notes})
        return
    for name, text in rows.items():
        print(f"{name} = {text}")
    for note in notes:
        print(f"note: {note}")


def _written(graph: BondGraph, variables: str, form: str) -> tuple[list[str], list[str], dict[str, str], list[str]]:
    """(states, inputs, name -> formula, notes) of one form of the equations; entries of matrices that are 0 are left
    out."""
    if form == "state":
        system = graph.system(variables=variables)
        rows = {name: str(array.item()) for name, array in system.outputs.items()}
        return [*system.states], [n for n in system.inputs if n not in system.states], rows, [*system.origins.values()]
    if form == "dae":
        dae = graph.dae()
        rows = {n: str(row) for n, row in {**dae.residual, **dae.outputs}.items()}
        note = f"{', '.join(dae.residual)} are zero; algebraic: {', '.join(dae.w) or 'none'}; index {dae.index}"
        return [*dae.x], [*dae.dx, *dae.w, *dae.inputs], rows, [note]
    m = graph.matrices(variables=variables)
    if form == "matrices":
        rows = _entries(
            {
                "A": (m.A, m.states, m.states),
                "B": (m.B, m.states, m.inputs),
                "C": (m.C, m.outputs, m.states),
                "D": (m.D, m.outputs, m.inputs),
                "D1": (m.D1, m.outputs, m.inputs),
            }
        )
        return [*m.states], [*m.inputs], rows, [f"{n} is the energy minus ({by})" for n, by in m.shift.items()]
    if form == "second_order":
        s = m.second_order("displacement" if graph.of_kind("I") else "impulse")
        x = s.coordinates
        rows = _entries(
            {"M": (s.M, x, x), "R": (s.R, x, x), "K": (s.K, x, x), "B": (s.B, x, s.inputs), "J": (s.J, x, s.inputs)}
        )
        return [*x], [*s.inputs], rows, ["M x'' + R x' + K x = B u + J (integral of u), where x' are the states listed"]
    rows = {}
    for y in m.outputs:
        for u in m.inputs:
            found = m.transfer(u, y).outputs
            rows[f"{y}/{u}"] = f"({_polynomial(found['numerator'])})/({_polynomial(found['denominator'])})"
    return [*m.states], [*m.inputs], rows, []


def _entries(matrices: dict[str, tuple[Any, Any, Any]]) -> dict[str, str]:
    return {
        f"{name}[{rows[i]}, {columns[k]}]": str(matrix[i, k])
        for name, (matrix, rows, columns) in matrices.items()
        for i in range(len(rows))
        for k in range(len(columns))
        if str(matrix[i, k]) != "0"
    }


def _polynomial(coefficients: Any) -> str:
    """A polynomial of s from its coefficients, the highest power first."""
    terms = []
    for power, c in zip(range(len(coefficients) - 1, -1, -1), map(str, coefficients)):
        s = {0: "", 1: "s"}.get(power, f"s**{power}")
        factor = c if c.replace("_", "").isalnum() else f"({c})"
        if c != "0":
            terms.append(s if c == "1" and s else f"{factor}*{s}" if s else c)
    return " + ".join(terms) or "0"


def _numbers(graph: BondGraph, given: list[str] | None) -> dict[str, float]:
    from symbody.basics.errors import NameLookupError, nearest
    from symbody.model.record.typed_values import read_value
    from symbody.show.cli.assignments import pairs

    out = {}
    for name, text in pairs("--parameter", given).items():
        if name not in graph.parameters:
            raise NameLookupError(f"{graph.name} has no parameter {name!r}. {nearest(name, graph.parameters)}")
        out[name] = read_value(text, None, f"--parameter {name}")
    return out


def _motion(
    graph: BondGraph,
    duration: str,
    inputs: list[str] | None,
    start: list[str] | None,
    output: list[str] | None,
    numbers: dict[str, float],
    variables: str,
) -> Trajectory:
    from symbody.model.record.typed_values import is_value, read_value
    from symbody.motion.run.simulate import simulate
    from symbody.show.cli.assignments import pairs, read_table

    system = graph.system(variables=variables, outputs=output or ())
    given: dict[str, Any] = {}
    for name, text in pairs("--input", inputs).items():
        if text.endswith(".csv"):
            given[name] = read_table(Path(text), name, 1)
        else:
            given[name] = read_value(text, None, f"--input {name}") if is_value(text) else text
    begin = {n: read_value(text, None, f"--start {n}") for n, text in pairs("--start", start).items()}
    seconds = read_value(duration, "s", "--duration")
    return simulate(system, seconds, inputs=given, states0=begin, parameters=numbers, outputs=None)


def _simulate(graph: BondGraph, traj: Trajectory | None, out: Path | None, as_json: bool) -> None:
    from symbody.show.cli.summary import trajectory_facts, trajectory_text

    if traj is None:
        raise DefinitionError("simulate needs a time: say how long, such as --duration 2.")
    files = []
    if out is not None:
        if out.suffix.lower() not in TABLES:
            raise FormatError(f"--out {out} has the suffix {out.suffix!r}; expected one of {', '.join(TABLES)}.")
        check_target(out, "--out", TABLES)
        traj.save(out)
        files.append(str(out))
    facts = trajectory_facts(traj, files)
    print_json(facts) if as_json else print(trajectory_text(facts, [*traj.values]))
    if not traj.outcome.ok:
        raise typer.Exit(1)


def causality_facts(c: Any) -> dict[str, Any]:
    """A Causality, ready for JSON."""
    strokes = [{"bond": n, "component": k + 1, "at": at} for (n, k), at in c.strokes.items()]
    return {"prefer": c.prefer, "integral": c.integral, "derivative": c.derivative, "dualised": c.dualised,
            "gives": dict(c.gives), "strokes": strokes}  # fmt: skip


def analysis_facts(a: Any) -> dict[str, Any]:
    """An Analysis, ready for JSON."""

    def members(found: Any) -> dict[str, Any]:
        rows = [
            {"name": m.name, "necessary": m.necessary, "redundant": m.redundant, "lost": m.lost, "alone": m.alone}
            for m in found.members
        ]
        return {"members": rows, "smallest_sets": found.minimal, "least": found.least, "complete": found.complete}

    return {
        "model": a.graph.name,
        "states": a.states,
        "dependent": a.assignments.integral.derivative,
        "ranks": {
            n: {"value": r.value, "of": r.rows, "blocks": r.blocks, "causal": r.causal, "term": r.term}
            for n, r in a.ranks.items()
        },
        "zero_eigenvalues": a.zero_eigenvalues,
        "bound": [r.states for r in a.bound],
        "controllable": a.controllable,
        "observable": a.observable,
        "uncontrollable": a.uncontrollable,
        "unobservable": a.unobservable,
        "controllability_index": a.reached.index,
        "observability_index": a.shown.index,
        "kalman": {"both": a.kalman.both, "controllable": a.kalman.controllable, "observable": a.kalman.observable,
                   "neither": a.kalman.neither, "states": a.kalman.states},
        "sources": members(a.sources),
        "detectors": members(a.detectors),
        "output_controllable": a.output_controllable,
        "zeros": {"finite": a.zeros.finite, "at_zero": a.zeros.at_zero, "infinite": a.zeros.infinite},
        "conditions": [str(c) for c in a.conditions],
        "disagreements": a.disagreements,
    }  # fmt: skip
