"""Verbs whose wrong arguments are told in a sentence, by what their signatures declare.

Where a call ends in an error that is none of symbody's, such as an AttributeError far inside, its arguments are held
against the annotations of the verb. One that does not fit is named, with what was expected; where all fit, the error is
what it was. A call that works is not looked at.
"""

from __future__ import annotations

import functools
import inspect
import numbers
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from symbody.basics.errors import DefinitionError, ShapeError, SymbodyError, wrong_argument

P = ParamSpec("P")
R = TypeVar("R")

MISTAKEN = (AttributeError, TypeError, ValueError, LookupError)  # what wrong arguments lead to


def declared(verb: Callable[P, R]) -> Callable[P, R]:
    """The verb, whose wrong arguments are refused in a sentence."""

    @functools.wraps(verb)
    def called(*args: P.args, **named: P.kwargs) -> R:
        try:
            return verb(*args, **named)
        except SymbodyError:
            raise
        except MemoryError as error:
            raise ShapeError(
                f"{verb.__name__}: what is asked for does not fit into memory. Ask for less, or for parts one by one."
            ) from error
        except MISTAKEN as error:
            wrong = _misfit(verb, args, named)
            if wrong is None:
                raise
            raise wrong from error

    return called


def _misfit(verb: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]) -> SymbodyError | None:
    """The sentence on the first argument that is not what the signature declares."""
    signature = inspect.signature(verb)
    try:
        given = signature.bind(*args, **named).arguments
    except TypeError as error:
        # Python's own sentence tells what is missing
        return _given_twice(verb, str(error)) if "multiple values" in str(error) else None
    for name, value in given.items():
        kinds = _alternatives(str(signature.parameters[name].annotation))
        if kinds and not any(fits(value) for fits, _ in kinds):
            return wrong_argument(name, value, " or ".join(text for _, text in kinds if text), owner=verb.__name__)
    return None


def _given_twice(verb: Callable[..., Any], why: str) -> SymbodyError:
    """An argument that is given by its place and by its name: the name may have been meant for another."""
    name, known = why.split("'")[1], ", ".join(inspect.signature(verb).parameters)
    return DefinitionError(f"{verb.__name__}: {name!r} is given twice, by its place and by its name. It takes {known}.")


Kind = tuple[Callable[[Any], bool], str]  # whether a value is of it, and what it is called


def _alternatives(annotation: str) -> list[Kind]:
    """The kinds of `A | B`; none where one of them is not known here."""
    found = [_kind(part.strip()) for part in annotation.split(" | ")]
    return [] if any(kind is None for kind in found) else [kind for kind in found if kind is not None]


def _kind(text: str) -> Kind | None:
    if text in KINDS:
        return KINDS[text]
    outer, _, inner = text.rstrip("]").partition("[")
    if outer == "Mapping" and inner.startswith("str"):
        return _is_mapping, "names with their values, in a dict"
    if outer in ("Sequence", "Iterable", "Collection") and inner in ("str", "int"):
        what = "a list of names" if inner == "str" else "a list of whole numbers"
        return lambda value: _is_list(value, KINDS[inner][0]), what
    return None


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _is_list(value: Any, of: Callable[[Any], bool]) -> bool:
    return isinstance(value, Iterable) and all(of(x) for x in value)


def _record(*names: str) -> Callable[[Any], bool]:
    """Whether a value is of a class of this name, wherever it is defined."""
    return lambda value: any(c.__name__ in names for c in type(value).__mro__)


KINDS: dict[str, Kind] = {
    "Iterable[Any]": (lambda value: isinstance(value, Iterable), "a list"),
    "Chosen": (
        lambda value: _is_list(value, KINDS["str"][0]) or _record("Partition")(value),
        "a list of independent joints, or how to choose them",
    ),
    "Iterable[When]": (lambda value: _is_list(value, _record("When")), "a list of sb.When(name, guard, ...)"),
    "None": (lambda value: value is None, ""),
    "str": (lambda value: isinstance(value, str), "a text"),
    "Path": (lambda value: isinstance(value, Path), "a path"),
    "bool": (lambda value: isinstance(value, bool | np.bool_), "True or False"),
    "int": (lambda value: isinstance(value, numbers.Integral) and not isinstance(value, bool), "a whole number"),
    "float": (lambda value: isinstance(value, numbers.Real) and not isinstance(value, bool), "a number"),
    "Mechanism": (_record("Mechanism"), "a Mechanism, as sb.load(name_or_path) gives"),
    "System": (_record("System"), "a System"),
    "Trajectory": (_record("Trajectory"), "a Trajectory, as sb.simulate gives"),
    "Certificate": (_record("Certificate"), "a Certificate, as sb.verify gives"),
    "Modes": (_record("Modes"), "Modes, as sb.modes gives"),
    "Series": (_record("Series"), "a Series, as read_series gives"),
    "InverseModel": (_record("InverseModel"), "an InverseModel, as inverse_model gives"),
    "Estimate": (_record("Estimate"), "an Estimate, as a fit gives"),
    "NonlinearFit": (_record("NonlinearFit"), "what fit_system gives"),
}
