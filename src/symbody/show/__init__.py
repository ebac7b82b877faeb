"""What people see: drawings, reports and the command line. No physics is computed here.

In: records of the wings above. Out: pictures (`drawing/`), one HTML file (`report/`), texts and files (`cli/`).
Begin with `cli/app.py`, which lists the commands, or `report/model_report.py`, which writes a page.
"""

from symbody.basics.lazy import door

# a room imports from lines above its own, and not from its neighbours
ROOMS = (
    "drawing",
    "report",
    "cli",
)

__all__, __getattr__, __dir__ = door(__name__, {"": "cli drawing report"})
