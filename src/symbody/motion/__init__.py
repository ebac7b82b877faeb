"""From equations to a Trajectory: states advanced in time, through events, and derivatives of runs.

In: a Mechanism or a System with states, inputs, a duration. Out: a `Trajectory`, and derivatives along it.
`flow/` writes equations of first order, `march/` integrates them as native loops, `methods/` are the integrators
(tables of explicit ones: `march/method_tables.py`), `events/` what happens between stretches of smooth motion, `run/`
the loop of `sb.simulate`.
Begin with `run/simulate.py`; `flow/flow.py` is the record that all others read.
"""

from symbody.basics.lazy import door

# a room imports from lines above its own, and not from its neighbours
ROOMS = (
    "flow march trajectory",
    "methods",
    "events",
    "run",
    "derivatives",
)

__all__, __getattr__, __dir__ = door(__name__, {"": "derivatives events flow march methods run trajectory"})
