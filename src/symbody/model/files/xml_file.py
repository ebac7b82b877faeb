"""Safe reading of XML model files: plain elements with line numbers, bounded size, no DTD and no entities.

expat is driven directly because it knows the line of every element, and because every declaration that could reach
outside the file (document type, entity) can be refused before it acts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from symbody.basics.errors import ModelError, nearest
from symbody.basics.regular_file import TooLarge, read_regular
from symbody.model.record.origin import fault

MAX_BYTES = 128 * 2**20
MAX_DEPTH = 200
MAX_ELEMENTS = 2_500_000  # 200 000 bodies
LARGEST = 1e30  # a larger number cannot be a mass or a length, and its square would overflow

_NUMBER = re.compile(r"[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(eq=False, slots=True)
class XmlElement:
    """One element: its tag, attributes, text, children, and where it stands."""

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    text: str = ""
    children: list[XmlElement] = field(default_factory=list)

    @property
    def origin(self) -> str:
        """`robot.urdf:31`, as parameters and messages carry it."""
        return f"{self.file}:{self.line}"

    def error(self, sentence: str) -> ModelError:
        return fault(self.origin, sentence)

    def all(self, tag: str) -> Iterator[XmlElement]:
        return (c for c in self.children if c.tag == tag)

    def first(self, tag: str) -> XmlElement | None:
        return next(self.all(tag), None)

    def find(self, tag: str) -> XmlElement | None:
        """The child of this tag, or None; two of them are an error."""
        found = list(self.all(tag))
        if len(found) > 1:
            raise found[1].error(
                f"a second <{tag}> in <{self.tag}> (the first is on line {found[0].line}); expected one at most."
            )
        return found[0] if found else None

    def need(self, tag: str) -> XmlElement:
        child = self.find(tag)
        if child is None:
            raise self.error(f"<{self.tag}> has no <{tag}>; expected one.")
        return child

    def get(self, attribute: str, default: str = "") -> str:
        return self.attributes.get(attribute, default).strip()

    def name(self, attribute: str = "name") -> str:
        """An attribute that must be there and not empty."""
        value = self.get(attribute)
        if not value:
            raise self.error(f"<{self.tag}> has no attribute {attribute!r}; expected a name.")
        return value

    def content(self, tag: str, default: str | None = None) -> str:
        """Text of a child that holds text alone."""
        child = self.find(tag)
        value = child.text.strip() if child is not None else ""
        if not value and default is None:
            raise (child or self).error(f"<{self.tag}> has no text in <{tag}>; expected a name or a value.")
        return value or default or ""

    def number(self, attribute: str, default: float | None = None) -> float:
        """An attribute that is one number."""
        if attribute not in self.attributes:
            if default is None:
                raise self.error(f"<{self.tag}> has no attribute {attribute!r}; expected a number.")
            return default
        return parse_numbers(self, f"{attribute}=", self.attributes[attribute], (1,))[0]

    def numbers(self, attribute: str, counts: int | Iterable[int], default: Iterable[float] = ()) -> list[float]:
        """An attribute that is a list of numbers, one of the given lengths; `default` where it is absent."""
        if attribute not in self.attributes:
            return list(default)
        counts = (counts,) if isinstance(counts, int) else tuple(counts)
        return parse_numbers(self, f"{attribute}=", self.attributes[attribute], counts)

    def choice(self, attribute: str, known: Iterable[str], default: str) -> str:
        value = self.get(attribute) or default
        known = list(known)
        if value not in known:
            raise self.error(
                f"<{self.tag}> has {attribute}={value!r}; expected one of {', '.join(known)}. {nearest(value, known)}"
            )
        return value


def parse_numbers(element: XmlElement, what: str, text: str, counts: tuple[int, ...]) -> list[float]:
    """Finite numbers separated by blanks; their count must be one of `counts`."""
    words = text.split()
    if len(words) not in counts:
        wanted = " or ".join(str(c) for c in counts)
        raise element.error(
            f"<{element.tag}> has {what}{_short(text)!r}, {len(words)} values; expected {wanted} "
            f"{'number' if wanted == '1' else 'numbers separated by blanks'}."
        )
    out = []
    for word in words:
        if not _NUMBER.fullmatch(word):
            raise element.error(
                f"<{element.tag}> has {what}{_short(text)!r}; {_short(word)!r} is not a number; expected 1.5 or such."
            )
        value = float(word)
        if not math.isfinite(value) or abs(value) > LARGEST:
            raise element.error(f"<{element.tag}> has {what}{_short(text)!r}; expected numbers below {LARGEST:g}.")
        out.append(value)
    return out


def parse_bound(element: XmlElement, what: str, text: str) -> float | None:
    """A number that limits something; None for inf and what is as large, by which writers say that there is none."""
    word = text.strip().lower()
    if word.lstrip("+-") in ("inf", "infinity"):
        return None
    if _NUMBER.fullmatch(word) and abs(float(word)) > LARGEST:
        return None
    return parse_numbers(element, what, text, (1,))[0]


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


def read_xml(path: str | Path) -> XmlElement:
    """The root element of a file."""
    path = Path(path)
    try:
        if not path.is_file():
            raise ModelError(f"{path}: there is no such file; expected the path of a model file.")
        data = read_regular(path, MAX_BYTES)
    except TooLarge as error:
        raise ModelError(f"{path.name}: the file has {error.size} bytes; expected {MAX_BYTES} at most.") from None
    except (OSError, ValueError) as problem:
        raise ModelError(f"{str(path)!r} cannot be read ({problem}); expected the path of a model file.") from None
    return parse_xml(data, path.name)


def parse_xml(data: bytes, file: str) -> XmlElement:
    """The root element of a text. `file` is the name for messages."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    top: list[XmlElement] = []
    stack: list[XmlElement] = []
    texts: list[list[str]] = []  # of the elements on the stack: joined once, since a file may have very many pieces
    count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        element = XmlElement(tag, attributes, file, parser.CurrentLineNumber)
        if len(stack) >= MAX_DEPTH:
            raise element.error(f"<{tag}> is nested {MAX_DEPTH} elements deep; expected a flatter file.")
        if count > MAX_ELEMENTS:
            raise element.error(f"the file has more than {MAX_ELEMENTS} elements; expected a smaller one.")
        (stack[-1].children if stack else top).append(element)
        stack.append(element)
        texts.append([])

    def end(tag: str) -> None:
        stack.pop().text = "".join(texts.pop())

    def characters(text: str) -> None:
        texts[-1].append(text)

    def doctype(name: str, *rest: object) -> None:
        raise ModelError(
            f"{file}:{parser.CurrentLineNumber}: a document type declaration <!DOCTYPE {_short(name)}>; "
            "expected plain XML without DTD and entities. Remove it."
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as problem:
        text = expat.ErrorString(problem.code)
        raise ModelError(
            f"{file}:{problem.lineno}: this is not well-formed XML ({text}, column {problem.offset + 1}); "
            "expected matching tags and quoted attributes."
        ) from None
    except (LookupError, ValueError) as problem:  # an encoding that Python does not know
        raise ModelError(f"{file}:1: the text cannot be decoded ({problem}); expected UTF-8.") from None
    return top[0]


def expand_xacro(path: Path) -> str:
    """The sentence that says how a macro file becomes plain URDF."""
    plain = path.name.removesuffix(".xacro").removesuffix(".urdf") + ".urdf"
    return f"Expand it first: xacro {path.name} -o {'expanded_' if plain == path.name else ''}{plain}"
