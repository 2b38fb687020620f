"""One file per task of the command line."""
