"""Single labels, flat or of a taxonomy."""
