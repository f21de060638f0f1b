"""Widgets: each draws one thing from one value."""
