"""Large models: bodies by the thousand from every reader; twice the size must take about twice the time.

python -m fuzz.large                      every kind at two sizes
python -m fuzz.large --kind urdf --count 200000
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import symbody as sb

NEST = 150  # of MJCF bodies: files are read to 200 elements deep


def _yaml(n: int, joint: Callable[[int], str] = lambda i: "", body: str = "", more: Iterable[str] = ()) -> str:
    """A chain of bodies; joint(i): more about joint i."""
    lines = ["name: large", "bodies:"]
    lines += [f"  b{i}: {{mass: 1, com: [0, 0, 0.1], inertia: [0.1, 0.1, 0.1]{body}}}" for i in range(n)]
    lines += ["joints:"]
    lines += [f"  j{i}: {{kind: revolute, parent: {_carrier(i)}, child: b{i}, axis: y{joint(i)}}}" for i in range(n)]
    return "\n".join([*lines, *more, ""])


def _carrier(i: int, world: str = "world") -> str:
    return f"b{i - 1}" if i else world


def _urdf(n: int, joint: Callable[[int], str] = lambda i: "") -> str:
    inertia = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
    lines = ['<robot name="large"><link name="base"/>']
    for i in range(n):
        lines += [
            f'<link name="b{i}"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>{inertia}</inertial></link>',
            f'<joint name="j{i}" type="continuous"><parent link="{_carrier(i, "base")}"/><child link="b{i}"/>'
            f'<axis xyz="0 1 0"/>{joint(i)}</joint>',
        ]
    return "\n".join([*lines, "</robot>"])


def _mjcf(n: int, equality: Callable[[int], str] = lambda i: "") -> str:
    """Chains of bodies side by side."""
    lines = ['<mujoco model="large"><worldbody>']
    for i in range(n):
        lines.append(f'<body name="b{i}" pos="0 0 0.1"><joint name="j{i}" axis="0 1 0"/>')
        lines.append('<inertial pos="0 0 0.1" mass="1" diaginertia="0.1 0.1 0.1"/>')
        if i % NEST == NEST - 1 or i == n - 1:
            lines.append("</body>" * (i % NEST + 1))
    laws = "\n".join(equality(i) for i in range(1, n))
    return "\n".join([*lines, "</worldbody>", f"<equality>{laws}</equality></mujoco>"])


def _mbs(n: int) -> str:
    zero = "<x>0</x><y>0</y><z>0.1</z>"
    lines = [
        "<mbsDescR7><mbsname>large</mbsname><base><gravity><x>0</x><y>0</y><z>-9.81</z></gravity></base><bodytree>",
    ]
    for i in range(n):
        lines.append(
            f"<body><bodyname>b{i}</bodyname>"
            f"<parent><bodyname>{_carrier(i, 'base')}</bodyname><pointname>origin</pointname></parent>"
            f"<mass>1</mass><com>{zero}</com><inertia><Ixx>0.1</Ixx><Iyy>0.1</Iyy><Izz>0.1</Izz></inertia>"
            f"<joint><jointname>j{i}</jointname><type>R2</type><nature>independent</nature></joint></body>"
        )
    return "\n".join([*lines, "</bodytree></mbsDescR7>"])


def _build(n: int) -> None:
    make = sb.Mechanism.builder("large")
    for i in range(n):
        make.body(f"b{i}", 1.0, (0, 0, 0.1), (0.1, 0.1, 0.1))
        make.joint(f"j{i}", "revolute", _carrier(i), f"b{i}", axis="y")
    assert len(make.done().bodies) == n


def _coupled(i: int) -> str:
    return f'<joint joint1="j{i}" joint2="j{i - 1}" polycoef="0 0.9 0.1 0 0"/>'


# kind -> (suffix, text of n bodies); "build" has no file
FILES: dict[str, tuple[str, Callable[[int], str]]] = {
    "yaml": (".yaml", _yaml),
    "yaml mimic": (".yaml", lambda n: _yaml(n, lambda i: f", mimic: [j{i - 1}, 0.9, 0]" if i else "")),
    "yaml names": (".yaml", lambda n: _yaml(n, lambda i: f', position: ["2*l{i}", 0, l{i}]', more=_lengths(n))),
    "yaml couplings": (".yaml", lambda n: _yaml(n, more=_couplings(n))),
    "yaml cuts": (".yaml", lambda n: _yaml(n, body=", frames: {tip: [0, 0, 1]}", more=_cuts(n))),
    "yaml rods": (".yaml", lambda n: _yaml(n, body=", frames: {tip: [0, 0, 1]}", more=[*_rods(n), *_lengths(n)])),
    "yaml forces": (".yaml", lambda n: _yaml(n, more=_forces(n))),
    "urdf": (".urdf", _urdf),
    "urdf mimic": (".urdf", lambda n: _urdf(n, lambda i: f'<mimic joint="j{i - 1}" multiplier="0.9"/>' if i else "")),
    "mjcf": (".xml", _mjcf),
    "mjcf mimic": (
        ".xml",
        lambda n: _mjcf(n, lambda i: f'<joint joint1="j{i}" joint2="j{i - 1}" polycoef="0 0.9 0 0 0"/>'),
    ),
    "mjcf back": (
        ".xml",
        lambda n: _mjcf(n, lambda i: f'<joint joint1="j{n - i - 1}" joint2="j{n - i}" polycoef="0 0.9 0 0 0"/>'),
    ),
    "mjcf couplings": (".xml", lambda n: _mjcf(n, _coupled)),
    "mjcf connect": (
        ".xml",
        lambda n: _mjcf(n, lambda i: f'<connect body1="b{i}" body2="b{i - 1}" anchor="0 0 0.05"/>'),
    ),
    "mbs": (".mbs", _mbs),
}
KINDS = ("build", *FILES)


def _lengths(n: int) -> list[str]:
    return ["parameters:", *(f"  l{i}: {{default: 0.5}}" for i in range(n))]


def _couplings(n: int) -> list[str]:
    return ["couplings:", *(f"  c{i}: {{expression: q.j{i} - 2*q.j{i - 1}}}" for i in range(1, n))]


def _cuts(n: int) -> list[str]:
    return ["cuts:", *(f"  c{i}: {{kind: ball, between: [b{i}.tip, b{i - 1}.tip]}}" for i in range(1, n))]


def _rods(n: int) -> list[str]:
    return ["cuts:", *(f"  c{i}: {{kind: rod, between: [b{i}.tip, b{i - 1}], length: l{i}}}" for i in range(1, n))]


def _forces(n: int) -> list[str]:
    rows = (f"  f{i}: {{kind: dahl, joint: j{i}, stiffness: 900, level: 3}}" for i in range(n))
    return ["forces:", *rows]


def seconds(kind: str, count: int) -> float:
    """s to read a model of so many bodies, or to build it; not counting what is done once in a process."""
    if kind == "build":
        _build(2)
        start = time.process_time()
        _build(count)
        return time.process_time() - start
    suffix, text = FILES[kind]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"large{suffix}")
        path.write_text(text(3))
        sb.load(path)
        path.write_text(text(count))
        start = time.process_time()
        mech = sb.load(path)
        taken = time.process_time() - start
    assert len(mech.bodies) in (count, count + 1)
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(description="Time of reading large models.")
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--count", type=int, help="bodies: one size alone, in this process")
    given = parser.parse_args()
    if given.count is not None:
        for kind in given.kind or KINDS:
            taken = seconds(kind, given.count)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            print(f"{kind:16} {given.count:7} bodies {taken:8.2f} s {memory:6} MB", flush=True)
        return 0
    command = [sys.executable, "-m", "fuzz.large"]
    return max(
        subprocess.call([*command, "--kind", kind, "--count", str(n)])
        for kind in given.kind or KINDS
        for n in (1000, 4000)
    )


if __name__ == "__main__":
    sys.exit(main())
