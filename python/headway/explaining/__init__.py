"""Finds the readings of a paper under which its claims are reproduced.

A reading gives a value to each choice that the paper leaves open. Short runs search the readings, and whole figures
test the best ones.
"""
