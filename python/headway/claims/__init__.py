"""The claims ledger: what a paper says, how it is measured here, and the verdict that follows.

`ledger` reads `claims.toml`; `language` and `vocabulary` are the expressions it measures with; `evaluate` applies
them to a sweep, seed by seed; `verdict` compares with what was published. No verdict is ever written by hand.
"""
