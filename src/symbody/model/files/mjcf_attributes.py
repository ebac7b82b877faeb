"""Attributes that MJCF (MuJoCo 4.0) knows of the elements that decide a motion: what is written otherwise is noted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from symbody.basics.errors import nearest
from symbody.model.files.xml_file import XmlElement

_TREE = {
    "body": "axisangle childclass euler fuse gravcomp mocap name pos quat simple sleep user xyaxes zaxis",
    "inertial": "axisangle diaginertia euler fullinertia mass pos quat xyaxes zaxis",
    "joint": (
        "actuatorfrclimited actuatorfrcrange actuatorgravcomp armature axis class damping frictionloss group "
        "limited margin name pos range ref solimpfriction solimplimit solreffriction solreflimit springdamper "
        "springref springyield stiffness type user"
    ),
    "freejoint": "align group name",
    "geom": (
        "adhesion axisangle castshadow class conaffinity condim contype density euler fitscale fluidcoef "
        "fluidshape friction fromto gap group hfield margin mass material mesh name pos priority quat rgba "
        "shellinertia size solimp solmix solref surfacevel type user xyaxes zaxis"
    ),
    "site": "axisangle class euler fromto group material mesh name pos quat rgba size type user xyaxes zaxis",
    "worldbody": ("axisangle childclass euler fuse gravcomp mocap name pos quat simple sleep user xyaxes zaxis"),
    "attach": "body frame model prefix",
    "frame": "axisangle childclass euler name pos quat xyaxes zaxis",
    "replicate": "childclass count euler offset sep",
}
_TENDON = {
    "spatial": (
        "actuatorfrclimited actuatorfrcrange armature class damping frictionloss group limited margin "
        "material name range rgba solimpfriction solimplimit solreffriction solreflimit springlength "
        "springyield stiffness user width"
    ),
    "fixed": (
        "actuatorfrclimited actuatorfrcrange armature class damping frictionloss group limited margin name "
        "range solimpfriction solimplimit solreffriction solreflimit springlength springyield stiffness user"
    ),
    "site": "site",
    "geom": "geom sidesite",
    "pulley": "divisor",
    "joint": "coef joint",
}
_EQUALITY = {
    "connect": "active anchor body1 body2 class name site1 site2 solimp solref",
    "weld": "active anchor body1 body2 class name relpose site1 site2 solimp solref torquescale",
    "joint": "active class joint1 joint2 name polycoef solimp solref",
    "tendon": "active class name polycoef solimp solref tendon1 tendon2",
}
_SETTINGS = {
    "compiler": (
        "alignfree angle assetdir autolimits balanceinertia boundinertia boundmass conflict coordinate "
        "discardvisual eulerseq fitaabb fusestatic inertiafromgeom inertiagrouprange meshdir passthrough "
        "savecanonical savecompiled saveinertial settotalmass strippath texturedir usethread"
    ),
    "option": (
        "actuatorgroupdisable ccd_iterations ccd_tolerance cone density gravity impratio integrator "
        "iterations jacobian ls_iterations ls_tolerance magnetic noslip_iterations noslip_tolerance "
        "o_friction o_margin o_solimp o_solref sdf_initpoints sdf_iterations sleep_tolerance solver timestep "
        "tolerance viscosity wind"
    ),
    "flag": (
        "actuation autoreset clampctrl constraint contact damper diagexact energy equality eulerdamp "
        "filterparent frictionloss fwdinv gravity invdiscrete ipc island limit midphase multiccd nativeccd "
        "override refsafe sensor sleep speculative spring warmstart passive"
    ),
    "mesh": (
        "builtin class content_type face file inertia material maxhullvert name normal params refpos refquat "
        "scale smoothnormal texcoord vertex"
    ),
    "model": "content_type file name",
}
_ACTUATOR = (
    "actdim actearly actlimited actrange area armature bias biasprm biastype body class cogging controller "
    "cranklength cranksite ctrllimited ctrlrange damping dampratio delay diameter dynprm dyntype ffrange force "
    "forcelimited forcerange fpmax fvmax gain gainprm gaintype gear group imax inductance inheritrange input "
    "interp joint jointinparent ki kp kv lengthrange lmax lmin lugre motorconst name nominal nsample posrange "
    "range refsite resistance saturation scale site slewmax slidersite tausmooth tendon thermal timeconst user "
    "velrange vmax "
)
_BY_SECTION = {
    "worldbody": _TREE, "tendon": _TENDON, "equality": _EQUALITY, "compiler": _SETTINGS, "option": _SETTINGS,
    "asset": _SETTINGS,
}  # fmt: skip
_ACTUATORS = (
    "general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion", "dcmotor",
)  # fmt: skip
SHOWN = 12


def unknown_attributes(top: XmlElement) -> list[str]:
    """One note for each attribute that is none of its element's, the first ones by name."""
    found = [note for section in top.children for note in _unknown(section, section.tag)]
    more = [f"{top.file}: {len(found) - SHOWN} more attributes are not known"] if len(found) > SHOWN else []
    return found[:SHOWN] + more


def _unknown(element: XmlElement, section: str) -> Iterator[str]:
    known = words(element.tag, section)
    for key in element.attributes if known else ():
        if key not in known:
            hint = nearest(key, known)
            hint = f". {hint}" if hint.startswith("Did") else ""
            yield f"{element.origin}: <{element.tag}> has {key}=, which MJCF does not know; it was left out{hint}"
    for child in element.children:
        yield from _unknown(child, section)


@cache
def words(tag: str, section: str) -> frozenset[str]:
    """Attributes of a tag in a section; none where it is not told."""
    if section == "actuator":
        return frozenset(_ACTUATOR.split()) if tag != section else frozenset()
    if section == "default":
        shared = {"tendon": _TENDON, "equality": _EQUALITY}.get(tag)
        if shared is not None:
            return frozenset(word for words in shared.values() for word in words.split())
        if tag in _ACTUATORS:
            return frozenset(_ACTUATOR.split())
        return frozenset({**_TREE, "mesh": _SETTINGS["mesh"]}.get(tag, "").split())
    return frozenset(_BY_SECTION.get(section, {}).get(tag, "").split())
