"""The native loops of a march as LLVM text."""
