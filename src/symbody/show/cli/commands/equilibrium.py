"""`symbody equilibrium`: where a model stays at rest, and what holds it there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from symbody.show.cli import completion
from symbody.show.cli.common import fail, load_model, print_json
from symbody.show.cli.options import AS_JSON, INPUT, LOOPS, MODEL, PARAMETER, Q0

if TYPE_CHECKING:
    from symbody.model.record.mechanism import Mechanism
    from symbody.studies.steady.equilibrium import Equilibrium


def equilibrium(
    model: MODEL,
    q0: Q0 = None,
    inputs: INPUT = None,
    parameter: PARAMETER = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            "--fixed",
            metavar="JOINT",
            autocompletion=completion.joint_names,
            help="A joint that keeps its coordinate; the effort that holds it is a result. May be repeated.",
        ),
    ] = None,
    loops: LOOPS = None,
    stable: Annotated[bool, typer.Option("--stable", help="Look for a stable one; else the nearest is taken.")] = False,
    starts: Annotated[int, typer.Option("--starts", min=1, max=10_000, help="Starting points that are tried.")] = 12,
    as_json: AS_JSON = False,
) -> None:
    """Find the state of rest near q0, whether it is stable, and the efforts that hold fixed joints.

    The exit status is 1 if none was found.
    """
    from symbody.show.cli.assignments import input_values, parameter_values, state_values
    from symbody.studies.steady.equilibrium import equilibrium as library

    mechanism = load_model(model, loops)
    found = library(
        mechanism,
        state_values(mechanism, "q0", "q", q0),
        input_values(mechanism, inputs, numbers_only=True),
        parameter_values(mechanism, parameter),
        fixed=[name.strip() for item in fixed or () for name in item.split(",")],
        stable=stable,
        starts=starts,
    )
    facts = equilibrium_facts(mechanism, found)
    if as_json:
        print_json(facts)
    else:
        _print(facts)
    if not found.ok:
        fail(found.sentence)


def equilibrium_facts(mechanism: Mechanism, found: Equilibrium) -> dict[str, Any]:
    """A state of rest, ready for JSON."""
    from symbody.motion.flow.coordinate_labels import labels_of, units_of

    labels, units = labels_of(mechanism), units_of(mechanism)
    return {
        "model": found.model,
        "found": found.ok,
        "text": found.sentence,
        "q": {"labels": labels["q"], "units": units["q"], "values": found.q},
        "tau": {"labels": labels["tau"], "units": units["tau"], "values": found.tau},
        "multipliers": {"labels": found.rows, "values": found.multipliers},
        "states": dict(found.states),
        "stable": found.stable,
        "eigenvalues": found.eigenvalues,
        "potential": found.potential,
        "starts": found.starts,
    }


def _print(facts: dict[str, Any]) -> None:
    print(f"{facts['model']}: {facts['text']}")
    for name, what in (("q", facts["q"]), ("tau", facts["tau"])):
        rows = [
            (f"{name}.{label}", f"{value + 0.0:.6g}", unit)
            for label, value, unit in zip(what["labels"], what["values"], what["units"])
            if name == "q" or value
        ]
        if not rows:
            continue
        print()
        widths = [max(len(row[k]) for row in rows) for k in range(2)]
        for label, value, unit in rows:
            print(f"{label:<{widths[0]}}  {value:>{widths[1]}} {unit}".rstrip())
    if facts["states"]:
        print()
    for name, value in facts["states"].items():
        print(f"{name} = {value:.6g}")
