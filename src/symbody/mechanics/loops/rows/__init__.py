"""The constraints that cuts and couplings make, as rows, and by numbers."""
