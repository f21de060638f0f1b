"""A run's own copy of the repository: made in milliseconds, measured by a bookkeeping repository of ours, delivered on demand.

`git` is the one door to git, `layout` says where things lie, `clone` makes a workspace, `book` takes snapshots and differences,
`deliver` brings a change home, `lend` brings what git ignores.
"""
