"""What "body.frame" means: names of frames have no dots, those of bodies may."""

from __future__ import annotations

from collections.abc import Mapping

from symbody.model.record.mechanism import Body


def frame_named(bodies: Mapping[str, Body], name: str) -> tuple[str, str] | None:
    """(body, frame) of a text, if the body has the frame."""
    body, _, fixed = name.rpartition(".")
    return (body, fixed) if body in bodies and fixed in bodies[body].frames else None


def known_end(bodies: Mapping[str, Body], end: tuple[str, str]) -> tuple[str, str]:
    """(body, frame) of a text that was divided at its first dot, divided where bodies and frames have these names.

    What names nothing stays as it is: others say what is wrong with it.
    """
    body, fixed = end
    if body in bodies and (not fixed or fixed in bodies[body].frames):
        return end
    text = f"{body}.{fixed}" if fixed else body
    return (text, "") if text in bodies else frame_named(bodies, text) or end
