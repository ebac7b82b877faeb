"""The sections of a report: each takes records and gives HTML. No physics is computed here but for eigenvalues of A."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.errors import SymbodyError
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.dynamics import forward_dynamics, inverse_dynamics, semi_explicit
from symbody.mechanics.verbs.problem import SOURCES
from symbody.model.record.coordinates import coordinate_labels, coordinate_units, has_coordinates, velocity_labels
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.numbers import number_of
from symbody.model.record.tree_text import tree_text
from symbody.motion.trajectory.columns import batch_shape
from symbody.motion.trajectory.plot import plot, plot_path
from symbody.motion.trajectory.trajectory import Trajectory
from symbody.show.report.figures import figure_html, timed_figure_html
from symbody.show.report.mathml import to_mathml
from symbody.show.report.page import Section, facts, folded, sentences, table, text
from symbody.show.report.readable_equations import Equation, equations
from symbody.symbolic.expr.infix_text import to_text
from symbody.symbolic.lower.optimize import count_system
from symbody.symbolic.system.system import System

if TYPE_CHECKING:
    from symbody.mechanics.verbs.certify.certificate import Certificate, Check
    from symbody.studies.modal.modes import Modes

MANY_COORDINATES = 12
MANY_ROWS = 40  # rows of a table or equations that are shown without a click
MANY_EQUATIONS = 400  # more than this are counted, not shown
VERBS = {
    "inverse dynamics": inverse_dynamics,
    "mass matrix and bias": semi_explicit,
    "forward dynamics": forward_dynamics,
}


def model_section(mechanism: Mechanism, trajectory: Trajectory | None = None) -> Section:
    """The tree, a picture at the first instant or at rest, joints and bodies, and what the reader noted."""
    try:
        picture = figure_html(mechanism.show(_first(mechanism, trajectory)), f"skeleton of {mechanism.name}")
    except SymbodyError as error:  # a parameter without a value
        picture = sentences([error])
    html = f'<div class="drawing">{picture}</div><pre>{text(tree_text(mechanism))}</pre>'
    html += _coordinates(mechanism) + _constraints(mechanism)
    joints = [(j.name, j.kind, _axis(j), j.parent, j.child, j.mode, _size(j), j.origin) for j in mechanism.joints]
    html += folded(
        f"{len(joints)} joints",
        table(("joint", "kind", "axis", "parent", "child", "mode", "coordinates", "source"), joints, (6,)),
    )
    bodies = [(b.name, _value(b.mass), _vector(b.com), len(b.shapes) or "", b.origin) for b in mechanism.bodies]
    html += folded(
        f"{len(bodies)} bodies",
        table(("body", "mass (kg)", "centre of mass (m)", "shapes", "source"), bodies, (1, 3)),
    )
    return Section("model", "Model", html + sentences(mechanism.notes))


def _coordinates(mechanism: Mechanism) -> str:
    """Which joint each q is, and how many of them are free."""
    names = list(zip(coordinate_labels(mechanism), coordinate_units(mechanism)))
    rows = [(f"q{k + 1}", label, unit) for k, (label, unit) in enumerate(names)]
    html = table(("coordinate", "joint", "unit"), rows)
    return html if len(rows) <= MANY_COORDINATES else folded(f"{len(rows)} coordinates", html)


def _constraints(mechanism: Mechanism) -> str:
    """Degrees of freedom of closed loops, and their conditions h(q) = 0 where these are short."""
    if not (mechanism.cuts or mechanism.couplings):
        return ""
    from symbody.mechanics.verbs.textbook.textbook_equations import equations as textbook
    from symbody.mechanics.verbs.textbook.written import LATEX, write

    try:
        found = derived_of(mechanism).partition()
        names = velocity_labels(mechanism)
        free = ", ".join(names[k] for k in found.independent) or "none"
        html = sentences([f"Degrees of freedom: {len(found.independent)}, described by {free}."])
    except SymbodyError as error:
        html = sentences([error])
    try:
        h = textbook(mechanism).entries["h"]
    except SymbodyError:
        return html
    return html + "<h3>Conditions of the loops</h3>" + "".join(_equation(f"0 = {write(x, LATEX)}") for x in h)


def _first(mechanism: Mechanism, trajectory: Trajectory | None) -> np.ndarray | None:
    """(nq,) coordinates at the first instant, where they are known."""
    q = None if trajectory is None else trajectory.values.get("q")
    if q is None or q.shape[-1] != mechanism.nq or not q.size:
        return None
    first = np.asarray(q, dtype=float).reshape(-1, mechanism.nq)[0]
    return first if np.isfinite(first).all() else None


def _axis(joint: Any) -> str:
    return _vector(joint.axis) if KINDS[joint.kind].needs_axis else joint.sequence


def _size(joint: Any) -> int:
    return KINDS[joint.kind].nq(joint) if has_coordinates(joint) else 0


def _value(node: Any) -> str:
    value = number_of(node)
    return to_text(node, limit=40) if value is None else f"{value:.6g}"


def _vector(nodes: Any) -> str:
    return ", ".join(_value(x) for x in nodes)


def parameters_section(mechanism: Mechanism, given: dict[str, float]) -> Section:
    """Name, value, unit and the line of the file where each parameter stands."""
    rows = []
    for name, symbol in mechanism.parameters.items():
        value = given.get(name, symbol.data.default)
        shown = "" if value is None else f"{float(value):.10g}"
        rows.append((name, shown, symbol.data.unit, "given" if name in given else symbol.data.origin))
    head = ("parameter", "value", "unit", "source")
    if not rows:
        return Section("parameters", "Parameters", sentences(["The model has numbers only, and no named parameters."]))
    html = table(head, rows, (1,))
    if len(rows) > MANY_ROWS:
        html = folded(f"{len(rows)} parameters", html)
    return Section("parameters", "Parameters", html)


def equations_section(mechanism: Mechanism, system: System, formalism: str) -> Section:
    """M and c of the equations of motion, as the program computes them."""
    html = sentences([f"The equations of motion, by {SOURCES[formalism]}, as the generated program has them:"])
    independent = len(system.outputs["M"])
    if independent == mechanism.nv:
        html += _equation(r"M\left(q\right)\,\ddot{q} + c\left(q, \dot{q}\right) = \tau")
    else:
        html += _equation(r"M\left(q\right)\,\ddot{q}_{u} + c\left(q, \dot{q}\right) = B^{T} \tau")
        count = "the independent velocity" if independent == 1 else f"the {independent} independent velocities"
        told = [
            f"The loops are solved: M and c are those of {count} u; all velocities are B times these.",
            "Coordinates of dependent joints stand for the values that close the loops.",
        ]
        html += sentences(told)
    made = equations(system)
    kinds = {kind: [e for e in made if e.kind == kind] for kind in ("parameter", "part", "output")}
    if kinds["parameter"]:
        html += "<h3>Regrouped parameters, computed once</h3>" + _listed(kinds["parameter"], "regrouped parameters")
    if kinds["part"]:
        html += "<h3>Parts that are used more than once</h3>" + _listed(kinds["part"], "named parts")
    zeros = sum(1 for i, row in enumerate(system.outputs["M"]) for x in row[i:] if number_of(x) == 0)
    html += "<h3>Mass matrix and bias</h3>"
    if zeros:
        html += sentences([f"M is symmetric; {zeros} entries of its upper triangle are zero and not listed."])
    return Section("equations", "Equations", html + _listed(kinds["output"], "outputs"))


def _listed(made: Sequence[Equation], what: str) -> str:
    """Equations one below the other; many of them behind a click, very many cut off with a count."""
    html = "".join(_equation(e.latex()) for e in made[:MANY_EQUATIONS])
    if len(made) > MANY_EQUATIONS:
        html += sentences([f"and {len(made) - MANY_EQUATIONS} more; system.emit() writes them all."])
    return html if len(made) <= MANY_ROWS else folded(f"{len(made)} {what}", html)


def _equation(latex: str) -> str:
    return f'<div class="equation">{to_mathml(latex)}</div>'


COUNTED = "Operations of one call; setup runs once for each set of parameters, checks serve the status alone."


def counts_section(mechanism: Mechanism, formalisms: Sequence[str]) -> Section:
    """Operations of one call, by quantity and formalism."""
    rows: list[tuple[object, ...]] = []
    refused = []
    for quantity, verb in VERBS.items():
        for formalism in formalisms:
            try:
                c = count_system(verb(mechanism, formalism=formalism))
            except SymbodyError as error:
                refused.append(f"{quantity}, {formalism}: {error}")
                continue
            rows.append((quantity, formalism, c.mul, c.add, c.div, c.total, c.trig, c.other, c.setup, c.checks))
    head = ("quantity", "formalism", "mul", "add", "div", "total", "trig", "other", "setup", "checks")
    html = sentences([COUNTED]) + table(head, rows, range(2, 10))
    return Section("counts", "Operation counts", html + sentences(refused))


def simulation_section(trajectory: Trajectory) -> Section:
    """How the run ended, what it cost, what happened on the way, and plots."""
    ok = trajectory.outcome.ok
    html = f'<p class="{"good" if ok else "bad"}">{text(trajectory.outcome.name.lower().replace("_", " "))}</p>'
    html += sentences([trajectory.outcome.value])
    batch = batch_shape(trajectory)
    span = [("instants", len(trajectory.t))]
    pairs: list[tuple[str, object]] = [("method", trajectory.method or "not given"), *span]
    if len(trajectory.t):
        pairs.append(("interval", f"{trajectory.t[0]:g} to {trajectory.t[-1]:g} s"))
    if batch:
        pairs.append(("motions in the batch", math.prod(batch)))
    pairs += [(name, _number(value)) for name, value in trajectory.statistics.items()]
    html += facts(pairs)
    html += sentences(trajectory.notes)
    if trajectory.events:
        rows = [(f"{e.t:.6g}", e.name, e.text) for e in trajectory.events]
        events = table(("t (s)", "event", ""), rows, (0,))
        html += events if len(rows) <= MANY_ROWS else folded(f"{len(rows)} events", events)
    moving = [name for name, values in trajectory.values.items() if np.any(values)]
    if moving:
        html += timed_figure_html(plot(trajectory, None, 9.5, ""), f"quantities of {trajectory.model} over time")
        html += _paths(trajectory)
    return Section("simulation", "Simulation", html)


def _paths(trajectory: Trajectory) -> str:
    """Figures of the path of each recorded point that moves, in the plane in which it moves most."""
    out = ""
    for name, values in trajectory.values.items():
        array = np.asarray(values, dtype=float)
        if not name.startswith("p.") or array.shape[-1:] != (3,) or batch_shape(trajectory):
            continue
        if np.isfinite(array).all() and np.sort(np.ptp(array.reshape(-1, 3), axis=0))[1] > 1e-9:
            out += figure_html(plot_path(trajectory, name, width=5.0), f"path of {name}")
    return f'<div class="paths">{out}</div>' if out else ""


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _errors(check: Check) -> tuple[str, str]:
    return f"{check.error:.1e}", f"{check.allowed:.0e}"


def certificate_section(certificate: Certificate) -> Section:
    """What `sb.verify` found."""
    words = "certified" if certificate.passed else "not certified"
    html = f'<p class="{"good" if certificate.passed else "bad"}">{words} at {certificate.states} random states</p>'
    rows = [
        ("holds" if c.passed else "FAILS", c.text, *(("proved", "") if c.kind == "proved" else _errors(c)))
        for c in certificate.checks
    ]
    html += table(("", "statement", "largest error", "allowed"), rows, (2, 3))
    html += sentences(certificate.refused)
    html += sentences([f"Program {certificate.fingerprint[:16]}, seed {certificate.seed}."])
    return Section("certificate", "Certificate", html)


# -- linear models: any record with the matrices as attributes


MATRICES = {
    "M": "mass matrix", "B": "factor of the velocities", "K": "factor of the increments of q", "A": "state matrix",
    "B_ss": "input matrix", "C": "output matrix", "D": "feedthrough",
}  # fmt: skip


def linear_section(linear: Any) -> Section:
    """Matrices of a linearised model, and the eigenvalues of its state matrix."""
    html = ""
    state = getattr(linear, "A", None)
    if state is not None:
        html += table(
            ("eigenvalue (1/s)", "frequency (Hz)", "damping ratio", "time constant (s)"),
            _eigenvalue_rows(np.asarray(state, dtype=float)),
            range(4),
            "Eigenvalues of the state matrix A",
        )
    for name, words in MATRICES.items():
        value = getattr(linear, name, None)
        if value is not None and np.ndim(value) == 2 and np.size(value):
            html += folded(f"{name}: {words}, {np.shape(value)[0]} x {np.shape(value)[1]}", _matrix(np.asarray(value)))
    html += sentences(getattr(linear, "notes", ()))
    return Section("linear", "Linear model", html or f"<pre>{text(linear)}</pre>")


def _eigenvalue_rows(state: np.ndarray) -> Iterator[tuple[str, ...]]:
    """One row for each real eigenvalue or pair; frequency |s| / 2 pi, damping ratio -re(s) / |s|."""
    values = np.linalg.eigvals(state)
    for s in sorted(values[values.imag >= 0], key=lambda s: (abs(s), s.real)):
        size = abs(s)
        rounding = 1e-9 * max(float(np.abs(values).max()), 1e-300)
        shown = f"{s.real:.5g}" if s.imag <= rounding else f"{s.real:.5g} ± {s.imag:.5g} i"
        frequency = f"{size / (2 * math.pi):.5g}" if s.imag > rounding else ""
        damping = f"{0.0 - s.real / size:.4g}" if s.imag > rounding else ""
        constant = f"{-1 / s.real:.4g}" if abs(s.real) > rounding else "none"
        yield shown, frequency, damping, constant


def _matrix(values: np.ndarray) -> str:
    rows = [[f"{x:.5g}" if np.isrealobj(values) else f"{x:.4g}" for x in row] for row in values[:60, :60]]
    columns = range(len(rows[0]))
    html = table([str(k + 1) for k in columns], rows, columns)
    return html if max(values.shape) <= 60 else html + sentences(["Only the first 60 rows and columns are shown."])


def modes_section(modes: Modes) -> Section:
    """Frequencies, damping ratios, and who moves in each mode."""
    rows = []
    for k in range(len(modes)):
        what = "free motion" if modes.rigid[k] else "GROWS" if modes.unstable[k] else ""
        who = ", ".join(f"{name} {100 * share:.0f} %" for name, share in modes.largest(k))
        rows.append((k + 1, f"{modes.frequencies[k]:.6g}", f"{modes.damping[k]:.4g}", what, who))
    html = table(("mode", "frequency (Hz)", "damping ratio", "", "motion"), rows, range(3), f"{modes.kind} modes")
    return Section("modes", "Modes", html + sentences(modes.notes))


def other_section(title: str, content: Any) -> Section:
    """Something of the user's: a matplotlib Figure, or text (which is shown as it is, never as HTML)."""
    key = "own-" + "".join(c if c.isascii() and c.isalnum() else "-" for c in title.lower())
    html = figure_html(content, title) if hasattr(content, "savefig") else f"<pre>{text(content)}</pre>"
    return Section(key, title, html)
