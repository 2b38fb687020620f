"""Label chains: best labels, sums over all labels, derivatives, costs."""
