"""Damage: random changes to texts and bytes from a seeded generator, so that an input is its kind and its seed.

Damaged text is mostly refused by a parser. What lies behind it is met by damage that a parser takes: elements and
attributes of XML, values of YAML and JSON.
"""

from __future__ import annotations

import copy
import functools
import json
import math
import random
import re
from typing import Any
from xml.etree import ElementTree

from symbody.model.files.yaml_data import read_yaml

PIECES = (
    "",
    "0",
    "-1",
    "1e29",
    "1e400",
    "-1e400",
    "1e-320",
    "nan",
    "inf",
    "<",
    ">",
    '"',
    "'",
    "&amp;",
    "&x;",
    "\0",
    "é",
    "\ud7ff",
    "0 0 0",
    "1 2 3 4",
    "[]",
    "{}",
    "null",
    "true",
    "~",
    "*a",
    "&a",
    "!!python/object:os.system",
    "../../etc/passwd",
    "9" * 400,
    "x" * 3000,
    "(" * 300,
    "[" * 300,
    "- " * 200,
    "1/0",
    "x^x^x^x",
    "10^10^10",
    "sqrt(-1)",
    "\t",
    "\r\n",
)  # fmt: skip
# what tells whether time is the square of a text's length; rarely, since each takes as long as a hundred others
LONG = tuple(x * (12_000 // len(x)) for x in ("9", " ", "1 ", "1e", "m*", "a.", "-", "^2", "(", "x"))
RARELY = 0.004
NUMBERS = ("0", "-0", "1", "-1", "2", "1e-12", "1e-320", "1e29", "1e308", "-1e308", "3.5", "nan", "inf", "0x10", "1_0")
WORD = re.compile(r"[\w.:/+-]+")
ElementTree.register_namespace("xacro", "http://www.ros.org/wiki/xacro")  # else it is written as ns0


def _piece(rng: random.Random) -> str:
    return rng.choice(LONG if rng.random() < RARELY else PIECES)


def damaged_text(text: str, rng: random.Random) -> str:
    """One to six changes: words replaced by pieces or by words of the same text, cut, doubled or swapped."""
    for _ in range(rng.randint(1, 6)):
        words = list(WORD.finditer(text))
        if not words:
            return text + _piece(rng)
        kind = rng.random()
        word = rng.choice(words)
        if kind < 0.35:
            text = text[: word.start()] + _piece(rng) + text[word.end() :]
        elif kind < 0.6:
            text = text[: word.start()] + rng.choice(words).group() + text[word.end() :]
        elif kind < 0.75:
            at = rng.randrange(len(text) + 1)
            text = text[:at] + _piece(rng) + text[at + rng.randint(0, 60) :]
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


def damaged_xml(text: str, rng: random.Random) -> str:
    """A document that is still well-formed, with one to six of its elements and attributes changed."""
    root = copy.deepcopy(_document(text))
    for _ in range(rng.randint(1, 6)):
        parents = [e for e in root.iter() if len(e)]
        element = rng.choice(list(root.iter()))
        kind = rng.random()
        if kind < 0.5:
            _damage_attribute(element, root, rng)
        elif kind < 0.6:
            element.text = _damaged_words(element.text or "", root, rng)
        elif kind < 0.67:
            element.tag = rng.choice(list(root.iter())).tag
        elif parents:
            parent = rng.choice(parents)
            at = rng.randrange(len(parent))
            if kind < 0.78:
                del parent[at]
            else:  # once more, here or elsewhere, deeper or beside itself
                target = parent if kind < 0.86 else rng.choice(list(root.iter()))
                target.append(copy.deepcopy(parent[at]))
                if kind > 0.94:
                    del parent[at]
    return ElementTree.tostring(root, encoding="unicode")


@functools.cache
def _document(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def _damage_attribute(element: ElementTree.Element, root: ElementTree.Element, rng: random.Random) -> None:
    other = rng.choice(list(root.iter()))
    names = [*element.attrib, *other.attrib]
    if not names:
        return
    name, kind = rng.choice(names), rng.random()
    if kind < 0.12:
        element.attrib.pop(name, None)
    elif kind < 0.4 and other.attrib:
        element.set(name, rng.choice(list(other.attrib.values())))
    else:
        element.set(name, _damaged_words(element.get(name, "0"), root, rng))


def _damaged_words(text: str, root: ElementTree.Element, rng: random.Random) -> str:
    """One word less, more or other; or a piece alone, as far as XML can hold it."""
    words, kind = text.split(), rng.random()
    if kind < 0.2 or not words:
        return _piece(rng).replace("\0", "0")
    at = rng.randrange(len(words))
    if kind < 0.3:
        del words[at]
    elif kind < 0.4:
        words.insert(at, rng.choice(NUMBERS))
    elif kind < 0.8:
        words[at] = rng.choice(NUMBERS)
    else:
        given = " ".join(v for e in root.iter() for v in e.attrib.values()).split()
        words[at] = rng.choice(given or ["x"])
    return " ".join(words)


def damaged_yaml(text: str, rng: random.Random) -> str:
    """A text of YAML, as JSON, with one to three of its values replaced, removed or doubled."""
    return json.dumps(damaged_value(_yaml(text), rng))


@functools.cache
def _yaml(text: str) -> Any:
    return json.loads(json.dumps(read_yaml(text, "good")))  # PyYAML takes the key `on` of bond graphs for true


def damaged_value(value: Any, rng: random.Random) -> Any:
    """A JSON value with one to three of its parts replaced, removed or doubled."""
    value = json.loads(json.dumps(value))
    for _ in range(rng.randint(1, 3)):
        places = list(_places(value))
        if not places:
            return rng.choice(VALUES)
        holder, key = rng.choice(places)
        kind = rng.random()
        if kind < 0.3:
            holder[key] = json.loads(json.dumps(rng.choice(VALUES)))
        elif kind < 0.5:
            holder[key] = _near(holder[key], rng)
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


def _near(value: Any, rng: random.Random) -> Any:
    """A value of the same kind that is another."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, (int, float)):
        near = (-value, value + 1, value - 1, value / 2, 1e6 * value, 1e-9 * value, value % 7)
        return rng.choice([v for v in near if math.isfinite(v)] or [0])
    if isinstance(value, str):
        return damaged_text(value, rng) if value else "x"
    items = list(value.items()) if isinstance(value, dict) else list(value)
    rng.shuffle(items)
    kept = items[: rng.randint(0, len(items))]
    return dict(kept) if isinstance(value, dict) else kept


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
