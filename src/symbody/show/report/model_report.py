"""write_report: a Mechanism, its equations and its motion as one HTML file that opens anywhere, without a network.

Each section takes records and gives HTML (`sections.py`): pictures as SVG, formulas as MathML, the motion as a 3-D
animation; whatever they need stands in the file itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symbody.basics.arguments import declared
from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import FormatError, ModelError, SymbodyError, record_argument
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.dynamics import semi_explicit
from symbody.mechanics.verbs.smallest.tuned import is_tuned
from symbody.model.record.followers import completed
from symbody.model.record.mechanism import Mechanism
from symbody.motion.trajectory.trajectory import Trajectory
from symbody.show.report import sections as make
from symbody.show.report.animation import MISSING, Animation, make_animation
from symbody.show.report.page import Section, facts, page, sentences, text
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.walk import free_symbols

if TYPE_CHECKING:
    from symbody.mechanics.verbs.certify.certificate import Certificate
    from symbody.studies.modal.modes import Modes


@declared
def write_report(
    mech: Mechanism,
    path: str | Path,
    trajectory: Trajectory | None = None,
    certificate: Certificate | bool | None = None,
    linear: Any = None,
    modes: Modes | None = None,
    *,
    title: str | None = None,
    parameters: Mapping[str, float] | None = None,
    formalisms: Sequence[str] | None = None,
    equations: str | None = "base",
    animation: bool = True,
    others: Mapping[str, Any] | None = None,
) -> Path:
    """Write a report on a Mechanism as one self-contained HTML file, and return its path.

    trajectory   of `sb.simulate`: outcome, statistics, plots, and the motion in the animation
    certificate  of `sb.verify`; True makes it here
    linear       of `sb.linearize`, or any record with matrices M, B, K, A, ...
    modes        of `sb.modes`: frequencies, damping, who moves
    parameters   values in place of the defaults, for the picture and the table
    formalisms   counted for each quantity; () leaves the counts out. None: "newton_euler", "base", and "auto" where a
                 choice is on file for the model: a report does not search, unless "auto" is among those asked for
    equations    the formalism whose M and c are shown; None leaves them out
    animation    whether the 3-D view is there; it needs the package meshcat
    others       further sections: title -> text or matplotlib Figure
    """
    record_argument("write_report", mech, Mechanism, "a Mechanism, as sb.load(name_or_path) gives")
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise FormatError(f"{path} has the suffix {Path(path).suffix!r}; expected .html.")
    given = dict(parameters or {})
    unknown = sorted(set(given) - set(mech.parameters))
    if unknown:
        raise ModelError(f"{mech.name} has no parameter {unknown[0]!r}.")
    given = completed(mech, given)
    view = make_animation(mech, trajectory, given) if animation else None
    parts: list[Section] = []
    if animation:
        parts.append(_animation_section(view, trajectory))
    parts.append(make.model_section(mech, trajectory))
    if trajectory is not None:
        parts.append(make.simulation_section(trajectory))
    parts.append(make.parameters_section(mech, given))
    if equations is not None:
        parts.append(_equations(mech, equations))
    if formalisms is None:
        formalisms = ("newton_euler", "base", *(("auto",) if is_tuned(mech) else ()))
    if formalisms:
        parts.append(make.counts_section(mech, formalisms))
    if certificate is not None and certificate is not False:
        if certificate is True:
            from symbody.mechanics.verbs.certify.verify import verify  # a tenth of a second, for those who ask for it

            certificate = verify(mech)
        parts.append(make.certificate_section(certificate))
    if linear is not None:
        parts.append(make.linear_section(linear))
    if modes is not None:
        parts.append(make.modes_section(modes))
    parts += [make.other_section(name, content) for name, content in (others or {}).items()]
    html = page(
        title or mech.name,
        _lead(mech),
        parts,
        view.scripts if view else (),
        view.data if view else (),
        f"Written by {_program()}. The file is complete: it loads nothing.",
    )
    return write_whole(path, html.encode("utf-8", errors="replace"))


def _animation_section(view: Animation | None, trajectory: Trajectory | None) -> Section:
    title = "Motion" if trajectory is not None else "View"
    if view is None:
        return Section("motion", title, sentences([MISSING]))
    hint = "Drag to turn, drag with the right button to shift; after a click the wheel zooms."
    return Section("motion", title, view.html + sentences([hint], "note hint") + sentences(view.notes))


def _equations(mech: Mechanism, formalism: str) -> Section:
    """The equations, or why there are none by this formalism."""
    try:
        return make.equations_section(mech, semi_explicit(mech, formalism=formalism), formalism)
    except SymbodyError as error:
        return Section("equations", "Equations", sentences([error]))


def _lead(mech: Mechanism) -> str:
    """What stands below the title: where the model is from, and its sizes."""
    source = f"<p>{text(mech.source)}</p>" if mech.source else ""
    pairs: list[tuple[str, object]] = [
        ("bodies", len(mech.bodies)),
        ("joints", len(mech.joints)),
        ("coordinates", mech.nq),
        ("degrees of freedom", _freedom(mech)),
        ("velocities", mech.nv),
    ]
    symbols = free_symbols([b.mass for b in mech.bodies])
    if mech.bodies and all(s.data.default is not None for s in symbols):
        values = {s: s.data.default for s in symbols}
        total = sum(float(evaluate(b.mass, values)) for b in mech.bodies)
        pairs.append(("total mass", f"{total:.5g} kg"))
    pairs += [(kind, len(found)) for kind in ("cuts", "forces", "sensors") if (found := getattr(mech, kind))]
    return source + facts(pairs)


def _freedom(mech: Mechanism) -> object:
    """Degrees of freedom of the closed mechanism, without driven joints; a dash where its loops do not close."""
    driven = sum(s.nv for s in mech.slots if s.mode == "driven")
    if not (mech.cuts or mech.couplings):
        return mech.nv - driven
    try:
        return len(derived_of(mech).partition().independent) - driven
    except SymbodyError:
        return "-"


def _program() -> str:
    try:
        return f"symbody {version('symbody')}"
    except PackageNotFoundError:  # run from its sources
        return "symbody"
