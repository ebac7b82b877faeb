"""The description of a mechanism: the frozen record, its builder, and the files that it is read from and written to.

In: a file of a known format, a bundled name, or calls of a builder. Out: a `Mechanism`, valid and frozen.
`record/` holds the records and what they must satisfy, `build/` the builder, `files/` readers and writers, `bundled/`
models, `library/` laws of force elements, motions and signals, `spatial/` rotations, screws and inertias over any
scalar. Begin with `record/mechanism.py`, then `build/builder.py`.
"""

from symbody.basics.lazy import door

# a room imports from lines above its own, and not from its neighbours
ROOMS = (
    "spatial library",
    "record",
    "build",
    "files",
    "load suspicions",
)

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "": "load",
        "build.builder": "Builder",
        "load": "bundled_names Format FORMATS",
        "record.coordinates": "coordinate_labels coordinate_units neutral retract velocity_labels velocity_units",
        "record.joints": "Kind KINDS",
        "record.mechanism": "Body Coupling Cut Force Joint Mechanism Placement Sensor Shape WORLD",
        "record.elementary_motions": "Motion MOTIONS",
        "record.parameter_values": "given_numbers",
        "record.tree_text": "tree_text",
        "record.validate": "validate",
    },
)
