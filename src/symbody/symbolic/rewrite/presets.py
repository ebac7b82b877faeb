"""Chains of passes by name, and `optimize`, which runs one.

A pass makes expressions of the same value; what it makes is taken where it costs fewer operations by `cost` (decision
0006). No order of passes is the best for all programs: "full" runs two chains, and searches from the better one.
"""

from __future__ import annotations

from collections.abc import Iterable

from symbody.basics.errors import DefinitionError, NameLookupError, nearest, shown
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.quotients import shared_divisions
from symbody.symbolic.rewrite.expand import expand_unshared, expand_where_cheaper
from symbody.symbolic.rewrite.factor import factor
from symbody.symbolic.rewrite.flatten import flatten
from symbody.symbolic.rewrite.group_parameters import group_parameters
from symbody.symbolic.rewrite.network import Network
from symbody.symbolic.rewrite.pairs import share_pairs
from symbody.symbolic.rewrite.random_search import search
from symbody.symbolic.rewrite.rules import apply_rules
from symbody.symbolic.rewrite.runner import Pass, Report, run
from symbody.symbolic.rewrite.setup import tidy_setup
from symbody.symbolic.rewrite.share import share_powers
from symbody.symbolic.rewrite.shared_subsums import extract_kernels
from symbody.symbolic.rewrite.trigonometry import simplify_trigonometry

RULES = Pass("rules", "apply identities of functions", on_nodes=apply_rules)
FLATTEN = Pass("flatten", "merge nested sums and products", flatten)
PARAMETERS = Pass("parameters", "group parameters", group_parameters)
TRIGONOMETRY = Pass("trigonometry", "use trigonometric identities", simplify_trigonometry)
KERNELS = Pass("kernels", "extract kernels", extract_kernels)
FACTOR = Pass("factor", "take out common factors", factor)
PAIRS = Pass("pairs", "share common pairs of terms and factors", share_pairs)
POWERS = Pass("powers", "share powers and doubles", share_powers)
EXPAND = Pass("expand", "expand and open where that is cheaper", expand_where_cheaper)
EXPAND_UNSHARED = Pass("expand_unshared", "expand and open what is not shared", expand_unshared)
SETUP = Pass("setup", "tidy the setup run", on_nodes=tidy_setup)

PASSES = {
    p.name: p
    for p in (
        RULES, FLATTEN, PARAMETERS, TRIGONOMETRY, KERNELS, FACTOR, PAIRS, POWERS, EXPAND, EXPAND_UNSHARED, SETUP,
    )
}  # fmt: skip
BUILT_IN = frozenset(PASSES)

CHAIN = (FLATTEN, PARAMETERS, TRIGONOMETRY, FLATTEN, FACTOR, FLATTEN, PARAMETERS, PAIRS, POWERS)
KERNELS_FIRST = (FLATTEN, PARAMETERS, TRIGONOMETRY, FLATTEN, KERNELS, *CHAIN)

PRESETS: dict[str, tuple[Pass, ...]] = {
    "none": (),
    "standard": (RULES, *CHAIN),
    "quick": (RULES, *KERNELS_FIRST, EXPAND, SETUP),
    "full": (RULES, *KERNELS_FIRST, EXPAND, SETUP),
}

LONGEST_SEARCH = 5000  # trials; one takes about 0.08 ms
TRIALS_PER_OPERATION = 12
TOO_BIG = 20_000  # operations beyond which the search would find next to nothing
# of the preset "quick"
SMALL = 2500  # operations up to which both chains are run, with every expansion
QUICK_SEARCH = 3000  # trials


def optimize(
    roots: Iterable[Node],
    preset: str = "standard",
    rounds: int = 3,
    seed: int = 0,
    trials: int | None = None,
    accept: str = "cheaper",
    call_weight: int = 0,
    longest: int | None = None,
    also: Iterable[str] = (),
) -> tuple[list[Node], Report]:
    """Rewrite expressions into cheaper ones of the same value.

    preset: "none", "standard" (a chain of passes, repeated while it gains, at most `rounds` times) or "full" (two such
    chains with expansion, the better one followed by a random search of `trials` trials with `seed`; None: as many as
    the size deserves, at most `longest`, fewer if nothing is found). "quick" is "full" with a shorter search, and one
    chain with fewer expansions for programs of more than `SMALL` operations. call_weight: operations that a new sine or
    cosine must save (the addition theorems trade products for functions of angle sums; with 0 any saving counts). also:
    names of passes to run at the end, such as added ones.
    """
    extra = [_pass(name) for name in also]
    if extra:
        best, report = optimize(roots, preset, rounds, seed, trials, accept, call_weight, longest)
        best, last = run(best, extra, accept, call_weight=call_weight)
        report.extend(last)
        return best, report
    if not isinstance(preset, str) or preset not in PRESETS:
        raise NameLookupError(f"unknown preset {shown(preset)} of rewriting. {nearest(preset, PRESETS)}")
    roots = shared_divisions(roots)
    if preset == "none":
        return run(roots, ())
    start, report = run(roots, (RULES,), "always" if accept == "always" else "calls")
    if preset == "standard":
        best, last = run(start, CHAIN, accept, rounds, call_weight, known=report.after)
        report.extend(last)
        return best, report
    known = report.after
    quick = preset == "quick"
    expand = EXPAND_UNSHARED if quick and known.total > SMALL else EXPAND
    plain, first = run(start, (*CHAIN, expand), accept, call_weight=call_weight, known=known)
    report.extend(first)
    best, known_best = plain, first.after
    if (known if quick else first.after).total <= (SMALL if quick else TOO_BIG):
        kernels, second = run(start, (*KERNELS_FIRST, EXPAND), accept, call_weight=call_weight, known=known)
        report.extend(second)
        if second.after.rank < first.after.rank:
            best, known_best = kernels, second.after
    end = (
        FLATTEN,
        searching(trials, seed, longest or (QUICK_SEARCH if quick else LONGEST_SEARCH)),
        FLATTEN,
        FACTOR,
        PAIRS,
        SETUP,
    )
    best, last = run(best, end, accept, call_weight=call_weight, known=known_best)
    report.extend(last)
    return best, report


def _pass(name: str) -> Pass:
    if name not in PASSES:
        raise NameLookupError(f"unknown pass {name!r} of rewriting. {nearest(name, PASSES)}")
    return PASSES[name]


def add_pass_row(row: Pass) -> None:
    """Enter an author's pass."""
    if row.name in PASSES:
        raise DefinitionError(f"there is a pass {row.name!r} already. Choose another name, or remove it first.")
    if (row.on_nodes is None) == (row.on_network is None):
        raise DefinitionError(f"pass {row.name!r} works on nodes or on their Network; expected one of the two.")
    PASSES[row.name] = row


def remove_pass_row(name: str) -> None:
    """Take an author's pass away."""
    if name in BUILT_IN:
        raise DefinitionError(f"pass {name!r} is symbody's own and cannot be removed.")
    if name not in PASSES:
        raise NameLookupError(
            f"there is no added pass {name!r}. {nearest(name, [n for n in PASSES if n not in BUILT_IN])}"
        )
    del PASSES[name]


def searching(trials: int | None = None, seed: int = 0, longest: int = LONGEST_SEARCH) -> Pass:
    """The random search as a pass."""

    def apply(net: Network) -> None:
        if trials is not None:
            search(net, trials, seed, patience=trials)
        elif net.total <= TOO_BIG:
            search(net, min(longest, TRIALS_PER_OPERATION * net.total), seed)

    return Pass("search", "search at random", apply)
