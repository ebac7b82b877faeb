"""Frequency and time responses, controllability, placement of poles, discrete time."""
