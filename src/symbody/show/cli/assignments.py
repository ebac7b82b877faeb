"""What options such as --q0 elbow=30deg,wrist=1 say: names and values, read with the units that a model needs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import typer

from symbody.basics.errors import FormatError, ModelError, NameLookupError, SolveError, float_of, nearest
from symbody.basics.regular_file import TooLarge, missing, read_regular
from symbody.model.record.keyframes import named_state
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.parameter_values import given_numbers
from symbody.model.record.typed_values import is_value, read_value
from symbody.show.cli.common import reading_options

HINT = "--partition"
MAX_TABLE = 200 * 2**20  # bytes of a table of inputs
_NEXT = re.compile(r"\s*[^=,()\[\]<>]+=(?!=)")


def pairs(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """name -> text of `name=text`, repeated or with commas between them; commas inside brackets belong to a text."""
    out: dict[str, str] = {}
    for item in given or ():
        for part in _parts(item):
            name, sign, text = part.partition("=")
            name, text = name.strip(), text.strip()
            if not sign or not name or not text:
                raise typer.BadParameter(f"{part.strip()!r} was given; expected name=value.", param_hint=option)
            if name in out:
                raise typer.BadParameter(f"{name!r} is given twice: {out[name]} and {text}.", param_hint=option)
            out[name] = text
    return out


def _parts(text: str, every: bool = False) -> list[str]:
    """Text cut at commas that stand outside of brackets and, unless at every one, before a `name=`."""
    depth, start, out = 0, 0, []
    for i, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth <= 0 and (every or _NEXT.match(text, i + 1)):
            out.append(text[start:i])
            start = i + 1
    return [*out, text[start:]]


@reading_options()
def state_values(mech: Mechanism, option: str, quantity: str, given: Sequence[str] | None) -> dict[str, Any] | None:
    """Label or joint -> number or numbers of q or qd, a keyframe by its name; None where nothing was given."""
    from symbody.motion.flow.coordinate_labels import labels_of, units_of
    from symbody.symbolic.system.names import components, stems

    labels, units = labels_of(mech)[quantity], units_of(mech)[quantity]
    named = {k.name for k in mech.keyframes}
    whole = [item.strip() for item in given or () if item.strip() in named]
    out: dict[str, Any] = {}
    for word in whole:  # keyframes; joints that are named besides change them
        for owner, numbers in named_state(mech, word, quantity).items():
            places = components(labels, len(labels), owner)
            out.update({labels[k]: float(x) for k, x in zip(places, numbers, strict=True)})
    rest = [item for item in given or () if item.strip() not in named]
    if named and any("=" not in item for item in rest):
        wrong = next(item for item in rest if "=" not in item)
        raise NameLookupError(f"{option}: {mech.name} has no keyframe {wrong!r}. {nearest(wrong, named)}")
    for name, text in pairs(f"--{option}", rest).items():
        places = components(labels, len(labels), name)
        if not places:
            raise NameLookupError(f"{option}: {mech.name} has no joint {name!r}. {nearest(name, stems(labels))}")
        what = f"{option} of {name!r}"
        numbers = _numbers(text, [units[k] for k in places], [labels[k] for k in places], what)
        out.update({labels[k]: x for k, x in zip(places, numbers)})
    return out or None


def _numbers(text: str, units: Sequence[str], labels: Sequence[str], what: str) -> list[float]:
    """One number, or [several] for a joint with several components."""
    if not text.startswith("["):
        if len(units) > 1:
            raise ModelError(
                f"{what} is {text}; it has {len(units)} components: give {labels[0]}=... to {labels[-1]}=..., or "
                f"[{', '.join('...' for _ in units[:3])}] with {len(units)} values."
            )
        return [read_value(text, units[0], what)]
    values = text.strip("[] ").split(",")
    if not text.endswith("]") or len(values) != len(units):
        raise ModelError(f"{what} is {text}; expected {len(units)} value{'s' * (len(units) > 1)} in brackets.")
    return [read_value(v, u, f"{what} ({label})") for v, u, label in zip(values, units, labels)]


@reading_options()
def parameter_values(mech: Mechanism, given: Sequence[str] | None) -> dict[str, float]:
    """Parameter -> number, one that the model can have."""
    known = mech.parameters
    out = {}
    for name, text in pairs("--parameter", given).items():
        if name not in known:
            raise NameLookupError(f"{mech.name} has no parameter {name!r}. {nearest(name, known)}")
        out[name] = read_value(text, known[name].data.unit or None, f"parameter {name!r}")
    return given_numbers(mech, out)


@reading_options()
def partition_choice(mech: Mechanism, given: Sequence[str] | None) -> str | list[str] | None:
    """A word for how the independent joints of closed loops are chosen, or their names; None if nothing was given."""
    names = [name.strip() for item in given or () for name in item.split(",")]
    if not names:
        return None
    if not all(names):
        raise typer.BadParameter(f"{','.join(given or ())!r} was given; expected names of joints.", param_hint=HINT)
    if not (mech.cuts or mech.couplings):
        raise typer.BadParameter(f"{mech.name} has no closed loops; leave this option out.", param_hint=HINT)
    from symbody.mechanics.loops.partition.partition import METHODS

    if names[0] in METHODS and len(names) == 1 and names[0] not in {j.name for j in mech.joints}:
        return names[0]
    from symbody.mechanics.memoised.model_memory import derived_of

    with suppress(SolveError):  # loops that do not close are told where they are closed
        derived_of(mech).partition(names)
    return names


@reading_options()
def independent_increments(mech: Mechanism, given: Sequence[str] | None) -> list[str] | None:
    """Independent joints of a linear model, which is reduced at one point: names only; None leaves the choice to it."""
    chosen = partition_choice(mech, given)
    if isinstance(chosen, str) and chosen != "auto":
        raise typer.BadParameter(
            f"{chosen!r} was given; a linear model takes the names of the joints to keep.", param_hint=HINT
        )
    return None if isinstance(chosen, str) else chosen


def input_values(mech: Mechanism, given: Sequence[str] | None, numbers_only: bool = False) -> dict[str, Any]:
    """Input -> number, expression or table (times, values).

    Efforts are tau.<joint>, or the joint's name alone. numbers_only: an operating point has neither time nor tables.
    """
    out: dict[str, Any] = {}
    for name, text in pairs("--input", given).items():
        key, units = _input(mech, name)
        if Path(text).suffix.lower() == ".csv" and not numbers_only:
            out[key] = read_table(Path(text), key, len(units))
        elif is_value(text) or numbers_only:
            with reading_options():
                out[key] = read_value(text, _shared(units), f"--input {name}")
        else:
            out[key] = text
    return out


def _input(mech: Mechanism, name: str) -> tuple[str, list[str | None]]:
    """Name of an input as the library takes it, and the units of its components: of efforts they are known."""
    from symbody.motion.flow.coordinate_labels import labels_of, units_of
    from symbody.symbolic.system.names import components

    labels, units = labels_of(mech)["tau"], units_of(mech)["tau"]
    if name == "tau":
        return name, list(units)
    part = name.removeprefix("tau.")
    places = components(labels, len(labels) if name.startswith("tau.") else 0, part)
    if places:
        return f"tau.{part}", [units[k] for k in places]
    return name, ["s" if name == "t" else None]


def _shared(units: Sequence[str | None]) -> str | None:
    return units[0] if len(set(units)) == 1 else None


# -- tables


def read_table(path: Path, name: str, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Times (k,) and values (k, size) of a CSV file: t in the first column, then `size` columns, or those of that name.

    Lines that begin with # are left out; a first line of words names the columns, with units in brackets or without:
    what `--out` writes can be read.
    """
    rows = _rows(path)
    heads = None if not rows or _is_number(rows[0][0]) else [h.partition("[")[0].strip() for h in rows.pop(0)]
    if not rows:
        raise FormatError(f"{path} has no rows of numbers; expected t and values of {name!r}.")
    width = len(rows[0]) if heads is None else len(heads)
    try:
        table = np.array([[float_of(x) for x in row] for row in rows if len(row) == width or _uneven(path, row, width)])
    except ValueError as error:
        raise FormatError(f"{path} is no table of numbers: {error}.") from None
    if width == size + 1:
        return table[:, 0], table[:, 1:]
    wanted = [k for k, h in enumerate(heads or ()) if h == name or h.startswith(f"{name}.")]
    if len(wanted) != size:
        told = "" if heads is None else f" Its columns are {', '.join(heads[:12])}."
        raise FormatError(
            f"{path} has {width} columns; expected {size + 1}: t and {size} for {name!r}, or some named {name}.{told}"
        )
    return table[:, 0], table[:, wanted]


