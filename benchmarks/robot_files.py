"""Robot files of public packages: what symbody reads of them, compared with Pinocchio (URDF) and MuJoCo (MJCF).

The mass matrix, the bias (gyroscopic efforts, weight and passive laws at qdd = 0), the efforts of inverse dynamics and
the accelerations of forward dynamics at random states, each as a backward error: the change of the peer's equations,
relative to the size of their terms, that would make symbody's numbers exact. Contacts and limits are off; MuJoCo's soft
constraints of joints become exact ones (its equations are projected on the coordinates that symbody keeps).

    python benchmarks/robot_files.py              one line a file
    python benchmarks/robot_files.py --markdown   the table of docs/readers.md
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import symbody as sb
from symbody.basics.errors import ModelError, SymbodyError
from symbody.model.record.mechanism import Joint, Mechanism
from symbody.model.record.numbers import number_of

STATES = 3
TOLERANCE = 1e-9
MJCF_PACKAGES = ("dm_control", "gymnasium", "gymnasium_robotics")


@dataclass(frozen=True)
class Outcome:
    """What became of a file: equal, differs, refused (by symbody), unreadable (for the peer too) or no model."""

    file: str
    status: str
    nv: int = 0
    errors: Mapping[str, float] | None = None
    reason: str = ""
    notes: int = 0
    seconds: float = 0.0

    @property
    def worst(self) -> float:
        return max(self.errors.values(), default=0.0) if self.errors else 0.0


# -- files


def mjcf_files() -> Iterator[tuple[str, Path, Path]]:
    """MJCF files of the packages that are installed: label, path, folder of the package; parts of others too."""
    for package in MJCF_PACKAGES:
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            root = Path(folder)
            for path in sorted(root.rglob("*.xml")):
                yield f"{package}/{path.relative_to(root).as_posix()}", path, root


def urdf_files() -> Iterator[tuple[str, Path, Path]]:
    """URDF files of example-robot-data."""
    spec = importlib.util.find_spec("pinocchio")
    for folder in Path(spec.origin).parents if spec and spec.origin else ():
        root = folder / "share" / "example-robot-data" / "robots"
        if root.is_dir():
            yield from ((p.relative_to(root).as_posix(), p, root) for p in sorted(root.rglob("*.urdf")))
            return


# -- symbody's numbers


@dataclass(frozen=True, eq=False)
class State:
    """Coordinates, velocities, accelerations; efforts that are given to forward dynamics."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray


@dataclass(frozen=True, eq=False)
class Numbers:
    """M (nv, nv), bias (nv,), efforts at qdd and accelerations under tau (nv,)."""

    mass: np.ndarray
    bias: np.ndarray
    efforts: np.ndarray
    accelerations: np.ndarray | None


def states(mech: Mechanism, count: int = STATES, seed: int = 1) -> list[State]:
    """Random ones, with unit quaternions."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(count):
        q = rng.uniform(-1, 1, mech.nq)
        for slot in mech.slots:
            for part in slot.parts:
                if part.quaternion:
                    q[part.quaternion] /= np.linalg.norm(q[part.quaternion])
        out.append(State(q, *rng.uniform(-1, 1, (3, mech.nv))))
    return out


class Programs:
    """Programs of a tree (closures of loops are left open), run by the interpreter, many states at a time."""

    def __init__(self, mech: Mechanism) -> None:
        self.nv = mech.nv
        self.inverse = sb.inverse_dynamics(mech, "newton_euler", loops=False).compile("python")
        self.undetermined = ""  # why there are no accelerations
        try:
            self.forward = sb.forward_dynamics(mech, "order_n", loops=False).compile("python")
        except ModelError as error:
            self.undetermined = str(error)

    def at(self, s: State) -> Numbers:
        n = self.nv
        accelerations = np.vstack([np.zeros((1, n)), np.eye(n), s.qdd[None]])
        still = [_all(s.q, n + 2), _all(0 * s.qd, n + 2), accelerations]
        moving = [_all(s.q, 2), _all(s.qd, 2), accelerations[[0, -1]]]
        rest, bias = np.asarray(self.inverse(*still)), np.asarray(self.inverse(*moving))
        mass = (rest[1:-1] - rest[0]).T
        found = None if self.undetermined else np.asarray(self.forward(s.q, s.qd, s.tau))
        return Numbers(mass, bias[0], bias[1], found)


def _all(x: np.ndarray, n: int) -> np.ndarray:
    return np.broadcast_to(x, (n, len(x)))


def backward_errors(ours: Numbers, mass: np.ndarray, bias: np.ndarray, terms: np.ndarray, s: State) -> dict[str, float]:
    """Against the peer's M and bias; `terms` (nv,): sums of magnitudes that make up the bias."""
    size = np.sqrt(np.outer(np.diag(mass), np.diag(mass)))
    inertial = np.abs(mass) @ np.abs(s.qdd)
    if ours.accelerations is None:  # as it must be: the peer's M has no inverse
        inverse = 0.0 if np.linalg.matrix_rank(mass, hermitian=True) < len(mass) else np.inf
    else:
        falling = np.abs(mass) @ np.abs(ours.accelerations) + terms + np.abs(s.tau)
        inverse = _ratio(mass @ ours.accelerations + bias - s.tau, falling)
    return {
        "mass": _ratio(ours.mass - mass, size),
        "bias": _ratio(ours.bias - bias, terms),
        "efforts": _ratio(ours.efforts - mass @ s.qdd - bias, terms + inertial),
        "accelerations": inverse,
    }


