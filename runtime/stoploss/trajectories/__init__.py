"""Importers of recorded runs into one neutral form, and looptop's own history."""
