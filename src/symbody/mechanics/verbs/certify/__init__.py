"""The certificate of a Mechanism: every program against the reference."""
