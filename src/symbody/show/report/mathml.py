r"""The LaTeX that `expr.latex` writes, as MathML, which browsers draw by themselves: no fonts, no scripts, no network.

Only that vocabulary is known: fractions, roots, fences, accents, indices, cases, matrices, Greek and function names. A
command that is not in it is an error of ours and is shown as its name.
"""

from __future__ import annotations

import re
from html import escape

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
    "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "upsilon": "υ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ",
    "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ",
    "Omega": "Ω",
}  # fmt: skip
FUNCTIONS = frozenset(("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "ln", "min", "max"))
SIGNS = {
    "le": "≤", "ne": "≠", "land": "∧", "lor": "∨", "lnot": "¬", "cdot": "·", "infty": "∞", "ldots": "…", "bmod": "mod",
    "backslash": "\\", "wedge": "^", "sim": "~", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉",
}  # fmt: skip
ACCENTS = {"dot": "˙", "ddot": "¨"}
FENCES = {"cases": ("{", ""), "pmatrix": ("(", ")"), "aligned": ("", "")}
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[0-9]+(?:\.[0-9]+)?|\s+|.", re.DOTALL)


def to_mathml(latex: str) -> str:
    """A <math> element; the LaTeX goes with it as an annotation, so that it can be copied."""
    body = _TokenReader(latex).everything()
    note = f'<annotation encoding="application/x-tex">{escape(latex, quote=False)}</annotation>'
    head = '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">'
    return f"{head}<semantics><mrow>{body}</mrow>{note}</semantics></math>"


class _TokenReader:
    """Reads tokens from left to right; groups nest no deeper than the LaTeX does."""

    def __init__(self, latex: str) -> None:
        self.source = TOKEN.findall(latex)  # with blanks, which count inside \\text
        self.at = 0

    def everything(self) -> str:
        out = self.row(())
        while self.at < len(self.source):  # a closing sign without an opening one
            self.at += 1
            out += self.row(())
        return out

    def peek(self) -> str:
        while self.at < len(self.source) and self.source[self.at].isspace():
            self.at += 1
        return self.source[self.at] if self.at < len(self.source) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def row(self, ends: tuple[str, ...]) -> str:
        """Items up to one of `ends`, which stays."""
        out = []
        while (token := self.peek()) and token not in ends and token != "}":
            out.append(self.scripted())
        return "".join(out)

    def scripted(self) -> str:
        """An item with its index and exponent."""
        base = self.item()
        below = above = ""
        while self.peek() in ("_", "^"):
            if self.take() == "_":
                below = self.index()
            else:
                above = self.argument()
        if below and above:
            return f"<msubsup>{base}{below}{above}</msubsup>"
        if below:
            return f"<msub>{base}{below}</msub>"
        return f"<msup>{base}{above}</msup>" if above else base

    def index(self) -> str:
        """An index: words and numbers upright and close together, all else as any group."""
        start = self.at
        if self.peek() == "{" and re.fullmatch(r"[A-Za-z0-9_ ]*[A-Za-z0-9_]{2,} ?", words := self.words()):
            return f'<mi mathvariant="normal">{words}</mi>'
        self.at = start
        return self.argument()

    def argument(self) -> str:
        """A group in braces, or one item."""
        if self.peek() != "{":
            return self.item()
        self.take()
        inside = self.row(("}",))
        self.take()
        return f"<mrow>{inside}</mrow>"

    def words(self) -> str:
        """The text of a group, without mathematics; escaped signs such as \\_ are themselves."""
        if self.peek() != "{":
            return self.take()
        self.take()
        out, depth = [], 0
        while self.at < len(self.source):
            token = self.source[self.at]
            self.at += 1
            if token == "}" and depth == 0:
                break
            depth += (token == "{") - (token == "}")
            if token.startswith("\\") and len(token) > 1:
                token = SIGNS.get(token[1:], token[1:])
            out.append(token)
        return escape("".join(out), quote=False)

    def item(self) -> str:
        token = self.take()
        if token == "{":
            self.at -= 1
            return self.argument()
        if token.startswith("\\") and len(token) > 1:
            return self.command(token[1:])
        if token[:1].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        shown = {"-": "−"}.get(token, escape(token, quote=False))
        return f"<mo>{shown}</mo>"

    def command(self, name: str) -> str:
        if name == "frac":
            return f"<mfrac>{self.argument()}{self.argument()}</mfrac>"
        if name == "sqrt":
            return self.root()
        if name in ACCENTS:
            return f'<mover accent="true">{self.argument()}<mo stretchy="false">{ACCENTS[name]}</mo></mover>'
        if name == "left":
            return self.fenced()
        if name == "begin":
            return self.table()
        if name in ("mathrm", "operatorname"):
            return f'<mi mathvariant="normal">{self.words()}</mi>'
        if name == "text":
            return f"<mtext>{self.words().replace(' ', '&#160;')}</mtext>"
        if name == ",":
            return '<mspace width="0.17em"/>'
        if name in GREEK:
            return f"<mi>{GREEK[name]}</mi>"
        if name in FUNCTIONS:
            return f"<mi>{name}</mi>"
        if name in SIGNS:
            return f"<mo>{escape(SIGNS[name], quote=False)}</mo>"
        return f"<mi>{escape(name, quote=False)}</mi>" if name.isalpha() else f"<mo>{escape(name, quote=False)}</mo>"

    def root(self) -> str:
        if self.peek() != "[":
            return f"<msqrt>{self.argument()}</msqrt>"
        self.take()
        degree = self.row(("]",))
        self.take()
        return f"<mroot>{self.argument()}<mrow>{degree}</mrow></mroot>"

    def fenced(self) -> str:
        left = self.fence()
        inside = self.row((r"\right",))
        right = ""
        if self.peek() == r"\right":
            self.take()
            right = self.fence()
        return f"<mrow>{left}{inside}{right}</mrow>"

    def fence(self) -> str:
        token = self.take()
        if token == ".":
            return ""
        sign = SIGNS.get(token[1:], token[1:]) if token.startswith("\\") else token
        return f'<mo stretchy="true">{escape(sign, quote=False)}</mo>'

    def table(self) -> str:
        """\\begin{cases}, \\begin{pmatrix} or \\begin{aligned} up to its \\end."""
        name = self.words()
        rows: list[list[str]] = [[]]
        while True:
            rows[-1].append(f"<mtd>{self.row(('&', chr(92) * 2, chr(92) + 'end'))}</mtd>")
            token = self.take()
            if token == "\\\\":
                rows.append([])
            elif token != "&":
                break
        self.words()
        left, right = FENCES.get(name, ("", ""))
        kind = f' class="{name}" displaystyle="true"' if name in FENCES else ""
        body = "".join(f"<mtr>{''.join(cells)}</mtr>" for cells in rows)
        fences = [f'<mo stretchy="true">{f}</mo>' if f else "" for f in (left, right)]
        return f"<mrow>{fences[0]}<mtable{kind}>{body}</mtable>{fences[1]}</mrow>"
