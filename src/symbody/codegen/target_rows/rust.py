"""The target "rust": a crate without the standard library; sines and the like are those of the C library."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from symbody.codegen.printer.heading import argument_lines, default_parameters, head_lines, parameter_lines
from symbody.codegen.printer.language import FunctionText, Language
from symbody.codegen.printer.module_layout import Argument, EmittedModule, ModulePart, plan
from symbody.codegen.printer.pieces import called_helpers, called_tables
from symbody.codegen.printer.stored_values import stub_terms
from symbody.codegen.printer.test_program import driver
from symbody.codegen.printer.write import write
from symbody.codegen.target_row import Source, Target, needs
from symbody.symbolic.expr.external import Piecewise

TAKEN = frozenset((
    "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false", "fn",
    "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "Self",
    "static", "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while", "abstract", "become",
    "box", "do", "final", "macro", "override", "priv", "try", "typeof", "unsized", "virtual", "yield", "union", "gen",
    "f32", "f64", "i32", "usize", "bool", "str", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "exp", "log", "sqrt", "pow", "hypot", "floor", "ceil", "fabs", "Externals",
))  # fmt: skip
_UNARY = "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp log sqrt floor ceil fabs"
MATH = dict.fromkeys(_UNARY.split(" "), 1)
MATH |= {"atan2": 2, "pow": 2, "hypot": 2}

HELPERS = {
    "table": """fn {p}_table(x: &[f64], c: &[f64], at: f64) -> f64 {
    // the piece i with x[i] <= at < x[i+1]; the first and the last extend outward
    let pieces = x.len() - 1;
    let terms = c.len() / pieces;
    let mut low = 0;
    let mut high = pieces + 1;
    while low < high {
        let middle = (low + high) / 2;
        if at < x[middle] {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    let i = low.saturating_sub(1).min(pieces - 1);
    let t = at - x[i];
    let mut value = c[(terms - 1) * pieces + i];
    for k in (0..terms - 1).rev() {
        value = value * t + c[k * pieces + i];
    }
    value
}
""",
    "far": "fn {p}_far(guess: f64) -> f64 {\n    1.0e6 * (1.0 + fabs(guess))\n}\n",
    "next": "fn {p}_next(x: f64, step: f64) -> f64 {\n    x + step\n}\n",
    "small": "fn {p}_small(step: f64, x: f64, far: f64, tolerance: f64) -> bool {\n"
    "    let size = fabs(x);\n    fabs(step) <= tolerance * (1.0 + if size < far { size } else { far })\n}\n",
    "below": "fn {p}_below(value: f64, limit: f64) -> bool {\n    fabs(value) <= limit\n}\n",
    "above": "fn {p}_above(value: f64, limit: f64) -> bool {\n    fabs(value) > limit\n}\n",
    "no_number": "fn {p}_no_number(values: &mut [f64]) {\n"
    "    for value in values {\n        *value = f64::NAN;\n    }\n}\n",
}
ALLOW = (
    "#![no_std]\n#![allow(non_snake_case, unused_parens, unused_assignments)]\n"
    "#![allow(clippy::too_many_arguments, clippy::excessive_precision)]\n"
    "#![allow(clippy::approx_constant, clippy::many_single_char_names, clippy::suboptimal_flops)]\n"
    "#![allow(clippy::neg_multiply, clippy::erasing_op, clippy::identity_op, clippy::nonminimal_bool)]\n"
    "#![allow(clippy::eq_op, clippy::neg_cmp_op_on_partial_ord, clippy::needless_late_init)]\n"
    "#![allow(clippy::explicit_counter_loop, clippy::unreadable_literal, clippy::no_effect)]\n"
)


def _single(text: str) -> str:
    return re.sub(r"\bf64\b", "f32", text)


def _literal(single: bool) -> Any:
    kind = "f32" if single else "f64"

    def literal(number: Any) -> str:
        import numpy as np

        value = float(np.float32(number)) if single else float(number)
        if math.isnan(value):
            return f"{kind}::NAN"
        if math.isinf(value):
            return f"{kind}::INFINITY" if value > 0 else f"{kind}::NEG_INFINITY"
        text = str(np.float32(value)) if single else repr(value)
        mantissa, _, exponent = text.partition("e")
        text = (mantissa if "." in mantissa else f"{mantissa}.0") + (f"e{int(exponent)}" if exponent else "")
        return f"({text})" if text.startswith("-") else text

    return literal


def _table(index: int, table: Piecewise, x: str, prefix: str) -> str:
    return f"{prefix}table(&{prefix.upper()}X{index}, &{prefix.upper()}C{index}, {x})"


def _kind(a: Argument, real: str) -> str:
    if a.role == "externals":
        return "&Externals"
    element = "i32" if a.role == "status" else real
    return f"&mut [{element}]" if a.written else f"&[{element}]"


def _function(function: FunctionText, real: str, public: bool) -> str:
    arguments = ", ".join(f"{a.name}: {_kind(a, real)}" for a in function.arguments)
    head = f"{'pub ' if public else ''}fn {function.name}({arguments}) {{"
    return "\n".join([head, *function.lines, "}", ""])


def _language(precision: str) -> Language:
    single = precision == "single"
    real = "f32" if single else "f64"
    return Language(
        functions="rust",
        taken=TAKEN,
        literal=_literal(single),
        define="let {0} = {1};",
        variable="let mut {0} = {1};",
        assign="{0} = {1};",
        early=f"let mut {{0}}: {real};",
        remark="// {0}",
        unused="let _ = {0};",
        idle="let _ = {0};",
        when="if {0} {{",
        loop=("let mut {k} = 0;", "loop {{", "    {k} += 1;"),
        finite="({0}).is_finite()",
        nan=f"{real}::NAN",
        array=f"let mut {{0}} = [0.0{'f32' if single else ''}; {{1}}];",
        given=f"let {{0}}: [{real}; {{1}}] = [{{2}}];",
        extern="(externals.{0})(&{1}, &mut {2});",
        table=_table,
        spare=True,
        tolerance=4e-6 if single else 0.0,
        adapt=_single if single else str,
        frame=lambda function, module: _function(function, real, False),
    )


def emit_rust(
    source: Source, *, precision: str = "double", certificate: str | None = None, project: bool = False
) -> dict[str, str]:
    """src/lib.rs; with project a Cargo.toml and a test in tests/."""
    language, single = _language(precision), precision == "single"
    real = "f32" if single else "f64"
    module = plan(source.parts, language)
    write(module, source.heading)
    heading, p = replace(source.heading, certificate=certificate), module.name
    bodies = ""
    for part in module.every:
        assert part.text is not None
        for function in (*part.functions, part.text):
            function.lines[:] = [_passed(line, module) for line in function.lines]
        bodies += "".join(_function(function, real, False) + "\n" for function in part.functions)
        told = "".join(f"/// {line}\n" for line in [f"{part.name}:", *argument_lines(part, heading)])
        bodies += f"{told}{_function(part.text, real, True)}\n"
    support = ""
    for k, *arrays in called_tables(module, bodies, mark=f"{p.upper()}_X{{k}},"):
        for letter, values in zip("XC", arrays):
            listed = ", ".join(language.literal(v).strip("()") for v in values)
            support += f"static {p.upper()}_{letter}{k}: [{real}; {len(values)}] = [{listed}];\n"
    support += called_helpers(module, bodies, HELPERS)
    support += _math(bodies + support, real)
    if any(part.of("externals") for part in module.every):
        members = "".join(
            f"    pub {n}: fn(&[{real}; {max(e.arity, 1)}], &mut [{real}; {max(e.results, 1)}]),\n"
            for e, n in zip(module.source.externals, module.externals)
        )
        support += (
            f"/// Functions from outside: pure, numbers in, numbers out.\npub struct Externals {{\n{members}}}\n\n"
        )
    values = default_parameters(module)
    listed = ", ".join(language.literal(v).strip("()") for v in values)
    defaults = f"/// The default parameters.\npub static PARAMETERS: [{real}; {len(values)}] = [{listed}];\n\n"
    head = "".join(
        f"//! {line}".rstrip() + "\n" for line in [*head_lines(module, heading), "", *parameter_lines(module)]
    )
    files = {"src/lib.rs": f"{head}\n{ALLOW}\n{defaults}{support}{bodies}".rstrip() + "\n"}
    return files | (_project(module, real) if project else {})


def _passed(line: str, module: EmittedModule) -> str:
    """Slices know their sizes."""
    return re.sub(rf"{module.name}_no_number\((\w+), \d+\)", rf"{module.name}_no_number(\1)", line)


def _math(bodies: str, real: str) -> str:
    """Functions of the C library, and safe names for them."""
    used = [n for n in MATH if re.search(rf"(?<![\w.]){n}\(", bodies)]
    if not used:
        return ""
    suffix = "f" if real == "f32" else ""
    names = ("x", "y")
    declared = "".join(
        f"        pub fn {n}{suffix}({', '.join(f'{a}: {real}' for a in names[: MATH[n]])}) -> {real};\n" for n in used
    )
    text = f'mod libm {{\n    extern "C" {{\n{declared}    }}\n}}\n\n'
    for n in used:
        arguments = ", ".join(f"{a}: {real}" for a in names[: MATH[n]])
        given = ", ".join(names[: MATH[n]])
        text += f"#[inline]\nfn {n}({arguments}) -> {real} {{\n    unsafe {{ libm::{n}{suffix}({given}) }}\n}}\n\n"
    return text


def _project(module: EmittedModule, real: str) -> dict[str, str]:
    name, language = module.name, module.language

    def call(part: ModulePart, names: Sequence[str]) -> str:
        given = []
        for n, a in zip(names, part.arguments.values()):
            if a.role == "externals":
                given.append("&externals")
            else:
                given.append(f"{'&mut ' if a.written else '&'}{n}")
        return f"model::{part.name}({', '.join(given)});"

    test = driver(module, call, "compare({0}, {1}, &mut worst);")
    crate = name.lower()
    lines = [
        f"//! test of {name}: stored values, from symbody's interpreter",
        "#![allow(unused_parens)]",
        f"use {crate} as model;",
        "",
    ]
    lines += [f"fn compare(found: {real}, stored: {real}, worst: &mut f64) {{"]
    wide = "f64::from" if real == "f32" else ""
    lines += [f"    let (found, stored) = ({wide}(found), {wide}(stored));"] if wide else []
    lines += ["    let d = (found - stored).abs() / (1.0 + stored.abs());"]
    lines += ["    if found.is_nan() && stored.is_nan() {", "        return;", "    }"]
    lines += ["    if d.is_nan() || d > *worst {", "        *worst = d;", "    }", "}", ""]
    if module.externals:
        for external, short in zip(module.source.externals, module.externals):
            lines += [
                f"fn {short}(x: &[{real}; {max(external.arity, 1)}], y: &mut [{real}; {max(external.results, 1)}]) {{"
            ]
            lines += ["    let _ = x;"] if not external.arity else []
            for k in range(external.results):
                start, factors = stub_terms(external, k)
                terms = [language.literal(start), *(f"x[{j}] * {language.literal(f)}" for j, f in enumerate(factors))]
                lines.append(f"    y[{k}] = {' + '.join(terms)};")
            lines += ["}", ""]
    lines += ["#[test]", "fn stored_values() {", "    let mut worst = 0.0f64;"]
    if any(part.of("externals") for part in module.every):
        lines += [f"    let externals = model::Externals {{ {', '.join(module.externals)} }};"]
    zero = "0.0f32" if real == "f32" else "0.0"
    sizes = {"derived": len(module.derived), "parameters": module.source.parameter_size}
    lines += [f"    let mut {n} = [{zero}; {sizes.get(n, size)}];" for n, size in test.arrays.items()]
    blocks = [len(part.program.blocks) for part in module.every if part.of("status")]
    lines += [f"    let mut status = [0i32; {max(blocks)}];"] if test.status else []
    lines += [*(f"    {line}" for line in test.lines)]
    lines += [f'    assert!(worst <= {test.bound!r}, "differs from the stored values by {{worst}}");']
    lines += ['    println!("agrees with the stored values to {worst}");', "}", ""]
    cargo = (
        f'# emitted by symbody\n[package]\nname = "{crate}"\nversion = "1.0.0"\nedition = "2021"\n\n[lib]\n'
        f'path = "src/lib.rs"\n\n[profile.test]\nopt-level = 2\n\n[workspace]\n'
    )
    return {"Cargo.toml": cargo, "tests/stored_values.rs": "\n".join(lines)}


RUST = Target(
    name="rust",
    about="a Rust crate without the standard library and without allocation",
    emit=emit_rust,
    shown=".rs",
    certificate=True,
    precisions=("double", "single"),
    lacks=needs("cargo"),
    check=(("cargo", "test", "--offline", "--quiet", "--", "--nocapture"),),
)
