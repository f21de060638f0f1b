"""The fix/verify loop: prepare, then fix, verify and recover until it passes or something ends it.

`run` is the whole on one screen; the phases, the limits and the mailbox for commands are files of their own.
"""
