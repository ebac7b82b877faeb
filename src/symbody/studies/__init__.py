"""What is asked of a model beside its motion: linear models, modes, control, equilibria, poses, optima, parameters.

In: a Mechanism, a BondGraph or a System. Out: Linear, Modes, StateSpace, Equilibrium, Trim, Estimate and other records.
`linear/`, `modal/`, `control/`, `steady/` work about one state, `inverse/` along given motions, `optimisation/` over
bounded numbers, `identification/` from measured records.
Begin with `linear/linearize.py` or `identification/series.py`.
"""

from symbody.basics.lazy import door

# a room imports from lines above its own, and not from its neighbours
ROOMS = (
    "linear optimisation",
    "control modal steady inverse",
    "identification",
)

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "linear.as_state_space": "as_state_space",
        "linear.linear": "Linear",
        "linear.linear_system": "linear_system",
        "linear.linearize": "linearize",
        "linear.state_space": "StateSpace",
        "modal.mode_motion": "mode_trajectory",
        "modal.modes": "modes Modes",
        "inverse.inverse_along": "inverse_along",
        "inverse.inverse_kinematics": "inverse_kinematics",
        "inverse.sensitivity": "sensitivity",
        "steady.equilibrium": "equilibrium Equilibrium",
        "steady.trim": "trim",
    },
)
