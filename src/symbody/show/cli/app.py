"""The command line: `symbody COMMAND MODEL`. One file a command; this one lists them.

A command reads words into the arguments of one call of the library and prints what it returns; no physics is computed
here. What is wrong is one sentence on stderr and an exit status.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from symbody.basics import words
from symbody.basics.errors import DefinitionError, add_row, remove_row
from symbody.basics.words import nearest_word
from symbody.show.cli.commands import (
    animate,
    bondgraph,
    convert,
    count,
    emit,
    equations,
    equilibrium,
    examples,
    frequency,
    identify,
    info,
    linearize,
    modes,
    new,
    report,
    schema,
    simulate,
    verify,
)
from symbody.show.cli.common import fail, sentences

# what typer's parser raises, whichever package holds it
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]


class Commands(TyperGroup):
    """The group of commands; a wrong command line is one sentence on stderr and the exit status 2."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        try:
            return super().make_context(*args, **extra)
        except USAGE_ERROR as error:
            refuse(error)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except USAGE_ERROR as error:
            refuse(error)


def refuse(error: Any) -> NoReturn:
    """The sentence of the parser, and where help is."""
    if type(error).__name__ == "NoArgsIsHelpError":
        raise error
    said = _with_words(error) or " ".join(error.format_message().split()).rstrip(".")
    stop = "" if said.endswith(("?", ".")) else "."
    name = error.ctx.command_path if error.ctx is not None else "symbody"
    fail(f"{said}{stop} See {name} --help.", 2)


def _with_words(error: Any) -> str | None:
    """The sentence on a command or an option that other programs call so, or that is misspelt."""
    command = re.match(r"No such command '([\w-]+)'", error.format_message())
    if command:
        return f"No such command {command[1]!r}. {nearest_word(command[1], COMMANDS, words.COMMANDS)}"
    option = getattr(error, "option_name", None)
    if option is None or error.ctx is None or type(error).__name__ != "NoSuchOption":
        return None
    known = [o for p in error.ctx.command.params for o in p.opts if o.startswith("--")]
    here = {word: text for word, text in words.OPTIONS.items() if text.split()[0] in known}
    return f"No such option {option}. {nearest_word(option, known, here)}"


app = typer.Typer(
    name="symbody",
    cls=Commands,
    help="From the description of a mechanical system to the smallest correct program for its motion.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class Command:
    """A command: its name, its function, whose signature declares the options, and a line to try.

    Options that other commands have too are those of `cli.options`. Errors of symbody become sentences.
    """

    name: str
    run: Callable[..., None]
    example: str


COMMANDS: dict[str, Command] = {}


def add_command(row: Command) -> Command:
    """One more command, under a name that is free."""
    if not isinstance(row, Command):
        raise DefinitionError(f"add_command was given {row!r}; expected a Command(name, run, example).")
    if not (row.run.__doc__ or "").strip():
        raise DefinitionError(f"command {row.name!r} has a function without a docstring; expected what --help says.")
    if not row.example.startswith(f"symbody {row.name}"):
        raise DefinitionError(f"command {row.name!r} has the example {row.example!r}; expected symbody {row.name} ...")
    add_row(COMMANDS, row.name, row, "command")
    app.command(row.name, epilog=f"Example: {row.example}")(sentences(row.run))
    return row


def remove_command(name: str) -> None:
    """Take an added command out again."""
    remove_row(COMMANDS, name, BUILT_IN, "command")
    app.registered_commands[:] = [c for c in app.registered_commands if c.name != name]


for _row in (
    Command("examples", examples.examples, "symbody examples four_bar --copy my_linkage.yaml"),
    Command("new", new.new, "symbody new my_robot --kind arm"),
    Command("info", info.info, "symbody info puma560"),
    Command("convert", convert.convert, "symbody convert puma560 puma560.urdf"),
    Command("verify", verify.verify, "symbody verify puma560"),
    Command("count", count.count, "symbody count puma560 --formalism newton_euler"),
    Command("emit", emit.emit, "symbody emit puma560 --quantity inverse --out generated"),
    Command(
        "simulate",
        simulate.simulate,
        "symbody simulate pendulum2 --duration 5 --q0 joint1=30deg --out motion.csv",
    ),
    Command("equations", equations.equations, "symbody equations pendulum2"),
    Command("equilibrium", equilibrium.equilibrium, "symbody equilibrium car"),
    Command("linearize", linearize.linearize, "symbody linearize four_bar --matrices A"),
    Command("modes", modes.modes, "symbody modes multi_link_suspension"),
    Command(
        "frequency", frequency.frequency, "symbody frequency pendulum2 --output q --from tau.joint1 --bode bode.png"
    ),
    Command("animate", animate.animate, "symbody animate four_bar --simulate 2 --qd0 crank=100rpm"),
    Command("identify", identify.identify, "symbody identify base panda"),
    Command("report", report.report, "symbody report four_bar --simulate 2"),
    Command("bondgraph", bondgraph.bondgraph, "symbody bondgraph dc_motor draw --out dc_motor.svg"),
    Command("schema", schema.schema, "symbody schema simulate"),
):
    add_command(_row)
BUILT_IN = frozenset(COMMANDS)


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Show the version.", is_eager=True)] = False,
) -> None:
    if version:
        print(f"symbody {sys.modules['symbody'].__version__}")
        raise typer.Exit


def main() -> None:
    """Entry point of the `symbody` command: a reader that leaves early, a full disk, a bug: at most a sentence."""
    try:
        app()
    except SystemExit as ended:
        status = ended.code
    except BrokenPipeError:
        _leave(141)
    except Exception as error:
        if os.environ.get("SYMBODY_TRACEBACK"):
            raise
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        print(
            f"symbody: this is a mistake in symbody ({what}). Please report it, with what "
            "SYMBODY_TRACEBACK=1 shows before the same command.",
            file=sys.stderr,
        )
        status = 1
    try:
        if sys.stdout is not None:  # it may have been closed before the start
            sys.stdout.flush()
    except BrokenPipeError:
        _leave(141)
    except OSError as error:
        print(f"symbody: the output was not written: {error.strerror or error}.", file=sys.stderr)
        _leave(1)
    sys.exit(status)


def _leave(status: int) -> None:
    """End at once; what is left in the buffer of stdout has no place to go."""
    os._exit(status)
