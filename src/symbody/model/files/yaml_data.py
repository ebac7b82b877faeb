"""YAML text -> mappings, lists and scalars that know their lines. Only data: no tags, bounded size, depth and aliases.

Plain scalars are read as YAML 1.2 does: `y`, `no` and `on` are texts, 1e-3 is a number. The parser's events are
composed here with an explicit stack, so that neither nesting nor aliases of aliases can exhaust the machine.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from symbody.basics.errors import ModelError, is_lost
from symbody.model.record.origin import fault

LONGEST = 40_000_000  # characters of a file: 200 000 bodies
DEEPEST = 30  # levels of nesting
MOST = 8_000_000  # values, those behind aliases counted each time
ALIASED = 20_000  # values behind aliases, beyond ten for each that is written: else a small file would be a large one
DIRECTIVES = 100  # lines that begin with %: libyaml compares each with all others

FAST: type | None = getattr(yaml, "CSafeLoader", None)  # libyaml's parser, twenty times faster, in most wheels

_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DIRECTIVE = re.compile(r"^%", re.MULTILINE)
_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}


class YamlMapping(dict[str, Any]):
    """A mapping; `line` is where it begins, `lines` where each key stands."""

    line: int
    lines: dict[str, int]


class List(list[Any]):
    """A list and the line where it begins."""

    line: int


@dataclass
class _OpenMapping:
    """A mapping or list that is being read."""

    value: YamlMapping | List
    anchor: str | None
    before: int  # values read when it began
    key: str | None = None
    lines: dict[str, int] = field(default_factory=dict)


def read_yaml(text: str, file: str) -> Any:
    """The data of one document; ModelError with file and line where it is not plain YAML."""
    if len(text) > LONGEST:
        raise fault(file, f"the file has {len(text)} characters; at most {LONGEST} are read. Split it with include.")
    directives = list(itertools.islice(_DIRECTIVE.finditer(text), DIRECTIVES + 1))
    if len(directives) > DIRECTIVES:
        line = text.count("\n", 0, directives[-1].start()) + 1
        raise fault(f"{file}:{line}", f"more than {DIRECTIVES} lines begin with %; expected plain YAML without these.")
    if FAST is not None and "\t" not in text:  # they differ on tabs, and on what they refuse
        try:
            return _Composer(file).read(text, FAST)
        except (yaml.YAMLError, ValueError, OverflowError):
            pass  # read again: what is accepted and how a fault is told is the same with and without libyaml
    try:
        return _Composer(file).read(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f"{file}:{mark.line + 1}" if mark is not None else file
        raise fault(at, f"this is not YAML: {error.problem or error.context}. Correct the line.") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise fault(
            f"{file}:{line}", f"the character {chr(int(error.character))!r} is not allowed in YAML. Remove it."
        ) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise fault(file, f"this is not YAML: {' '.join(str(error).split())}. Correct it.") from None


def _joined(text: str) -> str:
    """JSON, which YAML contains, writes characters beyond 16 bits as two halves: one character again."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


class _Composer:
    """One reading of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.stack: list[_OpenMapping] = []
        self.anchors: dict[str, tuple[Any, int]] = {}  # value, and how many values it holds
        self.count = self.aliased = 0
        self.root: Any = None
        self.documents = 0

    def fault(self, line: int, text: str) -> ModelError:
        return fault(f"{self.file}:{line}", text)

    def read(self, text: str, loader: type) -> Any:
        for event in yaml.parse(text, Loader=loader):
            line = event.start_mark.line + 1
            if isinstance(event, yaml.DocumentStartEvent):
                self.documents += 1
                if self.documents > 1:
                    raise self.fault(line, "a second document begins here; expected one. Remove the line ---.")
            elif isinstance(event, yaml.AliasEvent):
                self.alias(event.anchor, line)
            elif isinstance(event, yaml.NodeEvent):
                if getattr(event, "tag", None) is not None:
                    raise self.fault(line, f"the tag {event.tag!r} is not read; expected plain YAML without tags.")
                self.begin(event, line)
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                self.end(line)
        return self.root

    def begin(self, event: yaml.NodeEvent, line: int) -> None:
        self.grow(1, line)
        if isinstance(event, yaml.ScalarEvent):
            is_key = bool(self.stack) and isinstance(self.stack[-1].value, YamlMapping) and self.stack[-1].key is None
            if event.style == '"' and not event.value.isascii():
                event.value = _joined(event.value)
            value = event.value if is_key else self.scalar(event, line)
            if event.anchor is not None:
                self.anchors[event.anchor] = (value, 1)
            self.put(value, line)
            return
        if len(self.stack) >= DEEPEST:
            raise self.fault(line, f"lists and mappings are nested more than {DEEPEST} deep; expected fewer levels.")
        made: YamlMapping | List = YamlMapping() if isinstance(event, yaml.MappingStartEvent) else List()
        made.line = line
        if event.anchor is not None:
            self.anchors.pop(event.anchor, None)  # not known before it is complete
        self.stack.append(_OpenMapping(made, event.anchor, self.count))

    def end(self, line: int) -> None:
        done = self.stack.pop()
        if isinstance(done.value, YamlMapping):
            done.value.lines = done.lines
        if done.anchor is not None:
            self.anchors[done.anchor] = (done.value, self.count - done.before + 1)
        self.put(done.value, done.value.line)

    def alias(self, name: str, line: int) -> None:
        if name not in self.anchors:
            raise self.fault(
                line, f"the alias *{name} has no anchor &{name} that is complete before it. Write the value out."
            )
        value, size = self.anchors[name]
        self.grow(size, line)
        self.aliased += size
        if self.aliased > ALIASED + 10 * (self.count - self.aliased):
            raise self.fault(line, f"{self.aliased} values stand behind aliases; expected fewer. Write them out.")
        self.put(value, line)

    def grow(self, size: int, line: int) -> None:
        self.count += size
        if self.count > MOST:
            raise self.fault(line, f"the file has more than {MOST} values, with those behind aliases; expected fewer.")

    def put(self, value: Any, line: int) -> None:
        if not self.stack:
            self.root = value
            return
        top = self.stack[-1]
        if isinstance(top.value, List):
            top.value.append(value)
        elif top.key is not None:
            top.value[top.key] = value
            top.key = None
        else:
            if not isinstance(value, str):
                raise self.fault(line, "a key is a list or a mapping; expected a name.")
            if value in top.lines:
                raise self.fault(
                    line, f"the key {value!r} is given twice (first in line {top.lines[value]}). Remove one."
                )
            top.key, top.lines[value] = value, line

    def scalar(self, event: yaml.ScalarEvent, line: int) -> Any:
        text = event.value
        if event.style:  # libyaml says "" where PyYAML says None: plain
            return text
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if _INTEGER.fullmatch(text):
            if len(text) > 400:
                raise self.fault(line, f"an integer of {len(text)} digits is too long.")
            return int(text)
        if _FLOAT.fullmatch(text):
            if is_lost(text, float(text)):
                raise self.fault(line, f"the number {text:.60} is too small for a float; they begin at 4.9e-324.")
            return float(text)
        if text.lower().lstrip("+-") in (".inf", ".nan"):
            raise self.fault(line, f"the number {text} is not finite; expected a finite number.")
        return text
