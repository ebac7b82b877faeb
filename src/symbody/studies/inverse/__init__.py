"""Motion that is asked for: inverse kinematics, paths, sensitivities."""
