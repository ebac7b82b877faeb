"""Solve blocks for languages without assignment in place."""
from symbody.codegen.printer.statements import Writer


class NestedWriter(Writer):
    pass
