"""The looks of looptop: theme definitions and the base style sheet. No logic; it imports nothing of ours."""
