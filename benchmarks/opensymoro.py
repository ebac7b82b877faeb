"""Operations of an inverse dynamic model that OpenSYMORO wrote, beside symbody's of the same robot.

python benchmarks/opensymoro.py RX90_idm.txt

The file is a program as OpenSYMORO saves it; robots/RX90/RX90_idm.txt stands in its repository (symoro/symoro, commit
7b199ed). It is read as data: its table of modified Denavit-Hartenberg parameters makes a Mechanism with the inertial
parameters of Khalil (inertias and first moments about the frames of the joints), rotors and friction; its equations are
counted and evaluated. Both programs must give the same efforts at random numbers before a count is shown. That file has
no gravity, so the Mechanism has none either.

Counted are mul + add + div of the lines that the efforts need, signs are free; what depends on parameters alone is left
out for both.
"""

from __future__ import annotations

import ast
import math
import operator
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# run as a script from any folder, installed or not
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import symbody as sb
from benchmarks.tally import Tally

MOMENTS = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M", "IA", "FV", "FS")
ANGLES = {"0": 0.0, "pi/2": math.pi / 2, "-pi/2": -math.pi / 2, "pi": math.pi, "-pi": -math.pi}
FUNCTIONS = {"cos": math.cos, "sin": math.sin, "sign": lambda x: float(np.sign(x))}
BINARY = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}  # fmt: skip


class Program:
    """Assignments in order, by name."""

    def __init__(self, text: str) -> None:
        lines = text.partition("Equations:")[2].partition("*=*")[0].split("\n")
        pairs = [line.partition(" = ") for line in lines if " = " in line]
        self.lines = {name.strip(): ast.parse(right.strip(), mode="eval").body for name, _, right in pairs}

    def needed(self, outputs: list[str]) -> set[str]:
        """Names that the outputs depend on."""
        found: set[str] = set()
        left = list(outputs)
        while left:
            name = left.pop()
            if name in self.lines and name not in found:
                found.add(name)
                left += [n.id for n in ast.walk(self.lines[name]) if isinstance(n, ast.Name)]
        return found

    def count(self, outputs: list[str], inputs: tuple[str, ...]) -> Tally:
        """Operations of the lines that the outputs need, of what depends on an input."""
        tally = Tally()
        wanted = self.needed(outputs)
        live: set[str] = set()
        for name, line in self.lines.items():
            if name in wanted and _visit(line, live, inputs, tally):
                live.add(name)
        return tally

    def evaluate(self, values: Mapping[str, float]) -> dict[str, float]:
        known = dict(values)
        for name, line in self.lines.items():
            known[name] = _value(line, known)
        return known


def _visit(node: ast.expr, live: set[str], inputs: tuple[str, ...], tally: Tally) -> bool:
    """Count a piece of a line; whether it depends on an input."""
    match node:
        case ast.Constant():
            return False
        case ast.Name(name):
            return name in live or name.startswith(inputs)
        case ast.UnaryOp(_, operand):
            return _visit(operand, live, inputs, tally)
        case ast.Call(ast.Name(function), [operand]):
            moves = _visit(operand, live, inputs, tally)
            if function in ("sin", "cos"):
                tally.trig += moves
            else:
                tally.other += moves
            return moves
        case ast.BinOp(left, kind, right):
            moves = _visit(left, live, inputs, tally) | _visit(right, live, inputs, tally)
            if moves and isinstance(kind, ast.Pow):
                tally.mul += int(_value(right, {})) - 1
            elif moves:
                word = {ast.Add: "add", ast.Sub: "add", ast.Mult: "mul", ast.Div: "div"}[type(kind)]
                setattr(tally, word, getattr(tally, word) + 1)
            return moves
    raise ValueError(f"{ast.unparse(node)} is no line of a program of OpenSYMORO.")


def _value(node: ast.expr, known: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value):
            return float(value)
        case ast.Name(name):
            return known[name]
        case ast.UnaryOp(ast.USub(), operand):
            return -_value(operand, known)
        case ast.Call(ast.Name(function), [operand]):
            return FUNCTIONS[function](_value(operand, known))
        case ast.BinOp(left, kind, right):
            return float(BINARY[type(kind)](_value(left, known), _value(right, known)))
    raise ValueError(f"{ast.unparse(node)} is no line of a program of OpenSYMORO.")


