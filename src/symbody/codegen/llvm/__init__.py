"""LLVM text and its compilation in a process of its own."""
