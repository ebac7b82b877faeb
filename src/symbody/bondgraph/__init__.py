"""Bond graphs: the frozen graph, its causality, its equations, and what follows from its structure.

In: elements, junctions and bonds, from a file or a builder. Out: a `BondGraph`, and Systems, matrices, ranks of it.
`graph/` holds records, builder, parts and files, `causality/` assigns strokes by exact elimination, `equations/` writes
state equations, `structure/` finds ranks, zeros and relations.
Begin with `graph/bond_graph.py`, then `causality/relation.py`.
"""

from symbody.basics.lazy import door

# a room imports from lines above its own, and not from its neighbours
ROOMS = (
    "graph",
    "causality",
    "equations",
    "structure",
)

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "graph.graph_builder": "GraphBuilder",
        "causality.causality": "assign alternatives Causality",
        "equations.state_equations": "state_equations",
        "equations.inverse_model": "inverse Inverse",
        "causality.junction_structure": "junction_structure JunctionStructure",
        "causality.causal_loops": "causal_loops CausalLoop",
        "equations.state_matrices": "matrices Matrices",
        "graph.parts": "Part",
        "graph.power_ports": "Domain DOMAINS PowerPort",
        "causality.reciprocal": "dual reciprocal",
        "graph.bond_graph": "Bond BondGraph Element Integral",
    },
)
