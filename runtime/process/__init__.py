"""The one place where processes of a run start and end."""
