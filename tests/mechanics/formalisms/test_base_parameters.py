"""Base parameters: published groups, counts of known robots, and the rank of Pinocchio's regressor."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from helpers.pinocchio_oracle import Peer, pin
from mechanics.formalisms.patterns import Maker, about_x, full, p2, p6a, random_inertia, random_state, random_tree
from mechanics.formalisms.test_dynamics import agree
from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.base_parameters import find_base_parameters
from symbody.mechanics.formalisms.row_echelon import ZERO, RowEchelon, ValuedTerm
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.identifiable_parameters import (
    base_parameters,
    parameter_names,
    parameter_values,
    regressor,
)
from symbody.model.files.urdf import read
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import Mimic, Rotor

URDF = Path(__file__).parents[3] / ".." / "shared" / "data" / "urdf"
FLOATING = ("anymal_b", "solo12", "talos_reduced")


def values_of(names, seed=0):
    rng = np.random.default_rng(seed)
    return dict(zip(names, rng.uniform(0.5, 1.5, len(names))))


# -- published


def planar_arm():
    """Three links along x, axes z, weight along x: theta from the downward vertical (symofros, example 4.3)."""
    m = Maker("planar", gravity=[9.81, 0, 0])
    parent = "world"
    for k in (1, 2, 3):
        offset = (f"l{k - 1}", 0, 0) if k > 1 else (0, 0, 0)
        parent = m.body(f"link{k}", "revolute", parent, "z", offset, mass=f"m{k}", com=(f"c{k}", 0, 0), inertia=full(k))
    return m.done()


def test_planar_arm_has_the_six_groups_of_the_thesis():
    mech = planar_arm()
    names = parameter_names(mech)
    candidates = [k for k, n in enumerate(names) if n.split(".")[1] in ("m", "mx", "Ixx", "Iyy", "Izz")]
    base = base_parameters(mech, candidates)
    assert [str(g) for g in base.groups] == [
        "link1.mx + l1*(link2.m + link3.m)",
        "link1.Izz + l1**2*(link2.m + link3.m)",
        "link2.mx + l2*link3.m",
        "link2.Izz + l2**2*link3.m",
        "link3.mx",
        "link3.Izz",
    ]
    assert [names[c] for c in base.columns] == [str(g).split()[0] for g in base.groups]
    # the seven that are not identifiable: m1, and the transverse inertias of all links
    expected = {"link1.m"} | {f"link{k}.{i}" for k in (1, 2, 3) for i in ("Ixx", "Iyy")}
    assert set(base.without_effect) == expected
    assert not base.numeric


def test_rx90_has_the_forty_groups_of_khalil_and_dombre():
    """The groups in the form of Khalil and Dombre, Modeling, Identification and Control of Robots.

    Written without the book at hand; the number is also the rank of Y, and tau = Y pi is checked elsewhere.
    """
    mech = p6a()
    one = mech.graph.number(1)
    motors = tuple(dataclasses.replace(j, rotor=Rotor(one, one)) for j in mech.joints)
    base = base_parameters(mech.replace(joints=motors))
    names = base.names
    v = values_of([*names, "D3", "RL4"])
    xx, yy, zz, xz = ([v.get(f"b{k}.{i}") for k in range(7)] for i in ("Ixx", "Iyy", "Izz", "Ixz"))
    mass, mx, my, mz = ([v.get(f"b{k}.{i}") for k in range(7)] for i in ("m", "mx", "my", "mz"))
    ia = [v.get(f"j_b{k}.rotor") for k in range(7)]
    d3, rl4 = v["D3"], v["RL4"]
    mr3, mr4 = sum(mass[3:]), sum(mass[4:])
    published = {
        "b1.Izz": ia[1] + zz[1] + yy[2] + d3**2 * mr3 + yy[3],
        "b2.Ixx": xx[2] - yy[2] - d3**2 * mr3, "b2.Ixz": xz[2] - d3 * mz[3], "b2.Izz": ia[2] + zz[2] + d3**2 * mr3,
        "b2.mx": mx[2] + d3 * mr3,
        "b3.Ixx": xx[3] - yy[3] + yy[4] + 2 * rl4 * mz[4] + rl4**2 * mr4,
        "b3.Izz": zz[3] + yy[4] + 2 * rl4 * mz[4] + rl4**2 * mr4, "b3.my": my[3] + mz[4] + rl4 * mr4,
        "b4.Ixx": xx[4] - yy[4] + yy[5], "b4.Izz": zz[4] + yy[5], "b4.my": my[4] - mz[5],
        "b5.Ixx": xx[5] - yy[5] + yy[6], "b5.Izz": zz[5] + yy[6], "b5.my": my[5] + mz[6],
        "b6.Ixx": xx[6] - yy[6],
    }  # fmt: skip
    alone = ["b2.Ixy b2.Iyz b2.my b3.Ixy b3.Ixz b3.Iyz b3.mx j_b3.rotor j_b4.rotor j_b5.rotor j_b6.rotor b6.Izz b6.my"]
    alone += [f"b{k}.Ixy b{k}.Ixz b{k}.Iyz b{k}.mx" for k in (4, 5, 6)]
    published.update({n: v[n] for text in alone for n in text.split()})
    assert base.count == len(published) == 40
    found = {names[c]: float(sb.evaluate(g, v)) for c, g in zip(base.columns, base.groups)}
    assert found == pytest.approx(published, rel=1e-13)


def test_puma_has_thirty_six():
    """1 + 5 * 7 for a vertical first axis and no two of the first axes parallel (Mayeda, Yoshida and Osuka 1990)."""
    assert base_parameters(p2()).count == 36


@pytest.mark.skipif(not (URDF / "index.json").is_file(), reason="the robots' files are not here")
@pytest.mark.parametrize("name", ["panda", "ur5", "ur10", "kinova_j2s6", "double_pendulum", *FLOATING])
def test_counts_of_known_robots(name):
    rows = {row["file"]: row["structural_base_parameters"] for row in json.loads((URDF / "index.json").read_text())}
    root = "free" if name in FLOATING else "fixed"
    base = base_parameters(read(URDF / f"{name}.urdf", root=root, ignore=("mimic", "dynamics")))
    assert base.count == rows[f"{name}_reference.npz"]
    assert base.residual < 1e-9
    assert base.condition < 1e3
    assert not base.notes


# -- against the rank of a regressor that nobody here wrote


def pinocchio_rank(mech, states=60):
    peer = Peer(mech)
    rng = np.random.default_rng(5)
    rows = []
    for k in range(states):
        q = random_state(mech, k)[0]
        qd, qdd = rng.normal(size=(2, mech.nv))
        rows.append(pin.computeJointTorqueRegressor(peer.model, peer.data, peer.q(q), peer.v(qd), peer.v(qdd)))
    # Pinocchio has ten columns for every motion of a joint; the last one carries the body
    last = [(j.name, len(KINDS[j.kind].motions(j)) - 1) for j in mech.joints]
    carriers = [peer.model.getJointId(f"{name}.{k}") for name, k in last]
    y = np.vstack(rows)[:, [10 * (i - 1) + k for i in carriers for k in range(10)]]
    size = np.linalg.norm(y, axis=0)
    y = y[:, size > 1e-9 * size.max()]
    singular = np.linalg.svd(y / np.linalg.norm(y, axis=0), compute_uv=False)
    rank = int(np.sum(singular > 1e-9 * singular[0]))
    assert rank == len(singular) or singular[rank] < 1e-5 * singular[rank - 1]  # the gap is no matter of taste
    return rank


def aligned_tree(seed, n):
    """Axes, offsets and weight along coordinate axes: parallel and crossing axes, all special cases near the base."""
    rng = np.random.default_rng(seed)
    m = Maker(f"aligned{seed}", gravity=[[0, 0, -9.81], [0, 0, 0], [9.81, 0, 0]][seed % 3])
    names = ["world"]
    for k in range(n):
        kind = str(rng.choice(["revolute", "revolute", "prismatic", "helical", "universal", "ball", "planar"]))
        extra = {"pitch": m.node(0.2)} if kind == "helical" else {}
        rotation = [None, None, about_x(0, 1, -1), about_x(0.6, 0.8, -0.8)][int(rng.integers(4))]
        offset = [float(x) if rng.random() < 0.4 else 0 for x in rng.normal(size=3)]
        names.append(m.body(
            f"b{k}", kind, names[-1] if rng.random() < 0.8 else names[0], "xyz"[int(rng.integers(3))], offset, rotation,
            mass=1.3, com=[0.1, -0.2, 0.3], inertia=random_inertia(rng), **extra,
        ))  # fmt: skip
    return m.done()


@pytest.mark.parametrize("seed", range(30))
def test_count_is_the_rank_of_pinocchios_regressor(seed):
    mech = aligned_tree(seed, 2 + seed % 4)
    base = base_parameters(mech)
    assert base.count == pinocchio_rank(mech)
    assert base.residual < 1e-12
    assert not base.notes  # the joints' own relations are all there are


@pytest.mark.parametrize("seed", range(12))
def test_base_columns_and_groups_give_the_torques(seed):
    """Also with mimic joints and gyroscopic rotors, whose relations may need numbers."""
    mech = random_tree(seed * 3, 2 + seed % 6)
    if mech.nv == 0:
        pytest.skip("nothing moves")
    base = base_parameters(mech)
    q, qd, qdd = random_state(mech, seed)
    state = dict(q=q, qd=qd, qdd=qdd)
    whole, part = regressor(mech, preset="none"), regressor(mech, columns=base.columns, preset="none")
    tau = whole.compile("python")(**state) @ parameter_values(mech)
    agree(part.compile("python")(**state) @ (base.matrix_at() @ parameter_values(mech)), tau, 1e-9)
    given = dict(zip(base.names, parameter_values(mech)))
    groups = [float(sb.evaluate(g, given)) for g in base.groups]
    agree(np.array(groups), base.matrix_at() @ parameter_values(mech), 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_right_angles_of_a_few_digits_leave_groups_that_hold(seed, tmp_path):
    """1.5708 and 3.14159, as files have them: directions that miss the special ones by 1e-6; links in any order."""
    rng = np.random.default_rng(seed)
    links = "".join(
        f'<link name="b{k}"><inertial><origin xyz="{x:.3f} {y:.3f} {z:.3f}"/><mass value="1.2"/><inertia ixx="0.02" '
        f'ixy="0.001" ixz="0.002" iyy="0.03" iyz="-0.001" izz="0.025"/></inertial></link>'
        for k, (x, y, z) in zip(rng.permutation(9), rng.uniform(-0.1, 0.1, (9, 3)))
    )
    joints = ""
    for k in range(8):
        angles = rng.choice(["0", "1.5708", "-1.5708", "3.14159"], 3)
        place = rng.choice(["0", "0.05", "-0.31", "0.0055"], 3)
        axis = ("1 0 0", "0 1 0", "0 0 -1")[rng.integers(3)]
        kind = "fixed" if k == 4 else "revolute"
        joints += (
            f'<joint name="j{k}" type="{kind}"><parent link="b{k}"/><child link="b{k + 1}"/><axis xyz="{axis}"/>'
            f'<origin xyz="{" ".join(place)}" rpy="{" ".join(angles)}"/>'
            '<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>'
        )
    (tmp_path / "rounded.urdf").write_text(f'<robot name="rounded">{links}{joints}</robot>')
    mech = sb.load(tmp_path / "rounded.urdf")
    inertial = list(range(10 * len(mech.bodies)))
    base = base_parameters(mech, inertial)
    rng = np.random.default_rng(99)
    q, qd, qdd = rng.uniform(-2, 2, (3, 60, mech.nv))
    y = np.asarray(regressor(mech, columns=inertial).compile("python")(q, qd, qdd)).reshape(-1, len(inertial))
    size = np.linalg.norm(y, axis=0)
    assert base.count == base.exact  # modulo a prime, without any division by small numbers
    matrix = base.matrix_at()[:, : len(inertial)]
    assert np.abs(matrix).max() < 1e4
    np.testing.assert_allclose(y[:, list(base.columns)] @ matrix, y, atol=1e-6 * size.max())


def test_groups_that_do_not_hold_are_refused():
    mech = sb.load("puma560")
    wrong = np.random.default_rng(0)
    with pytest.raises(ModelError, match=r"puma560 do not hold at random states, worst for '.*' .* nearly special"):
        find_base_parameters(
            derived_of(mech).tree(), sampled=lambda n: wrong.normal(size=(2 * n + 80, len(parameter_names(mech))))
        )


def test_a_first_axis_along_the_weight_feels_its_own_inertia_alone():
    """A vertical first axis feels one parameter, a horizontal one three (Gautier and Khalil 1990)."""
    for axis, count in (("z", 1), ("x", 3)):
        m = Maker("one")
        m.body("a", "revolute", "world", axis, mass=1.0, com=(0.1, 0.2, 0.3), inertia=full(1))
        assert base_parameters(m.done()).count == count


def test_what_a_shared_coordinate_hides_is_found_by_numbers_and_said():
    """Two geared wheels, the second turning twice as fast: their inertias are felt as J1 + 4 J2."""
    m = Maker("gear", gravity=[0, 0, -9.81])
    m.body("a", "revolute", "world", "z", mass=1.0, inertia=full(1))
    mimic = Mimic("j_a", m.node(2), m.node(0))
    m.body("b", "revolute", "world", "z", (1, 0, 0), mass=1.0, inertia=full(2), mimic=mimic)
    base = base_parameters(m.done())
    assert [str(g) for g in base.groups] == ["a.Izz + 4*b.Izz"]
    assert base.numeric == base.columns
    assert "by numbers" in base.notes[0]
    assert "note:" in str(base)


# -- the small examples of the thesis: relations between columns with symbolic coefficients (symofros 4.1, E7 to E9)


def relations(rows, names):
    """Rows are coefficients of one function of the state each; the relations express a column by those before it."""
    with sb.Graph():
        values = {n: 0.3 + 0.7 * k for k, n in enumerate(names.split(), 1)}
        symbols = {n: sb.symbols(n, role="parameter") for n in values}

        def term(text):
            node = sb.parse(text, symbols) if isinstance(text, str) else text
            value = float(sb.evaluate(node, values)) if isinstance(node, sb.Node) else float(node)
            return ValuedTerm(node, value) if value else ZERO

        table = [{k: t for k, t in enumerate(map(term, row)) if t.value} for row in rows]
        size = len(rows[0])
        return [{k: str((-t).node) for k, t in row.items()} for row in RowEchelon(table).null_space(size)]


def test_a_column_is_grouped_with_quotients_of_constants():
    found = relations([["c1", 0, "c3"], [0, "c2", "c4"]], "c1 c2 c3 c4")
    assert found == [{2: "-1", 0: "c3/c1", 1: "c4/c2"}]


def test_columns_that_differ_by_a_length_are_one():
    assert relations([[1, "L"], [1, "L"]], "L") == [{1: "-1", 0: "L"}]


def test_constants_decide_whether_a_column_is_independent():
    """The erratum of the thesis: the third column depends on the others if b = c2 / c1, not a."""
    functions = [[1, 0, "a"], [0, 1, "b"], [1, 0, "a"]]
    assert relations([*functions, [0, "c1", "c2"]], "a b c1 c2") == []
    assert relations([*functions, [0, "c1", "b*c1"]], "a b c1") == [{2: "-1", 0: "a", 1: "b"}]
