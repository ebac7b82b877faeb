"""From measured motion to trusted parameters: records, regressors, estimators, excitation."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "data_checks": "check_signals",
        "data_files": "read_series",
        "diagnostics": "CrossValidation Essential cross_validate essential",
        "drives": "DriveGains drive_gains fitted_load",
        "energy_model": "energy_equations power_equations",
        "measured_equations": "MeasuredEquations joined_equations",
        "estimate": "Estimate",
        "estimators.consistent": "PhysicallyConsistent pseudo_inertia",
        "estimators.least_squares": "Huber OLS Prior TLS WLS",
        "estimators.likelihood": "MaximumLikelihood",
        "estimators.simulated": "DIDIM IDIMIV",
        "exciting": "CartesianLimit Excitation JointLimits excitation",
        "extra_columns": "Extra",
        "gears": "gear_columns gear_matrix joint_side",
        "identified": "all_parameters identified_mechanism",
        "linear_inverse": "InverseModel inverse_model",
        "linear_systems": "independent_columns linear_regressor",
        "nonlinear": "NonlinearFit fit_system morris profile screen",
        "recursive": "RecursiveLS recursive_system",
        "series": "Series joined",
        "filtering": "decimated differentiated filtered prepare without_outliers",
    },
)
