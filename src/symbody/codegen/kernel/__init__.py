"""What a Kernel is: its arguments, threads, tiers and cache."""
