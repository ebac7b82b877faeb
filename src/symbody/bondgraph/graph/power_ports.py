"""Ports: where power enters or leaves a part, and the physical domains that say what effort and flow are there.

One record serves bond graphs and the assembly of mechatronic models: a port of a domain has an across and a through
variable, and one of the two is the effort. Effort times flow is power, but in the pseudo domain of heat.
"""

from __future__ import annotations

from dataclasses import dataclass

from symbody.basics.errors import nearest
from symbody.model.record.origin import fault


@dataclass(frozen=True)
class Domain:
    """What effort and flow are.

    effort, flow             names; effort_unit, flow_unit in SI
    momentum, displacement   units of their integrals p and q
    across                   "effort" or "flow": which of the two is measured across two points
    I, C, R                  units of the moduli p/f, q/e, e/f; "" where the domain has no such element
    power                    whether effort times flow is power
    """

    name: str
    effort: str
    flow: str
    effort_unit: str
    flow_unit: str
    momentum: str
    displacement: str
    across: str
    I: str
    C: str
    R: str
    power: bool = True

    def unit_of(self, kind: str) -> str:
        """Unit of the modulus of an I, C or R, "" for other kinds."""
        return {"I": self.I, "C": self.C, "R": self.R}.get(kind, "")


_ROWS = (
    Domain("electrical", "voltage", "current", "V", "A", "V s", "C", "effort", "H", "F", "ohm"),
    Domain("translation", "force", "velocity", "N", "m/s", "N s", "m", "flow", "kg", "m/N", "N s/m"),
    Domain(
        "rotation", "torque", "angular velocity", "N m", "rad/s", "N m s", "rad", "flow", "kg m²", "rad/(N m)", "N m s"
    ),
    Domain("hydraulic", "pressure", "volume flow", "Pa", "m³/s", "Pa s", "m³", "effort", "kg/m⁴", "m³/Pa", "Pa s/m³"),
    Domain("thermal", "temperature", "heat flow", "K", "W", "K s", "J", "effort", "", "J/K", "K/W", power=False),
)
DOMAINS: dict[str, Domain] = {row.name: row for row in _ROWS}


@dataclass(frozen=True)
class PowerPort:
    """A named place where power enters a part.

    domain      a name of DOMAINS, "" where nothing is said
    dimension   of the vectors effort and flow
    into        whether power is counted positive into the part
    """

    name: str
    domain: str = ""
    dimension: int = 1
    into: bool = True

    def across(self) -> str:
        """ "effort" or "flow": what is common to all ports at one point, as potentials and velocities are."""
        return DOMAINS[self.domain].across if self.domain else "effort"


def domain_named(name: str, owner: str, origin: str = "") -> str:
    """A known domain's name, or "" for none."""
    if name and name not in DOMAINS:
        raise fault(origin, f"{owner} has the domain {name!r}. {nearest(name, DOMAINS)}")
    return name
