"""Programs as statements of any language: the plan of a module, its expressions and statements, and what tells languages apart."""
