"""The public verbs on Mechanisms; `smallest`: the choice of the smallest program; `certify`: the certificate."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "": "assemble closed_problem driven_efforts energy kinematics partition_record reactions",
        "system_of_tree": "has_loops",
        "centroidal": "center_of_mass centroidal_momentum",
        "certify.certificate": "Certificate Check",
        "certify.verify": "verify",
        "closed_dynamics": "closure projection",
        "closed_problem": "ClosedProblem",
        "dynamics": "FORMALISMS forward_dynamics inverse_dynamics semi_explicit",
        "limits": "saturated with_limits",
        "identifiable_parameters": "base_parameters regressor",
        "problem": "Problem problem_of",
        "smallest.auto": "Smallest",
        "smallest.budget": "BUDGETS",
        "split_bias": "coriolis gravity",
        "textbook.textbook_equations": "Equations equations",
    },
)
