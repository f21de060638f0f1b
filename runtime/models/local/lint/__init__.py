"""Lint and type findings as goals: what has a mechanical fix is fixed, checked by the tools themselves, and proposed like any patch."""
