"""A run's own copy of the repository: made in milliseconds, measured by a bookkeeping repository of ours, delivered on demand.

`git` is the one door to git; `repository` is the supervisor's. `clone` makes a workspace, with `own_git` for the agent's git,
`submodules` for what hangs on it and `lend` for what git ignores; `book` takes its snapshots, `diff` reads their differences.
`deliver` brings a change home by `merge` and `places`; `discard` removes a workspace when nothing is lost with it.
"""
