"""Every command, by its row: help with an example, refusals that name the nearest, exit codes."""

from __future__ import annotations

import inspect
import shlex
from typing import get_args, get_type_hints

import pytest
from typer.testing import CliRunner

from symbody import extend
from symbody.basics.errors import DefinitionError
from symbody.extend import Command
from symbody.show.cli import options
from symbody.show.cli.app import app

ROWS = list(extend.commands().values())


def call(*words: str):
    return CliRunner().invoke(app, list(words))


def declared(row: Command) -> list[str]:
    """The options of a command by their long names."""
    return [flags[0] for flags in options.options_of(row.run).values()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_help_tells_what_it_does_its_options_and_an_example(row):
    result = call(row.name, "--help")
    assert result.exit_code == 0
    text = " ".join(result.output.split())
    assert " ".join((inspect.getdoc(row.run) or "").split("\n\n")[0].split()) in text
    assert " ".join(row.example.split()) in text
    assert all(option in text for option in declared(row))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_an_unknown_option_is_refused_with_the_nearest(row):
    for option in declared(row):
        result = call(row.name, option + "x")
        assert result.exit_code == 2
        assert f"No such option {option}x" in result.output
        assert option in result.output.replace(option + "x", "")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_is_not_there_gives_a_status_and_a_sentence(row):
    special = {"new": ("x", "--kind", "tre"), "simulate": ("no_model", "-t", "1"), "identify": ("base", "no_model")}
    words = special.get(row.name, ("no_model",))
    result = call(row.name, *words)
    assert result.exit_code == (2 if row.name in ("new", "schema") else 1)  # no model is asked for there
    assert result.stderr.startswith("symbody: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_example_parses(row):
    """Its options are the command's; what it does is run by the tests of the page."""
    program, name, *words = shlex.split(row.example)
    assert (program, name) == ("symbody", row.name)
    known = {flag for flags in options.options_of(row.run).values() for flag in flags}
    assert {w for w in words if w.startswith("-")} <= known


def test_options_of_several_commands_are_declared_once():
    """An option means the same thing, in the same words, in all commands; or else it is named here, with the reason."""
    shared = {id(x) for kind in vars(options).values() for x in get_args(kind)[1:]}
    different = {
        "--input": "signals of time in simulate, numbers of an operating point elsewhere",
        "--output": "what is recorded; rows of C and D",
        "--out": "tables; a folder; a page",
        "--kind": "of a starter; of modes",
        "--method": "of integration; of what an emitted program integrates by; of estimation",
        "--step": "of a run, with its unit; of an emitted program",
    }
    owners: dict[str, list[str]] = {}
    for row in ROWS:
        hints = get_type_hints(row.run, include_extras=True)
        for name, flags in options.options_of(row.run).items():
            if not any(id(x) in shared for x in get_args(hints[name])[1:]):
                owners.setdefault(flags[0], []).append(row.name)
    assert {option: rows for option, rows in owners.items() if len(rows) > 1 and option not in different} == {}
    assert all(len(owners[option]) > 1 for option in different if option != "--input")


# -- one row more


@pytest.fixture
def added():
    """Rows that a test adds are gone after it."""
    yield extend.add_command
    for name in set(extend.commands()) - {row.name for row in ROWS}:
        extend.remove_command(name)


def weigh(model: options.MODEL, parameter: options.PARAMETER = None, as_json: options.AS_JSON = False) -> None:
    """Weigh a model."""
    from symbody.mechanics.verbs.energy import energy
    from symbody.show.cli.assignments import parameter_values
    from symbody.show.cli.common import load_model, print_json

    mechanism = load_model(model)
    kernel = energy(mechanism).compile()
    mass = kernel(*([0.0] * mechanism.nq,), [0.0] * mechanism.nv, [0.0] * mechanism.nv,
                  parameters=parameter_values(mechanism, parameter)).mass  # fmt: skip
    print_json({"mass": mass}) if as_json else print(f"{mass:g} kg")


def test_a_command_is_one_row(added):
    added(Command("weigh", weigh, "symbody weigh pendulum2 -p m1=3"))
    assert call("weigh", "pendulum2", "-p", "m1=3").output == "4 kg\n"
    assert "Weigh a model." in call("--help").output
    assert "symbody weigh pendulum2" in call("weigh", "--help").output
    refused = call("weigh", "pendulum2", "-p", "m9=3")
    assert refused.exit_code == 2
    assert "has no parameter 'm9'" in refused.stderr


def test_rows_that_are_wrong_are_refused(added):
    with pytest.raises(DefinitionError, match="'info' already"):
        added(Command("info", weigh, "symbody info ur5"))
    with pytest.raises(DefinitionError, match="docstring"):
        added(Command("mute", lambda: None, "symbody mute"))
    with pytest.raises(DefinitionError, match="expected symbody other"):
        added(Command("other", weigh, "symbody weigh ur5"))


# -- errors about arguments in the words of the command that runs


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("simulate", "pendulum2", "-t", "0"), "--duration 0.0; expected a positive number of seconds"),
        (("report", "pendulum2", "--simulate", "0"), "--simulate 0.0; expected a positive number of seconds"),
        (("modes", "pendulum2", "--kind", "dampd"), "--kind 'dampd'; expected one of auto, undamped, damped. Did you"),
        (("emit", "pendulum2", "-q", "invers"), "there is no quantity 'invers'. Did you mean 'inverse'"),
        (("count", "pendulum2", "-f", "newton"), "--formalism 'newton'; expected one of"),
        (("simulate", "pendulum2", "-t", "1", "-m", "verlet"), "give --step ... in seconds"),
        (("info", "four_bar", "--partition", "cranc"), "cranc"),
    ],
    ids=lambda x: x if isinstance(x, str) else " ".join(x),
)
def test_an_argument_is_named_as_the_command_names_it(words, said):
    result = call(*words)
    assert result.exit_code == 2
    assert said in result.stderr


def test_an_argument_that_a_command_does_not_have_stays_as_python_has_it():
    from symbody.basics.errors import Named, argument
    from symbody.show.cli.app import COMMANDS
    from symbody.show.cli.common import in_options

    error = DefinitionError(argument("t0", 1), " and ", Named("parameters", "{...}"), " of ", Named("samples"))
    assert str(error) == "t0=1 and parameters={...} of samples"
    assert in_options(error, COMMANDS["simulate"].run) == "t0=1 and --parameter NAME=VALUE of --samples"
    assert in_options(error, COMMANDS["schema"].run) == str(error)
