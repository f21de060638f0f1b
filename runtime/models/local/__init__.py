"""The embedded model: generate-and-validate program repair for Python.

`driver/` runs in the project's own interpreter and tries candidates in forked pytest sessions; everything else
localises, makes and ranks candidates, searches, and speaks to the loop like any model (`model.py`).
"""
