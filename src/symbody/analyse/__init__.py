"""Linear models, modes, control, equilibria, inverse kinematics and sensitivities."""

from symbody.later import door

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
        "motion.inverse_along": "inverse_along",
        "motion.inverse_kinematics": "inverse_kinematics",
        "motion.sensitivity": "sensitivity",
        "steady.equilibrium": "equilibrium Equilibrium",
        "steady.trim": "trim",
    },
)
