"""Small mechanisms whose motion is known."""

from __future__ import annotations

from symbody.model.record.mechanism import Mechanism


def chain(n: int, length: float = 1.0, mass: float = 1.0) -> Mechanism:
    """n uniform rods that hang on each other and swing about y."""
    builder = Mechanism.builder(f"chain{n}")
    moment = mass * length**2 / 12
    for k in range(1, n + 1):
        builder.body(f"rod{k}", mass=mass, com=(0, 0, -length / 2), inertia=(moment, moment, 0))
        parent, place = ("world", 0) if k == 1 else (f"rod{k - 1}", -length)
        builder.joint(f"j{k}", "revolute", parent, f"rod{k}", position=(0, 0, place), axis="y")
    return builder.done()


def brick() -> Mechanism:
    """A free body with three different moments of inertia."""
    return (
        Mechanism.builder("brick")
        .body("brick", mass=2.0, inertia=(0.1, 0.2, 0.27))
        .joint("base", "free", "world", "brick")
        .done()
    )


def ball() -> Mechanism:
    """A point of 1 kg on a vertical line."""
    return Mechanism.builder("ball").body("ball", mass=1.0).joint("z", "prismatic", "world", "ball", axis="z").done()


def oscillator() -> Mechanism:
    """A mass on a spring with a damper, all of them parameters: m = 1, k = 4, d = 0.2; no weight."""
    builder = Mechanism.builder("oscillator", gravity=(0, 0, 0))
    for name, value in (("m", 1.0), ("k", 4.0), ("d", 0.2)):
        builder.parameter(name, value)
    return (
        builder.body("mass", mass="m")
        .joint("x", "prismatic", "world", "mass", axis="x", stiffness="k", viscous="d")
        .done()
    )


def crank() -> Mechanism:
    """A crank that turns by a law of time and carries a pendulum."""
    return (
        Mechanism.builder("crank")
        .body("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.05, 0.05))
        .body("bob", mass=1.0, com=(0, 0, -0.5), inertia=(0.05, 0.05, 0.01))
        .joint("crank", "revolute", "world", "arm", axis="z", mode="driven", value="0.3*sin(4*t)")
        .joint("swing", "revolute", "arm", "bob", position=(1, 0, 0), axis="x")
        .done()
    )
