"""Dialogs: what a command buys and costs is read before it is sent."""
