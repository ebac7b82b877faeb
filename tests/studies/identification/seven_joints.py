"""A record of an arm of seven joints, made by Newton's and Euler's laws in the frame of the world; no symbody in it."""

from __future__ import annotations

import numpy as np

AXES = np.eye(3)[[2, 1, 2, 1, 2, 1, 2]]
PLACES = np.array(
    [[0, 0, 0.3], [0, 0, 0], [0, 0, 0.3], [0.08, 0, 0], [-0.08, 0, 0.4], [0, 0, 0], [0.09, 0, 0]], dtype=float
)
MASSES = np.array([3.0, 3.2, 3.1, 2.6, 2.4, 1.5, 0.7])
CENTRES = np.array(
    [[0, -0.02, -0.1], [0, 0.02, 0.1], [0.05, 0.01, -0.05], [-0.04, 0.05, 0.02], [0, 0.04, -0.1], [0.06, 0, 0.01],
     [0.01, 0.01, 0.08]]
)  # fmt: skip
INERTIAS = np.array([0.02, 0.02, 0.015, 0.012, 0.012, 0.004, 0.001])[:, None] * [1.0, 1.1, 0.6]
VISCOUS = np.linspace(1.0, 0.3, 7)
COULOMB = np.linspace(0.9, 0.2, 7)


def turned(axis, angle):
    """(N, 3, 3) about a unit vector (Rodrigues)."""
    k = np.cross(axis, np.eye(3)).T
    s, c = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
    return np.eye(3) + s * k + (1 - c) * (k @ k)


def efforts(q, qd, qdd):
    """(N, 7) N m."""
    count = len(q)
    r, w, wd = np.broadcast_to(np.eye(3), (count, 3, 3)), np.zeros((count, 3)), np.zeros((count, 3))
    a = np.broadcast_to([0, 0, 9.81], (count, 3))
    axes, arms, forces, moments = [], [], [], []
    for k in range(7):
        arm, axis = r @ PLACES[k], r @ AXES[k]
        a = a + np.cross(wd, arm) + np.cross(w, np.cross(w, arm))
        wd = wd + axis * qdd[:, k, None] + np.cross(w, axis * qd[:, k, None])
        w = w + axis * qd[:, k, None]
        r = r @ turned(AXES[k], q[:, k])
        c, inertia = r @ CENTRES[k], r @ np.diag(INERTIAS[k]) @ r.transpose(0, 2, 1)
        force = MASSES[k] * (a + np.cross(wd, c) + np.cross(w, np.cross(w, c)))
        spin = np.einsum("nij,nj->ni", inertia, w)
        moment = np.einsum("nij,nj->ni", inertia, wd) + np.cross(w, spin) + np.cross(c, force)
        axes, arms = [*axes, axis], [*arms, arm]
        forces, moments = [*forces, force], [*moments, moment]
    out = np.zeros_like(q)
    f, n = np.zeros((count, 3)), np.zeros((count, 3))
    for k in reversed(range(7)):
        f, n = f + forces[k], n + moments[k]
        out[:, k] = np.sum(axes[k] * n, axis=1)
        n = n + np.cross(arms[k], f)  # about the joint before
    return out + VISCOUS * qd + COULOMB * np.sign(qd)


def motion(rate, duration, base, harmonics, seed=0):
    """(t, q, qd, qdd): a Fourier series of `base` Hz."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, duration, 1 / rate)
    q, qd, qdd = (np.zeros((len(t), 7)) for _ in range(3))
    for k in range(1, harmonics + 1):
        w, (a, b) = 2 * np.pi * base * k, rng.normal(size=(2, 7)) * 0.4 / k
        s, c = np.sin(w * t)[:, None], np.cos(w * t)[:, None]
        q, qd, qdd = q + a * s + b * c, qd + w * (a * c - b * s), qdd - w * w * (a * s + b * c)
    return t, q, qd, qdd
