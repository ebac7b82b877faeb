"""Where nothing changes: equilibria and trims."""
