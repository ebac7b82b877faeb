"""Labels and units of the components of q, qd, qdd and tau of a Mechanism."""

from __future__ import annotations

from symbody.model.record.coordinates import coordinate_labels, coordinate_units, velocity_labels, velocity_units
from symbody.model.record.mechanism import Mechanism


def labels_of(mech: Mechanism) -> dict[str, tuple[str, ...]]:
    """Labels of the components of q, qd, qdd and tau."""
    qd = velocity_labels(mech)
    return {"q": coordinate_labels(mech), "qd": qd, "qdd": qd, "tau": qd}


EFFORTS = {"rad/s": "N m", "m/s": "N", "1/s": "J"}  # unit of a velocity -> of the effort whose power it gives


def units_of(mech: Mechanism) -> dict[str, str | tuple[str, ...]]:
    """Units of each component of q, qd, qdd and tau."""
    qd = velocity_units(mech)
    rates, efforts = tuple(f"{u}^2" for u in qd), tuple(EFFORTS.get(u, "") for u in qd)
    return {"t": "s", "q": coordinate_units(mech), "qd": qd, "qdd": rates, "tau": efforts}
