"""Mechanics written a second time, in plain NumPy: what the certificate holds the programs against."""
