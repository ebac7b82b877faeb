"""Bond graphs: elements and bonds, causality, equations."""

from symbody.later import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "builder": "Builder",
        "causality": "assign alternatives Causality",
        "equations": "state_equations",
        "inverse_model": "inverse Inverse",
        "junction_structure": "junction_structure JunctionStructure",
        "loops": "causal_loops CausalLoop",
        "matrices": "matrices Matrices",
        "parts": "Part",
        "ports": "Domain DOMAINS Port",
        "reciprocal": "dual reciprocal",
        "record": "Bond BondGraph Element Integral",
    },
)
