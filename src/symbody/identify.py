"""Identification by its public name: `from symbody.identify import WLS, inverse_model, prepare, read_series`.

The names, and what each is for, stand in `symbody/studies/identification` and in docs/identification.md.
"""

from symbody.studies import identification

__all__, __getattr__, __dir__ = identification.__all__, identification.__getattr__, identification.__dir__
