"""Long searches for bundled models, whose best choices `tuned.json` keeps.

python -m symbody.mechanics.verbs.smallest.tune NAME ...
"""

from __future__ import annotations

import argparse
import json
import sys

from symbody.basics.atomic_file import write_whole
from symbody.mechanics.formalisms.formulation import QUANTITIES
from symbody.mechanics.verbs.problem import problem_of
from symbody.mechanics.verbs.smallest.auto import smallest
from symbody.mechanics.verbs.smallest.tuned import TUNED, pattern
from symbody.model.load import load


def tune(name: str, quantity: str, budget: int, finalists: int = 12) -> str:
    """Search, keep the Choice if it beats the one on file, and say what was reached."""
    mech = load(name)
    key = pattern(problem_of(mech).tree, quantity)
    rows = json.loads(TUNED.read_text(encoding="utf-8")) if TUNED.is_file() else {}
    found = smallest(mech, quantity, budget=budget, finalists=finalists)
    total, old = found.cost.total, rows.get(key, {}).get("total")
    if old is None or total < old:
        # read again: another search may have written meanwhile
        rows = json.loads(TUNED.read_text(encoding="utf-8")) if TUNED.is_file() else {}
        rows[key] = {"total": total, "choice": found.choice.as_dict()}
        lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(rows.items())]
        write_whole(TUNED, ("{\n" + ",\n".join(lines) + "\n}\n").encode())
    return f"{name} {quantity}: {found.cost} after {found.candidates} candidates (on file: {old})"


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Search for the smallest programs of bundled models and keep the choices."
    )
    parser.add_argument("names", nargs="+", help="bundled models, such as patterns/rx90")
    parser.add_argument("--budget", type=int, default=400, help="candidate programs for each quantity")
    parser.add_argument("--quantity", choices=QUANTITIES, action="append")
    arguments = parser.parse_args()
    for name in arguments.names:
        for quantity in arguments.quantity or QUANTITIES:
            print(tune(name, quantity, arguments.budget), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
