"""Any acyclic derivation hypergraph: the recursions that all others are tested against."""