def _rows(path: Path) -> list[list[str]]:
    why = missing(path)
    if why:
        raise FormatError(f"{why}; expected a table with t in its first column.")
    try:
        text = io.StringIO(read_regular(path, MAX_TABLE).decode("utf-8-sig"), newline="")
        lines = (line for line in text if line.strip() and not line.startswith("#"))
        return [[x.strip() for x in row] for row in csv.reader(lines)]
    except TooLarge as error:
        raise FormatError(f"{path} has {error.size} bytes; expected at most {MAX_TABLE}.") from None
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror or error}. Correct the path.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{path} is no table of comma-separated values: {error}.") from None


def _uneven(path: Path, row: Sequence[str], width: int) -> bool:
    raise FormatError(f"{path} has a row of {len(row)} values, {', '.join(row[:4])} ...; expected {width} in each.")


def _is_number(text: str) -> bool:
    try:
        float_of(text)
    except ValueError:
        return False
    return True


@reading_options()
def output_names(given: Sequence[str] | None) -> list[str | Mapping[str, str]]:
    """Quantities to record: a name, or name=expression."""
    out: list[str | Mapping[str, str]] = []
    for item in given or ():
        for part in _parts(item, every=True):
            name, sign, text = (x.strip() for x in part.partition("="))
            if not name or (sign and not text):
                raise typer.BadParameter(
                    f"{item!r} was given; expected a name or name=expression.", param_hint="--output"
                )
            out.append({name: text} if sign else name)
    return out
