"""Expressions, Systems and Programs: the engine below everything else, which knows no mechanics.

In: expressions with names. Out: a `Program`, numbered values in the order in which they are computed.
`expr/` interns nodes and differentiates them, `rewrite/` makes them cheaper, `system/` gives them names, states and
outputs, `lower/` puts them in order.
Begin with `expr/node.py`: what a node is, and why equal ones are identical.
"""

from symbody.basics.lazy import door

# a room imports from lines above its own, and not from its neighbours
ROOMS = (
    "expr",
    "rewrite system",
    "lower",
)

__all__, __getattr__, __dir__ = door(__name__, {"": "expr lower rewrite system"})
