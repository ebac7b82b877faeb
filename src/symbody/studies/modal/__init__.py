"""Modes of vibration and their motion."""
