"""Under which readings of a paper its claims come out: searched on short runs, and held against whole figures."""
