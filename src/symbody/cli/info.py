"""`symbody info`: what a model is made of."""

from __future__ import annotations

from collections import Counter
from typing import Any

from symbody.cli.common import AS_JSON, MODEL, print_json, sentences
from symbody.model.mechanism import WORLD, Mechanism


@sentences
def info(model: MODEL, as_json: AS_JSON = False) -> None:
    """Show a model: its tree, joints, parameters and what its reader noted."""
    from symbody.model.load import load

    mechanism = load(model)
    facts = describe(mechanism)
    if as_json:
        print_json(facts)
        return
    from symbody.model.show import tree_text

    print(f"{mechanism.name}: {facts['chain']}, {facts['nv']} degrees of freedom")
    if facts["source"]:
        print(f"source: {facts['source']}")
    print()
    print(tree_text(mechanism))
    print()
    kinds = ", ".join(f"{n} {kind}" for kind, n in facts["joints_by_kind"].items())
    print(f"bodies      {facts['bodies']}, of total mass {facts['mass']:.6g} kg" if facts["mass"] is not None
          else f"bodies      {facts['bodies']}")  # fmt: skip
    print(f"joints      {kinds}")
    print(f"coordinates {facts['nq']} positions, {facts['nv']} velocities")
    print(f"branches    {facts['branches']}")
    print(f"parameters  {len(facts['parameters'])}")
    for kind in ("cuts", "forces", "sensors"):
        if facts[kind]:
            print(f"{kind:<11} {', '.join(facts[kind])}")
    if facts["cuts"]:
        print("note        the equations are those of the tree, with its loops opened at the cuts")
    for note in facts["notes"]:
        print(f"note        {note}")


def describe(mechanism: Mechanism) -> dict[str, Any]:
    """Facts about a Mechanism, ready for JSON."""
    children = Counter(j.parent for j in mechanism.joints)
    leaves = [b.name for b in mechanism.bodies if not children[b.name]]
    serial = all(n <= 1 for n in children.values())
    masses = [_number(b.mass) for b in mechanism.bodies]
    return {
        "name": mechanism.name,
        "source": mechanism.source,
        "chain": "serial chain" if serial else f"tree with {len(leaves)} ends",
        "trees": children[WORLD],
        "branches": len(leaves),
        "bodies": len(mechanism.bodies),
        "joints": [
            {"name": j.name, "kind": j.kind, "parent": j.parent, "child": j.child, "mode": j.mode}
            for j in mechanism.joints
        ],
        "joints_by_kind": dict(Counter(j.kind for j in mechanism.joints)),
        "nq": mechanism.nq,
        "nv": mechanism.nv,
        "mass": None if any(m is None for m in masses) else sum(m for m in masses if m is not None),
        "gravity": [_number(g) for g in mechanism.gravity],
        "parameters": {name: s.data.default for name, s in mechanism.parameters.items()},
        "cuts": [c.name for c in mechanism.cuts],
        "forces": [f.name for f in mechanism.forces],
        "sensors": [s.name for s in mechanism.sensors],
        "notes": list(mechanism.notes),
    }


def _number(node: Any) -> float | None:
    """Value of an expression of parameters at their defaults; None if one has none."""
    from symbody.expr.evaluate import evaluate
    from symbody.expr.walk import free_symbols

    symbols = free_symbols([node])
    if any(s.data.default is None for s in symbols):
        return None
    return float(evaluate(node, {s: s.data.default for s in symbols}))
