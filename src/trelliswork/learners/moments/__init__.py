"""Learning from moments: Z-score and SODA."""
