"""Closed mechanisms in maximal coordinates: six velocities a body, every joint and cut as rows between two frames.

The oracle of the random mechanisms: plain NumPy from the Mechanism's records, world axes throughout; no formula of
symbody is used. A joint of several motions is a chain of elementary ones with massless bodies between. Rows compare two
frames, with d = p2 - p1, and are differentiated by hand:

    point   d = 0, three rows in world axes             along   e . d = 0 for an axis e of the first frame
    cross   a . b = 0 for axes a of the first, b of the second frame
    turn    R1 = R2, three rows, rate w2 - w1           rod     (d . d - l^2) / 2 = 0
    screw   e . d - pitch * angle = 0

`accelerations` solves the Karush-Kuhn-Tucker equations of all bodies and rows; redundant rows do no harm. `rates` uses
the same rows and bodies seen along the joints, because it is called thousands of times; `test_random_mechanisms.py`
checks that both agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mechanics.loops.jets import Jet, jet, seeds
from mechanics.loops.maximal_records import Motion, Records, cross, dot, hat, of_quaternion, rotation_vector, turned

ZERO_RANK = 1e-9  # of the largest singular value: below it a direction is none


@dataclass
class State:
    """Everything at one (q, qd, t): bodies by number. Jw, Jv (n, 3, nv); Aw, Av (n, 3) accelerations at qdd = 0."""

    R: np.ndarray
    p: np.ndarray
    w: np.ndarray
    v: np.ndarray
    Jw: np.ndarray
    Jv: np.ndarray
    Aw: np.ndarray
    Av: np.ndarray


class Maximal(Records):
    """The mechanics of what was read."""

    # -- kinematics

    def state(self, q: np.ndarray, qd: np.ndarray, t: float = 0.0) -> State:
        n, nv = self.n, self.nv
        R, p = np.zeros((n, 3, 3)), np.zeros((n, 3))
        R[0] = np.eye(3)
        w, v, Aw, Av = (np.zeros((n, 3)) for _ in range(4))
        Jw, Jv = np.zeros((n, 3, nv)), np.zeros((n, 3, nv))
        for m in self.motions:
            a, c = m.parent, m.child
            Rj = R[a] @ m.rotation
            r = R[a] @ m.position
            turn, slide = None, None  # (columns, rate) of relative angular and linear velocity
            if m.letter in "BF" and m.how == "own":
                if m.letter == "F":
                    r = r + Rj @ q[m.q : m.q + 3]
                R[c] = Rj @ of_quaternion(q[m.q + (3 if m.letter == "F" else 0) :][:4])
                turn = (slice(m.v, m.v + 3), R[c], R[c] @ qd[m.v : m.v + 3])
                if m.letter == "F":
                    slide = (slice(m.v + 3, m.v + 6), R[c], R[c] @ qd[m.v + 3 : m.v + 6])
            else:
                own = m.how != "locked"
                x = m.ratio * q[m.q] + m.offset if own else m.offset
                u = Rj @ m.axis
                R[c] = Rj @ turned(m.axis, x) if m.letter in "RH" else Rj
                pitch = {"T": 1.0, "H": m.pitch}.get(m.letter, 0.0)
                if pitch:
                    r = r + u * (pitch * x)
                if own:
                    rate = m.ratio * qd[m.v]
                    if m.letter in "RH":
                        turn = (m.v, m.ratio * u, u * rate)
                    if pitch:
                        slide = (m.v, m.ratio * pitch * u, u * (pitch * rate))
            p[c] = p[a] + r
            k = hat(r)
            Jw[c], Jv[c] = Jw[a], Jv[a] - k @ Jw[a]
            wa = w[a]
            w[c], v[c] = wa, v[a] + cross(wa, r)
            Aw[c] = Aw[a]
            Av[c] = Av[a] + cross(Aw[a], r) + cross(wa, cross(wa, r))
            if turn is not None:
                Jw[c][:, turn[0]] += turn[1]
                w[c] = wa + turn[2]
                Aw[c] = Aw[c] + cross(wa, turn[2])
            if slide is not None:
                Jv[c][:, slide[0]] += slide[1]
                v[c] = v[c] + slide[2]
                Av[c] = Av[c] + 2 * cross(wa, slide[2])
                if m.letter == "F":  # the rate is in axes that turn with the child
                    Av[c] = Av[c] + cross(w[c] - wa, slide[2])
        return State(R, p, w, v, Jw, Jv, Aw, Av)

    def rows(self, s: State, which: str, t: float = 0.0) -> tuple[np.ndarray, ...]:
        """(h, wi, vi, wj, vj, ht, bias): rate = wi.w_i + vi.v_i + wj.w_j + vj.v_j + ht of bodies at their origins."""
        k = self._packs[which]
        rows = self.cut_rows if which == "cuts" else self.joint_rows
        i, j = k["i"], k["j"]
        m = len(i)
        Ri, Rj = s.R[i] @ k["Ri"], s.R[j] @ k["Rj"]
        ri, rj = (np.einsum("kab,kb->ka", s.R[x], k[y]) for x, y in ((i, "ri"), (j, "rj")))
        w1, w2 = s.w[i], s.w[j]
        d = s.p[j] + rj - s.p[i] - ri
        dd = s.v[j] + cross(w2, rj) - s.v[i] - cross(w1, ri)
        cc = cross(w2, cross(w2, rj)) - cross(w1, cross(w1, ri))  # of the second derivative of d, no accelerations
        a, b = np.einsum("kab,kb->ka", Ri, k["a"]), np.einsum("kab,kb->ka", Rj, k["b"])
        h, ht, bias = np.zeros(m), np.zeros(m), np.zeros(m)
        f = np.zeros((m, 3))  # force direction at the frames' origins
        wi, wj = np.zeros((m, 3)), np.zeros((m, 3))
        x = k["point"]
        f[x], h[x], bias[x] = k["a"][x], dot(k["a"][x], d[x]), dot(k["a"][x], cc[x])
        x = np.concatenate([k["along"], k["screw"]])
        ad = cross(w1[x], a[x])
        f[x], h[x], wi[x] = a[x], dot(a[x], d[x]), cross(a[x], d[x])
        bias[x] = dot(a[x], cc[x]) + 2 * dot(ad, dd[x]) + dot(cross(w1[x], ad), d[x])
        x = k["cross"]
        ad, bd = cross(w1[x], a[x]), cross(w2[x], b[x])
        h[x], wj[x] = dot(a[x], b[x]), cross(b[x], a[x])
        wi[x] = -wj[x]
        bias[x] = dot(cross(w1[x], ad), b[x]) + 2 * dot(ad, bd) + dot(a[x], cross(w2[x], bd))
        x = k["turn"]
        wi[x], wj[x] = -k["a"][x], k["a"][x]
        for y in x[::3]:  # rows come by three
            h[y : y + 3] = Ri[y] @ rotation_vector(Ri[y].T @ Rj[y])
        for y in k["rod"]:
            l = jet(rows[y].size, seeds(["t"], np.array([t])), self.values, 1)
            length, rate, second = l.value, float(l.g[0]), float(l.h[0, 0])
            f[y], h[y] = d[y], (d[y] @ d[y] - length**2) / 2
            ht[y] = -length * rate
            bias[y] = d[y] @ cc[y] + dd[y] @ dd[y] - rate**2 - length * second
        for y in k["screw"]:  # the axis is common: the angle is about it; its coordinate is read where it is needed
            pitch = rows[y].size
            wi[y], wj[y] = wi[y] + pitch * a[y], wj[y] - pitch * a[y]
            bias[y] -= pitch * (cross(w1[y], a[y]) @ (w2[y] - w1[y]))
            h[y] = 0.0
        # forces at the frames act on the bodies' origins with their arms
        wi, wj = wi - cross(ri, f), wj + cross(rj, f)
        return h, wi, -f, wj, f, ht, bias

    def couplings(
        self, q: np.ndarray, qd: np.ndarray, t: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(h, J (m, nv), ht, bias) of all couplings; they read coordinates of elementary motions R, T and H."""
        names = [*self.names_q, *self.names_v, "t"]
        at = np.concatenate([q, qd, [t]])
        known = seeds(names, at) if self.mech.couplings else {}
        for j in self.mech.joints if self.mech.couplings else ():
            if j.mimic is not None:
                ratio, offset = self.number(j.mimic.ratio), self.number(j.mimic.offset)
                for stem, shift in (("q", offset), ("qd", 0.0)):
                    x = known[f"{stem}.{j.mimic.joint}"]
                    known[f"{stem}.{j.name}"] = Jet(ratio * x.value + shift, ratio * x.g, ratio * x.h)
        m, nq, nv = len(self.mech.couplings), self.nq, self.nv
        h, J, ht, bias = np.zeros(m), np.zeros((m, nv)), np.zeros(m), np.zeros(m)
        scalar = {x.v: x.q for x in self.motions if x.how == "own" and x.letter in "RTH"}
        for i, c in enumerate(self.mech.couplings):
            e = jet(c.expression, known, self.values, len(names))
            along = np.zeros(len(names))
            for v, k in scalar.items():
                along[k] = qd[v]
            along[-1] = 1.0
            if c.kind == "velocity":
                J[i] = e.g[nq : nq + nv]
                ht[i] = e.value - J[i] @ qd
                bias[i] = e.g @ along
            else:
                h[i], ht[i] = e.value, e.g[-1]
                for v, k in scalar.items():
                    J[i, v] = e.g[k]
                bias[i] = along @ e.h @ along
        return h, J, ht, bias

    def constraints(
        self, q: np.ndarray, qd: np.ndarray, t: float = 0.0, s: State | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(h, J (m, nv), ht, bias) of cuts, then couplings, by joint velocities: rate J qd + ht, then J qdd + bias."""
        s = self.state(q, qd, t) if s is None else s
        h, wi, vi, wj, vj, ht, bias = self.rows(s, "cuts", t)
        k = self._packs["cuts"]
        i, j = k["i"], k["j"]
        J = sum(np.einsum("ka,kav->kv", x, y) for x, y in ((wi, s.Jw[i]), (vi, s.Jv[i]), (wj, s.Jw[j]), (vj, s.Jv[j])))
        bias = bias + dot(wi, s.Aw[i]) + dot(vi, s.Av[i]) + dot(wj, s.Aw[j]) + dot(vj, s.Av[j])
        h2, J2, ht2, bias2 = self.couplings(q, qd, t)
        return np.r_[h, h2], np.vstack([J, J2]), np.r_[ht, ht2], np.r_[bias, bias2]

    # -- forces

    def wrenches(self, s: State) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(I, mr, M_w, M_v, com arm): inertia about the origin and first moments, and wrench of weight, springs and

        gyroscopic terms on every body at its origin: force balance M a = (moment, force).
        """
        c = np.einsum("kab,kb->ka", s.R, self.com)
        inertia = s.R @ self.inertia @ np.swapaxes(s.R, 1, 2)
        m = self.mass[:, None]
        shift = self.mass[:, None, None] * (dot(c, c)[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :])
        about = inertia + shift
        force = m * (self.gravity - cross(s.w, cross(s.w, c)))
        moment = m * cross(c, np.broadcast_to(self.gravity, c.shape)) - cross(s.w, np.einsum("kab,kb->ka", about, s.w))
        for i, j, k, damping, length in self.links:
            (bi, _, ri), (bj, _, rj) = self.frames[i], self.frames[j]
            ai, aj = s.R[bi] @ ri, s.R[bj] @ rj
            d = s.p[bj] + aj - s.p[bi] - ai
            dd = s.v[bj] + cross(s.w[bj], aj) - s.v[bi] - cross(s.w[bi], ai)
            z = np.linalg.norm(d)
            f = (k * (z - length) + damping * (d @ dd) / z) * d / z  # on i, towards j
            force[bi] += f
            moment[bi] += cross(ai, f)
            force[bj] -= f
            moment[bj] -= cross(aj, f)
        return about, self.mass, moment, force, c

    def efforts(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray | None) -> np.ndarray:
        """(nv,) of actuators and joint laws."""
        out = np.zeros(self.nv) if tau is None else np.array(tau, dtype=float)
        for v, place, k, rest, c in self.laws:
            out[v] -= c * qd[v] + (k * (q[place] - rest) if place >= 0 else 0.0)
        return out

    def energy(self, q: np.ndarray, qd: np.ndarray) -> float:
        """Kinetic energy, weight, springs of joints and between points, J."""
        s = self.state(q, qd)
        _, mass, _, _, c = self.wrenches(s)
        vc = s.v + cross(s.w, c)
        inertia = s.R @ self.inertia @ np.swapaxes(s.R, 1, 2)
        total = 0.5 * (mass * dot(vc, vc)).sum() + 0.5 * np.einsum("ka,kab,kb", s.w, inertia, s.w)
        total -= (mass * ((s.p + c) @ self.gravity)).sum()
        total += sum(0.5 * k * (q[place] - rest) ** 2 for _, place, k, rest, _ in self.laws if place >= 0)
        for i, j, k, _, length in self.links:
            (bi, _, ri), (bj, _, rj) = self.frames[i], self.frames[j]
            z = np.linalg.norm(s.p[bj] + s.R[bj] @ rj - s.p[bi] - s.R[bi] @ ri)
            total += 0.5 * k * (z - length) ** 2
        return float(total)

    @property
    def conservative(self) -> bool:
        """Nothing takes or gives energy."""
        moved = any(c.kind == "rod" and _has_time(c.length) for c in self.mech.cuts)
        moved |= any(_has_time(c.expression) for c in self.mech.couplings)
        return not (moved or self.driven or any(x[4] for x in self.laws) or any(x[3] for x in self.links))

    # -- dynamics

    def tree_equations(self, s: State) -> tuple[np.ndarray, np.ndarray]:
        """(M (nv, nv), c (nv,)) of M qdd + c = efforts + J^T lam: all bodies seen along the joints."""
        about, mass, moment, force, c = self.wrenches(s)
        M = np.einsum("kav,kab,kbu->vu", s.Jw, about, s.Jw) + np.einsum("k,kav,kau->vu", mass, s.Jv, s.Jv)
        arm = cross(mass[:, None, None] * c[:, None, :], np.swapaxes(s.Jv, 1, 2))  # (n, nv, 3): m c x v
        coupled = np.einsum("kav,kua->vu", s.Jw, arm)
        M = M + coupled + coupled.T
        inert_w = np.einsum("kab,kb->ka", about, s.Aw) + mass[:, None] * cross(c, s.Av)
        inert_v = mass[:, None] * (s.Av + cross(s.Aw, c))
        bias = np.einsum("kav,ka->v", s.Jw, inert_w - moment) + np.einsum("kav,ka->v", s.Jv, inert_v - force)
        return M, bias

    def rates(
        self,
        q: np.ndarray,
        qd: np.ndarray,
        tau: np.ndarray | None = None,
        t: float = 0.0,
        driven: Any = None,
        rank: int | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(qdd, J^T lam (nv,), singular values of J over the free velocities), by joint coordinates.

        rank: of J, where it is known; on the way rounding opens redundant rows a little, and they seem independent.
        """
        s = self.state(q, qd, t)
        M, c = self.tree_equations(s)
        _, J, _, bias = self.constraints(q, qd, t, s)
        lead = self._lead(t, driven)
        f = self.free
        rhs = (self.efforts(q, qd, tau) - c - M @ lead)[f]
        x, values = _constrained(M[np.ix_(f, f)], rhs, J[:, f], -(bias + J @ lead), rank)
        qdd = lead
        qdd[f] = x
        return qdd, M @ qdd + c - self.efforts(q, qd, tau), values

    def _lead(self, t: float, driven: Any) -> np.ndarray:
        lead = np.zeros(self.nv)
        for n, k in enumerate(self.driven):
            lead[k] = float(self.prescribed(k, t).h[0, 0]) if driven is None else driven[n]
        return lead

    def accelerations(
        self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray | None = None, t: float = 0.0, driven: Any = None
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """(qdd, J^T lam, wrench of each cut on its second body: moment, force, world axes, at the second frame).

        Maximal coordinates: accelerations of all bodies and multipliers of all joints, cuts, couplings together. Where
        rows are redundant the wrenches are one of many.
        """
        s = self.state(q, qd, t)
        n = self.n - 1
        about, mass, moment, force, c = self.wrenches(s)
        M = np.zeros((6 * n, 6 * n))
        for k in range(n):
            b, o = k + 1, 6 * k
            mc = mass[b] * hat(c[b])
            M[o : o + 3, o : o + 3], M[o + 3 : o + 6, o + 3 : o + 6] = about[b], mass[b] * np.eye(3)
            M[o : o + 3, o + 3 : o + 6], M[o + 3 : o + 6, o : o + 3] = mc, -mc
        F = np.hstack([moment[1:], force[1:]]).ravel()
        blocks, biases = [], []
        for which in ("joints", "cuts"):
            _, wi, vi, wj, vj, _, bias = self.rows(s, which, t)
            G = np.zeros((len(bias), self.n, 6))
            k, at = self._packs[which], np.arange(len(bias))
            np.add.at(G, (at, k["i"]), np.hstack([wi, vi]))
            np.add.at(G, (at, k["j"]), np.hstack([wj, vj]))
            blocks.append(G[:, 1:].reshape(len(bias), 6 * n))
            biases.append(bias)
        # rates of elementary coordinates, as rows on the bodies: for couplings, followers, driven joints and efforts
        P, shift = self._coordinate_rows(s)
        _, J2, _, bias2 = self.couplings(q, qd, t)
        blocks.append(J2 @ P)
        biases.append(bias2 + J2 @ shift)
        extra, extra_bias = self._follower_rows(s)
        blocks.append(extra)
        biases.append(extra_bias)
        held = list(self.driven)
        lead = self._lead(t, driven)[held]
        blocks.append(P[held])
        biases.append(shift[held] - lead)
        F = F + P.T @ self.efforts(q, qd, tau)
        G, g = np.vstack(blocks), -np.concatenate(biases)
        a, _ = _constrained(M, F, G, g)
        lam = np.linalg.lstsq(G.T, M @ a - F, rcond=1e-11)[0]
        counts = np.cumsum([0, *(len(b) for b in blocks)])
        cuts, more = lam[counts[1] : counts[2]], lam[counts[2] : counts[3]]
        qdd = P @ a + shift
        body_force = (blocks[1].T @ cuts).reshape(n, 6)
        effort = np.einsum("kav,ka->v", s.Jw[1:], body_force[:, :3]) + np.einsum(
            "kav,ka->v", s.Jv[1:], body_force[:, 3:]
        )
        return qdd, effort + J2.T @ more, self._cut_wrenches(s, cuts, t)

    def _cut_wrenches(self, s: State, lam: np.ndarray, t: float) -> dict[str, np.ndarray]:
        """What each cut exerts on its second body, at the second frame's origin."""
        _, _, _, wj, vj, _, _ = self.rows(s, "cuts", t)
        out: dict[str, np.ndarray] = {}
        for y, row in enumerate(self.cut_rows):
            arm = s.R[self.frames[row.j][0]] @ self.frames[row.j][2]
            moment = wj[y] - cross(arm, vj[y])
            out[row.name] = out.get(row.name, np.zeros(6)) + lam[y] * np.r_[moment, vj[y]]
        return out

    def _coordinate_rows(self, s: State) -> tuple[np.ndarray, np.ndarray]:
        """(P (nv, 6 n), shift (nv,)): qdd = P a + shift for accelerations a of all bodies."""
        P, shift = np.zeros((self.nv, self.n, 6)), np.zeros(self.nv)
        for m in self.motions:
            if m.how == "own":
                for k, (row, rest) in enumerate(self._relative(s, m)):
                    P[m.v + k, m.parent] += row[0]
                    P[m.v + k, m.child] += row[1]
                    shift[m.v + k] = rest
        return P[:, 1:].reshape(self.nv, -1), shift

    def _follower_rows(self, s: State) -> tuple[np.ndarray, np.ndarray]:
        """Rates of mimic joints minus ratio times those of their leaders."""
        rows, biases = [], []
        P, shift = self._coordinate_rows(s)
        for m in self.motions:
            if m.how == "follows":
                ((row, rest),) = self._relative(s, m)
                full = np.zeros((self.n, 6))
                full[m.parent] += row[0]
                full[m.child] += row[1]
                rows.append(full[1:].ravel() - m.ratio * P[m.v])
                biases.append(rest - m.ratio * shift[m.v])
        return np.array(rows).reshape(-1, 6 * (self.n - 1)), np.array(biases)

    def _relative(self, s: State, m: Motion) -> list[tuple[tuple[np.ndarray, np.ndarray], float]]:
        """Rows on (parent, child) accelerations and rests that give the second derivatives of a motion's velocities."""
        a, c = m.parent, m.child
        w, r = s.w[a], s.p[c] - s.p[a]
        relative = s.w[c] - w
        out = []
        if m.letter in "RHBF":
            for u in [s.R[a] @ m.rotation @ m.axis] if m.letter in "RH" else list(s.R[c].T):
                # u turns with the parent (a fixed axis) or with the child (axes of a ball): u' = w x u
                turning = w if m.letter in "RH" else s.w[c]
                rest = cross(turning, u) @ relative
                out.append(((np.r_[-u, np.zeros(3)], np.r_[u, np.zeros(3)]), float(rest)))
        if m.letter in "TF":
            slide = s.v[c] - s.v[a] - cross(w, r)
            for u in [s.R[a] @ m.rotation @ m.axis] if m.letter == "T" else list(s.R[c].T):
                turning = w if m.letter == "T" else s.w[c]
                rest = cross(turning, u) @ slide - u @ cross(w, s.v[c] - s.v[a])
                row = (np.r_[-cross(r, u), -u], np.r_[np.zeros(3), u])
                out.append((row, float(rest)))
        return out


def _has_time(x: Any) -> bool:
    return hasattr(x, "op") and ((x.op == "symbol" and x.data.name == "t") or any(_has_time(a) for a in x.args))


def _constrained(
    M: np.ndarray, F: np.ndarray, G: np.ndarray, g: np.ndarray, rank: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """x of M x = F + G^T lam, G x = g, and singular values of G: particular solution, then motion in its null space."""
    if not G.size:
        return np.linalg.solve(M, F), np.zeros(0)
    u, s, vt = np.linalg.svd(G)
    if rank is None:
        rank = int((s > ZERO_RANK * s[0]).sum())
    x = vt[:rank].T @ ((u[:, :rank].T @ g) / s[:rank])
    null = vt[rank:].T
    if null.shape[1]:
        x = x + null @ np.linalg.solve(null.T @ M @ null, null.T @ (F - M @ x))
    return x, s
