"""A cart learns to swing its pole up: the cross-entropy method on copies of an environment, one policy a copy.

    python examples/swing_up.py               on the processor
    python examples/swing_up.py cuda          the same on a GPU, where thousands of copies cost as much as one

Each copy runs a policy of its own, so that one episode of the environment judges a whole population.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import symbody as sb

HIDDEN, SEEN = 12, 5
SIZE = SEEN * HIDDEN + HIDDEN + HIDDEN  # weights of both layers and the bias of the first


def cart_pole() -> sb.Mechanism:
    """A cart of 1 kg on a rail, and a pole of 0.2 kg that hangs from it."""
    b = sb.Mechanism.builder("cart_pole")
    b.body("cart", 1.0)
    b.body("pole", 0.2, (0, 0, -0.5), (0.017, 0.017, 0))
    b.joint("slide", "prismatic", "world", "cart", axis="x")
    b.joint("hinge", "revolute", "cart", "pole", axis="y")
    return b.done()


def make(count: int, device: str | None) -> Any:
    """Reward: high where the pole stands upright and the cart is near the middle of its rail."""
    features = [{"x": "q.slide"}, {"s": "sin(q.hinge)"}, {"c": "cos(q.hinge)"}, {"v": "qd.slide"}, {"w": "qd.hinge/5"}]
    return sb.environment(
        cart_pole(),
        "-cos(q.hinge) - 0.1*q.slide^2 - 0.002*qd.hinge^2",
        {"q.hinge": (-0.1, 0.1)},
        step=0.04, substeps=2, actions={"slide": (-15, 15)}, observe=features, count=count, limit=150, device=device,
    )  # fmt: skip


def returns(env: Any, policies: np.ndarray, xp: Any) -> np.ndarray:
    """(n,) what each policy (n, SIZE) earns in one episode."""
    like = env.reset(seed=0)[0]
    p = xp.as_tensor(policies, dtype=like.dtype, device=like.device) if xp is not np else policies
    first = p[:, : SEEN * HIDDEN].reshape(-1, SEEN, HIDDEN)
    bias, last = p[:, SEEN * HIDDEN : -HIDDEN], p[:, -HIDDEN:]
    seen, total = like, 0.0
    for _ in range(150):
        inner = xp.tanh(xp.einsum("nk,nkh->nh", seen, first) + bias)
        seen, reward, *_ = env.step(15 * xp.tanh(xp.einsum("nh,nh->n", inner, last))[:, None])
        total = total + reward
    return np.asarray(total.cpu() if xp is not np else total)


def train(env: Any, generations: int, xp: Any = np) -> tuple[np.ndarray, list[float]]:
    """The mean of the last generation, and the best return of each."""
    rng = np.random.default_rng(0)
    mean, spread, best = np.zeros(SIZE), np.full(SIZE, 1.5), []
    for k in range(generations):
        tried = mean + spread * rng.normal(size=(env.num_envs, SIZE))
        earned = returns(env, tried, xp)
        order = np.argsort(-earned)
        elite = tried[order[: max(env.num_envs // 10, 2)]]
        mean, spread = elite.mean(axis=0), elite.std(axis=0) + 0.3 / (1 + k)
        best.append(float(earned[order[0]]))
        print(f"generation {k + 1:3}: best {best[-1]:8.2f}, elite {earned[order[: len(elite)]].mean():8.2f}")
    return mean, best


def main() -> None:
    device = sys.argv[1] if len(sys.argv) > 1 else None
    xp: Any = np
    if device is not None:
        import torch as xp  # type: ignore[no-redef]
    env = make(4096 if device else 400, device)
    _, best = train(env, 40 if device else 30, xp)
    print(f"hanging still earns {-150:.0f}; the best policy earns {max(best):.1f}")


if __name__ == "__main__":
    main()
