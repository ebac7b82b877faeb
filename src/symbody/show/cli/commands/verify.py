"""`symbody verify`: the certificate of a model."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from symbody.show.cli.common import load_model, print_json
from symbody.show.cli.options import AS_JSON, LOOPS, MODEL, PARAMETER, PARTITION


def verify(
    model: MODEL,
    states: Annotated[int, typer.Option("--states", min=1, max=10_000, help="Number of random states.")] = 20,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the random states.")] = 0,
    parameter: PARAMETER = None,
    loops: LOOPS = None,
    partition: PARTITION = None,
    as_json: AS_JSON = False,
) -> None:
    """Certify a model: every formalism against every other, energy, power, symmetry of M, loops that stay closed.

    The exit status is 1 if a check fails.
    """
    from symbody.mechanics.verbs.certify.verify import verify as certify
    from symbody.show.cli.assignments import parameter_values, partition_choice

    mechanism = load_model(model, loops)
    certificate = certify(
        mechanism,
        states=states,
        seed=seed,
        parameters=parameter_values(mechanism, parameter),
        partition=partition_choice(mechanism, partition) or "auto",
    )
    if as_json:
        print_json(certificate.as_dict())
    else:
        print(certificate)
    if not certificate.passed:
        failed = [c.text for c in certificate.checks if not c.passed]
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        print(f"symbody: {mechanism.name} is not certified: {failed[0]}{more}.", file=sys.stderr)
        raise typer.Exit(1)
