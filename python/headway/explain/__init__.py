"""Under which readings of a paper its claims come out: choices searched on short runs, and held against whole figures."""
