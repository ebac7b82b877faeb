"""Which joints and rows are independent, and where the choice is singular."""
