"""One HTML file that needs nothing else: sections, a table of contents, styles and scripts inside.

Every text that comes from a model goes through `text`. A policy in the head forbids the page to load anything and lets
only the scripts run whose fingerprints it lists, so that even a slip there could not run foreign code.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path


@dataclass(frozen=True)
class Section:
    """A heading, its place in the page, and HTML."""

    key: str
    title: str
    html: str


def text(value: object) -> str:
    """Any value as text in HTML, also inside attributes."""
    return escape(str(value), quote=True)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int] = (), caption: str = "") -> str:
    """A table of texts, all of them escaped; columns listed in `numbers` are set to the right."""

    def cells(row: Sequence[object], tag: str) -> str:
        return "".join(f"<{tag}{' class=num' if k in numbers else ''}>{text(x)}</{tag}>" for k, x in enumerate(row))

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    title = f"<caption>{text(caption)}</caption>" if caption else ""
    top = f"<thead><tr>{cells(head, 'th')}</tr></thead>"
    return f'<div class="wide"><table>{title}{top}<tbody>{body}</tbody></table></div>'


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """Names and values beside each other."""
    rows = "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in pairs)
    return f'<dl class="facts">{rows}</dl>'


def sentences(lines: Iterable[object], kind: str = "note") -> str:
    """Remarks, one paragraph each."""
    return "".join(f'<p class="{kind}">{text(line)}</p>' for line in lines)


def folded(summary: str, html: str) -> str:
    """HTML that opens on a click."""
    return f"<details><summary>{text(summary)}</summary>{html}</details>"


def page(
    title: str,
    lead: str,
    sections: Sequence[Section],
    scripts: Sequence[str] = (),
    data: Sequence[tuple[str, str]] = (),
    footer: str = "",
    bare: bool = False,
) -> str:
    """The whole file; `lead` is HTML below the title, `data` are (id, JSON) that the scripts read.

    bare: without title, contents and headings: an animation by itself.
    """
    style = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    contents = "".join(f'<li><a href="#{text(s.key)}">{text(s.title)}</a></li>' for s in sections)
    body = "".join(f'<section id="{text(s.key)}"><h2>{text(s.title)}</h2>{s.html}</section>' for s in sections)
    stores = "".join(f'<script type="application/json" id="{text(k)}">{_inert(v)}</script>' for k, v in data)
    top = f'<nav aria-label="contents"><p class="brand">symbody</p><ol>{contents}</ol></nav>\n'
    heading = f"<header><h1>{text(title)}</h1>{lead}</header>\n"
    if bare:
        top, heading, body = "", "", "".join(s.html for s in sections)
    code = "".join(f"<script>{_closed(s)}</script>" for s in scripts)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<title>{text(title)}</title>\n<style>\n{style}</style></head>\n'
        f"<body{' class=bare' if bare else ''}>\n{top}<main>{heading}{body}\n"
        f"{'' if bare else f'<footer>{text(footer)}</footer>'}</main>\n"
        f"{stores}\n{code}\n</body></html>\n"
    )


def _policy(scripts: Sequence[str]) -> str:
    """Nothing is loaded from anywhere; the scripts below run, and no others."""
    prints = [base64.b64encode(hashlib.sha256(_closed(s).encode()).digest()).decode() for s in scripts]
    allowed = " ".join(f"'sha256-{p}'" for p in prints) or "'none'"
    return f"default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src {allowed}"


def _inert(json_text: str) -> str:
    """JSON that cannot end its own <script> element."""
    return json_text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _closed(script: str) -> str:
    """A script whose text cannot end its own element."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
