"""What all commands share: loading a model, output for people or machines, and errors as sentences."""

from __future__ import annotations

import functools
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

import typer

from symbody.basics.errors import (
    CompileError,
    ExpressionError,
    Named,
    NameLookupError,
    ParseError,
    SolveError,
    SymbodyError,
    word_argument,
)
from symbody.show.cli.options import option_for, options_of
from symbody.show.cli.working import working

if TYPE_CHECKING:
    from symbody.model.record.mechanism import Mechanism
    from symbody.symbolic.system.system import System

TYPED = (NameLookupError, ParseError, ExpressionError)
# how the library names what options give -> the option, with what was given under its name
_SAID = (
    (r"input '(?:tau\.)?([^']*)'", r"--input \1"),
    (r"output '([^']*)'", r"--output \1"),
    (r"the guard of event '([^']*)'", r"--stop-when '\1'"),
)

P = ParamSpec("P")
T = TypeVar("T")

# what an Outcome advises, in the words of the command line
_ADVICE = {"resume(...)": "--resume", "max_steps": "--max-steps"}

QUANTITIES = {
    "inverse": "inverse_dynamics",
    "semi_explicit": "semi_explicit",
    "forward": "forward_dynamics",
}


@contextmanager
def reading_options() -> Iterator[None]:
    """What goes wrong here is the command line's fault: exit status 2."""
    try:
        yield
    except SymbodyError as error:
        error.usage = True
        raise


def is_usage(error: SymbodyError, command: Callable[..., Any]) -> bool:
    """Whether an error is about what was typed: a value of an option, or one that is missing."""
    if error.usage is not None:
        return error.usage
    if isinstance(error, TYPED):
        return True  # the model has been read: names and expressions that are left are those of options
    if isinstance(error, (SolveError, CompileError)):
        return False
    return any(isinstance(part, Named) and option_for(command, part.name) is not None for part in error.args)


def sentences(command: Callable[P, T]) -> Callable[P, T]:
    """Errors of symbody and of files become one sentence on stderr; a traceback is a bug.

    The exit status is 2 where the command line is wrong, 1 where the model, a file or the run is.
    """

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            with working(f"symbody {command.__name__}", quiet=bool(kwargs.get("quiet"))):
                return command(*args, **kwargs)
        except SymbodyError as error:
            fail(in_options(error, command), 2 if is_usage(error, command) else 1)
        except BrokenPipeError:
            raise  # the reader has seen enough: `main` ends quietly
        except OSError as error:
            fail(f"{error.filename or 'the output was not written'}: {error.strerror or error}.")
        except MemoryError:
            fail("there is not enough memory for this.")
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            raise typer.Exit(130) from None

    return run


def fail(sentence: str, status: int = 1) -> NoReturn:
    complain(" ".join(sentence.split()))
    raise typer.Exit(status)


def in_options(error: SymbodyError, command: Callable[..., Any]) -> str:
    """An error of the library, which says step=0.1, in the words of a command that has the option: --step 0.1."""

    def said(argument: Named) -> str:
        option = option_for(command, argument.name)
        if option is None:
            return str(argument)
        value = "NAME=VALUE" if argument.name == "parameters" else argument.value
        return f"{option} {value}".rstrip()

    text = error.said(said)
    for words, option in _SAID:
        if option.split()[0] in (flag for flags in options_of(command).values() for flag in flags):
            text = re.sub(words, option, text)
    first, *more = text.split("\n")
    return first if isinstance(error, (ParseError, NameLookupError)) else " ".join([first, *more])


def advice(outcome: str) -> str:
    """What an Outcome says, in the words of the command line."""
    for words, option in _ADVICE.items():
        outcome = outcome.replace(words, option)
    return outcome


def complain(sentence: str) -> None:
    print(f"symbody: {sentence}", file=sys.stderr)


def load_model(name: str, loops: Path | None = None) -> Mechanism:
    """The Mechanism of a bundled name or a file; loops: the side file that closes them."""
    from symbody.model.load import load

    try:
        return load(name, loops=loops)
    except SymbodyError as error:
        error.usage = False
        raise


# -- JSON


def print_json(data: Any) -> None:
    print(json.dumps(plain(data), indent=2, allow_nan=False))


def plain(data: Any) -> Any:
    """Data for JSON: arrays as lists, complex numbers as {re, im}; JSON has no infinities or NaN, they are null."""
    if isinstance(data, Mapping):
        return {str(k): plain(v) for k, v in data.items()}
    if isinstance(data, (list, tuple)):
        return [plain(v) for v in data]
    if hasattr(data, "tolist"):  # an array or a number of NumPy
        return plain(data.tolist())
    if isinstance(data, complex):
        return {"re": plain(data.real), "im": plain(data.imag)}
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data


# -- equations


def quantity(name: str) -> str:
    """The verb of a quantity: inverse, semi_explicit, forward."""
    return QUANTITIES[word_argument("quantity", name, QUANTITIES, error=NameLookupError)]


def check_formalism(name: str) -> None:
    """Refuse an unknown formalism before anything is computed."""
    from symbody.mechanics.verbs.dynamics import FORMALISMS

    word_argument("formalism", name, FORMALISMS, error=NameLookupError)


def generate(
    model: Any, name: str, formalism: str, partition: Any = "auto", budget: str | int = "quick", tell: Any = None
) -> System:
    """The System of a quantity of a Mechanism by a formalism.

    partition: of its closed loops, if it has any; budget: of "auto", with tell called meanwhile
    """
    import symbody.mechanics.verbs.dynamics as dynamics

    verb: Callable[..., System] = getattr(dynamics, quantity(name))
    closed = bool(model.cuts or model.couplings)
    options: dict[str, Any] = {"partition": partition} if closed else {}
    if formalism == "auto" and budget != "quick":
        options.update(budget=budget, progress=tell)
    return verb(model, formalism=formalism, **options)


def budget_choice(text: str) -> str | int:
    """--budget as the library takes it: a name, or a number of candidates."""
    from symbody.mechanics.verbs.smallest.budget import check_budget

    budget: str | int = int(text) if re.fullmatch("-?[0-9]{1,18}", text) else text
    check_budget(budget)
    return budget


def counted(n: int, one: str, more: str = "") -> str:
    """1 body, 2 bodies: a number and its noun."""
    return f"{n} {one if n == 1 else more or one + 's'}"
