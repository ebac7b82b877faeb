"""C text and the system's compiler."""
