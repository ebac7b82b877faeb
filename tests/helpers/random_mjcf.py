"""Random MJCF files over what the reader supports, compared with MuJoCo: the finder of wrong readings.

    python tests/helpers/random_mjcf.py 0:500          one line for each file that differs or is refused
    python tests/helpers/random_mjcf.py 17 --show      the file itself

M, bias, efforts and accelerations are compared as in benchmarks/robot_files.py; then residuals of cuts and couplings,
the forces of actuators, and keyframes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.robot_files import DOFS, MujocoPeer, compare, states

import symbody as sb
from helpers.mechanism_numbers import Numbers

TOLERANCE = 1e-9
SHAPES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
TETRAHEDRON = "0 0 0 .3 .02 0 .05 .4 .01 .03 .06 .5"


class File:
    """Writes one random model; `rng` decides all."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.degrees = self.chance(0.6)
        self.classes: list[str] = []
        self.hinges: list[str] = []
        self.bodies: list[str] = []
        self.sites: list[str] = []
        self.tendons: dict[str, str] = {}
        self.moving: list[tuple[str, str]] = []  # joints in MuJoCo's order: name, type
        self.count = 0
        self.fluid = self.chance(0.25)
        self.copied = False

    # -- chance

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def one(self, *of: str) -> str:
        return str(of[self.rng.integers(len(of))])

    def numbers(self, n: int, low: float = -1.0, high: float = 1.0) -> str:
        digits = int(self.rng.integers(1, 7))
        return " ".join(f"{x:.{digits}g}" for x in self.rng.uniform(low, high, n))

    def name(self, what: str) -> str:
        self.count += 1
        return f"{what}{self.count}x"  # with a number behind it, it is the name of no other: MuJoCo would take that one

    def angle(self, rad: float) -> str:
        return f"{np.rad2deg(rad) if self.degrees else rad:.6g}"

    def angles(self, n: int) -> str:
        return " ".join(self.angle(x) for x in self.rng.uniform(-3, 3, n))

    def orientation(self, p: float = 0.6) -> str:
        if not self.chance(p):
            return ""
        way = self.one("quat", "axisangle", "euler", "xyaxes", "zaxis")
        given = {
            "quat": lambda: self.numbers(4, 0.1, 1),
            "axisangle": lambda: f"{self.numbers(3, 0.1, 1)} {self.angles(1)}",
            "euler": lambda: self.angles(3),
            "xyaxes": lambda: f"{self.numbers(3, 0.1, 1)} {self.numbers(3, -1, -0.1)}",
            "zaxis": lambda: self.numbers(3, -1, 1),
        }[way]()
        return f'{way}="{given}"'

    def maybe(self, p: float, text: str) -> str:
        return text if self.chance(p) else ""

    def given(self, p: float, key: str, value: object) -> str:
        """An attribute, sometimes."""
        return f'{key}="{value}"' if self.chance(p) else ""

    # -- sections

    def compiler(self) -> str:
        given = [f'angle="{"degree" if self.degrees else "radian"}"']
        sequence = "".join(self.rng.choice(list("xyzXYZ"), 3))
        given.append(self.maybe(0.5, f'eulerseq="{sequence}"'))
        given.append(self.maybe(0.2, f'inertiafromgeom="{self.one("true", "auto")}"'))
        given.append(self.maybe(0.15, f'boundmass="{self.numbers(1, 0.1, 1)}"'))
        given.append(self.maybe(0.15, f'boundinertia="{self.numbers(1, 0.001, 0.1)}"'))
        given.append(self.maybe(0.15, 'balanceinertia="true"'))
        given.append(self.maybe(0.1, f'settotalmass="{self.numbers(1, 1, 20)}"'))
        given.append(self.maybe(0.1, 'discardvisual="true"'))
        given.append(self.maybe(0.1, f'fusestatic="{self.one("true", "false")}"'))
        given.append(self.maybe(0.15, 'alignfree="true"'))
        given.append(self.maybe(0.1, 'fitaabb="true"'))
        given.append(self.maybe(0.1, 'inertiagrouprange="0 3"'))
        return f"<compiler {' '.join(filter(None, given))}/>"

    def option(self) -> str:
        flags = [f'{flag}="disable"' for flag in ("gravity", "spring", "damper", "frictionloss") if self.chance(0.08)]
        fluid = f'density="{self.numbers(1, 1, 1200)}" viscosity="{self.numbers(1, 0, 3)}"' if self.fluid else ""
        wind = self.maybe(0.5, f'wind="{self.numbers(3)}"') if self.fluid else ""
        gravity = self.maybe(0.4, f'gravity="{self.numbers(3, -10, 10)}"')
        inner = f"<flag {' '.join(flags)}/>" if flags else ""
        return f'<option timestep="0.002" {gravity} {fluid} {wind}>{inner}</option>'

    def defaults(self) -> str:
        def inside(depth: int) -> str:
            joint = [
                self.given(0.5, "damping", self.numbers(1, 0, 2)),
                self.given(0.3, "armature", self.numbers(1, 0, 1)),
            ]
            joint.append(self.given(0.3, "axis", self.numbers(3, 0.1, 1)))
            joint.append(self.maybe(0.3, 'stiffness="2" springref="0.1"'))
            geom = [self.given(0.5, "density", self.numbers(1, 100, 3000)), self.orientation(0.3)]
            parts = [f"<joint {' '.join(joint)}/>", f"<geom {' '.join(geom)}/>"]
            parts.append(self.maybe(0.3, f'<site pos="{self.numbers(3)}"/>'))
            parts.append(self.maybe(0.2, f'<tendon stiffness="{self.numbers(1, 1, 9)}"/>'))
            parts.append(self.maybe(0.2, f'<position kp="{self.numbers(1, 1, 9)}"/><general gear="2"/>'))
            for _ in range(int(self.rng.integers(0, 3)) if depth < 3 else 0):
                name = self.name("class")
                self.classes.append(name)
                parts.append(f'<default class="{name}">{inside(depth + 1)}</default>')
            return "".join(parts)

        if not self.chance(0.7):
            return ""
        return f"<default {self.given(0.4, 'class', 'main')}>{inside(0)}</default>"

    def classed(self, what: str = "class", p: float = 0.3) -> str:
        return f'{what}="{self.one(*self.classes)}"' if self.classes and self.chance(p) else ""

    def asset(self) -> str:
        rules = [
            f'<mesh name="solid" vertex="{TETRAHEDRON}" inertia="{self.one("legacy", "exact", "convex", "shell")}" '
            f"{self.given(0.4, 'scale', self.numbers(3, 0.2, 2))} "
            f"{self.given(0.3, 'refpos', self.numbers(3))} "
            f"{self.given(0.3, 'refquat', self.numbers(4, 0.1, 1))}/>"
        ]
        return f'<asset><material name="steel" rgba=".5 .5 .5 1"/>{"".join(rules)}</asset>'

    # -- bodies

    def geom(self) -> str:
        if self.chance(0.15):
            kind = self.one("mesh", *SHAPES)
            fit = self.maybe(0.3, f'fitscale="{self.numbers(1, 0.5, 2)}"') if kind != "mesh" else ""
            place = f'pos="{self.numbers(3)}" {self.orientation()}'
            return f'<geom type="{kind}" mesh="solid" {place} {fit} {self.mass()} {self.wet()}/>'
        kind = self.one(*SHAPES)
        size = self.numbers(SHAPES[kind], 0.05, 0.5)
        place = f'pos="{self.numbers(3)}" {self.orientation()}'
        if kind != "sphere" and self.chance(0.3):
            place, size = f'fromto="{self.numbers(6)}"', self.numbers(1, 0.05, 0.3)
        shell = kind != "ellipsoid" and self.chance(0.1)
        return (
            f'<geom type="{kind}" size="{size}" {place} {self.mass()} {self.classed()} {self.wet()} '
            f"{self.given(0.2, 'group', self.rng.integers(0, 5))} {self.given(float(shell), 'shellinertia', 'true')} "
            f"{self.given(0.2, 'contype', 0)}/>"
        )

    def wet(self) -> str:
        if not self.fluid or not self.chance(0.4):
            return ""
        return 'fluidshape="ellipsoid"' + self.maybe(0.5, f' fluidcoef="{self.numbers(5, 0, 2)}"')

    def mass(self) -> str:
        return self.one(f'mass="{self.numbers(1, 0.1, 3)}"', f'density="{self.numbers(1, 100, 3000)}"', "", "")

    def inertial(self) -> str:
        place = f'pos="{self.numbers(3)}" mass="{self.numbers(1, 0.2, 5)}"'
        if self.chance(0.5):
            return f'<inertial {place} {self.orientation()} diaginertia="{self.numbers(3, 0.2, 0.39)}"/>'
        return f'<inertial {place} fullinertia="{self.numbers(3, 0.3, 0.39)} {self.numbers(3, -0.05, 0.05)}"/>'

    def joint(self, kind: str) -> str:
        name = self.name("j")
        self.moving.append((name, kind))
        axial = kind in ("hinge", "slide")
        laws = [
            self.maybe(0.3, f'damping="{self.numbers(1, 0, 3)}"'),
            self.maybe(0.1 if axial else 0.01, f'damping="{self.numbers(3, 0, 3)}"'),
            self.maybe(0.3 if kind != "ball" else 0.05, f'armature="{self.numbers(1, 0, 2)}"'),
            self.maybe(0.15, f'frictionloss="{self.numbers(1, 0, 2)}"') if kind != "free" else "",
        ]
        if laws[0]:
            laws[1] = ""
        if not axial and not laws[2]:
            laws[2] = 'armature="0"'
        if axial:
            self.hinges.append(name)
            angle = self.angles if kind == "hinge" else self.numbers
            laws.append(self.maybe(0.3, f'stiffness="{self.numbers(1, 0, 9)}" springref="{angle(1)}"'))
            laws.append("" if laws[-1] else self.maybe(0.1, f'stiffness="{self.numbers(3, 0, 9)}"'))
            laws.append(self.maybe(0.3, f'ref="{angle(1)}"'))
            laws.append(self.maybe(0.1, f'springdamper="{self.numbers(2, 0.1, 1)}"'))
            low, high = sorted(self.rng.uniform(-2, 2, 2))
            convert = self.angle if kind == "hinge" else str
            laws.append(self.maybe(0.3, f'range="{convert(low)} {convert(high)}"'))
            laws.append(self.given(0.1, "actuatorgravcomp", "true"))
        else:
            laws.append(self.maybe(0.25, f'stiffness="{self.numbers(1, 0, 9)}"'))
        where = "" if kind == "free" else f'pos="{self.numbers(3)}" '
        axis = f'axis="{self.numbers(3, 0.05, 1)}"' if kind in ("hinge", "slide") and self.chance(0.8) else ""
        return (
            f'<joint name="{name}" type="{kind}" {where if self.chance(0.6) else ""} {axis} {self.classed()} '
            f"{' '.join(filter(None, laws))}/>"
        )

    def body(self, depth: int, left: list[int]) -> str:
        """One body with its children; `left`: how many may still be made."""
        left[0] -= 1
        name = self.name("b") if self.chance(0.9) else ""
        if name:
            self.bodies.append(name)
        parts: list[str] = []
        joints = ""
        if depth == 0 and self.chance(0.25):
            if self.chance(0.5):
                free = self.name("f")
                self.moving.append((free, "free"))
                joints = f'<freejoint name="{free}" {self.given(0.2, "align", "true")}/>'
            else:
                joints = self.joint("free")
        elif self.chance(0.85):
            kinds = ["ball"] if self.chance(0.2) else [self.one("hinge", "hinge", "slide")
                                                       for _ in range(int(self.rng.integers(1, 4)))]  # fmt: skip
            joints = "".join(self.joint(kind) for kind in kinds)
        geoms = "".join(self.geom() for _ in range(int(self.rng.integers(1, 4))))
        weight = self.inertial() if self.chance(0.5) else ""
        sites = ""
        for _ in range(int(self.rng.integers(0, 3))):
            site = self.name("s")
            self.sites.append(site)
            sites += f'<site name="{site}" pos="{self.numbers(3)}" {self.orientation()} {self.classed()}/>'
        parts = [joints, weight, geoms, sites]
        if self.chance(0.2):
            parts.append('<camera pos="0 0 1"/><light pos="0 0 3"/>')
        while left[0] > 0 and self.chance(0.6):
            child = self.body(depth + 1, left)
            if self.chance(0.2):
                child = (
                    f'<frame pos="{self.numbers(3)}" {self.orientation()} {self.classed("childclass")}>{child}</frame>'
                )
            parts.append(child)
        extra = [
            self.classed("childclass"),
            self.given(0.1 if depth == 0 and not joints else 0, "mocap", "true"),
            self.maybe(0.15, f'gravcomp="{self.numbers(1, 0, 2)}"'),
        ]
        title = f'name="{name}"' if name else ""
        return f'<body {title} pos="{self.numbers(3)}" {self.orientation()} {" ".join(extra)}>{"".join(parts)}</body>'

    def copies(self) -> str:
        """A <replicate>: names inside have numbers behind them, so that nothing else refers to them."""
        kept = list(self.hinges), list(self.bodies), list(self.sites), list(self.moving)
        inner = self.body(1, [int(self.rng.integers(1, 3))])
        self.hinges, self.bodies, self.sites, self.moving = (list(k) for k in kept)
        self.copied = True
        sep = self.maybe(0.5, 'sep="_"')
        turn = self.maybe(0.7, f'euler="{self.angles(3)}"')
        return (
            f'<replicate count="{self.rng.integers(1, 4)}" offset="{self.numbers(3)}" {turn} {sep}>{inner}</replicate>'
        )

    # -- what acts between them

    def tendon(self) -> str:
        out = []
        for _ in range(int(self.rng.integers(0, 4))):
            name = self.name("t")
            laws = [self.maybe(0.5, f'stiffness="{self.numbers(1, 1, 30)}"'),
                    self.maybe(0.5, f'damping="{self.numbers(1, 0, 3)}"'),
                    self.maybe(0.05, f'armature="{self.numbers(1, 0, 2)}"'),
                    self.maybe(0.2, f'springlength="{self.numbers(1, 0, 1)}"'), self.classed()]  # fmt: skip
            if not laws[0]:
                laws.append(self.maybe(0.2, 'stiffness="3 2 1"'))
            if self.chance(0.2):
                low, high = sorted(self.rng.uniform(0, 3, 2))
                laws[3] = f'springlength="{low} {high}"'
            given = " ".join(filter(None, laws))
            if self.chance(0.5) and len(self.hinges) > 1:
                chosen = self.rng.choice(self.hinges, min(len(self.hinges), 3), replace=False)
                inner = "".join(f'<joint joint="{j}" coef="{self.numbers(1)}"/>' for j in chosen)
                out.append(f'<fixed name="{name}" {given}>{inner}</fixed>')
                self.tendons[name] = "fixed"
            elif len(self.sites) > 2:
                chosen = self.rng.choice(self.sites, min(len(self.sites), int(self.rng.integers(2, 6))), replace=False)
                inner = ""
                for k, s in enumerate(chosen):
                    inner += f'<site site="{s}"/>'
                    if 0 < k < len(chosen) - 2 and self.chance(0.3):
                        inner += f'<pulley divisor="{self.rng.integers(1, 4)}"/><site site="{s}"/>'
                out.append(f'<spatial name="{name}" {given}>{inner}</spatial>')
                self.tendons[name] = "spatial"
        return f"<tendon>{''.join(out)}</tendon>" if out else ""

    def equality(self) -> str:
        out, rest = [], list(self.hinges)
        for _ in range(int(self.rng.integers(0, 3))):
            kind = self.one("joint", "joint", "connect", "weld", "tendon")
            title = f'name="{self.name("e")}"'
            if kind == "joint" and len(rest) > 1:
                one, two = self.rng.choice(rest, 2, replace=False)
                rest.remove(one)
                second = self.maybe(0.8, f'joint2="{two}"')
                poly = self.maybe(0.7, f'polycoef="{self.numbers(1)} {self.numbers(1)} 0 0 0"')
                poly = f'polycoef="{self.numbers(5)}"' if second and self.chance(0.2) else poly
                out.append(f'<joint {title} joint1="{one}" {second} {poly}/>')
            elif kind == "tendon":
                fixed = [t for t, k in self.tendons.items() if k == "fixed"]
                if fixed:
                    out.append(f'<tendon {title} tendon1="{fixed[0]}" polycoef="{self.numbers(1)}"/>')
            elif kind == "connect" and len(self.bodies) > 1:
                one, two = self.rng.choice(self.bodies, 2, replace=False)
                out.append(
                    f'<connect {title} body1="{one}" {self.given(0.7, "body2", two)} anchor="{self.numbers(3)}"/>'
                )
            elif kind == "weld" and len(self.bodies) > 1:
                one, two = self.rng.choice(self.bodies, 2, replace=False)
                relative = self.maybe(0.4, f'relpose="{self.numbers(3)} {self.numbers(4, 0.1, 1)}"')
                anchor = self.maybe(0.4, f'anchor="{self.numbers(3)}"')
                out.append(f'<weld {title} body1="{one}" body2="{two}" {relative} {anchor}/>')
            elif len(self.sites) > 1:
                one, two = self.rng.choice(self.sites, 2, replace=False)
                out.append(f'<{self.one("connect", "weld")} {title} site1="{one}" site2="{two}"/>')
        return f"<equality>{''.join(out)}</equality>" if out else ""

    def actuator(self) -> str:
        out = []
        for _ in range(int(self.rng.integers(0, 4))):
            targets = [f'joint="{j}"' for j in self.hinges] + [f'tendon="{t}"' for t in self.tendons]
            on_joint = bool(self.hinges) and self.chance(0.7)
            targets = targets[: len(self.hinges)] if on_joint else targets
            if not targets:
                break
            laws = [self.maybe(0.4, f'gear="{self.numbers(1, 0.5, 3)}"'), self.maybe(0.2, self.classed()),
                    self.maybe(0.2 if on_joint else 0.02, f'armature="{self.numbers(1, 0, 1)}"'),
                    self.maybe(0.2, f'damping="{self.numbers(int(self.rng.integers(1, 4)), 0, 1)}"')]  # fmt: skip
            kind = self.one("motor", "position", "velocity", "general", "damper")
            law = {
                "motor": "",
                "position": f'kp="{self.numbers(1, 1, 9)}" {self.one("kv", "dampratio")}="{self.numbers(1, 0, 2)}"',
                "velocity": f'kv="{self.numbers(1, 1, 9)}"',
                "general": f'gainprm="{self.numbers(1, 1, 5)}" biastype="affine" biasprm="{self.numbers(3, -3, 3)}"',
                "damper": f'kv="{self.numbers(1, 0, 3)}" ctrlrange="0 9"',
            }[kind]
            out.append(f'<{kind} name="{self.name("a")}" {self.one(*targets)} {" ".join(filter(None, laws))} {law}/>')
        return f"<actuator>{''.join(out)}</actuator>" if out else ""

    def keyframe(self) -> str:
        if self.copied or not self.moving or not self.chance(0.3):
            return ""
        q: list[float] = []
        for _, kind in self.moving:
            q += list(self.rng.uniform(-1, 1, {"free": 7, "ball": 4}.get(kind, 1)))
        return f'<keyframe><key name="home" qpos="{" ".join(map(str, q))}"/></keyframe>'

    def text(self) -> str:
        parts = [self.compiler(), self.option(), self.defaults(), self.asset()]
        left = [int(self.rng.integers(1, 7))]
        trees = []
        while left[0] > 0:
            trees.append(self.body(0, left))
        if self.chance(0.15):
            trees.append(self.copies())
        site = self.name("s")
        self.sites.append(site)
        world = f'<geom type="plane" size="1 1 1"/><site name="{site}" pos="{self.numbers(3)}"/>{"".join(trees)}'
        parts.append(f"<worldbody>{world}</worldbody>")
        parts += [self.tendon(), self.equality(), self.actuator(), self.keyframe()]
        return '<mujoco model="random">\n' + "\n".join(filter(None, parts)) + "\n</mujoco>\n"


