"""`python -m tui` is `looptop`."""

from tui.cli import main

main()
