"""Laws: springs, friction, contacts, tyres, motions and waveforms of time."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "": "actuators contact friction grounds linear_tyre magic_formula motions springs waveforms",
        "force_element": "Account Effect Event Field ForceElement Mode Place State",
        "force_elements": "FORCE_ELEMENTS",
        "grounds": "Ground",
        "magic_formula_data": "MagicFormula",
        "motions": "MotionLaw",
    },
)
