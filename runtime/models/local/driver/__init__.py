"""Runs inside the project's interpreter (Python 3.9 or later, pytest, nothing of looptop) under the package name `_looptop_trial`.

Loaded by `boot.py`; the folder's modules import each other relatively, because their package has another name there.
"""
