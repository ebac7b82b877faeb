"""A network learns to move an arm: its loss is what a simulation says, and gradients go back through the simulation.

Given a goal, the network answers with torques over a second; the arm of two rods runs under them, and the loss is how
far from the goal it ends, and how fast. No motion is shown to it: PyTorch's gradients pass the run as any layer.

    python examples/reaching.py          needs the extra `learning` (torch)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import symbody as sb
from symbody.motion.derivatives import torch_function

DURATION, STEP, POINTS = 1.0, 0.02, 6
REACH = 1.2  # rad, largest angle of a goal
TORQUE = 20.0  # N m, what one unit of the network's answer means


def arm() -> Callable[[Any], Any]:
    """Torques (..., 2 POINTS) at equal times, of both joints -> where the arm ends: q (2), qd (2)."""
    times = np.linspace(0, DURATION, POINTS)
    joints = ["joint1", "joint2"]
    run = sb.differentiable(
        sb.load("pendulum2"), DURATION, joints, of=["q", "qd"], step=STEP,
        inputs={j: (times, np.zeros(POINTS)) for j in joints},
    )  # fmt: skip
    return torch_function(run)


def miss(net: Any, run: Callable[[Any], Any], goals: Any) -> tuple[Any, Any]:
    """(loss, (b, 2) how far from the goals the arm ends, rad)."""
    end = run(TORQUE * net(goals))
    off = end[:, :2] - goals
    return (off**2).sum(1).mean() + 0.05 * (end[:, 2:] ** 2).sum(1).mean(), off


def train(epochs: int = 300, batch: int = 32) -> tuple[Any, list[float], float]:
    """The network, its losses, and the root of the mean squared miss of goals that it has not seen, rad."""
    import torch

    torch.manual_seed(0)
    layers = [torch.nn.Linear(2, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32), torch.nn.Tanh()]
    net = torch.nn.Sequential(*layers, torch.nn.Linear(32, 2 * POINTS)).double()
    run = arm()
    optimiser = torch.optim.Adam(net.parameters(), lr=5e-3)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    losses = []
    for epoch in range(epochs):
        goals = REACH * (2 * torch.rand(batch, 2, dtype=torch.float64) - 1)
        loss, _ = miss(net, run, goals)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        slower.step()
        losses.append(float(loss.detach()))
        if epoch % 50 == 0:
            print(f"epoch {epoch:4}: loss {losses[-1]:.4f}")
    with torch.no_grad():
        unseen = REACH * (2 * torch.rand(200, 2, dtype=torch.float64) - 1)
        _, off = miss(net, run, unseen)
    return net, losses, float((off**2).mean().sqrt())


def main() -> tuple[list[float], float]:
    _, losses, off = train()
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.4f}; goals it has not seen are missed by {off:.4f} rad (rms)")
    return losses, off


if __name__ == "__main__":
    main()
