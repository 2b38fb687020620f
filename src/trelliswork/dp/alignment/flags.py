"""Flags of the alignment recursions, free of compiled code."""

FREE_FIRST, FREE_SECOND, LOCAL, CANONICAL, LOGS = 1, 2, 4, 8, 16
