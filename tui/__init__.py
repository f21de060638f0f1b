"""The command line, the screens and widgets, and the bridge from events to pixels."""
