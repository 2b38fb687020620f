"""What a prediction got right: counts of entities, brackets and base pairs."""
