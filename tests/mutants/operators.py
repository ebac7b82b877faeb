"""The changes: small faults of a programmer, each as a piece of source text that takes the place of another.

`changes(source)` lists every change that some operator can make, in a fixed order, so that a file and a seed decide
what is drawn. Sentences of errors, annotations, imports and texts for people are left alone.
"""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

SWAPPED_NAMES = {
    "apply": "apply_transposed",
    "apply_transposed": "apply",
    "plus": "minus",
    "minus": "plus",
    "sin": "cos",
    "cos": "sin",
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "any": "all",
    "all": "any",
    "move": "move_back",
    "move_back": "move",
    "from_parent": "to_parent",
    "to_parent": "from_parent",
}
TRANSPOSING = ("transposed", "transpose", "negative", "normalise", "conjugate", "abs", "sorted", "reversed")
TALK = ("__repr__", "__str__", "_repr_markdown_")  # methods that make texts for people
LETTERS = ("xyz", "RTHBF")  # axes, and kinds of elementary motions
COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
LOOSE = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda)  # put in parentheses
VALUES = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


@dataclass(frozen=True)
class Change:
    """One change of a source text: bytes start .. end become `text`.

    line, last  lines (from 1) of what is changed
    function    (first, last) line of the function it stands in, (0, 0) for the module
    site        number of the piece of syntax: changes of one piece share it
    at_import   whether it runs when the module is imported, as defaults of arguments do
    """

    operator: str
    line: int
    last: int
    start: int
    end: int
    text: str
    function: tuple[int, int]
    site: int
    at_import: bool

    def applied(self, source: str) -> str:
        data = source.encode()
        return (data[: self.start] + self.text.encode() + data[self.end :]).decode()


def diff(old: str, new: str, name: str) -> str:
    """The change as a unified diff without context."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), name, name, lineterm="", n=0)
    return "\n".join(list(lines)[2:])


def changes(source: str) -> list[Change]:
    """All changes of a source text, in a fixed order; a few leave no valid Python: `is_valid` tells."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    out, seen = [], set()
    for site, (node, function, at_import) in enumerate(_sites(tree)):
        for operator, new in _variants(node):
            first = starts[node.lineno - 1] + node.col_offset
            last = starts[_end(node)[0] - 1] + _end(node)[1]
            text = _text(new, node.col_offset)
            if (first, last, text) not in seen:
                seen.add((first, last, text))
                lines = (node.lineno, _end(node)[0])
                out.append(Change(operator, *lines, first, last, text, function, site, at_import))
    return out


def is_valid(source: str, change: Change) -> bool:
    """Whether the changed text is Python, and other Python than before."""
    try:
        return ast.dump(ast.parse(change.applied(source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def _text(new: ast.AST, indent: int) -> str:
    text = ast.unparse(new)
    if isinstance(new, LOOSE):
        return f"({text})"
    return text.replace("\n", "\n" + " " * indent)


# -- where


def _sites(tree: ast.Module) -> Iterator[tuple[ast.AST, tuple[int, int], bool]]:
    """(node, lines of its function, whether it runs at import) of all pieces that operators may see, in order."""
    yield from _within(tree.body, (0, 0), True)


def _within(
    body: list[ast.stmt], function: tuple[int, int], at_import: bool
) -> Iterator[tuple[ast.AST, tuple[int, int], bool]]:
    for statement in body:
        if isinstance(
            statement, (ast.Import, ast.ImportFrom, ast.Raise, ast.Assert, ast.Pass, ast.Global, ast.Nonlocal)
        ):
            continue
        if isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Constant, ast.JoinedStr)):
            continue  # a docstring
        if (
            isinstance(statement, ast.If)
            and isinstance(statement.test, ast.Name)
            and statement.test.id == "TYPE_CHECKING"
        ):
            continue
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if statement.name in TALK:
                continue
            lines = (statement.lineno, _end(statement)[0])
            for default in (*statement.args.defaults, *(d for d in statement.args.kw_defaults if d is not None)):
                yield _Default(default), lines, True
            yield from _within(statement.body, lines, False)
            continue
        if isinstance(statement, ast.ClassDef):
            yield from _within(statement.body, function, at_import)
            continue
        yield statement, function, at_import
        for child in _parts(statement):
            if isinstance(child, list):
                yield from _within(child, function, at_import)
            else:
                yield from ((node, function, at_import) for node in _expressions(child))


class _Default(ast.AST):
    """The default of an argument: a number or a truth value."""

    def __init__(self, value: ast.expr) -> None:
        super().__init__()
        self.value = value
        self.lineno, self.col_offset = value.lineno, value.col_offset
        self.end_lineno, self.end_col_offset = _end(value)


def _parts(statement: ast.stmt) -> Iterator[ast.expr | list[ast.stmt]]:
    """Expressions and bodies of a statement, without its annotation and without what it assigns to."""
    for name, value in ast.iter_fields(statement):
        if name in ("annotation", "targets", "target", "returns"):
            continue
        if isinstance(value, ast.expr) or (isinstance(value, list) and value and isinstance(value[0], ast.stmt)):
            yield value
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, ast.ExceptHandler):
                    yield item.body
                elif isinstance(item, ast.withitem):
                    yield item.context_expr


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and _called(node).endswith(("Error", "fault"))):
        return
    if isinstance(node, ast.expr):
        yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "func") and isinstance(value, ast.Name):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, (ast.expr_context, ast.operator, ast.cmpop)):
                yield from _expressions(child)


