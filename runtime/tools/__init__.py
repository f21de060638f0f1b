"""The five tools of a run: shell, read_file, edit_file, write_file, search. Nothing runs before its arguments were validated."""
