"""Outputs that are derivations of a hypergraph of the user's own."""
