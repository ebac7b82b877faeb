"""Interned expressions: nodes, their construction, evaluation, derivatives, text."""

from symbody.basics.lazy import door
from symbody.symbolic.expr import operators as _operators  # noqa: F401  attaches the operators of Node
from symbody.symbolic.expr import ops as _ops  # noqa: F401  enters the rows of all functions

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "": "arrays call define derivative evaluate linear_algebra parse",
        "call": "as_nodes",
        "derivative": "gradient jacobian",
        "external": "External Piecewise",
        "function_row": "Function FUNCTIONS",
        "graph": "current_graph Graph symbol symbols",
        "implicit": "solve",
        "latex_form": "to_latex",
        "node": "BlockCheck Node",
        "infix_text": "to_text",
        "walk": "free_symbols quiet_collector substitute topological",
    },
)
