"""sb.inverse_dynamics, sb.semi_explicit, sb.forward_dynamics: the equations of motion of a Mechanism as Systems.

    M(q) qdd + c(q, qd, t) = tau

Inverse dynamics gives tau, the semi-explicit form M and c, forward dynamics qdd. Which formalism takes the fewest
operations depends on the mechanism: "auto" writes several and counts (decision 0006). Sources: docs/theory.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError, NameLookupError, nearest, word_argument
from symbody.mechanics.formalisms.solve_accelerations import check_motors
from symbody.mechanics.memoised.model_memory import derived_of, options_key
from symbody.mechanics.verbs.problem import problem_of, rounds_for
from symbody.mechanics.verbs.system_of_tree import has_loops
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.system.system import System

FORMALISMS = ("auto", "newton_euler", "barycentric", "base", "order_n", "screw", "lagrange")

AUTO_OPTIONS = ("budget", "preset", "tuned", "finalists", "progress")
USUAL = (("partition", "auto"), ("formulation", "auto"))  # options of closed loops that mean the same as none

SHORT_SEARCH = 1200  # trials of the preset "full" where a formalism is named


@declared
def inverse_dynamics(
    mech: Mechanism,
    formalism: str = "auto",
    parameters: str = "setup",
    wrenches: Sequence[str] = (),
    loops: bool = True,
    **options: Any,
) -> System:
    """(q, qd, qdd) -> tau (nv,), N m or N: tau = M qdd + c with the laws of joints and force elements in c.

    formalism   "auto" (smallest by counting), "newton_euler", "barycentric", "base", "order_n", "screw", "lagrange"
    parameters  "setup" (folded once), or "runtime": inputs of every call
    wrenches    bodies on which a wrench acts from outside: input w_<body> (6,), moment then force, in body axes at the
                body's origin
    loops       False: the tree that is left when loops are opened
    options     preset of rewriting; of "auto" also budget ("quick", a number of candidates, "long" or "stored"),
                progress, tuned, finalists (see `auto.smallest`)

    Closed loops: only independent joints are read in qdd, and q, qd as in `forward_dynamics`. tau is zero on passive
    joints; with more actuators than degrees of freedom it is the smallest, with fewer the outputs are Psi and G of
    Psi = G tau_a. Further option: partition.
    """
    return _dynamics(mech, "inverse", formalism, parameters, wrenches, loops, options)


@declared
def semi_explicit(
    mech: Mechanism,
    formalism: str = "auto",
    parameters: str = "setup",
    wrenches: Sequence[str] = (),
    loops: bool = True,
    **options: Any,
) -> System:
    """(q, qd) -> M (nv, nv), c (nv,) of M qdd + c = tau. Arguments as in `inverse_dynamics`.

    Closed loops: M (u, u) and c (u,) on the independent velocities; `origins["M[0]"]` names the first of them.
    """
    return _dynamics(mech, "semi_explicit", formalism, parameters, wrenches, loops, options)


@declared
def forward_dynamics(
    mech: Mechanism,
    formalism: str = "auto",
    parameters: str = "setup",
    wrenches: Sequence[str] = (),
    loops: bool = True,
    **options: Any,
) -> System:
    """(q, qd, tau) -> qdd (nv,). Joints of mode "driven" take their accelerations from the input qdd_driven.

    Closed loops: the dependent part of q is the guess from which the loops are closed, that of qd is not read; qdd has
    all velocities. Further options: formulation ("auto", "reduced", "augmented"), partition, lam=True for the output
    lam (m,), alpha and beta of Baumgarte's stabilisation; see `loops.closed_dynamics`.
    """
    return _dynamics(mech, "forward", formalism, parameters, wrenches, loops, options)


def _dynamics(
    mech: Mechanism,
    quantity: str,
    formalism: str,
    parameters: str,
    wrenches: Sequence[str],
    loops: bool,
    options: dict[str, Any],
) -> System:
    check_formalism(formalism, quantity)
    closed = loops and has_loops(mech)
    told = dict(options)  # without what does not matter; what is refused stays
    if closed:
        told = {n: v for n, v in told.items() if not (isinstance(v, str) and (n, v) in USUAL)}
    elif formalism == "auto":
        told.pop("progress", None)
    key = (quantity, formalism, parameters, tuple(wrenches), bool(loops), options_key(told))

    def make() -> System:
        if quantity == "forward":
            check_motors(mech)
        return _made(mech, quantity, formalism, parameters, tuple(wrenches), loops, options)

    # what is on disk may have changed since it was last asked for
    return make() if options.get("budget") == "stored" else derived_of(mech).system(key, make)


def _made(
    mech: Mechanism,
    quantity: str,
    formalism: str,
    parameters: str,
    wrenches: tuple[str, ...],
    loops: bool,
    options: dict[str, Any],
) -> System:
    if loops and has_loops(mech):
        from symbody.mechanics.verbs.closed_dynamics import closed_dynamics

        return closed_dynamics(mech, quantity, formalism, parameters, wrenches, options)
    known = AUTO_OPTIONS if formalism == "auto" else ("preset",)
    for name in options:
        if name not in known:
            raise NameLookupError(f"formalism {formalism!r} has no option {name!r}. {nearest(name, known)}")
    if formalism == "auto":
        from symbody.mechanics.verbs.smallest.auto import smallest

        return smallest(mech, quantity, parameters, wrenches, **options).system
    preset = options.get("preset", "standard")
    problem = problem_of(mech, parameters, wrenches)
    rounds = rounds_for(problem.tree)
    return optimize_system(problem.system(quantity, formalism), preset, rounds=rounds, longest=SHORT_SEARCH)


def check_formalism(formalism: str, quantity: str) -> None:
    """Refuse by name, before any symbolic work."""
    word_argument("formalism", formalism, FORMALISMS, error=NameLookupError)
    if formalism == "order_n" and quantity == "semi_explicit":
        raise ModelError(
            "formalism 'order_n' never forms the mass matrix; it gives inverse and forward dynamics. "
            "Use 'base' or 'newton_euler' for M and c."
        )
