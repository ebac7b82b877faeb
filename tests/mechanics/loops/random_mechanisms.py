"""Random closed mechanisms with a closed start, by seed; as a script: a table of what symbody makes of them.

    python tests/mechanics/loops/random_mechanisms.py --seeds 0:200 --jobs 2

Every mechanism is drawn in a pose in which its loops are closed (`random_draft.py`). It starts there, or on a branch
that the oracle found from a random place.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from mechanics.loops import random_planar, random_spatial
from mechanics.loops.maximal import Maximal
from mechanics.loops.maximal_motion import closed, consistent, gap, jacobian, moved, rank, walked
from mechanics.loops.random_draft import Draft
from symbody.model.record.mechanism import Mechanism

FAMILIES = {**random_planar.FAMILIES, **random_spatial.FAMILIES}
TIMES = {"dyads": 4, "mixed": 4, "chained": 2, "held": 2, "geared": 2}
TURNS = [name for k in range(max(TIMES.values())) for name in FAMILIES if TIMES.get(name, 1) > k]  # seed by seed
QUICK = 50  # seeds below this give small mechanisms: they are judged at every change
MOST_VELOCITIES, FEW_VELOCITIES = 22, 7
ZERO, NONZERO = 1e-9, 1e-6  # of the largest singular value of J: at most, at least
CONDITION = 1e5  # of J: above it a state is judged by what must hold anyway


@dataclass(frozen=True, eq=False)
class Case:
    """A Mechanism, the oracle's view of it, and a closed state: q (nq,), qd (nv,), tau (nv,), qdd of driven joints.

    rank: of J on this branch; singular: less than that at the start itself; condition: of J at the start
    """

    seed: int
    family: str
    mech: Mechanism
    world: Maximal
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray
    driven: np.ndarray
    rank: int
    singular: bool
    condition: float
    moved: bool  # started on another place than that in which it was drawn

    @property
    def full_rank(self) -> bool:
        return self.rank == len(self.world.cut_rows) + len(self.mech.couplings)

    @property
    def freedoms(self) -> int:
        return len(self.world.free) - self.rank

    def say(self) -> str:
        cuts = ",".join(c.kind for c in self.mech.cuts)
        return f"{self.family} nv {self.world.nv} rank {self.rank} dof {self.freedoms} cuts {cuts}"


def make(seed: int, family: str = "") -> Case:
    """The Case of a seed; family: only that one."""
    rng = np.random.default_rng([10, seed])
    for _ in range(100):
        case = _attempt(seed, family, rng)
        if case is not None:
            return case
    raise AssertionError(f"seed {seed} gives no mechanism that moves")


def _attempt(seed: int, family: str, rng: np.random.Generator) -> Case | None:
    family = family or TURNS[seed % len(TURNS)]
    draft = FAMILIES[family](rng, bool(rng.random() < 0.35), f"{family}{seed}")
    if rng.random() < 0.15:
        bodies = [b for b in draft.bodies if b != "plane" and not b.startswith("ground")]
        draft.spring("spring", "world", str(rng.choice(bodies)))
    drive = bool(rng.random() < 0.1)
    if drive:
        _drive(draft)
    mech, q = draft.done()
    world = Maximal(mech)
    if world.nv > (FEW_VELOCITIES if seed < QUICK else MOST_VELOCITIES) or gap(world, q) > 1e-10:
        return None
    start, other = _start(world, q, rng)
    ranks = [rank(world, walked(world, start, rng, 0.03, 2)) for _ in range(4)]
    most, here = max(ranks), rank(world, start)
    s = np.linalg.svd(jacobian(world, start), compute_uv=False)
    if most >= len(world.free) or not most:
        return None  # nothing moves, or nothing is held
    if np.any((s > ZERO * s[0]) & (s < NONZERO * s[0])):
        return None  # closed where rows hold to the first order only: how many are independent is rounding
    if _whole_rank(world, start) > here:
        return None  # the driven joint would have to stop
    condition = float(s[0] / max(s[most - 1], 1e-300))
    qd = consistent(world, start, rng.normal(size=world.nv) * rng.choice([0.0, 0.3, 0.3, 1.0]))
    if np.abs(qd).max() > 20 or not _movable(world, start, qd):
        return None
    return Case(
        seed, family, mech, world, start, qd, rng.normal(size=world.nv), rng.normal(size=len(world.driven)),
        most, here < most, condition, other,
    )  # fmt: skip


def _drive(draft: Draft) -> None:
    """One joint moves by a law of time."""
    free = [n for n, j in draft.joints.items() if j["kind"] in ("revolute", "prismatic") and n in draft.q]
    if free:
        name = str(draft.rng.choice(free))
        joint = draft.joints[name]
        for law in ("stiffness", "rest", "viscous"):
            joint.pop(law, None)
        size, rate = (round(float(x), 2) for x in draft.rng.uniform(0.1, 0.5, 2))
        joint.update(mode="driven", value=f"{float(draft.q[name][0])!r} + {size}*sin({4 * rate}*t)")


def _start(world: Maximal, q: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, bool]:
    """The pose in which it was drawn, or one on a random branch."""
    if rng.random() < 0.4:
        return q, False
    for _ in range(6):
        step = np.zeros(world.nv)
        step[world.free] = rng.normal(size=len(world.free)) * rng.uniform(0.3, 2.0)
        there = closed(world, moved(world, q, step))
        if there is not None and np.abs(there).max() < 30:
            return there, True
    return q, False


def _whole_rank(world: Maximal, q: np.ndarray) -> int:
    J = world.constraints(q, np.zeros(world.nv))[1]
    return int(np.linalg.matrix_rank(J, tol=1e-6 * np.linalg.norm(J, 2)))


def _movable(world: Maximal, q: np.ndarray, qd: np.ndarray) -> bool:
    """Every motion moves some mass."""
    M, _ = world.tree_equations(world.state(q, qd))
    J = jacobian(world, q)
    _, s, vt = np.linalg.svd(J)
    null = vt[int((s > 1e-6 * s[0]).sum()) :].T
    size = np.linalg.eigvalsh(null.T @ M[np.ix_(world.free, world.free)] @ null)
    return bool(size[0] > 1e-7 * size[-1]) and bool(size[0] > 1e-7)


# -- the script


def _judge(seed: int, family: str, motion: bool) -> Any:
    from mechanics.loops.judge import judge

    return judge(seed, family, motion)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seeds", default="0:20", help="first:last, or one")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--family", default="", help=", ".join(FAMILIES))
    parser.add_argument("--no-motion", action="store_true", help="states only")
    parser.add_argument("--verbose", action="store_true", help="a line for every seed")
    given = parser.parse_args()
    ends = [int(x) for x in given.seeds.split(":")]
    chosen = range(ends[0], ends[1] if len(ends) > 1 else ends[0] + 1)
    begun, verdicts = time.perf_counter(), []
    with ProcessPoolExecutor(given.jobs) as pool:
        waiting = [pool.submit(_judge, seed, given.family, not given.no_motion) for seed in chosen]
        for item in waiting:
            verdict = item.result()
            verdicts.append(verdict)
            if given.verbose or verdict.word == "WRONG":
                print(verdict.say(), flush=True)
    print("\n".join(table(verdicts)))
    print(f"{time.perf_counter() - begun:.0f} s")


def table(verdicts: list[Any]) -> list[str]:
    """Lines: counts by family, the share that was not compared, then the reasons."""
    words = ["right", "refused", "left out", "WRONG"]
    lines = [f"{'family':16}" + "".join(f"{w:>10}" for w in words)]
    for family in [*sorted({v.family for v in verdicts}), "all"]:
        mine = Counter(v.word for v in verdicts if family in (v.family, "all"))
        lines.append(f"{family:16}" + "".join(f"{mine[w]:10}" for w in words))
    share = sum(v.word in ("refused", "left out") for v in verdicts) / max(1, len(verdicts))
    lines.append(f"refused or left out: {share:.1%}")
    reasons = Counter(r for v in verdicts for r in v.reasons)
    return lines + [f"{n:5}  {reason}" for reason, n in reasons.most_common()]


if __name__ == "__main__":
    main()
