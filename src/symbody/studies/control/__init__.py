"""Frequency and time responses, controllability, placement of poles, discrete time."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "controllability": "controllability_matrix gramian minimal observability observability_matrix",
        "discretize": "continuous",
        "frequency": "frequency_response",
        "kalman": "kalman_form",
        "measured_response": "experimental_response",
        "placement": "lqr place",
        "time_response": "impulse_response step_response",
        "transfer": "zeros",
    },
)
