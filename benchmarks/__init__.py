"""Benchmarks of symbody, side by side with SymPy, SymEngine and CasADi SX. Run with `make bench`."""
