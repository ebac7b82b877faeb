"""Places by Graphviz's program `neato`, where it is installed and asked for."""

from __future__ import annotations

import shutil
import subprocess

from symbody.bondgraph.record import BondGraph
from symbody.drawing.bond_layout import Layout
from symbody.errors import DefinitionError


def graphviz_layout(graph: BondGraph) -> Layout:
    """Places in columns and rows; names go in as numbers, so that nothing needs quoting."""
    program = shutil.which("neato")
    if program is None:
        raise DefinitionError("layout='graphviz' needs the program neato of Graphviz, which is not installed. "
                              "Install it, or take layout='own'.")  # fmt: skip
    number = {name: k for k, name in enumerate(graph.elements)}
    edges = "".join(f"{number[b.tail]} -- {number[b.head]} [len=1.4];" for b in graph.bonds)
    text = f"graph g {{ overlap=false; {edges} }}"
    done = subprocess.run([program, "-Tplain"], input=text, capture_output=True, text=True, timeout=60, check=True)
    made = Layout()
    names = list(graph.elements)
    for line in done.stdout.splitlines():
        words = line.split()
        if words[:1] == ["node"]:
            made.places[names[int(words[1])]] = (float(words[2]), -1.4 * float(words[3]))
    return made
