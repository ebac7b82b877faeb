"""Programs as statements of any language: the plan of a module, its statements, and what tells languages apart."""
