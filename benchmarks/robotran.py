"""Operations of ROBOTRAN's programs, beside symbody's of the same model files.

python benchmarks/robotran.py FOLDER        with car_43.mbs and coman_29.mbs

Theirs were counted by parsing every line of the programs that ROBOTRAN generated from these files: binary * and +/-,
divisions; signs are free. The car is Robotran_Mazda_MX5 (repository maximemchlt/Robotran_Mazda_MX5, commit 705a37b,
MBsysTran 8.1), the humanoid CoMan (TimotheeHabra/coman_robotran, ROBOTRAN 6.6); a wrench acts on every body with mass,
in both programs. `tests/physics/test_robotran_counts.py` compares values of the car's. Zeros of a file are structural,
every other number is a symbol; what depends on parameters alone runs once in symbody and is not counted.
"""

from __future__ import annotations

import sys
from pathlib import Path

# run as a script from any folder, installed or not
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import symbody as sb
from symbody.symbolic.expr.arrays import is_zero

VERBS = {"inverse": sb.inverse_dynamics, "M and c": sb.semi_explicit, "forward": sb.forward_dynamics}
COUNTED = {
    "car_43": {"inverse": 2184 + 1778, "M and c": 8471 + 5600},
    "coman_29": {"inverse": 2043 + 1830, "M and c": 9588 + 7347, "forward": 19063 + 16121 + 435},
}
FORMALISMS = {"inverse": "base", "M and c": "base", "forward": "order_n"}


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("Expected the folder of car_43.mbs and coman_29.mbs: python benchmarks/robotran.py FOLDER")
    print(f"{'':9} {'quantity':9} {'ROBOTRAN':>9} {'symbody':>9}")
    for name, counted in COUNTED.items():
        mech = sb.load(Path(sys.argv[1]) / f"{name}.mbs").replace(forces=(), cuts=())
        bodies = [b.name for b in mech.bodies if not is_zero(b.mass)]
        for quantity, theirs in counted.items():
            ours = VERBS[quantity](mech, formalism=FORMALISMS[quantity], wrenches=bodies).count().total
            print(f"{name:9} {quantity:9} {theirs:9} {ours:9}")


if __name__ == "__main__":
    main()
