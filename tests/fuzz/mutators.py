"""Damage: random changes to texts and bytes from a seeded generator, so that an input is its kind and its seed."""

from __future__ import annotations

import json
import random
import re
from typing import Any

PIECES = (
    "", "0", "-1", "1e29", "1e400", "-1e400", "1e-320", "nan", "inf", "<", ">", '"', "'", "&amp;", "&x;", "\0",
    "é", "\ud7ff", "0 0 0", "1 2 3 4", "[]", "{}", "null", "true", "~", "*a", "&a",
    "!!python/object:os.system", "../../etc/passwd",
    "9" * 400, "x" * 3000, "(" * 300, "[" * 300, "- " * 200, "1/0", "x^x^x^x", "10^10^10", "sqrt(-1)", "\t", "\r\n",
)  # fmt: skip
WORD = re.compile(r"[\w.:/+-]+")


def damaged_text(text: str, rng: random.Random) -> str:
    """One to six changes: words replaced by pieces or by words of the same text, cut, doubled or swapped."""
    for _ in range(rng.randint(1, 6)):
        words = list(WORD.finditer(text))
        if not words:
            return text + rng.choice(PIECES)
        kind = rng.random()
        word = rng.choice(words)
        if kind < 0.35:
            text = text[: word.start()] + rng.choice(PIECES) + text[word.end() :]
        elif kind < 0.6:
            text = text[: word.start()] + rng.choice(words).group() + text[word.end() :]
        elif kind < 0.75:
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(PIECES) + text[at + rng.randint(0, 60) :]
        elif kind < 0.88:
            lines = text.splitlines(keepends=True)
            i = rng.randrange(len(lines))
            lines[i:i] = [lines[rng.randrange(len(lines))]] * rng.choice((1, 1, 2, 20))
            text = "".join(lines)
        else:
            lines = text.splitlines(keepends=True)
            del lines[rng.randrange(len(lines))]
            text = "".join(lines)
        if len(text) > 300_000:
            return text[:300_000]
    return text


def damaged_bytes(data: bytes, rng: random.Random) -> bytes:
    """One to four changes: bits flipped, stretches cut, doubled, zeroed or moved."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if not out:
            return b"\0"
        at, size = rng.randrange(len(out)), rng.choice((1, 2, 4, 8, 64, 4096))
        kind = rng.random()
        if kind < 0.4:
            out[at] ^= 1 << rng.randrange(8)
        elif kind < 0.6:
            del out[at : at + size]
        elif kind < 0.75:
            out[at:at] = out[at : at + size]
        elif kind < 0.9:
            out[at : at + size] = bytes(min(size, len(out) - at))
        else:
            to = rng.randrange(len(out))
            out[to:to] = out[at : at + size]
    return bytes(out)


VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**70, -(2**63), 0.5, -0.0, 1e308, 1e-320, "", "x", "nan", "0x1p5000",
    "q", [], {}, [0], [[]], [1, 2, 3], {"x": 1}, [[-1], [0]], [[2**40], []], "é" * 100,
)  # fmt: skip


def damaged_value(value: Any, rng: random.Random) -> Any:
    """A JSON value with one to three of its parts replaced, removed or doubled."""
    value = json.loads(json.dumps(value))
    for _ in range(rng.randint(1, 3)):
        places = list(_places(value))
        if not places:
            return rng.choice(VALUES)
        holder, key = rng.choice(places)
        kind = rng.random()
        if kind < 0.5:
            holder[key] = json.loads(json.dumps(rng.choice(VALUES)))
        elif kind < 0.65:
            del holder[key]
        elif kind < 0.85:
            other, name = rng.choice(places)
            if (isinstance(other, dict) and name in other) or (isinstance(other, list) and name < len(other)):
                holder[key] = json.loads(json.dumps(other[name]))
        elif isinstance(holder, list):
            holder.insert(key, json.loads(json.dumps(holder[key])))
        else:
            holder[rng.choice(("x", "name", "nodes", ""))] = json.loads(json.dumps(holder[key]))
    return value


def _places(value: Any) -> Any:
    """(container, key) of every part."""
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, dict):
            items: Any = top.items()
        elif isinstance(top, list):
            items = enumerate(top)
        else:
            continue
        for key, part in items:
            yield top, key
            stack.append(part)
