"""The claims ledger: statements of papers, their measures here, and the verdicts that follow.

`ledger` reads `claims.toml`; `language` and `vocabulary` are the expressions it measures with; `evaluate` applies
them to a sweep, seed by seed; `verdict` compares with what was published. No verdict is ever written by hand.
"""
