"""What all commands share: loading a model, output for people or machines, and errors as sentences."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from typing import Annotated, Any, NoReturn, ParamSpec, TypeVar

import typer

from symbody.errors import NameLookupError, SymbodyError, nearest
from symbody.system.system import System

P = ParamSpec("P")
T = TypeVar("T")

MODEL = Annotated[
    str, typer.Argument(metavar="MODEL", help="A bundled model's name, or a .yaml, .urdf, .xml (MJCF) or .mbs file.")
]
OPTIONAL_MODEL = Annotated[str, typer.Argument(metavar="[MODEL]", help="As for the other commands.")]
AS_JSON = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text.")]

QUANTITIES = {
    "inverse": "inverse_dynamics",
    "semi_explicit": "semi_explicit",
    "forward": "forward_dynamics",
}


def sentences(command: Callable[P, T]) -> Callable[P, T]:
    """Errors of symbody and of files become one sentence on stderr and exit status 1; a traceback is a bug."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return command(*args, **kwargs)
        except SymbodyError as error:
            fail(str(error))
        except OSError as error:
            fail(f"{error.filename or 'file'}: {error.strerror or error}")
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            raise typer.Exit(130) from None

    return run


def fail(sentence: str) -> NoReturn:
    print(f"symbody: {sentence}", file=sys.stderr)
    raise typer.Exit(1)


def print_json(data: Any) -> None:
    print(json.dumps(data, indent=2, allow_nan=False))


def quantity(name: str) -> str:
    """The verb of a quantity: inverse, semi_explicit, forward."""
    if name not in QUANTITIES:
        raise NameLookupError(f"unknown quantity {name!r}. {nearest(name, QUANTITIES)}")
    return QUANTITIES[name]


def generate(model: Any, name: str, formalism: str) -> System:
    """The System of a quantity of a Mechanism by a formalism."""
    import symbody.verbs.dynamics as dynamics

    verb: Callable[..., System] = getattr(dynamics, quantity(name))
    return verb(model, formalism=formalism)
