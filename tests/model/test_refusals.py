"""Every sentence with which a reader or writer refuses a file says what to do: what was expected, or a way out."""

import ast
from pathlib import Path

import symbody.model.files as files

SAYS = (
    "expected", "Expected", "nearest(", "hint", "ADVICE", "expand_xacro(", "pip install",
    "Correct", "Give", "Load", "Put", "Remove", "Replace", "Save", "Set", "Split", "Use", "Write",
)  # fmt: skip
PASSED_ON = {"sentence", "text", "told"}  # names of sentences that are made elsewhere, and seen there


def refusals(path: Path) -> list[tuple[int, str]]:
    """(line, source) of every message that a file raises."""
    out = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", "") or getattr(node.func, "id", "")
        if name in ("error", "_fault", "fault", "ModelError"):
            words = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}
            if not words & PASSED_ON:
                out.append((node.lineno, ast.unparse(node)))
    return out


def test_every_refusal_says_what_to_do():
    folder = Path(files.__file__).parent
    found = [(path.name, line, text) for path in sorted(folder.glob("*.py")) for line, text in refusals(path)]
    assert len(found) > 200  # the scan sees them
    silent = [f"{name}:{line}: {text[:160]}" for name, line, text in found if not any(w in text for w in SAYS)]
    assert not silent, "\n".join(silent)
