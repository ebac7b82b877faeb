"""What a writer writes is read again and is the same mechanism: every bundled model, every kind of joint, any names."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError
from symbody.model.load import FOLDER, FORMATS, write_file
from symbody.model.record.joints import KINDS
from symbody.model.record.numbers import number_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.robot_files import Programs, states

SUFFIXES = [row.suffixes[0] for row in FORMATS.values() if row.write is not None]
FILES = [p.relative_to(FOLDER).with_suffix("") for p in FOLDER.glob("**/*.yaml")]
BUNDLED = sorted(p.as_posix() for p in FILES if "parts" not in p.parts)
MOVED = ("delta", "n_four_bar", "slider_crank", "stewart_light", "three_rrr_3", "ur5")
MOTIONS_IT_LACKS = {".urdf": {"ball", "helical", "y"}, ".mbs": {"ball", "helical", "y", "free"}}


def chains(first: sb.Mechanism, second: sb.Mechanism) -> tuple[list[int], list[int]]:
    """Coordinates and velocities of the second in the order of the first: a joint may have become a chain."""
    slots = {s.owner: s for s in second.slots}
    q, v = [], []
    for slot in first.slots:
        joint = first.joint(slot.owner)
        chain = [second.carried_by[joint.child]]
        while chain[0].parent != joint.parent:
            chain.insert(0, second.carried_by[chain[0].parent])
        for part in chain:
            if part.name in slots:
                q += range(slots[part.name].iq, slots[part.name].iq + slots[part.name].nq)
                v += range(slots[part.name].iv, slots[part.name].iv + slots[part.name].nv)
    return q, v


def difference(first: sb.Mechanism, second: sb.Mechanism) -> float:
    """Largest relative difference of mass matrices and of efforts by weight and motion, of the trees alone."""
    nothing = {"forces": (), "cuts": (), "couplings": (), "sensors": (), "keyframes": ()}
    plain = [m.replace(joints=tuple(map(_lawless, m.joints)), **nothing) for m in (first, second)]
    weight = [[number_of(g) for g in m.gravity] for m in plain]
    q, v = chains(*plain)
    assert sorted(v) == list(range(second.nv))
    one, two = (Programs(m) for m in plain)
    worst = 0.0
    for s in states(plain[0], 2):
        moved = {"q": np.empty_like(s.q)} | {k: np.empty_like(s.qd) for k in ("qd", "qdd", "tau")}
        moved["q"][q] = s.q
        for k in ("qd", "qdd", "tau"):
            moved[k][v] = getattr(s, k)
        a, b = one.at(s), two.at(replace(s, **moved))
        worst = max(worst, float(np.abs(a.mass - b.mass[np.ix_(v, v)]).max() / np.abs(a.mass).max()))
        if weight[0] == weight[1]:  # URDF has no gravity
            worst = max(worst, float(np.abs(a.efforts - b.efforts[v]).max() / np.abs(a.efforts).max()))
    return worst


def _lawless(joint):
    """Without laws that not every format has words for."""
    mode = "actuated" if joint.mode == "driven" else joint.mode
    value = () if joint.mode == "driven" else joint.value
    return replace(joint, stiffness=None, rest=None, viscous=None, coulomb=None, rotor=None, mode=mode, value=value)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_model_is_read_again(name, suffix, tmp_path):
    mech = sb.load(name)
    if suffix == ".mbs" and any(j.kind == "free" for j in mech.joints):
        with pytest.raises(ModelError, match="has a free motion, which ROBOTRAN has not"):
            sb.save(mech, tmp_path / "model.mbs")
        return
    again = sb.load(sb.save(mech, tmp_path / f"model{suffix}"))
    assert again.nv == mech.nv
    if name in MOVED:
        assert difference(mech, again) < 1e-12


def namesakes(kind: str) -> sb.Mechanism:
    """Links, joints, frames, cuts and forces that are all called alike, or as writers call what they make up."""
    b = sb.Mechanism.builder("w")
    more = {"pitch": 0.1} if KINDS[kind].pitched else {}
    more |= {"axis": (0, 0.6, 0.8)} if KINDS[kind].needs_axis else {}
    names = ("j", "j_1", "j_2", "j_3", "j_1_")
    for parent, name in zip(("world", *names), names):
        frames = {"j_2": (0, 0, 1), "tip": (0, 1, 0), "j": (1, 1, 1)}
        b.body(name, 1, (0, 0.1, 0.2), (0.1, 0.12, 0.13), frames=frames)
        own = "ball" if kind == "free" and parent != "world" else kind
        place = () if own == "free" else ((0, 0.2, 0.3), ("x", 0.3))
        b.joint(name, own, parent, name, *place, **(more if own == kind else {}))
    b.body("j.tip", 1, (0, 0.1, 0), (0.1, 0.1, 0.1))
    b.joint("j_2_", "revolute", "j", "j.tip", (0, 0, 0.1), axis="x", mode="locked", value=0.2)
    b.body("w", 1, (0.1, 0, 0), (0.1, 0.1, 0.1)).joint("world", "prismatic", "j.tip", "w", axis="x")
    b.cut("j_2", "ball", ("j", "tip"), ("j_3", "tip")).cut("w", "solid", ("j", "tip"), ("j_3", "j"))
    return b.force("j_2", "spring_damper", ["j.tip", "j_3.j"], stiffness=3.0, length=1).done()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", ["cylindrical", "universal", "planar", "ball", "y", "schoenflies", "free"])
def test_names_that_meet_are_kept_from_each_other(kind, suffix, tmp_path):
    mech = namesakes(kind)
    path = tmp_path / f"model{suffix}"
    if kind in MOTIONS_IT_LACKS.get(suffix, ()) or (suffix == ".urdf" and kind == "free"):
        with pytest.raises(ModelError, match=r"expected hinges|expected rotations"):
            sb.save(mech, path)
        return
    lost = write_file(mech, path)
    again = sb.load(path)
    assert difference(mech, again) < 1e-12
    kept = [c.kind for c in mech.cuts if not any(x.startswith(f"cut {c.name}") for x in lost)]
    assert [c.kind for c in again.cuts] == kept


def test_links_joints_cuts_and_frames_of_sdf_have_different_names(tmp_path):
    """As SDFormat has it; and the names that had to change are told."""
    import re

    path = tmp_path / "model.sdf"
    lost = write_file(namesakes("planar"), path)
    names = re.findall(r'<(?:link|joint|frame) name="([^"]*)"', path.read_text())
    assert len(names) == len(set(names)) > 20
    assert "name of joint j, which something else has too: it is called j_joint" in lost
    assert "name of cut w, which something else has too: it is called w_cut" in lost


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_cuts_may_be_called_like_laws_that_writers_make(suffix, tmp_path):
    b = sb.Mechanism.builder("m")
    for name in "abc":
        b.body(name, 1, (0, 0.1, 0.2), (0.1, 0.12, 0.13))
    b.joint("j", "revolute", "world", "a").joint("k", "revolute", "a", "b", (0, 0, 1), mimic=("j", 2, 0.1))
    b.joint("screw", "prismatic", "b", "c", (0, 0, 1))
    mech = b.cut("k_follows", "ball", ("a", ""), ("c", "")).cut("j", "solid", ("b", ""), ("a", "")).done()
    path = tmp_path / f"model{suffix}"
    if suffix == ".mbs":
        with pytest.raises(ModelError, match="ROBOTRAN has no followers"):
            sb.save(mech, path)
        return
    lost = write_file(mech, path)
    again = sb.load(path)
    assert difference(mech, again) < 1e-12
    assert len(again.cuts) == (0 if suffix == ".urdf" else 2), lost
