"""Places by Graphviz's program `neato`, where it is installed and asked for."""

from __future__ import annotations

import math
import shutil
import subprocess
from itertools import chain

from symbody.basics.errors import DefinitionError
from symbody.bondgraph.graph.bond_graph import BondGraph
from symbody.show.drawing.bond_layout import BondLayout


def graphviz_layout(graph: BondGraph) -> BondLayout:
    """Places in columns and rows; names go in as numbers, so that nothing needs quoting."""
    program = shutil.which("neato")
    if program is None:
        raise DefinitionError(
            "layout='graphviz' needs the program neato of Graphviz, which is not installed. "
            "Install it, or take layout='own'."
        )
    number = {name: k for k, name in enumerate(graph.elements)}
    edges = "".join(f"{number[b.tail]} -- {number[b.head]} [len=1.4];" for b in graph.bonds)
    text = f"graph g {{ overlap=false; {edges} }}"
    try:
        done = subprocess.run([program, "-Tplain"], input=text, capture_output=True, text=True, timeout=60, check=True)
        made = _read(done.stdout, list(graph.elements))
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        raise DefinitionError(f"{program} of Graphviz gives no places: {error}. Take layout='own'.") from None
    return made


def _read(text: str, names: list[str]) -> BondLayout:
    """The places in what neato wrote, one for each name."""
    made = BondLayout()
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["node"]:
            made.places[names[int(words[1])]] = (float(words[2]), -1.4 * float(words[3]))
    if len(made.places) < len(names) or not all(map(math.isfinite, chain(*made.places.values()))):
        raise ValueError(f"{len(made.places)} nodes for {len(names)} elements, or places that are no numbers")
    return made
