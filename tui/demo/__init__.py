"""The bundled demo: a small broken project, and how it becomes a repository."""
