"""One state on its way in the NumPy march: stages, splitting, step control, dense output, all in plain Python."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.motion.march.ir.splitting import DRIFTS
from symbody.motion.march.job import FAILED, GUARD, INSIDE, NOT_FINITE, REACHED, TOO_MANY, TOO_SMALL
from symbody.motion.march.march_ports import Ports
from symbody.motion.march.method_tables import Method, RungeKutta, Splitting
from symbody.motion.march.run import LogStep, Signals
from symbody.motion.march.step_control import BACK, GROW, ROUNDING, SAFETY, SHRINK, SMALLEST_MEMORY, exponents


class Member:
    """One state on its way."""

    def __init__(
        self,
        ports: Ports,
        kernels: Mapping[str, Any],
        x: np.ndarray,
        signals: tuple[np.ndarray, np.ndarray, Signals],
        directions: np.ndarray,
        passive: np.ndarray,
    ) -> None:
        self.ports, self.kernels, self.x = ports, kernels, x
        self.knots, self.values, self.kind = signals
        self.directions, self.passive = directions, passive
        self.log: list[LogStep] = []
        self.failed = False
        self.evaluations = 0
        self.reuse = ports.project is None and not self.kind.jumps(self.knots)

    # -- Kernels

    def signal(self, t: float, inside: float) -> np.ndarray:
        """Signals at t; the knot is the last one not after `inside`."""
        k = int(np.searchsorted(self.knots, inside, side="right")) - 1
        low, high = max(k, 0), 0 if k < 0 else min(k + 1, len(self.knots) - 1)
        left = self.values[low]
        if self.kind.hold or low == high:
            return left + 0.0 * (self.values[high] - left)
        weight = (t - self.knots[low]) / (self.knots[high] - self.knots[low])
        return left + weight * (self.values[high] - left)

    def call(self, kind: str, x: np.ndarray, t: float, u: np.ndarray, h: float = 0.0) -> dict[str, np.ndarray]:
        """Outputs by name, flat; a failed solve block sets `failed`."""
        kernel = self.kernels[kind]
        p = self.ports
        given = []
        for port in kernel.inputs:
            if port.name in p.offsets:
                at = p.offsets[port.name]
                value: Any = x[at : at + port.size].reshape(port.shape)
            elif port.name in p.signals:
                at = p.signals[port.name]
                value = u[at : at + port.size].reshape(port.shape)
            else:
                value = np.full(port.shape, t if port.name == "t" else h)
            given.append(value)
        result, status = kernel.call_with_status(*given)
        self.failed = self.failed or bool((np.asarray(status) < 0).any())
        names = [o.name for o in (kernel.signature.outputs if hasattr(kernel, "signature") else kernel.outputs)]
        values = [result] if len(names) == 1 else list(result)
        return {n: np.ravel(v) for n, v in zip(names, values)}

    def placed(self, outputs: Mapping[str, np.ndarray], offsets: Mapping[str, int], start: np.ndarray) -> np.ndarray:
        row = start.copy()
        for name, at in offsets.items():
            if name in outputs:
                row[at : at + outputs[name].size] = outputs[name]
        return row

    def rates(self, x: np.ndarray, t: float, h: float, c: float) -> np.ndarray:
        """Rates at t + c h."""
        self.evaluations += 1
        now = t + c * h if c else t
        u = self.signal(now, now + (INSIDE if c == 0.0 else -INSIDE) * h)
        return self.placed(self.call("rates", x, now, u), self.ports.rate_offsets, np.zeros(self.ports.nx))

    def projected(self, x: np.ndarray, t: float, h: float) -> np.ndarray:
        if self.ports.project is None:
            return x
        u = self.signal(t + h, t + h - INSIDE * h)
        return self.placed(self.call("project", x, t + h, u), self.ports.offsets, x)

    def guards(self, x: np.ndarray, t: float, inside: float) -> np.ndarray:
        if not self.ports.ng:
            return np.zeros(0)
        return self.call("guards", x, t, self.signal(t, inside))["guard"]

    def crossed(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        up = (before < 0) & (after >= 0) & (self.directions >= 0)
        down = (before > 0) & (after <= 0) & (self.directions <= 0)
        return up.astype(np.int64) - (down & ~up).astype(np.int64)

    def _ends(self, crossed: np.ndarray, start: tuple[float, np.ndarray], end: tuple[float, np.ndarray]) -> bool:
        """Whether a crossing ends the run; a step with passive ones alone is put into the log."""
        if (crossed != 0)[~self.passive].any():
            return True
        if crossed.any():
            self.log.append(LogStep(*start, *end, crossed))
        return False

    # -- fixed steps

    def fixed(self, method: Method | None, t: float, h: float, steps: int, every: int, node: float) -> dict[str, Any]:
        x = before = self.x
        samples: list[np.ndarray] = []
        crossed = np.zeros(self.ports.ng, dtype=np.int64)
        guards = self.guards(x, t, t + INSIDE * h)
        forces: np.ndarray | None = None
        status, taken = REACHED, 0
        for i in range(steps):
            now = t + i * h
            self.failed = False
            if method is None:
                new = self._mapped(x, now, h, node)
            elif isinstance(method, RungeKutta):
                new, _ = self._stages(method, x, now, h, None)
            else:
                new, forces = self._split(method, x, now, h, forces if self.reuse and method.substeps else None)
            new = self.projected(new, now, h)
            if self.failed or not np.isfinite(new).all():
                status, before = (FAILED if self.failed else NOT_FINITE), x
                break
            x, before, taken = new, x, i + 1
            after = self.guards(x, now + h, now + h - INSIDE * h)
            crossed = self.crossed(guards, after)
            guards = after
            if self._ends(crossed, (now, before), (t + taken * h, x)):
                status = GUARD
                break
            if taken % every == 0 or taken == steps:
                samples.append(x)
        start = taken if status in (NOT_FINITE, FAILED) else max(taken - 1, 0)
        return dict(
            samples=samples,
            t_samples=[],
            t_end=t + taken * h,
            x_end=x,
            t_before=t + start * h,
            x_before=before,
            status=status,
            crossed=crossed,
            log=self.log,
            steps=taken,
            rejected=0,
            evaluations=self.evaluations,
            h_next=h,
        )

    def _stages(
        self, method: RungeKutta, x: np.ndarray, t: float, h: float, first: np.ndarray | None
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        k: list[np.ndarray] = []
        for i in range(method.stages):
            if i == 0 and first is not None:
                k.append(first)
            else:
                k.append(self.rates(_advanced(x, h, method.a[i], k), t, h, method.c[i]))
        return _advanced(x, h, method.b, k), k

    def _mapped(self, x: np.ndarray, t: float, h: float, node: float) -> np.ndarray:
        self.evaluations += 1
        at = t + node * h if node else t
        u = self.signal(at, at + (INSIDE if node == 0.0 else -INSIDE) * h)
        return self.placed(self.call("rates", x, t, u, h), self.ports.offsets, x)

    def _split(
        self, method: Splitting, x: np.ndarray, t: float, h: float, forces: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        kick = self.ports.kick

        def kicked(base: np.ndarray, rates: np.ndarray, w: float) -> np.ndarray:
            return base + w * (h * kick) * rates

        if forces is None:
            forces = self.rates(x, t, h, 0.0)
        if not method.substeps:
            new = self._drift(kicked(x, forces, 1.0), t, h, 0.0, 1.0, method.drift)
            return new, forces
        new = x
        for start, w, end in method.spans():
            new = self._drift(kicked(new, forces, w / 2), t, h, start, w, method.drift)
            guess = kicked(new, forces, w / 2)
            for _ in range(method.evaluations):
                forces = self.rates(guess, t, h, end)
                guess = kicked(new, forces, w / 2)
            new = guess
        return new, forces

    def _drift(self, x: np.ndarray, t: float, h: float, start: float, w: float, order: int) -> np.ndarray:
        p = self.ports
        x = x.copy()
        if p.drift == "velocities":
            for q, v, size in p.pairs:
                x[q : q + size] += (w * h) * x[v : v + size]
            return x
        method = DRIFTS[order]
        length = w * (h * (1.0 - p.kick))
        k: list[np.ndarray] = []
        for i in range(method.stages):
            at = start + method.c[i] * w
            now = t + at * h if at else t
            u = self.signal(now, now + (INSIDE if at == 0.0 else -INSIDE) * h)
            outputs = self.call("drift", _advanced(x, length, method.a[i], k), now, u)
            if p.drift is None:
                self.evaluations += 1
            k.append(self.placed(outputs, p.drift_offsets, np.zeros(p.nx)))
        return _advanced(x, length, method.b, k)

    # -- adaptive steps

    def adaptive(
        self, method: RungeKutta, t: float, t_end: float, h: float, times: np.ndarray | None, control: dict[str, Any]
    ) -> dict[str, Any]:
        sign, max_step = control["sign"], control["max_step"]
        x, x_before, t_before = self.x, self.x, t
        samples: list[np.ndarray] = []
        t_samples: list[float] = []
        steps = rejected = why = 0
        old, cut = SMALLEST_MEMORY, False
        crossed = np.zeros(self.ports.ng, dtype=np.int64)
        late = all(row[-1] == 0.0 for row in method.error)
        status = REACHED if (t_end - t) * sign <= 0 else -1
        if status < 0:
            guards = self.guards(x, t, t + INSIDE * h)
            first = self.rates(x, t, h, 0.0)
            self.evaluations -= h != 0.0  # as the native march counts
            status = FAILED if self.failed else status
        if status < 0 and h == 0.0:
            h = self._first_step(method, x, t, t_end, first, control)
        while status < 0:
            self.failed = False
            h = min(h * sign, max_step) * sign
            plan = h
            last = (t + 1.01 * h - t_end) * sign > 0
            h = t_end - t if last else h
            tiny = 0.1 * (h * sign) <= abs(t) * ROUNDING and (not last or cut)
            if tiny or h * sign < 1e-300 or steps + rejected >= control["max_steps"]:
                status = (why or TOO_SMALL) if tiny or h * sign < 1e-300 else TOO_MANY
                h = plan
                break
            new, k = self._stages(method, x, t, h, first)
            if not late:
                k.append(self.rates(new, t, h, 1.0))
            error = _error(method, x, new, h, k, control)
            judged = error < math.inf and not self.failed
            if judged and error <= 1.0:
                if late:
                    k.append(self.rates(new, t, h, 1.0))
                new = self.projected(new, t, h)
            if self.failed or not judged or error > 1.0:
                rejected += 1
                why = 0 if judged and not self.failed else FAILED if self.failed else NOT_FINITE
                factor = math.pow(error, exponents(method)[0]) / SAFETY if not why else 1 / BACK
                h = h / (min(factor, 1 / SHRINK) if not why else factor)
                cut = True
                continue
            h_next = _next_step(method, h, sign, error, old, cut)
            if last and plan * sign > h_next * sign:
                h_next = plan
            old, cut, why = max(error, SMALLEST_MEMORY), False, 0
            t_new = t_end if last else t + h
            if times is not None:
                self._dense(method, x, new, t, t_new, h, k, times, samples, sign)
            else:
                samples.append(new)
                t_samples.append(t_new)
            x_before, t_before, x, t = x, t, new, t_new
            steps += 1
            after = self.guards(x, t, t - INSIDE * h)
            crossed = self.crossed(guards, after)
            guards = after
            status = GUARD if self._ends(crossed, (t_before, x_before), (t, x)) else status
            if self.reuse:
                first = k[method.stages]
            else:
                self.failed = False
                now = self.signal(t, t + INSIDE * h)
                first = self.placed(self.call("rates", x, t, now), self.ports.rate_offsets, np.zeros(self.ports.nx))
                self.evaluations += 1
                status = FAILED if self.failed and status < 0 else status
                if status == FAILED:
                    t_before, x_before = t, x
            status = REACHED if last and status < 0 else status
            h = h_next
        return dict(
            samples=samples,
            t_samples=t_samples,
            t_end=t,
            x_end=x,
            t_before=t_before,
            x_before=x_before,
            status=status,
            crossed=crossed,
            log=self.log,
            steps=steps,
            rejected=rejected,
            evaluations=self.evaluations,
            h_next=h,
        )

    def _first_step(
        self, method: RungeKutta, x: np.ndarray, t: float, t_end: float, first: np.ndarray, control: dict[str, Any]
    ) -> float:
        sign = control["sign"]
        scale = control["tolerance"] + control["rtol"] * np.abs(x)

        def limited(h: float) -> float:
            h = h if h < control["max_step"] else control["max_step"]
            left = (t_end - t) * sign
            return h if h < left else left

        d0, d1 = _rms(x / scale), _rms(first / scale)
        small = d0 < 1e-5 or d1 < 1e-5
        tried = limited(1e-6 if small else 0.01 * (d0 / d1))
        trial = self.rates(_advanced(x, tried * sign, (1.0,), [first]), t, tried * sign, 1.0)
        d2 = _rms((trial - first) / scale) / tried
        largest = d1 if d1 > d2 else d2
        h = max(1e-6, tried * 1e-3) if largest <= 1e-15 else math.pow(0.01 / largest, 1.0 / method.error_order)
        many = 100.0 * tried
        return limited(h if h < many else many) * sign

    def _dense(
        self,
        method: RungeKutta,
        x: np.ndarray,
        new: np.ndarray,
        t: float,
        t_new: float,
        h: float,
        k: list[np.ndarray],
        times: np.ndarray,
        samples: list[np.ndarray],
        sign: float,
    ) -> None:
        if len(samples) < len(times) and (times[len(samples)] - (t + h)) * sign < 0:
            for row, c in zip(method.extra_a, method.extra_c):
                k.append(self.rates(_advanced(x, h, row, k), t, h, c))
        while len(samples) < len(times) and (times[len(samples)] - t_new) * sign <= 0:
            time = times[len(samples)]
            if time == t_new:
                samples.append(new)
                continue
            theta = (time - t) / h
            total = np.zeros(x.size)
            for row, rate in zip(method.dense, k):
                if any(row):
                    weight = row[-1]
                    for p in reversed(row[:-1]):
                        weight = weight * theta + p
                    total = total + (weight * theta) * rate
            samples.append(x + h * total)


def _combined(coefficients: Sequence[float], rates: Sequence[np.ndarray]) -> np.ndarray | None:
    total = None
    for c, k in zip(coefficients, rates):
        if c != 0.0:
            term = k if c == 1.0 else c * k
            total = term if total is None else total + term
    return total


def _advanced(x: np.ndarray, h: Any, coefficients: Sequence[float], rates: Sequence[np.ndarray]) -> np.ndarray:
    total = _combined(coefficients, rates)
    return x if total is None else x + h * total


def _sum(values: np.ndarray) -> float:
    """From the left, as a loop does; NumPy would add in pairs."""
    total = 0.0
    for v in values.tolist():
        total += v
    return total


def _rms(values: np.ndarray) -> float:
    return math.sqrt(_sum(values * values) / values.size)


def _error(
    method: RungeKutta, x: np.ndarray, new: np.ndarray, h: float, k: list[np.ndarray], control: dict[str, Any]
) -> float:
    scale = control["tolerance"] + control["rtol"] * np.where(np.abs(x) > np.abs(new), np.abs(x), np.abs(new))
    squares = []
    for row in method.error:
        total = _combined(row, k)
        assert total is not None
        ratio = h * total / scale
        squares.append(_sum(ratio * ratio))
    if len(squares) == 1:
        return math.sqrt(squares[0] / x.size)
    both = squares[0] + 0.01 * squares[1]
    return squares[0] / math.sqrt((1.0 if both <= 0.0 else both) * x.size)


def _next_step(method: RungeKutta, h: float, sign: float, error: float, old: float, cut: bool) -> float:
    first, second = exponents(method)
    factor = math.pow(error, first) / math.pow(old, second) / SAFETY
    new = h / min(max(factor, 1 / GROW), 1 / SHRINK) * sign
    return (min(new, h * sign) if cut else new) * sign
