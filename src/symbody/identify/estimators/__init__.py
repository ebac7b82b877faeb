"""Estimators, one contract."""
