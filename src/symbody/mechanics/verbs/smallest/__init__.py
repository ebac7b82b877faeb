"""The smallest program for a quantity: choices, search, budget, checks by numbers."""
