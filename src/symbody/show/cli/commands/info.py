"""`symbody info`: what a model is made of."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import typer

from symbody.basics.errors import ModelError, SolveError
from symbody.show.cli.common import complain, counted, in_options, load_model, print_json
from symbody.show.cli.options import AS_JSON, LOOPS, MODEL, PARTITION

if TYPE_CHECKING:
    from symbody.model.record.mechanism import Mechanism

LIMITS = ("lower", "upper", "velocity", "effort")
MANY = 12  # more names than this are counted, not listed


def info(model: MODEL, loops: LOOPS = None, partition: PARTITION = None, as_json: AS_JSON = False) -> None:
    """Show a model: its tree, joints, closed loops, parameters and what its reader noted.

    The exit status is 1 if its loops cannot be closed; all that does not depend on that is shown before.
    """
    from symbody.show.cli.assignments import partition_choice

    mechanism = load_model(model, loops)
    facts = describe(mechanism, partition_choice(mechanism, partition) or "auto")
    if as_json:
        print_json(facts)
    else:
        _print(mechanism, facts)
    if facts["loops"] is not None and facts["loops"]["problem"]:
        sys.stdout.flush()  # the sentence comes last, on a terminal and in a file
        complain(facts["loops"]["problem"])
        raise typer.Exit(1)


def _print(mechanism: Mechanism, facts: dict[str, Any]) -> None:
    from symbody.model.record.tree_text import tree_text

    loops = facts["loops"]
    print(f"{mechanism.name}: {facts['chain']}{_closures(mechanism)}, {_mobility(facts)}")
    if facts["source"]:
        print(f"source: {facts['source']}")
    print()
    print(tree_text(mechanism))
    print()
    kinds = ", ".join(f"{n} {kind}" for kind, n in facts["joints_by_kind"].items())
    mass = "" if facts["mass"] is None else f", of total mass {facts['mass']:.6g} kg"
    print(f"bodies      {facts['bodies']}{mass}")
    print(f"joints      {kinds or 'none'}")
    print(f"coordinates {counted(facts['nq'], 'position')}, {counted(facts['nv'], 'velocity', 'velocities')}")
    if facts["driven"]:
        print(f"driven      {_listed(facts['driven'])}")
    print(f"branches    {facts['branches']}")
    names = f": {_listed(list(facts['parameters']))}" if facts["parameters"] else ""
    print(f"parameters  {len(facts['parameters'])}{names}")
    for line in _limit_lines(mechanism):
        print(line)
    for kind in ("cuts", "couplings", "forces", "sensors", "keyframes"):
        if facts[kind]:
            print(f"{kind:<11} {', '.join(facts[kind])}")
    if loops is not None:
        _print_loops(loops)
    _print_notes(facts)


def _print_notes(facts: dict[str, Any]) -> None:
    """One table of what the reader left out, rounded or took as it is, and one of what the numbers suggest."""
    rows = [_noted(note) for note in facts["notes"]]
    if rows:
        width = min(max(len(place) for place, _ in rows), 40)
        print("what the reader left out, rounded or took as it is:")
        for place, text in rows:
            print(f"  {place:<{width}}  {text}")
    if facts["suspicions"]:
        print("what the numbers suggest:")
        for text in facts["suspicions"]:
            print(f"  {text}")


def _noted(note: str) -> tuple[str, str]:
    """Place (file:line) and text of a note."""
    place, colon, text = note.partition(": ")
    return (place, text) if colon and " " not in place else ("", note)


def _limit_lines(mechanism: Mechanism) -> list[str]:
    """Joint by joint what limits it has, with units; they act in `simulate --limits` only."""
    out: list[str] = []
    for slot in mechanism.slots:
        limits = None if slot.joint is None else slot.joint.limits
        if limits is None or all(getattr(limits, k) is None for k in LIMITS):
            continue
        x = slot.units[0] if len(slot.units) == 1 else ""
        force = {"rad": "N m", "m": "N"}.get(x, "")
        words = []
        if limits.lower is not None or limits.upper is not None:
            low, high = ("..." if b is None else f"{b:.4g}" for b in (limits.lower, limits.upper))
            words.append(f"{low} to {high} {x}".rstrip())
        words += [f"{limits.velocity:.4g} {x}/s"] if limits.velocity is not None else []
        words += [f"{limits.effort:.4g} {force}".rstrip()] if limits.effort is not None else []
        out.append(f"{'limits' if not out else '':<11} {slot.owner}: {', '.join(words)}")
    return out


def _closures(mechanism: Mechanism) -> str:
    n = len(mechanism.cuts) + len(mechanism.couplings)
    return "" if not n else f" with {counted(n, 'closure')}"


def _mobility(facts: dict[str, Any]) -> str:
    n = facts["mobility"]
    return "degrees of freedom not known" if n is None else counted(n, "degree of freedom", "degrees of freedom")


def _print_loops(loops: dict[str, Any]) -> None:
    redundant = f", {len(loops['redundant'])} of them redundant" if loops["redundant"] else ""
    print(f"loops       {counted(loops['constraints'], 'constraint')}{redundant}")
    if loops["problem"]:
        return
    if loops["switched"]:
        print(f"            {', '.join(loops['switched'])} may open: counted as open")
    print(f"independent {_listed(loops['independent']) or 'none'}")
    sizes = ", ".join(str(len(b["velocities"])) for b in loops["blocks"])
    print(f"dependent   solved in {counted(len(loops['blocks']), 'block')} of size {sizes}")
    for block in loops["blocks"][:MANY]:
        print(f"            {', '.join(block['velocities'])}")
    if loops["condition"] is not None:
        print(f"condition   {loops['condition']:.3g} of J_v at the worst of the sampled closed positions")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:MANY]) + (f" and {len(names) - MANY} more" if len(names) > MANY else "")


# -- facts


def describe(mechanism: Mechanism, partition: str | list[str] = "auto") -> dict[str, Any]:
    """Facts about a Mechanism, ready for JSON."""
    from symbody.model.record.mechanism import WORLD
    from symbody.model.suspicions import suspicions

    children = Counter(j.parent for j in mechanism.joints)
    leaves = [b.name for b in mechanism.bodies if not children[b.name]]
    serial = all(n <= 1 for n in children.values())
    masses = [_number(b.mass) for b in mechanism.bodies]
    loops = describe_loops(mechanism, partition)
    driven = _driven(mechanism)
    return {
        "name": mechanism.name,
        "source": mechanism.source,
        "chain": "serial chain" if serial else f"tree with {len(leaves)} ends",
        "trees": children[WORLD],
        "branches": len(leaves),
        "bodies": len(mechanism.bodies),
        "joints": [
            {
                "name": j.name,
                "kind": j.kind,
                "parent": j.parent,
                "child": j.child,
                "mode": j.mode,
                "limits": {k: getattr(j.limits, k) for k in LIMITS},
            }
            for j in mechanism.joints
        ],
        "joints_by_kind": dict(Counter(j.kind for j in mechanism.joints)),
        "nq": mechanism.nq,
        "nv": mechanism.nv,
        "driven": driven,
        "mobility": mechanism.nv - len(driven) if loops is None else loops["mobility"],
        "mass": None if any(m is None for m in masses) else sum(m for m in masses if m is not None),
        "gravity": [_number(g) for g in mechanism.gravity],
        "parameters": {name: s.data.default for name, s in mechanism.parameters.items()},
        "cuts": [c.name for c in mechanism.cuts],
        "couplings": [c.name for c in mechanism.couplings],
        "loops": loops,
        "forces": [f.name for f in mechanism.forces],
        "sensors": [s.name for s in mechanism.sensors],
        "keyframes": [k.name for k in mechanism.keyframes],
        "notes": list(mechanism.notes),
        "suspicions": suspicions(mechanism),
    }


def describe_loops(mechanism: Mechanism, wanted: str | list[str] = "auto") -> dict[str, Any] | None:
    """Constraints of closed loops, mobility and partition, or why there is no partition; None for a tree."""
    if not (mechanism.cuts or mechanism.couplings):
        return None
    from symbody.mechanics.memoised.model_memory import derived_of
    from symbody.model.record.coordinates import velocity_labels

    found = derived_of(mechanism).constraints()
    out: dict[str, Any] = {
        "constraints": len(found.rows), "redundant": [], "switched": [], "mobility": None, "independent": [],
        "blocks": [], "condition": None, "explanation": "", "problem": None,
    }  # fmt: skip
    try:
        partition = derived_of(mechanism).partition(wanted)
    except (ModelError, SolveError) as error:
        if wanted != "auto" and isinstance(error, ModelError):
            raise  # joints that are no partition of this model: the mistake is not in the model
        return {**out, "problem": in_options(error, info)}
    names = velocity_labels(mechanism)
    return out | {
        "redundant": [found.rows[i].name for i in partition.redundant],
        "switched": sorted({found.rows[i].loop for i in partition.open}),
        "mobility": len(partition.independent) - len(_driven(mechanism)),
        "independent": [names[k] for k in partition.independent],
        "blocks": [
            {"velocities": [names[k] for k in b.columns], "constraints": [found.rows[i].name for i in b.rows]}
            for b in partition.blocks
        ],
        "condition": partition.condition,
        "explanation": partition.explanation,
    }


def _driven(mechanism: Mechanism) -> list[str]:
    """Labels of velocities that laws of time prescribe."""
    return [label for slot in mechanism.slots if slot.mode == "driven" for label in slot.rate_labels]


def _number(node: Any) -> float | None:
    """Value of an expression of parameters at their defaults; None if one has none."""
    from symbody.symbolic.expr.evaluate import evaluate
    from symbody.symbolic.expr.walk import free_symbols

    symbols = free_symbols([node])
    if any(s.data.default is None for s in symbols):
        return None
    return float(evaluate(node, {s: s.data.default for s in symbols}))
