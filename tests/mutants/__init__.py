"""Mutants: faults put into the sources at random or by hand, to see whether they are noticed. `make mutants`."""
