"""What follows from a Mechanism, a System or a Flow: made once, and freed with it (decision 0016)."""
