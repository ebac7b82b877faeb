"""Rewriting: expressions become cheaper ones of the same value. `presets.optimize` runs the passes, `cost` judges."""
