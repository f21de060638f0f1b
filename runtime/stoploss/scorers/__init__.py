"""Scorers behind one interface: step limit, embedded, served, judge, and ensembles of any of these."""
