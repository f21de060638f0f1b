"""One file per command, imported only when it is called."""
