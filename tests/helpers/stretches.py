"""One stretch of a Stepper, as tests ask for it; and signals that never change."""

import numpy as np

from symbody.motion.methods.stepper import Start


def stretch(stepper, t, x, stop, times, memory=None):
    """The Leg from (t, x) to `stop`, from a motion that begins there."""
    return stretch_on(stepper, t, x, stop, times, memory)[0]


def stretch_on(stepper, t, x, stop, times, memory=None):
    """(Leg, memory of the method at its end)."""
    signals = getattr(stepper, "signals", None)
    u = getattr(signals, "held", np.zeros(0))
    return stepper.advance(Start(t, np.asarray(x, dtype=float), u, memory or {}), stop, np.asarray(times, dtype=float))


class Held:
    """Signals that are held."""

    moving, jumps, batch = (), False, None

    def __init__(self, *values):
        self.held, self.size = np.array(values, dtype=float), len(values)

    def at(self, t, values):
        return values

    def at_times(self, t, values):
        if np.ndim(t) == 0:
            return self.at(float(t), values)
        if not self.moving:
            return values[..., None, :]
        return np.stack([self.at(float(s), values) for s in t], axis=-2)
