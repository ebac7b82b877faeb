"""Words that other programs have for what is called otherwise here: what to write is said where they are met.

One table for each place where such a word may stand; capitals do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from symbody.basics.errors import nearest

_INVERSE = "sb.inverse_dynamics(mech)"
_FORWARD = "sb.forward_dynamics(mech)"
_MATRIX = "sb.semi_explicit(mech), with M and c"
_FRAME = "sb.kinematics(mech, frame), with R, p and J"
_LOAD = "sb.load(path)"
_BUILD = "sb.Mechanism.builder(name), or a model file"
_RUN = "sb.simulate(mech, duration)"
_CONTROL = "symbody.studies.control, see docs/analysis.md"

# sb.<word>: of Pinocchio, MuJoCo, SymPy, SciPy, Modelica
VERBS = {
    "rnea": _INVERSE, "mj_inverse": _INVERSE, "inversedynamics": _INVERSE,
    "aba": _FORWARD, "mj_forward": _FORWARD, "forwarddynamics": _FORWARD,
    "crba": _MATRIX, "mass_matrix": _MATRIX, "massmatrix": _MATRIX, "inertia_matrix": _MATRIX, "nle": _MATRIX,
    "nonlinear_effects": _MATRIX, "bias": _MATRIX, "mj_fullm": _MATRIX,
    "fk": _FRAME, "forward_kinematics": _FRAME, "forwardkinematics": _FRAME, "framesforwardkinematics": _FRAME,
    "frame_placement": _FRAME, "pose": _FRAME,
    "jacobian": f"{_FRAME}; derivatives of a System are system.jacobian(output, variable)",
    "jac": _FRAME, "frame_jacobian": _FRAME, "getframejacobian": _FRAME, "mj_jac": _FRAME,
    "ik": "sb.inverse_kinematics(mech, {frame: position})",
    "com": "sb.center_of_mass(mech)", "centerofmass": "sb.center_of_mass(mech)",
    "ccrba": "sb.centroidal_momentum(mech)", "computegeneralizedgravity": "sb.gravity(mech)",
    "buildmodelfromurdf": _LOAD, "load_urdf": _LOAD, "from_urdf": _LOAD, "read_urdf": _LOAD, "urdf": _LOAD,
    "mjmodel": _LOAD, "from_xml_path": _LOAD, "load_model": _LOAD, "open": _LOAD, "read": _LOAD,
    "neutral": "q0 left out, in sb.simulate and the like",
    "mj_step": f"{_RUN}, or sb.environment(...) for one step after the other",
    "step": f"{_RUN}, or sb.environment(...) for one step after the other",
    "solve_ivp": _RUN, "odeint": _RUN, "integrate": _RUN, "run": _RUN, "dsolve": _RUN,
    "diff": "expression.diff(x); derivatives of a System are system.jacobian(output, variable)",
    "derivative": "expression.diff(x); derivatives of a System are system.jacobian(output, variable)",
    "gradient": "system.gradient(output, variable)", "hessian": "system.hessian(output, variable)",
    "subs": "expression.subs({x: 1.0}), or sb.substitute(expressions, {x: 1.0})",
    "simplify": "system.optimize() for fewer operations, sb.equations(mech) for what people read",
    "latex": 'sb.equations(mech).latex(), or system.emit("latex")',
    "lambdify": "system.compile()", "codegen": "system.emit(target)", "emit": "system.emit(target)",
    "compile": "system.compile()",
    "matrix": "a NumPy array of expressions", "var": "sb.symbols(names)", "dynamicsymbols": "sb.symbols(names)",
    "pi": "numpy.pi", "abs": "abs(expression)", "piecewise": "sb.select(condition, a, b)",
    "if_else": "sb.select(condition, a, b)",
    "referenceframe": _BUILD, "point": _BUILD, "rigidbody": _BUILD, "particle": _BUILD, "body": _BUILD,
    "link": _BUILD, "joint": _BUILD, "pinjoint": _BUILD, "revolute": _BUILD, "robot": _BUILD, "model": _BUILD,
    "kanesmethod": f"{_BUILD}, then {_INVERSE}",
    "lagrangesmethod": f'{_BUILD}, then sb.inverse_dynamics(mech, formalism="lagrange")',
    "lqr": f"lqr(linear, Q, R) of {_CONTROL}", "place": f"place(linear, poles) of {_CONTROL}",
    "bode": f"frequency_response(linear) of {_CONTROL}", "step_response": f"step_response(linear, t) of {_CONTROL}",
    "frequency_response": f"frequency_response(linear) of {_CONTROL}",
    "eig": "sb.modes(mech)", "modal": "sb.modes(mech)", "trimming": "sb.trim(mech, ...)",
    "export_fmu": "symbody emit MODEL --target fmu2 on the command line, see docs/export.md",
    "fmu": "symbody emit MODEL --target fmu2 on the command line, see docs/export.md",
    "animate": "motion.animate(), of the motion that sb.simulate returns",
    "plot": "motion.plot(...), of the motion that sb.simulate returns",
    "show": "mech.show()", "draw": "mech.show()", "view": "mech.show()",
    "report": "sb.write_report(mech, path, motion)",
    "identify": "symbody.studies.identification, see docs/identification.md",
}  # fmt: skip

# sb.simulate(<word>=...)
ARGUMENTS = {
    **dict.fromkeys(("dt", "timestep", "step_size", "h"), "step="),
    **dict.fromkeys(
        ("tf", "t_end", "tend", "t_final", "stop_time", "stoptime", "t_span", "tspan", "time"),
        "duration, the second argument",
    ),
    **dict.fromkeys(("x0", "y0", "initial", "initial_state", "state0", "init"), "q0= and qd0="),
    **dict.fromkeys(("qpos", "q_0", "qpos0"), "q0="),
    **dict.fromkeys(("v0", "dq0", "qvel", "qvel0", "qdot0"), "qd0="),
    **dict.fromkeys(
        ("tau", "u", "torque", "torques", "ctrl", "controller", "control", "input", "forces", "actuation"), "inputs="
    ),
    **dict.fromkeys(("solver", "integrator", "algorithm"), "method="),
    **dict.fromkeys(("params", "p", "values"), "parameters="),
    **dict.fromkeys(("output", "record", "sensors", "measure", "quantities"), "outputs="),
    **dict.fromkeys(("noevents", "event", "guards"), "events="),
    **dict.fromkeys(("t_eval", "n_points", "numberofintervals", "saveat"), "sampling="),
}

# method=<word>
METHODS = {
    **dict.fromkeys(("rk45", "ode45", "dp45", "tsit5", "rkf45"), "'dopri5'"),
    **dict.fromkeys(("dop853", "vern9", "rk8"), "'dopri8'"),
    **dict.fromkeys(("rk23", "ode23"), "'bogacki_shampine'"),
    **dict.fromkeys(("ode15s", "ndf"), "'bdf'"),
    **dict.fromkeys(("dassl", "daspk"), "'ida'"),
    **dict.fromkeys(("leapfrog", "stormer"), "'verlet'"),
    **dict.fromkeys(("semi_implicit", "symplectic_euler", "implicitfast"), "'semi_implicit_euler'"),
}

# motion.<word>
MOTION = {
    **dict.fromkeys(("time", "times", "ts"), "motion.t"),
    **dict.fromkeys(("qpos", "positions", "position", "angles"), "motion.q"),
    **dict.fromkeys(("qvel", "velocities", "velocity", "dq", "qdot", "v"), "motion.qd"),
    **dict.fromkeys(("qacc", "accelerations", "ddq", "a"), "motion.qdd"),
    **dict.fromkeys(("x", "y", "states", "state"), "motion.q and motion.qd"),
    **dict.fromkeys(("u", "torque", "torques", "efforts"), "motion.tau"),
    **dict.fromkeys(("to_dataframe", "dataframe", "df", "to_frame"), "motion.to_pandas()"),
    **dict.fromkeys(("show", "play", "render", "animation"), "motion.animate()"),
    **dict.fromkeys(("to_csv", "write", "export", "dump"), "motion.save(path)"),
    **dict.fromkeys(("success", "status", "message"), "motion.outcome"),
}

# what joints hang on, and what they are, in model files and builders
PARENTS = dict.fromkeys(("ground", "base", "inertial", "fixed", "frame", "origin", "worldbody"), "'world'")
KINDS = {
    **dict.fromkeys(("hinge", "pin", "rotational", "rotary", "continuous", "turn", "r", "rz"), "'revolute'"),
    **dict.fromkeys(("slide", "slider", "linear", "translational", "sliding", "p", "tz"), "'prismatic'"),
    **dict.fromkeys(("weld", "rigid", "lock", "welded"), "'fixed'"),
    **dict.fromkeys(("screw", "helix"), "'helical'"),
    **dict.fromkeys(("6dof", "freeflyer", "free_flyer", "freeflying"), "'free'"),
    **dict.fromkeys(("cardan", "hooke", "u"), "'universal'"),
    **dict.fromkeys(("s", "ball_joint", "sphere"), "'ball'"),
}

_SEEN = "symbody animate MODEL, or report MODEL"
_PYTHON = "a program of Python, see docs/kinematics.md; symbody emit MODEL writes its source"

# symbody <word>
COMMANDS = {
    **dict.fromkeys(("show", "draw", "view", "visualize", "viewer", "render", "picture"), _SEEN),
    **dict.fromkeys(("run", "sim", "integrate", "step"), "symbody simulate MODEL --duration SECONDS"),
    "plot": "symbody simulate MODEL --duration SECONDS --plot FILE",
    **dict.fromkeys(("load", "open", "print", "tree", "inspect", "check_urdf"), "symbody info MODEL"),
    **dict.fromkeys(("check", "validate", "test"), "symbody verify MODEL"),
    **dict.fromkeys(("export", "codegen", "generate", "compile", "build"), "symbody emit MODEL, or convert MODEL FILE"),
    **dict.fromkeys(("inverse", "forward", "dynamics", "rnea", "aba", "crba"), "symbody emit MODEL --quantity inverse"),
    **dict.fromkeys(("fk", "ik", "kinematics", "jacobian"), _PYTHON),
    **dict.fromkeys(("bode", "frequency_response", "frf"), "symbody frequency MODEL --bode FILE"),
    **dict.fromkeys(("eig", "eigenvalues", "modal"), "symbody modes MODEL"),
    **dict.fromkeys(("linearise", "linear", "lin"), "symbody linearize MODEL"),
    **dict.fromkeys(("trim", "static", "statics", "steady"), "symbody equilibrium MODEL"),
    **dict.fromkeys(("init", "create", "start"), "symbody new NAME"),
    **dict.fromkeys(("list", "models", "ls", "demo"), "symbody examples"),
    **dict.fromkeys(("latex", "symbolic", "eom"), "symbody equations MODEL"),
    "help": "symbody --help",
    "version": "symbody --version",
}

# --<word> of a command that has the option named first
OPTIONS = {
    **dict.fromkeys(("--dt", "--timestep", "--time-step", "--step-size"), "--step"),
    **dict.fromkeys(("--time", "--tf", "--stop-time", "--until", "--end", "--seconds"), "--duration"),
    **dict.fromkeys(("--tau", "--torque", "--control", "--effort", "--u", "--force"), "--input"),
    **dict.fromkeys(("--x0", "--state", "--initial", "--qpos", "--position"), "--q0"),
    **dict.fromkeys(("--v0", "--qvel", "--velocity", "--dq0"), "--qd0"),
    **dict.fromkeys(("--param", "--params", "--set", "--mass"), "--parameter"),
    **dict.fromkeys(("--solver", "--integrator"), "--method"),
    **dict.fromkeys(("--to", "--record", "--measure"), "--output"),
    **dict.fromkeys(("--lang", "--language", "--backend"), "--target"),
    **dict.fromkeys(("--latex", "--tex"), "--form latex"),
    "--sympy": "--form sympy",
    "--format": "--form",
    **dict.fromkeys(("--save", "--write", "--csv", "--html", "--pdf", "-o"), "--out FILE"),
}


def nearest_word(name: str, known: Iterable[str], words: Mapping[str, str]) -> str:
    """A closing sentence for an unknown name: what a word of another program is here, else the nearest known names."""
    found = words.get(name.lower())
    return nearest(name, known) if found is None else f"Here it is {found}."