def _ratio(difference: np.ndarray, size: np.ndarray) -> float:
    if not difference.size:
        return 0.0
    floor = 1e-3 * float(np.abs(size).max()) + 1e-300  # of an entry that cancels, beside those that do not
    return float((np.abs(difference) / (np.abs(size) + floor)).max())


# -- MuJoCo


DOFS = (6, 3, 1, 1)  # of MuJoCo's types of joints: free, ball, slide, hinge


class MujocoPeer:
    """A compiled model without contacts, limits, constraints and actuators, in symbody's coordinates."""

    def __init__(self, path: Path) -> None:
        import mujoco

        self.mujoco = mujoco
        self.model = mujoco.MjModel.from_xml_path(str(path))
        off = mujoco.mjtDisableBit
        self.motors = self.model.nu > 0 and not self.model.opt.disableflags & int(off.mjDSBL_ACTUATION)
        self.model.opt.disableflags |= int(
            off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_EQUALITY | off.mjDSBL_ACTUATION
        )
        self.data = mujoco.MjData(self.model)

    def at(self, mech: Mechanism, s: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M, bias and magnitudes of its terms in symbody's velocities."""
        mj, model, data = self.mujoco, self.model, self.data
        data.qpos[:], turn, turn_rate = self._configuration(mech, s)
        data.qvel[:] = turn @ s.qd
        mj.mj_fwdPosition(model, data)
        mj.mj_fwdVelocity(model, data)
        mass = np.zeros((model.nv, model.nv))
        for row, unit in zip(mass, np.eye(model.nv)):
            mj.mj_mulM(model, data, row, unit)
        friction = 0.0
        if not model.opt.disableflags & int(mj.mjtDisableBit.mjDSBL_FRICTIONLOSS):
            friction = model.dof_frictionloss * np.sign(data.qvel)
        # compensation of weight that motors give: the same force, which MuJoCo counts among those of actuators, if any
        given = self.motors * np.repeat(model.jnt_actgravcomp, [DOFS[int(kind)] for kind in model.jnt_type])
        passive = data.qfrc_passive - friction + given * data.qfrc_gravcomp
        moved = mass @ (turn_rate @ s.qd)
        bias = turn.T @ (moved + data.qfrc_bias - passive)
        weight = np.abs(data.qfrc_bias) + np.abs(passive) + np.abs(moved) + np.sqrt(np.diag(mass))
        return turn.T @ mass @ turn, bias, np.abs(turn).T @ weight

    def _configuration(self, mech: Mechanism, s: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """qpos; T and dT/dt with qvel = T qd."""
        model = self.model
        qpos, turn, rate = np.zeros(model.nq), np.zeros((model.nv, mech.nv)), np.zeros((model.nv, mech.nv))
        slots = {slot.owner: slot for slot in mech.slots}
        names = [j.name for j in mech.joints if j.kind != "fixed"]
        joints = {j.name: j for j in mech.joints}
        more = names[model.njnt :]  # chains that stand for inertia of tendons: they follow, and come last
        if len(names) < model.njnt or any(joints[n].mimic is None and joints[n].mode != "locked" for n in more):
            raise ValueError(f"symbody has {len(names)} moving joints, MuJoCo {model.njnt}")
        for k, name in enumerate(names[: model.njnt]):
            joint, at, by = joints[name], int(model.jnt_qposadr[k]), int(model.jnt_dofadr[k])
            if joint.mode == "locked":
                qpos[at] = number_of(joint.values[0]) if joint.values else 0.0
                continue
            ratio, offset = 1.0, 0.0
            if joint.mimic is not None:
                ratio, offset = float(number_of(joint.mimic.ratio)), float(number_of(joint.mimic.offset))
                name = joint.mimic.joint
            slot = slots[name]
            if slot.nv == 1:
                qpos[at] = ratio * s.q[slot.iq] + offset
                turn[by, slot.iv] = ratio
            elif slot.nv == 3:
                qpos[at : at + 4] = s.q[slot.q]
                turn[by : by + 3, slot.v] = np.eye(3)
            else:  # ours: angular, linear, both in body axes; MuJoCo: linear in world axes, angular in body axes
                qpos[at : at + 7] = s.q[slot.q]
                r = _rotation(s.q[slot.q][3:])
                w = s.qd[slot.v][:3]
                turn[by : by + 3, slot.iv + 3 : slot.iv + 6] = r
                turn[by + 3 : by + 6, slot.iv : slot.iv + 3] = np.eye(3)
                rate[by : by + 3, slot.iv + 3 : slot.iv + 6] = r @ _cross(w)
        return qpos, turn, rate


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    w, v = quaternion[0], quaternion[1:]
    return np.eye(3) + 2 * w * _cross(v) + 2 * _cross(v) @ _cross(v)


def _cross(v: np.ndarray) -> np.ndarray:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


# -- Pinocchio


class PinocchioPeer:
    """Pinocchio's model of a URDF with a coordinate for every joint, projected on those that symbody keeps."""

    def __init__(self, path: Path) -> None:
        import pinocchio as pin

        self.pin = pin
        self.model = pin.buildModelFromUrdf(str(path))
        self.data = self.model.createData()

    def at(self, mech: Mechanism, s: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M, bias and magnitudes of its terms in symbody's velocities."""
        pin, model, data = self.pin, self.model, self.data
        q, turn, rate = self._configuration(mech, s)
        v, none = turn @ s.qd, np.zeros(model.nv)
        rest = pin.rnea(model, data, q, none, none).copy()
        full = np.array([pin.rnea(model, data, q, none, unit) for unit in np.eye(model.nv)])
        mass = (full - rest).T
        bias = pin.rnea(model, data, q, v, none) + mass @ (rate @ s.qd)
        laws = _joint_laws(mech, s)
        terms = np.abs(turn).T @ (np.abs(bias) + np.sqrt(np.abs(np.diag(mass)))) + np.abs(laws)
        return turn.T @ mass @ turn, turn.T @ bias + laws, terms

    def _configuration(self, mech: Mechanism, s: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pinocchio's q; T and dT/dt with its velocities = T qd."""
        model = self.model
        slots, joints = {slot.owner: slot for slot in mech.slots}, {j.name: j for j in mech.joints}
        q, turn, rate = self.pin.neutral(model), np.zeros((model.nv, mech.nv)), np.zeros((model.nv, mech.nv))
        for name, joint in list(zip(model.names, model.joints))[1:]:
            leader, ratio, offset = _leader(joints[name])
            slot = slots[leader]
            at, by = slice(joint.idx_q, joint.idx_q + joint.nq), slice(joint.idx_v, joint.idx_v + joint.nv)
            own = ratio * s.q[slot.q] + offset
            turn[by, slot.v] = ratio * np.eye(slot.nv)
            if joint.nq == 7:  # Pinocchio: quaternion (x, y, z, w), linear velocity first
                q[at] = np.r_[own[:3], own[4:], own[3]]
                turn[by, slot.v] = np.eye(6)[[3, 4, 5, 0, 1, 2]]
            elif joint.nq == 4:  # planar; its velocity is in the child's axes, ours in those of the plane
                c, sine, w = np.cos(own[2]), np.sin(own[2]), s.qd[slot.v][2]
                q[at] = own[0], own[1], c, sine
                turn[by, slot.v] = [[c, sine, 0], [-sine, c, 0], [0, 0, 1]]
                rate[by, slot.v] = w * np.array([[-sine, c, 0], [-c, -sine, 0], [0, 0, 0]])
            elif joint.nq == 2:
                q[at] = np.cos(own[0]), np.sin(own[0])
            else:
                q[at] = own
        return q, turn, rate


def _leader(joint: Joint) -> tuple[str, float, float]:
    """The joint that leads, ratio and offset; itself where it does not follow."""
    if joint.mimic is None:
        return joint.name, 1.0, 0.0
    return joint.mimic.joint, float(number_of(joint.mimic.ratio) or 0), float(number_of(joint.mimic.offset) or 0)


def _joint_laws(mech: Mechanism, s: State) -> np.ndarray:
    """(nv,) efforts of damping and dry friction, which Pinocchio reads and does not use."""
    out, slots = np.zeros(mech.nv), {slot.owner: slot for slot in mech.slots}
    for joint in mech.joints:
        leader, ratio, _ = _leader(joint)
        if leader in slots and joint.kind != "fixed":
            by = slots[leader].v
            rate = ratio * s.qd[by]
            for law, size in ((joint.viscous, rate), (joint.coulomb, np.sign(rate))):
                if law is not None:
                    out[by] += ratio * float(number_of(law) or 0) * size
    return out


# -- one file


def compare(path: Path, kind: str, label: str = "", packages: Sequence[Path] = ()) -> Outcome:
    """Read by symbody and by the peer, and compare; `packages`: folders that symbody may read besides the model's."""
    started = time.perf_counter()

    def outcome(status: str, **more: Any) -> Outcome:
        return Outcome(label, status, seconds=time.perf_counter() - started, **more)

    if kind == "mjcf" and not _is_model(path):
        return outcome("no model", reason="a part that other files include")
    peer: MujocoPeer | PinocchioPeer | None = None
    try:
        peer = MujocoPeer(path) if kind == "mjcf" else PinocchioPeer(path)
    except Exception as error:  # whatever the peer raises: it cannot read the file
        problem = " ".join(str(error).split())[:160]
    try:
        mech = sb.load(path, symbolic=False, packages=packages)
    except SymbodyError as error:
        return outcome("refused" if peer is not None else "unreadable", reason=str(error))
    if peer is None:
        return outcome("unreadable", nv=mech.nv, reason=f"the peer says: {problem}", notes=len(mech.notes))
    if mech.nv == 0:
        return outcome("equal", errors={}, notes=len(mech.notes), reason="nothing moves")
    worst: Counter[str] = Counter()
    try:
        programs = Programs(mech)
    except SymbodyError as error:
        return outcome("refused", nv=mech.nv, reason=str(error), notes=len(mech.notes))
    for state in states(mech):
        found = backward_errors(programs.at(state), *peer.at(mech, state), state)
        for what, error in found.items():
            worst[what] = max(worst[what], error if np.isfinite(error) else np.inf)
    status = "equal" if max(worst.values()) <= TOLERANCE else "differs"
    return outcome(
        status,
        nv=mech.nv,
        errors=dict(worst),
        notes=len(mech.notes),
        reason=_told(worst) if status == "differs" else programs.undetermined,
    )


def _told(worst: Mapping[str, float]) -> str:
    return ", ".join(f"{what} {error:.1e}" for what, error in worst.items())


def _is_model(path: Path) -> bool:
    """Whether a file holds <mujoco>, and sections of MJCF in it; MuJoCo reads any other as an empty world."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return bool(re.search(r"<mujoco[\s>]", text)) and not re.search(
        r"<mujoco[^>]*>\s*(<!--.*?-->\s*)*<(body|texture)\b", text
    )


def markdown(kind: str, outcomes: Sequence[Outcome]) -> str:
    """A sentence that counts, and a table with a row for each file that the peer reads."""
    by_status = Counter(o.status for o in outcomes)
    judged = [o for o in outcomes if o.status in ("equal", "differs", "refused")]
    left = [f"{by_status['no model']} are parts for others"] if by_status["no model"] else []
    left += [f"{by_status['unreadable']} are refused by the peer itself"] if by_status["unreadable"] else []
    counts = ", ".join(f"{by_status[status]} {status}" for status in ("equal", "differs", "refused"))
    said = "".join(f", {part}" for part in left)
    lines = [f"- {kind.upper()}: {len(outcomes)} files{said}; of {len(judged)}: {counts}."]
    lines += ["", "| file | velocities | backward error |", "|---|---|---|"]
    for o in judged:
        said = "nothing moves" if o.nv == 0 and o.status == "equal" else f"{o.worst:.1e}"
        said = said if o.status == "equal" else f"{o.status}: {o.reason}"
        lines.append(f"| {o.file} | {'' if o.status == 'refused' else o.nv} | {said} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="part of the path")
    parser.add_argument("--kind", choices=("mjcf", "urdf"), default=None)
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/readers.md at the end")
    options = parser.parse_args()
    for kind, files in (("urdf", urdf_files()), ("mjcf", mjcf_files())):
        outcomes = []
        for label, path, root in files if options.kind in (None, kind) else ():
            if options.only not in label:
                continue
            found = compare(path, kind, label, [root])
            outcomes.append(found)
            figures = f"{found.nv:4} {found.worst:8.1e} {found.seconds:6.1f} s"
            said = f"{found.status:10} {figures}  {label}  {found.reason}"
            print(said, file=sys.stderr if options.markdown else sys.stdout, flush=True)
        if outcomes:
            print(markdown(kind, outcomes) if options.markdown else dict(Counter(o.status for o in outcomes)))


if __name__ == "__main__":
    main()