def _called(call: ast.Call) -> str:
    return (
        call.func.id
        if isinstance(call.func, ast.Name)
        else call.func.attr
        if isinstance(call.func, ast.Attribute)
        else ""
    )


# -- what


def _variants(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """(operator, new node) of every change at a node."""
    if isinstance(node, _Default):
        for _, new in _constants(node.value):
            yield "default", new
        return
    for operator in OPERATORS:
        yield from ((operator.__name__.strip("_"), new) for _, new in operator(node))


def _with(node: ast.AST, **fields: object) -> ast.AST:
    """A copy with other fields."""
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


New = Iterator[tuple[str, ast.AST]]


def _arithmetic(node: ast.AST) -> New:
    swapped: dict[type[ast.operator], ast.operator] = {
        ast.Add: ast.Sub(), ast.Sub: ast.Add(), ast.Mult: ast.Div(), ast.Div: ast.Mult(), ast.FloorDiv: ast.Mult(),
        ast.Pow: ast.Mult(),
    }  # fmt: skip
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in swapped:
        yield "", _with(node, op=swapped[type(node.op)])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        yield "", _with(node, left=node.right, right=node.left)


def _term(node: ast.AST) -> New:
    """A term of a sum, or a factor of a product, is left out."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult)):
        yield "", node.left
        yield "", node.right
    if isinstance(node, ast.Call) and _called(node) in ("plus", "minus", "add", "times") and len(node.args) == 2:
        yield "", node.args[0]
        yield "", node.args[1]


def _sign(node: ast.AST) -> New:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "", node.operand
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
        yield "", ast.UnaryOp(ast.USub(), node)
        if isinstance(node.left, VALUES):
            yield "", _with(node, left=ast.UnaryOp(ast.USub(), node.left))
        if isinstance(node.right, VALUES):
            yield "", _with(node, right=ast.UnaryOp(ast.USub(), node.right))


def _constants(node: ast.AST) -> New:
    if not isinstance(node, ast.Constant):
        return
    value = node.value
    if isinstance(value, bool):
        yield "", ast.Constant(not value)
    elif isinstance(value, int):
        for other in (value + 1, value - 1, -value, 1.001 * value, value + 1e-3):
            yield "", _number(other)
    elif isinstance(value, float):
        for other in (2 * value, value / 2, -value, 1.001 * value, value + 1e-3):
            yield "", _number(other)


def _number(x: float) -> ast.AST:
    return ast.UnaryOp(ast.USub(), ast.Constant(-x)) if x < 0 else ast.Constant(x)


def _letters(node: ast.AST) -> New:
    """Letters of axes and of kinds of motions: another one, or one less."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not node.value:
        return
    for alphabet in LETTERS:
        if set(node.value) <= set(alphabet):
            turned = {c: alphabet[(k + 1) % len(alphabet)] for k, c in enumerate(alphabet)}
            yield "", ast.Constant("".join(turned[c] for c in node.value))
            if len(node.value) > 1:
                yield "", ast.Constant(node.value[1:])
                yield "", ast.Constant(node.value[:-1])
                yield "", ast.Constant(node.value[1] + node.value[0] + node.value[2:])


def _arguments(node: ast.AST) -> New:
    """Two neighbours among the arguments of a call change places: cross(a, b) becomes cross(b, a)."""
    if isinstance(node, ast.Call):
        for k in range(len(node.args) - 1):
            if not any(isinstance(a, ast.Starred) for a in node.args[k : k + 2]):
                args = list(node.args)
                args[k], args[k + 1] = args[k + 1], args[k]
                yield "", _with(node, args=args)


def _index(node: ast.AST) -> New:
    if not isinstance(node, ast.Subscript):
        return
    at = node.slice
    if isinstance(at, ast.Constant) and isinstance(at.value, int) and not isinstance(at.value, bool):
        for other in {0, 1, 2} - {at.value}:
            yield "", _with(node, slice=ast.Constant(other))
    elif isinstance(at, ast.Tuple) and len(at.elts) == 2:
        yield "", _with(node, slice=ast.Tuple([at.elts[1], at.elts[0]], at.ctx))
    elif isinstance(at, ast.Slice):
        for name in ("lower", "upper"):
            bound = getattr(at, name)
            if bound is not None:
                yield "", _with(node, slice=_with(at, **{name: ast.BinOp(bound, ast.Add(), ast.Constant(1))}))
    elif isinstance(at, (ast.Name, ast.BinOp)):
        yield "", _with(node, slice=ast.BinOp(at, ast.Sub(), ast.Constant(1)))


def _transposes(node: ast.AST) -> New:
    if isinstance(node, ast.Attribute) and node.attr == "T":
        yield "", node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        for side in ("left", "right"):
            if isinstance(getattr(node, side), (ast.Name, ast.Attribute)):
                yield "", _with(node, **{side: ast.Attribute(getattr(node, side), "T", ast.Load())})
    if isinstance(node, ast.Call) and _called(node) in TRANSPOSING and len(node.args) == 1:
        yield "", node.args[0]


def _names(node: ast.AST) -> New:
    """A function takes the place of its opposite: sin and cos, plus and minus, apply and apply_transposed."""
    if isinstance(node, ast.Call) and _called(node) in SWAPPED_NAMES:
        other = SWAPPED_NAMES[_called(node)]
        func = node.func
        new = ast.Name(other, ast.Load()) if isinstance(func, ast.Name) else _with(func, attr=other)
        yield "", _with(node, func=new)


def _comparison(node: ast.AST) -> New:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in COMPARED.get(type(node.ops[0]), ()):
            yield "", _with(node, ops=[other()])


def _boolean(node: ast.AST) -> New:
    if isinstance(node, ast.BoolOp):
        yield "", _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        for k in range(len(node.values)):
            rest = node.values[:k] + node.values[k + 1 :]
            yield "", rest[0] if len(rest) == 1 else _with(node, values=rest)


def _condition(node: ast.AST) -> New:
    if isinstance(node, ast.IfExp):
        yield "", _with(node, test=ast.UnaryOp(ast.Not(), node.test))
        yield "", node.body
        yield "", node.orelse
    elif isinstance(node, (ast.If, ast.While)):
        yield "", _with(node, test=ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
        for k, part in enumerate(node.generators):
            for j in range(len(part.ifs)):
                generators = list(node.generators)
                generators[k] = ast.comprehension(part.target, part.iter, part.ifs[:j] + part.ifs[j + 1 :], 0)
                yield "", _with(node, generators=generators)


def _range(node: ast.AST) -> New:
    if isinstance(node, ast.Call) and _called(node) == "range":
        last = 0 if len(node.args) == 1 else 1
        for step in (ast.Sub(), ast.Add()):
            args: list[ast.expr] = list(node.args)
            args[last] = ast.BinOp(args[last], step, ast.Constant(1))
            yield "", _with(node, args=args)
        if len(node.args) == 1:
            yield "", _with(node, args=[ast.Constant(1), node.args[0]])


def _element(node: ast.AST) -> New:
    """An element of a tuple, a list or a dictionary is left out, or two neighbours change places."""
    if isinstance(node, ast.Dict) and len(node.keys) > 1:
        for k in range(len(node.keys)):
            yield (
                "",
                _with(node, keys=node.keys[:k] + node.keys[k + 1 :], values=node.values[:k] + node.values[k + 1 :]),
            )
            if k:
                values = list(node.values)
                values[k - 1], values[k] = values[k], values[k - 1]
                yield "", _with(node, values=values)
    elif isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) > 1 and isinstance(node.ctx, ast.Load):
        for k in range(len(node.elts)):
            yield "", _with(node, elts=node.elts[:k] + node.elts[k + 1 :])
            if k:
                elts = list(node.elts)
                elts[k - 1], elts[k] = elts[k], elts[k - 1]
                yield "", _with(node, elts=elts)


def _keyword(node: ast.AST) -> New:
    """A named argument is left out."""
    if isinstance(node, ast.Call):
        for k, keyword in enumerate(node.keywords):
            if keyword.arg is not None:
                yield "", _with(node, keywords=node.keywords[:k] + node.keywords[k + 1 :])


def _statement(node: ast.AST) -> New:
    """A statement is left out, a loop ends after its first turn, or the function ends early."""
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.For, ast.If, ast.Continue, ast.Break)) or (
        isinstance(node, ast.Expr) and not isinstance(node.value, (ast.Yield, ast.YieldFrom))
    ):
        yield "", ast.Pass()
    if isinstance(node, (ast.For, ast.While)):
        yield "", _with(node, body=[*node.body, ast.Break()])
    if isinstance(node, ast.Return) and node.value is not None and isinstance(node.value, ast.Call) and node.value.args:
        yield "", ast.Return(node.value.args[0])
    if isinstance(node, ast.Continue):
        yield "", ast.Break()
    if isinstance(node, ast.AugAssign):
        yield "", ast.Assign([_with(node.target, ctx=ast.Store())], node.value, lineno=node.lineno)


OPERATORS: tuple[Callable[[ast.AST], New], ...] = (
    _arithmetic, _term, _sign, _constants, _letters, _arguments, _index, _transposes, _names, _comparison, _boolean,
    _condition, _range, _element, _keyword, _statement,
)  # fmt: skip
