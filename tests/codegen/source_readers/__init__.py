"""Readers of emitted text for languages whose programs are not here: text to a tree, run by one small machine.

They are written from the languages' own rules and know nothing of the printers.
"""
