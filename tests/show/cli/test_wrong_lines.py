"""A table of wrong command lines: one sentence on stderr, nothing on stdout, the right status, no traceback.

Status 2: the line is wrong, whatever the model. Status 1: the model, a file or the run is.
"""

from __future__ import annotations

import re
import shlex

import pytest
import typer

from symbody.basics import words
from symbody.show.cli.app import COMMANDS, app

WRONG = r"""
2 simulat pendulum2
2 simulate
2 simulate pendulum2
2 simulate pendulum2 -t
2 simulate pendulum2 -t 0
2 simulate pendulum2 -t -1
2 simulate pendulum2 -t abc
2 simulate pendulum2 -t 1kg
2 simulate pendulum2 -t inf
2 simulate pendulum2 -t 1 --step 0
2 simulate pendulum2 -t 1 --step 5kg
2 simulate pendulum2 -t 1 --method rk5
2 simulate pendulum2 -t 1 --method verlet
2 simulate pendulum2 -t 1 --q0 joint1
2 simulate pendulum2 -t 1 --q0 joint9=1
2 simulate pendulum2 -t 1 --q0 joint1=30kg
2 simulate pendulum2 -t 1 --q0 joint1=abc
2 simulate pendulum2 -t 1 --q0 joint1=1,joint1=2
2 simulate pendulum2 -t 1 --q0 joint1=[1,2]
2 simulate pendulum2 -t 1 --qd0 joint1=3m
2 simulate pendulum2 -t 1 --input joint1=2*q.elbow
2 simulate pendulum2 -t 1 --input joint1=2*
2 simulate pendulum2 -t 1 --input joint1=sin(
2 simulate pendulum2 -t 1 --input nothing=3
2 simulate pendulum2 -t 1 --input joint1=3kg
1 simulate pendulum2 -t 1 --input joint1=no_table.csv
2 simulate pendulum2 -t 1 --input joint1=foo(t)
2 simulate pendulum2 -t 1 -p m9=3
2 simulate pendulum2 -t 1 -p m1=-3
2 simulate pendulum2 -t 1 -p m1=0
2 simulate pendulum2 -t 1 -p m1=3m
2 simulate pendulum2 -t 1 -p m1
2 simulate pendulum2 -t 1 --output p.nowhere
2 simulate pendulum2 -t 1 --output energi
2 simulate pendulum2 -t 1 --output =3
2 simulate pendulum2 -t 1 --output x=2*
2 simulate pendulum2 -t 1 --samples 1
2 simulate pendulum2 -t 1 --samples abc
2 simulate pendulum2 -t 1 --rtol 0
2 simulate pendulum2 -t 1 --rtol -1
2 simulate pendulum2 -t 1 --rtol abc
2 simulate pendulum2 -t 1 --atol 2
2 simulate pendulum2 -t 1 --max-steps 0
1 simulate pendulum2 -t 100 --max-steps 3
2 simulate pendulum2 -t 1 --slow -1
2 simulate pendulum2 -t 1 --stop-when 2*
2 simulate pendulum2 -t 1 --stop-when q.elbow>1
2 simulate pendulum2 -t 1 --out motion.xyz
2 simulate pendulum2 -t 1 --out no_folder/motion.csv
2 simulate pendulum2 -t 1 --out .
2 simulate pendulum2 -t 1 --plot motion.gif
2 simulate pendulum2 -t 1 --report motion.pdf
2 simulate pendulum2 -t 1 --partition joint1
2 simulate pendulum2 -t 1 --formalism newton
1 simulate pendulum2 -t 1 --loops nothing.yaml
1 simulate pendulum2 --resume nothing.ckpt
2 simulate --resume nothing.ckpt --q0 joint1=1
2 simulate four_bar -t 1 --partition crnk
2 simulate four_bar -t 1 --partition crank,rocker
2 simulate four_bar -t 1 --q0 crank=1 --formalism order_n
1 simulate no_model -t 1
1 simulate no_model.yaml -t 1
2 simulate pendulum2 extra -t 1
2 info
1 info no_model
1 info no_model.urdf
2 info pendulum2 --partition joint1
2 info four_bar --partition nope
2 info pendulum2 --jsn
2 verify
1 verify no_model
2 count pendulum2 -f newton
2 count pendulum2 -q invers
2 count pendulum2 --budget nope
2 count pendulum2 --budget -3
2 emit pendulum2 -q invers
2 emit pendulum2 --target fortrn
2 equilibrium pendulum2 --fixed nope
2 equilibrium pendulum2 --starts 0
2 equilibrium pendulum2 --q0 joint1=1m
2 equilibrium pendulum2 --input joint1=abc
2 linearize pendulum2 --matrices Q
2 linearize pendulum2 --output foo
2 linearize pendulum2 --equilibrium --qd0 joint1=1
2 linearize pendulum2 --input joint1=2*t
2 linearize four_bar --partition pivoting
2 modes pendulum2 --kind dampd
2 modes pendulum2 --mode 0
2 modes pendulum2 --mode 7 --animate x.html
2 modes pendulum2 --amplitude 0 --animate x.html
2 modes pendulum2 --animate x.png
2 report pendulum2 --out x.pdf
2 report pendulum2 --simulate 0
2 report pendulum2 --simulate abc
1 report no_model
2 new
2 new x --kind tre
2 new pendulum/2
1 examples nope
2 schema nope
1 equations puma560
2 equations pendulum2 --form pdf
1 equations pendulum2 --longest 150
1 equations no_model
2 equations pendulum2 --out no/x.tex
2 frequency pendulum2 --from tau.elbow
2 frequency pendulum2 --low 10 --high 1
2 frequency pendulum2 --low 3kg
2 frequency pendulum2 --bode x.gif
2 frequency pendulum2 --points 1
1 animate no_model
2 animate pendulum2 --out x.gif
2 animate pendulum2 --simulate 0
2 animate pendulum2 --simulate 1 --motion x.npz
1 animate pendulum2 --motion none.npz
2 animate pendulum2 --q0 elbow=1
2 simulate pendulum2 --limit -t 1
2 show pendulum2
2 help
2 fk pendulum2
2 pendulum2
2 simulate pendulum2 --dt 1ms -t 1
2 simulate pendulum2 --tau joint1=1 -t 1
2 frequency pendulum2 --to q
2 equations pendulum2 --latex
2 identify pendulum2
"""
ROWS = [(int(line[0]), line[2:]) for line in WRONG.strip().splitlines()]
RUNS = ("--max-steps 3",)  # ends early: what was computed is told before


