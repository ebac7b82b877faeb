"""Damaged input for everything that reads: `make fuzz` (docs/security.md)."""
