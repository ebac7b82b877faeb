"""From measured motion to trusted parameters: records, regressors, estimators, excitation."""

from symbody.later import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "series": "Series joined",
        "signals": "prepare filtered differentiated decimated without_outliers",
        "extra_columns": "Extra",
        "linear_inverse": "InverseModel inverse_model",
        "equations": "Equations joined_equations",
        "estimate": "Estimate",
        "estimators.least_squares": "OLS WLS Huber TLS Prior",
    },
)
