"""RNA secondary structures: best ones, sums over all, draws."""