def robot(text: str) -> tuple[sb.Mechanism, dict[str, float], dict[str, float]]:
    """The Mechanism of the table, random values of its parameters, and the same values for the program.

    symbody has masses, centres of mass and inertias about them, OpenSYMORO first moments and inertias about the joints.
    """
    rng = np.random.default_rng(0)
    table = text.partition("Geometric parameters")[2].strip().split("\n\n")[0].splitlines()[1:]
    b = sb.Mechanism.builder("robot", gravity=(0, 0, 0))
    ours: dict[str, float] = {}
    theirs: dict[str, float] = {}
    parent = "world"
    for line in table:
        k, before, prismatic, _, gamma, shift, alpha, d, _, r = line.split()
        if int(before) != int(k) - 1 or (prismatic, gamma, shift) != ("0", "0", "0"):
            raise SystemExit(f"Joint {k}: only chains of revolute joints are compared here.")
        for name in {d, r} - {"0"}:
            b.parameter(name)
            ours[name] = theirs[name] = rng.uniform(0.3, 0.6)
        m, com, tensor = rng.uniform(1, 2), rng.uniform(-0.2, 0.2, 3), np.diag(rng.uniform(0.3, 0.5, 3))
        tensor[np.triu_indices(3, 1)] = tensor[np.tril_indices(3, -1)] = 0.02
        central = tensor - m * (com @ com * np.eye(3) - np.outer(com, com))
        values = [m, *com, *central[np.triu_indices(3)], *rng.uniform(0.1, 0.5, 3)]
        names = [f"{n}{k}" for n in ("M", "cx", "cy", "cz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz", "IA", "FV", "FS")]
        ours |= dict(zip(names, values))
        about = [*tensor[np.triu_indices(3)], *(m * com), m, *values[-3:]]
        theirs |= {f"{n}{k}": v for n, v in zip(MOMENTS, about)}
        mass, x, y, z, xx, xy, xz, yy, yz, zz, rotor, viscous, dry = (b.parameter(n) for n in names)
        b.body(f"link{k}", mass, (x, y, z), [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        turn, along = ANGLES[alpha], b.names.get(r, 0)
        position = (b.names.get(d, 0), -round(math.sin(turn)) * along, round(math.cos(turn)) * along)
        placed = {"position": position, "rotation": ("x", turn), "axis": "z"}
        b.joint(f"joint{k}", "revolute", parent, f"link{k}", rotor=(rotor, 1), viscous=viscous, coulomb=dry, **placed)
        parent = f"link{k}"
    return b.done(), ours, theirs


def compare(text: str) -> dict[str, Any]:
    """Operations of both programs, and the largest difference of their efforts at random numbers."""
    program = Program(text)
    mech, ours, theirs = robot(text)
    n, last = mech.nv, f"link{mech.nv}"
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.uniform(-1, 1, (3, n))
    wrench = rng.uniform(-1, 1, 6)  # of the last link on what it touches: moment, then force
    named = [(f"th{k + 1}", f"QP{k + 1}", f"QDP{k + 1}") for k in range(n)]
    state = {name: v for row, values in zip(named, np.stack([q, qd, qdd], 1)) for name, v in zip(row, values)}
    state |= dict(zip((f"{c}{a}{n}" for c in "CF" for a in "XYZ"), wrench))
    outputs = [f"GAM{k + 1}" for k in range(n)]
    found = program.evaluate(theirs | state)
    counted = program.count(outputs, ("th", "QP", "QDP", "FX", "FY", "FZ", "CX", "CY", "CZ"))
    inverse = sb.inverse_dynamics(mech, wrenches=[last])
    used = {name: ours[name] for name in inverse.parameters}
    tau = inverse.compile("python")(q, qd, qdd, -wrench, parameters=used)
    error = float(np.abs(tau - [found[name] for name in outputs]).max() / np.abs(tau).max())
    return {"OpenSYMORO": counted, "symbody": inverse.count(), "error": error, "joints": n}


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("Expected the file of an inverse dynamic model: python benchmarks/opensymoro.py RX90_idm.txt")
    found = compare(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(f"inverse dynamics of {found['joints']} joints, efforts agree to {found['error']:.0e}")
    for name in ("OpenSYMORO", "symbody"):
        c = found[name]
        print(f"{name:11} {c.mul:4} mul {c.add:4} add {c.div:3} div = {c.total:5}")


if __name__ == "__main__":
    main()
