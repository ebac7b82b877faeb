"""`symbody linearize`: the linear model of a mechanism about an operating point."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symbody.basics.errors import FormatError, ModelError, NameLookupError, nearest
from symbody.show.cli.common import load_model, print_json, reading_options
from symbody.show.cli.options import AS_JSON, EQUILIBRIUM, INPUT, LOOPS, MODEL, PARAMETER, PARTITION, Q0, QD0

if TYPE_CHECKING:
    import numpy as np

    from symbody.model.record.mechanism import Mechanism
    from symbody.studies.linear.linear import Linear

SHOWN = ("M", "B", "K", "U")
# name -> what its rows and columns are
MATRICES = {
    "M": ("speeds", "speeds"), "B": ("speeds", "speeds"), "K": ("speeds", "coordinates"),
    "K1": ("speeds", "coordinates"), "K2": ("speeds", "coordinates"), "U": ("speeds", "inputs"),
    "U1": ("speeds", "inputs"), "U2": ("speeds", "inputs"), "A": ("states", "states"),
    "B_ss": ("states", "inputs"), "C": ("outputs", "states"), "D": ("outputs", "inputs"),
}  # fmt: skip


def linearize(
    model: MODEL,
    q0: Q0 = None,
    qd0: QD0 = None,
    inputs: INPUT = None,
    parameter: PARAMETER = None,
    equilibrium: EQUILIBRIUM = False,
    loops: LOOPS = None,
    partition: PARTITION = None,
    output: Annotated[
        list[str] | None,
        typer.Option("--output", metavar="NAME", help="Rows of C and D: q, qd, p.<sensor>, an expression."),
    ] = None,
    matrices: Annotated[
        str | None,
        typer.Option(
            "--matrices",
            metavar="NAMES",
            help=f"Which of {','.join(MATRICES)}, or none; {','.join(SHOWN)} if not given, with --json all.",
        ),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--csv", metavar="FOLDER", help="Write each matrix as a CSV file; made if needed.")
    ] = None,
    as_json: AS_JSON = False,
) -> None:
    """Linearise a model about an operating point: K dq + B dqd + M dqdd + U du = 0, and dx' = A dx + B_ss du.

    Loops are closed from q0: joints that it names keep their values where that is possible. The increments are then
    those of independent coordinates.
    """
    wanted = _wanted(matrices) if matrices is not None else list(MATRICES if as_json else SHOWN)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise FormatError(f"--csv {folder} is a file; expected a folder.")
    mechanism = load_model(model, loops)
    linear = linear_model(mechanism, q0, qd0, inputs, parameter, output, equilibrium, partition)
    facts = linear_facts(linear, wanted)
    facts["files"] = _write(linear, folder, list(MATRICES)) if folder is not None else []
    if as_json:
        print_json(facts)
    else:
        _print(linear, wanted, facts)


def linear_model(
    mechanism: Mechanism,
    q0: list[str] | None,
    qd0: list[str] | None,
    inputs: list[str] | None,
    parameter: list[str] | None,
    output: list[str] | None = None,
    equilibrium: bool = False,
    partition: list[str] | None = None,
) -> Linear:
    """The Linear at the operating point that options describe."""
    from symbody.show.cli.assignments import independent_increments, input_values, parameter_values, state_values
    from symbody.studies.linear.linearize import linearize as library

    parameters = parameter_values(mechanism, parameter)
    values = input_values(mechanism, inputs, numbers_only=True)
    start, rates = state_values(mechanism, "q0", "q", q0), state_values(mechanism, "qd0", "qd", qd0)
    if equilibrium:
        if rates is not None:
            raise typer.BadParameter("has no place at an equilibrium, where nothing moves.", param_hint="--qd0")
        point = rest_point(mechanism, start, values, parameters)
    else:
        point = {"q0": start, "qd0": rates, "inputs": values}
    kept = independent_increments(mechanism, partition)
    point = {"parameters": parameters, **point}
    made: Linear = library(mechanism, outputs=output or None, independent=kept, **point)
    return made


def rest_point(
    mechanism: Mechanism, q0: dict[str, Any] | None, inputs: dict[str, Any], parameters: dict[str, float]
) -> dict[str, Any]:
    """The equilibrium near q0 as arguments of `linearize`; an error if there is none."""
    from symbody.studies.steady.equilibrium import equilibrium as library

    found = library(mechanism, q0, inputs, parameters, eigenvalues=False)
    if not found.ok:
        raise ModelError(f"no equilibrium of {mechanism.name} was found near q0. {found.sentence}")
    return found.point


@reading_options()
def _wanted(text: str) -> list[str]:
    names = [n.strip() for n in text.split(",") if n.strip()]
    if names == ["none"]:
        return []
    for name in names:
        if name not in MATRICES:
            raise NameLookupError(f"there is no matrix {name!r}. {nearest(name, MATRICES)}")
    return names


def labelled(linear: Linear, name: str) -> tuple[np.ndarray, tuple[str, ...], tuple[str, ...]]:
    """A matrix with the names of its rows and columns."""
    rows, columns = MATRICES[name]
    return getattr(linear, name), tuple(getattr(linear, rows)), tuple(getattr(linear, columns))


def eigenvalues(linear: Linear) -> np.ndarray:
    """Eigenvalues of the state matrix, rad/s, the slowest first; in a pair the positive imaginary part first."""
    import numpy as np

    found = np.linalg.eigvals(linear.A) if len(linear.A) else np.zeros(0, complex)
    order = np.lexsort((-found.imag, -found.real, np.round(np.abs(found), 9)))
    return np.asarray(found[order], dtype=complex)


def linear_facts(linear: Linear, wanted: list[str]) -> dict[str, Any]:
    """The operating point, the matrices and the eigenvalues, ready for JSON."""
    out = {}
    for name in wanted:
        matrix, rows, columns = labelled(linear, name)
        out[name] = {"rows": rows, "columns": columns, "values": matrix}
    return {
        "model": linear.model,
        "coordinates": linear.coordinates,
        "speeds": linear.speeds,
        "states": linear.states,
        "inputs": linear.inputs,
        "outputs": linear.outputs,
        "q0": linear.q0,
        "qd0": linear.qd0,
        "qdd0": linear.qdd0,
        "u0": linear.u0,
        "matrices": out,
        "eigenvalues": eigenvalues(linear),
        "notes": linear.notes,
    }


def _print(linear: Linear, wanted: list[str], facts: dict[str, Any]) -> None:
    from symbody.show.cli.matrix_text import matrix_text

    sizes = {"increment": linear.size, "internal state": len(linear.internal), "input": len(linear.inputs)}
    told = ", ".join(f"{n} {what}{'s' * (n != 1)}" for what, n in {**sizes, "output": len(linear.outputs)}.items())
    print(f"{linear.model}: {told}")
    for note in linear.notes:
        print(f"note: {note}")
    for name in wanted:
        print()
        print(matrix_text(name, *labelled(linear, name)))
    print("\neigenvalues of A (rad/s)")
    for value in facts["eigenvalues"]:
        print(f"  {_eigenvalue(value)}")
    for path in facts["files"]:
        print(f"wrote {path}")


def _eigenvalue(value: complex) -> str:
    """With a word if the motion grows; parts that are rounding beside the other one are left out."""
    size = abs(value)
    real, imag = (x if abs(x) > 1e-12 * size else 0.0 for x in (value.real, value.imag))
    turning = f" {'-' if imag < 0 else '+'} {abs(imag):.6g}i" if imag else ""
    return f"{real:13.6g}{turning}{'  grows' if real > 1e-9 * size else ''}"


def _write(linear: Linear, folder: Path, names: list[str]) -> list[str]:
    from symbody.basics.atomic_file import write_whole
    from symbody.show.cli.matrix_text import matrix_csv

    folder.mkdir(parents=True, exist_ok=True)
    return [str(write_whole(folder / f"{name}.csv", matrix_csv(*labelled(linear, name)))) for name in names]
