"""Equations of motion of a tree of bodies, by every formalism."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "": "applied_forces prescribed vec3",
        "base_parameters": "find_base_parameters",
        "formulation": "Choice equations permitted",
        "frames": "Frame frame",
        "frame_kinematics": "frame_motions kinematic_map",
        "solve_accelerations": "driven_velocities",
        "tree": "build_tree Link Tree",
        "wrenches": "Wrenches",
    },
)
