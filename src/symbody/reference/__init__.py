"""The mechanics of a Mechanism a second time, in plain NumPy: the oracle of the certificate.

In: the records of a Mechanism. Out: numbers that programs are compared with. It imports nothing of what it judges: six
coordinates for every body, poses as truncated Taylor series, Newton's and Euler's laws of every body by itself.
`joint_steps.py` has the joints, `element_laws.py` the force elements, `closures.py` the loops.
Begin with `bodies.py`, then `body_dynamics.py`.
"""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "": "energies",
        "closed_search": "closed_positions consistent_velocities",
        "bodies": "NumericModel",
        "closures": "Closures",
        "body_dynamics": "BodyMotion",
        "frame_motion": "seen",
        "linear_parameters": "effort_columns",
    },
)
