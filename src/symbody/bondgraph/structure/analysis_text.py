"""An Analysis in sentences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symbody.bondgraph.structure.analysis import Analysis


def words_of(a: Analysis) -> str:
    """The whole analysis as text, each verdict with the causality that explains it."""
    return "\n".join(line for part in (_states, _ranks, _control, _sets, _outputs, _notes) for line in part(a))


def _list(names: Iterable[object]) -> str:
    return ", ".join(map(str, names)) or "none"


def _states(a: Analysis) -> list[str]:
    found = a.assignments
    lines = [f"{a.graph.name}: {len(a.states)} {'state' if len(a.states) == 1 else 'states'} ({_list(a.states)})"]
    if found.integral.derivative:
        lines.append(f"dependent storages: {_list(found.integral.derivative)}")
    stay = found.derivative.integral
    lines.append(f"preferred derivative causality leaves {len(stay)} integral" + (f": {_list(stay)}" if stay else ""))
    lines.append(
        f"zero eigenvalues: {a.zero_eigenvalues}"
        + (", so it is not asymptotically stable" if a.zero_eigenvalues else "")
    )
    if a.bound:
        lines.append("bound states: " + _list(a.bound))
    return lines


def _ranks(a: Analysis) -> list[str]:
    return ["structural ranks:", *(f"  {r}" for r in a.ranks.values())]


def _control(a: Analysis) -> list[str]:
    out = []
    for word, found, dark, causal, kind in (
        ("controllable", a.reached, a.uncontrollable, a.assignments.by_sources, "sources"),
        ("observable", a.shown, a.unobservable, a.assignments.by_detectors, "detectors"),
    ):
        verdict = f"structurally {word}" if found.complete else f"not {word}: {found.rank} of {found.size}"
        out.append(f"{verdict}; index {found.index}, longest causal path {found.paths or 'none'}")
        turned = f"dualising {_list(causal.dualised)}" if causal.dualised else f"dualising no {kind}"
        out.append(
            f"  {turned} leaves integral: {_list(causal.integral)}; without causal path: "
            f"{_list(sorted(set(dark) - set(causal.integral)))}"
        )
    k = a.kalman
    out.append(
        f"Kalman: {k.both} both, {k.controllable} controllable only, {k.observable} observable only, "
        f"{k.neither} neither"
    )
    return out


def _sets(a: Analysis) -> list[str]:
    out = []
    for kind, found in (("sources", a.sources), ("detectors", a.detectors)):
        out.append(f"{kind}:")
        out += [f"  {m}" for m in found.members]
        chosen = ["{" + ", ".join(s) + "}" for s in found.minimal]
        more = "" if found.complete else " (more may exist)"
        out.append(f"  smallest sets: {_list(chosen)}{more}; at least {found.least} well placed are needed")
    return out


def _outputs(a: Analysis) -> list[str]:
    q = len(a.sample.labels("y"))
    out = []
    if q:
        verdict = "output controllable" if a.output_controllable else f"not output controllable: {a.output_rank} of {q}"
        out.append(verdict)
        course = "can follow any courses" if a.functional else f"cannot follow {q} independent courses"
        out.append(f"outputs {course}" + "".join(f"; {reason}" for reason in a.refused))
    z = a.zeros
    finite = "not counted" if z.finite is None else f"{z.finite} finite, {z.at_zero} of them at 0"
    by_paths = "" if z.paths == z.infinite else f"; by disjoint paths, which do not see relations, {_list(z.paths)}"
    out.append(f"zeros: {finite}; orders at infinity {_list(z.infinite)} (transfer matrix of rank {z.rank}){by_paths}")
    return out


def _notes(a: Analysis) -> list[str]:
    out = [f"unsolvable loop among junctions: {loop}" for loop in a.unsolvable]
    if a.sample.fed:
        out.append(f"fed back by signals: {_list(a.sample.fed)}; verdicts are of the closed loop, causality is not")
    out += [str(c) for c in a.conditions]
    return out + [f"engines differ: {d}" for d in a.disagreements]
