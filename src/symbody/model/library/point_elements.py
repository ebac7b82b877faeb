"""Force elements at a point, a wheel or between two frames. Laws of vectors stand in `formalisms` with the geometry."""

from __future__ import annotations

from symbody.model.library.force_element import Field, Fields, ForceElement, State, numbers

_AXES = Field("word", words=("world", "body"))
_WRENCH = {"force": Field("vector", unit="N"), "moment": Field("vector", unit="N m"), "axes": _AXES}
_GROUND: dict[str, Fields] = {
    "flat": numbers(height=0),
    "slope": numbers(slope_x=0, slope_y=0, height=0),
    "sinusoid": numbers("amplitude wavelength", phase=0, heading=0, height=0),
    "profile": {"positions": Field("numbers", needed=True), "heights": Field("numbers", needed=True)},
}
_DRAG = {
    "linear": Field("vector", unit="N s/m"),
    "quadratic": Field("vector", unit="N s^2/m^2"),
    "angular": Field("vector", unit="N m s/rad"),
    "angular_quadratic": Field("vector", unit="N m s^2/rad^2"),
    "wind": Field("vector", unit="m/s"),
}
_ELLIPSOID = {
    "semiaxes": Field("vector", needed=True, unit="m"),
    "density": Field(default=0, unit="kg/m^3", bound="not negative"),
    "viscosity": Field(default=0, unit="Pa s", bound="not negative"),
    **numbers(blunt=0.5, slender=0.25, angular=1.5, kutta=1, magnus=1),
    "added_mass": Field("vector", unit="kg"),
    "added_inertia": Field("vector", unit="kg m^2"),
    "wind": Field("vector", unit="m/s"),
}
SLOWEST = 0.1  # m/s: below it slips fade, as the quotient of two small speeds means nothing
_WHEEL = {"axle": Field("word", words=("y", "x", "z")), "slowest": Field(default=SLOWEST, unit="m/s")}
LINEAR_TYRE = ("slip_stiffness", "cornering_stiffness", "camber_stiffness", "trail", "rolling_resistance", "friction")


def _magic_formula() -> Fields:
    from symbody.model.library.magic_formula_data import NAMES

    own = Field("word", words=("car", "symmetric"), open=True)
    coefficient = Field(about="coefficient of tyre files")
    return {"tyre": own, **numbers("", "radius stiffness damping", width=0), **dict.fromkeys(NAMES, coefficient)}


ROWS = (
    ForceElement(
        "point_force",
        "given force at a point",
        ("point",),
        "symbody.mechanics.formalisms.point_forces:point_force",
        {"force": _WRENCH["force"], "axes": _AXES},
        example={"force": [1.0, 2.0, 3.0]},
    ),
    ForceElement(
        "wrench",
        "given force and moment at a point",
        ("point",),
        "symbody.mechanics.formalisms.point_forces:wrench",
        _WRENCH,
        example={"force": [1.0, 2.0, 3.0], "moment": [0.3, 0.2, 0.1], "axes": "body"},
    ),
    ForceElement(
        "drag",
        "a fluid that holds a body back",
        ("point",),
        "symbody.mechanics.formalisms.point_forces:drag",
        _DRAG,
        example={
            "linear": [0.3, 0.2, 0.1],
            "quadratic": [1.0, 2.0, 3.0],
            "angular": [0.03, 0.02, 0.01],
            "angular_quadratic": [0.1, 0.2, 0.3],
        },
    ),
    ForceElement(
        "ellipsoid_drag",
        "a fluid around an ellipsoid: drag, lift and added mass",
        ("point",),
        "symbody.mechanics.formalisms.ellipsoid_drag:ellipsoid_drag",
        _ELLIPSOID,
        example={
            "semiaxes": [0.1, 0.2, 0.4],
            "density": 3.0,
            "viscosity": 0.2,
            "added_mass": [0.3, 0.2, 0.1],
            "added_inertia": [0.03, 0.02, 0.01],
        },
    ),
    ForceElement(
        "bushing",
        "springs that hold a frame at the pose of another",
        ("frames",),
        "symbody.mechanics.formalisms.bushings:bushing",
        {"linear": Field(unit="N/m"), "angular": Field(unit="N m/rad")},
        drawing="spring",
        example={"linear": 30.0, "angular": 4.0},
    ),
    ForceElement(
        "contact",
        "a point that the ground pushes out",
        ("point",),
        "symbody.mechanics.formalisms.point_forces:contact_point",
        numbers("stiffness", "friction", damping=0, slowest=0.01, width=0),
        {"ground": _GROUND},
        ("ground",),
        example={"stiffness": 2000.0, "damping": 20.0, "friction": 0.4, "width": 0.05, "height": 0.2},
    ),
    ForceElement(
        "tyre",
        "a wheel on the ground",
        ("wheel",),
        "symbody.mechanics.formalisms.tyres:tyre",
        {**_WHEEL, "relaxation_x": Field(unit="m"), "relaxation_y": Field(unit="m")},
        {
            "law": {
                "linear": {**numbers("radius stiffness", " ".join(LINEAR_TYRE), damping=0, width=0)},
                "magic_formula": _magic_formula,
                "external": {"function": Field("function", needed=True), **numbers("radius")},
            },
            "ground": _GROUND,
        },
        ("ground",),
        states={
            "slip": State("slip that the tyre has built up", when="relaxation_x"),
            "side": State("side slip that the tyre has built up", when="relaxation_y"),
        },
        drawing="wheel",
        example={"radius": 1.2, "stiffness": 2e4, "cornering_stiffness": 3e3, "relaxation_x": 0.3, "relaxation_y": 0.2},
    ),
    ForceElement(
        "wheel",
        "a wheel whose contact wrench is an input",
        ("wheel",),
        "symbody.mechanics.formalisms.tyres:wheel_input",
        _WHEEL,
        {"ground": _GROUND},
        ("ground",),
        drawing="wheel",
    ),
    ForceElement(
        "external",
        "a user's function, or inputs",
        ("point", "link"),
        "symbody.mechanics.formalisms.point_forces:external",
        {"function": Field("function"), **_WRENCH},
    ),
)
