"""The looks: themes as data and the base sheet. No logic, and nothing of the other packages is imported.

A theme is ten lines in `looks.py`: its name, a few colours, and the product's own variables where they should differ from what
`tui.widgets.palette` derives from those colours.
"""
