"""Trees of a context-free grammar: best ones, sums over all, packed forests."""
