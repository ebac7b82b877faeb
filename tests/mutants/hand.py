"""Faults by hand: textual patches, each of which must apply once and be refused.

The first seven are those that a certificate once missed; the others are mistakes that programmers of dynamics make.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Patch:
    """In `file`, below src/symbody, the text `old` becomes `new`."""

    name: str
    file: str
    old: str
    new: str


def patched(patch: Patch, source: str) -> str:
    """The source with the patch; `old` must stand there exactly once."""
    found = source.count(patch.old)
    if found != 1:
        raise ValueError(f"{patch.name}: {patch.old!r} stands {found} times in {patch.file}; expected once.")
    return source.replace(patch.old, patch.new)


PATCHES = (
    Patch(
        "steiner_term",
        "model/spatial/inertia.py",
        "at_origin = np.asarray(tensor, dtype=object) + steiner(mass, com)",
        "at_origin = np.asarray(tensor, dtype=object)",
    ),
    Patch(
        "joint_axis",
        "mechanics/formalisms/tree.py",
        'return None, "xyz".index(letter), 1',
        'return None, "xzy".index(letter), 1',
    ),
    Patch(
        "offset_sign",
        "mechanics/formalisms/tree.py",
        "offset = origin + _turn(to_link, placement.position)",
        "offset = origin - _turn(to_link, placement.position)",
    ),
    Patch(
        "cut_frame_scaled",
        "mechanics/loops/rows/constraint_rows.py",
        "shift, turn = vec(placement.position)",
        "shift, turn = 1.001 * vec(placement.position)",
    ),
    Patch(
        "closure_shifted",
        "mechanics/loops/rows/cut_rows.py",
        "name, gap.value[k], _component(gap.columns, k)",
        "name, gap.value[k] + 1e-3, _component(gap.columns, k)",
    ),
    Patch(
        "damper_halved",
        "model/library/springs.py",
        "return -stiffness * (Z - length) - damping * Zd",
        "return -stiffness * (Z - length) - damping / 2 * Zd",
    ),
    Patch(
        "columns_of_J_zero",
        "mechanics/formalisms/jacobians.py",
        "return [_assemble(tree, columns) for columns in found]",
        "return [_assemble(tree, {}) for columns in found]",
    ),
    # -- bodies and joints
    Patch(
        "axis_of_a_vector",
        "mechanics/formalisms/tree.py",
        "np.stack([x, np.cross(z, x), z], axis=1)",
        "np.stack([x, np.cross(z, x), z], axis=0)",
    ),
    Patch("axis_against", "mechanics/formalisms/tree.py", "1 if is_one(axis[k]) else -1", "1"),
    Patch("pitch_forgotten", "mechanics/formalisms/tree.py", "link.pitch = tree.node(joint.pitch)", "link.pitch = 1"),
    Patch(
        "ratio_once",
        "mechanics/formalisms/tree.py",
        "link.reflected = inertia * ratio**2",
        "link.reflected = inertia * ratio",
    ),
    Patch(
        "rotor_counted_twice",
        "mechanics/formalisms/tree.py",
        "Inertia(0, zeros(3), -tensor)",
        "Inertia(0, zeros(3), 0 * tensor)",
    ),
    Patch(
        "mimic_offset",
        "mechanics/formalisms/tree.py",
        "ratio * tree.q[iq] + shift, ratio",
        "ratio * tree.q[iq] - shift, ratio",
    ),
    Patch(
        "locked_against",
        "mechanics/formalisms/tree.py",
        "elementary_rotation(axis, sign * value)",
        "elementary_rotation(axis, -sign * value)",
    ),
    Patch(
        "gravity_turned",
        "mechanics/formalisms/tree.py",
        "gravity=tree.node(mechanism.gravity))",
        "gravity=tree.node(mechanism.gravity)[[1, 0, 2]])",
    ),
    Patch(
        "free_rate",
        "model/record/elementary_motions.py",
        "out[:3, 3:] = matrix_from_quaternion(q[3:7])",
        "out[:3, 3:] = transpose(matrix_from_quaternion(q[3:7]))",
    ),
    Patch(
        "order_of_motions",
        "model/record/coordinates.py",
        "for u in p.motion.rates), tuple(parts),",
        "for u in p.motion.rates), tuple(parts[::-1]),",
    ),
    Patch(
        "screw_of_slide",
        "mechanics/formalisms/link_motion.py",
        "return ((angular, axis_vector(link.axis, link.advance)),)",
        "return ((angular, axis_vector(link.axis, 1)),)",
    ),
    Patch(
        "quaternion_rate",
        "model/spatial/quaternion.py",
        "[w, -z, y], [z, w, -x], [-y, x, w]]",
        "[w, z, -y], [-z, w, x], [y, -x, w]]",
    ),
    # -- laws
    Patch("spring_without_length", "model/library/springs.py", "d2 = (Z - length) ** 2", "d2 = Z**2"),
    Patch("cubic_term", "model/library/springs.py", "(stiffness + cubic * d * d) * d", "(stiffness + cubic * d) * d"),
    Patch("rope_pushes", "model/library/springs.py", "select(length < Z, minimum(", "select(length < Z, maximum("),
    Patch(
        "stribeck_level",
        "model/library/friction.py",
        "(level + (breakaway - level) * fading)",
        "(breakaway + (breakaway - level) * fading)",
    ),
    Patch(
        "coulomb_sign",
        "model/library/friction.py",
        "return -level * direction(v, width)",
        "return level * direction(v, width)",
    ),
    Patch("rest_forgotten", "mechanics/formalisms/joint_laws.py", "minus(self.q, self.rest)", "self.q"),
    Patch(
        "elastic_damping",
        "mechanics/formalisms/joint_laws.py",
        "yield JointLaw(tree.q[iq + nq - 1], tree.qd[iv + nv - 1], stiffness, 0, damping, 0, iv + nv - 1)",
        "yield JointLaw(tree.q[iq + nq - 1], tree.qd[iv], stiffness, 0, damping, 0, iv + nv - 1)",
    ),
    Patch(
        "line_against",
        "mechanics/formalisms/link_forces.py",
        "zip(line.sides, (per_length, -per_length))",
        "zip(line.sides, (per_length, per_length))",
    ),
    Patch(
        "friction_slow",
        "model/library/contact.py",
        "sqrt(speed_squared + slowest * slowest)",
        "sqrt(speed_squared + slowest)",
    ),
    # -- loops
    Patch(
        "rod_too_long",
        "mechanics/loops/rows/cut_rows.py",
        "minus(dot(gap.value, gap.value), times(length, length))",
        "minus(dot(gap.value, gap.value), times(1.001, times(length, length)))",
    ),
    Patch(
        "rod_bias",
        "mechanics/loops/rows/cut_rows.py",
        "bias = plus(dot(gap.rate, gap.rate), dot(gap.value, gap.bias))",
        "bias = dot(gap.value, gap.bias)",
    ),
    Patch(
        "rod_in_time",
        "mechanics/loops/rows/cut_rows.py",
        "plus(times(rate, rate), times(length, second))",
        "times(length, second)",
    ),
    Patch(
        "cut_force_on_first",
        "mechanics/loops/rows/cut_wrenches.py",
        "((first, -1), (second, 1))",
        "((first, 1), (second, 1))",
    ),
    Patch(
        "cut_axes",
        "mechanics/loops/rows/cut_wrenches.py",
        "cuts[cut.name] = (axes.T @ force",
        "cuts[cut.name] = (axes @ force",
    ),
    Patch(
        "coupling_in_time",
        "mechanics/loops/rows/coupling_rows.py",
        "rest = jacobian([e], [time])[0][0] if time is not None else 0",
        "rest = 0",
    ),
    # -- energies and motions
    Patch(
        "kinetic_mixed",
        "mechanics/formalisms/tree_energy.py",
        "mixed = times(2, dot(v, cross(w, s)))",
        "mixed = dot(v, cross(w, s))",
    ),
    Patch(
        "rotor_without_energy", "mechanics/formalisms/tree_energy.py", "if not is_zero(link.reflected):", "if False:"
    ),
    Patch(
        "reaction_in_link_axes",
        "mechanics/formalisms/joint_reactions.py",
        "if link.body_rotation is not None:",
        "if False:",
    ),
    Patch(
        "slide_in_turning_axes",
        "mechanics/formalisms/frame_kinematics.py",
        "        slide2 = slide2 + cross(spin, slide)\n    alpha",
        "        slide2 = slide2\n    alpha",
    ),
    Patch(
        "assembly_ends_early",
        "mechanics/assembly/assembly.py",
        "found = least_squares(problem, q, replace(RULES, tolerance=tolerance))",
        "found = least_squares(problem, q, replace(RULES, tolerance=1e-4))",
    ),
    Patch(
        "projection_not_the_nearest",
        "mechanics/loops/closing/projection.py",
        "out = {k: sum_of_products((a[k], x) for a, x in zip(free, mu, strict=True) if k in a) for k in columns}",
        "out = {k: (1 + k) * sum_of_products((a[k], x) for a, x in zip(free, mu, strict=True) if k in a) "
        "for k in columns}",
    ),
)
