"""Where loops are cut, and other places to cut them."""
