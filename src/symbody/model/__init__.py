"""The description of a mechanism: the frozen record, its builder, and the files that it is read from and written to."""

from symbody.later import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "": "load",
        "build.builder": "Builder",
        "load": "bundled_names Format FORMATS",
        "record.coordinates": "coordinate_labels coordinate_units neutral retract velocity_labels velocity_units",
        "record.joints": "Kind KINDS",
        "record.mechanism": "Body Coupling Cut Force Joint Mechanism Placement Sensor Shape WORLD",
        "record.motions": "Motion MOTIONS",
        "record.parameter_values": "given_numbers",
        "record.tree_text": "tree_text",
        "record.validate": "validate",
    },
)