def random_mjcf(seed: int) -> str:
    """The text of a random model."""
    return File(seed).text()


# -- comparison


def judge(path: Path) -> tuple[str, str]:
    """(status, reason): "equal", "differs", "refused", "unreadable" for MuJoCo."""
    found = compare(path, "mjcf")
    if found.status != "equal" or found.nv == 0:
        return found.status, found.reason
    mech = sb.load(path, symbolic=False)
    for check in (_cuts, _actuators):
        reason = check(path, mech)
        if reason:
            return "differs", reason
    return "equal", ""


def _cuts(path: Path, mech: sb.Mechanism) -> str:
    """Frames of cuts are as far apart as MuJoCo's."""
    import mujoco

    if not mech.cuts:
        return ""
    peer = MujocoPeer(path)
    model, data = peer.model, peer.data
    model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_EQUALITY)
    for s in states(mech, 1, 3):
        data.qpos[:], _, _ = peer._configuration(mech, s)
        mujoco.mj_forward(model, data)
        ours = Numbers(mech, s.q)
        at = {}
        for row in range(data.ne):
            at.setdefault(int(data.efc_id[row]), row)
        for cut in mech.cuts:
            (_, p1), (_, p2) = ours.frame(*cut.first), ours.frame(*cut.second)
            k = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_EQUALITY, cut.name)
            if k not in at:
                continue  # between bodies at rest
            theirs = data.efc_pos[at[k] : at[k] + 3]
            if not np.allclose(np.abs(p1 - p2), np.abs(theirs), atol=1e-9 * (1 + np.abs(p1).max())):
                return f"cut {cut.name}: {p1 - p2} against {theirs}"
    return ""


