"""Options that several commands have, declared once; those of one command stand in the signature of its function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.models import OptionInfo

from symbody.show.cli import completion

_MODEL_HELP = "A bundled model's name (see `symbody examples`), or a .yaml, .urdf, .xml (MJCF), .sdf or .mbs file."
MODEL = Annotated[str, typer.Argument(metavar="MODEL", help=_MODEL_HELP, autocompletion=completion.models)]
OPTIONAL_MODEL = Annotated[
    str, typer.Argument(metavar="MODEL", help=_MODEL_HELP, show_default=False, autocompletion=completion.models)
]
LOOPS = Annotated[
    Path | None,
    typer.Option(
        "--loops",
        metavar="FILE",
        autocompletion=completion.loop_files,
        help="A YAML side file that closes the loops of a model that is a tree, such as a .urdf.",
    ),
]
AS_JSON = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text; see `symbody schema`.")]

DURATION = Annotated[str | None, typer.Option("--duration", "-t", metavar="TIME", help="How long: 2, 500ms, 3min.")]

# the operating point of several commands
Q0 = Annotated[
    list[str] | None,
    typer.Option(
        "--q0",
        metavar="JOINT=VALUE",
        autocompletion=completion.joints,
        help="Coordinates, such as elbow=30deg,slide=5mm; others are zero; or a keyframe. May be repeated.",
    ),
]
QD0 = Annotated[
    list[str] | None,
    typer.Option(
        "--qd0",
        metavar="JOINT=VALUE",
        autocompletion=completion.joints,
        help="Velocities, such as elbow=2rad/s, or a keyframe.",
    ),
]
PARAMETER = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        "-p",
        metavar="NAME=VALUE",
        autocompletion=completion.parameters,
        help="A parameter of the model in place of its default. May be repeated.",
    ),
]
BUDGET = Annotated[
    str,
    typer.Option(
        "--budget",
        metavar="BUDGET",
        autocompletion=completion.budgets,
        help="Of formalism auto: quick, a number of candidates, long (both are kept on disk), or stored: the kept one.",
    ),
]
PARTITION = Annotated[
    list[str] | None,
    typer.Option(
        "--partition",
        "--independent",
        metavar="JOINTS",
        autocompletion=completion.several_joints,
        help="Independent joints of closed loops, such as crank or a,b.2; also heuristic or pivoting. May be repeated.",
    ),
]
FORMALISM = Annotated[
    str | None,
    typer.Option("--formalism", "-f", autocompletion=completion.formalisms, help="auto, newton_euler, base, ..."),
]
FORMALISMS = Annotated[
    list[str] | None,
    typer.Option(
        "--formalism",
        "-f",
        autocompletion=completion.formalisms,
        help="auto, newton_euler, base, ...; may be repeated.",
    ),
]
QUANTITIES = Annotated[
    list[str] | None,
    typer.Option(
        "--quantity",
        "-q",
        autocompletion=completion.quantities,
        help="inverse, semi_explicit or forward; may be repeated.",
    ),
]
FORCE = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]

SIMULATE = Annotated[
    str | None, typer.Option("--simulate", metavar="TIME", help="Simulate so long and show the motion.")
]

INPUT = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        "-i",
        metavar="NAME=VALUE",
        autocompletion=completion.inputs,
        help="Operating value of an effort (elbow=3Nm), another input, or the time t. May be repeated.",
    ),
]

EQUILIBRIUM = Annotated[
    bool, typer.Option("--equilibrium", help="Take the equilibrium near q0; see `symbody equilibrium`.")
]


def options_of(command: Callable[..., Any]) -> dict[str, tuple[str, ...]]:
    """Parameter of a command's function -> the options that give it, the long one first."""
    out = {}
    for name, hint in get_type_hints(command, include_extras=True).items():
        for info in get_args(hint)[1:]:
            if isinstance(info, OptionInfo):
                # in Annotated, typer takes what would be the default for the first name
                names = (str(info.default), *(info.param_decls or ()))
                out[name] = tuple(flag for text in names for flag in text.split("/"))
    return out


def option_for(command: Callable[..., Any], name: str) -> str | None:
    """The option of a command that gives an argument of the library; None if it has none.

    Python's `parameters` and `outputs` are given one by one: --parameter, --output.
    """
    known = options_of(command)
    plain = {flag.lstrip("-").replace("-", "_"): flag for flags in known.values() for flag in flags}
    for given in (name, name.removesuffix("s")):
        if given in known:
            return known[given][0]
        if given in plain:
            return plain[given]
    return None
