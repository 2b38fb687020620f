"""RNA secondary structures scored by their loops: best ones, sums over all, draws, lists."""