def _actuators(path: Path, mech: sb.Mechanism) -> str:
    """Forces of actuators with laws, at random controls."""
    import mujoco

    peer = MujocoPeer(path)
    model, data = peer.model, peer.data
    if not model.nu:
        return ""
    laws = sb.load(path, symbolic=False, actuators="laws")
    plain = sb.inverse_dynamics(mech, "newton_euler", loops=False).compile("python")
    driven = sb.inverse_dynamics(laws, "newton_euler", loops=False).compile("python")
    left = " ".join(n for n in laws.notes if "<actuator> was left out" in n)
    model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    for limited in ("actuator_ctrllimited", "actuator_forcelimited", "jnt_actfrclimited", "tendon_actfrclimited"):
        getattr(model, limited)[:] = 0  # the notes say that ranges were left out
    rng = np.random.default_rng(5)
    for s in states(mech, 2, 4):
        data.qpos[:], turn, _ = peer._configuration(mech, s)
        data.qvel[:] = turn @ s.qd
        controls = {}
        for k in range(model.nu):
            name = model.actuator(k).name
            data.ctrl[k] = rng.uniform(0, 1)
            if f"'{name}'" in left:
                data.ctrl[k] = 0.0
                if model.actuator_biastype[k] or model.actuator_gaintype[k]:
                    return ""  # it pushes, and the notes say that it was left out
            else:
                controls[f"u_{name}"] = data.ctrl[k]
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_fwdActuation(model, data)
        weight = np.repeat(model.jnt_actgravcomp, [DOFS[int(kind)] for kind in model.jnt_type]) * data.qfrc_gravcomp
        given = turn.T @ (data.qfrc_actuator - weight)  # less what bears weights, which is among the bias
        ours = np.asarray(plain(s.q, s.qd, s.qdd)) - np.asarray(driven(q=s.q, qd=s.qd, qdd=s.qdd, **controls))
        size = 1 + np.abs(given).max() + np.abs(np.asarray(plain(s.q, s.qd, s.qdd))).max()
        if not np.allclose(ours, given, rtol=0, atol=1e-9 * size):
            return f"actuators: {ours} against {given}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("seeds", help="first:last, or one")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    first, _, last = options.seeds.partition(":")
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(int(first), int(last or int(first) + 1)):
            path = Path(folder) / "model.xml"
            path.write_text(random_mjcf(seed))
            if options.show:
                print(path.read_text())
            try:
                status, reason = judge(path)
            except Exception as error:  # whatever it is, the file is named
                status, reason = "raised", f"{type(error).__name__}: {error}"
            counts[status] += 1
            if status != "equal":
                print(f"{seed:5} {status:10} {' '.join(reason.split())[:260]}", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
