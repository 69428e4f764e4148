"""Reproduces published figures: their sweeps, the verdicts on their claims, their reports, and the site above them."""
