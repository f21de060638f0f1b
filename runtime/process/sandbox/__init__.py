"""What keeps a run's commands in their place: found out once what this system can do, then wrapped around every command."""