def test_the_table_is_long_enough():
    assert len({line for _, line in ROWS}) >= 100


@pytest.mark.parametrize(("status", "line"), ROWS, ids=[line for _, line in ROWS])
def test_a_wrong_line_gives_one_sentence(call, here, status, line):
    result = call(*shlex.split(line))
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code == status, result.stderr
    assert result.stderr.startswith("symbody: ")
    assert result.stderr.count("\n") == 1, "one line"
    assert result.stderr.rstrip().endswith((".", "?"))
    assert len(result.stderr) < 700
    assert not result.stdout or line.endswith(RUNS)
    assert "Traceback" not in result.stderr + result.stdout


def test_commands_and_options_of_other_programs_are_answered_with_those_here(call):
    assert "Here it is symbody animate MODEL" in call("show", "pendulum2").stderr
    assert "No such option --dt. Here it is --step." in call("simulate", "pendulum2", "--dt", "1ms").stderr
    assert "No such option --tau. Did you mean" not in call("simulate", "pendulum2", "--tau", "joint1=1").stderr
    assert "Here it is" not in call("info", "pendulum2", "--dt", "1").stderr  # it has no --step


def test_words_of_the_command_line_name_what_exists():
    for text in words.COMMANDS.values():
        found = re.match(r"symbody (--\w+|\w+)", text)
        if found and not found[1].startswith("--"):
            assert found[1] in COMMANDS, text
    assert not set(words.COMMANDS) & set(COMMANDS)
    group = typer.main.get_command(app)
    known = {o for c in group.commands.values() for p in c.params for o in p.opts}
    assert {text.split()[0] for text in words.OPTIONS.values()} <= known
