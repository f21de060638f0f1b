"""Verifying: run the project's own commands, read their findings, and say what changed against the baseline.

A verdict comes from a command's exit status, never from what its output claims.
"""
