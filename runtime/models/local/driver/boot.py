"""Entry point in the project's interpreter: `python boot.py CONFIG.json`, messages as JSON lines on stdin and stdout."""

from __future__ import annotations

import importlib
import json
import os
import sys
import types


def main() -> None:
    """Load the driver under a name of its own and hand over."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(sys.argv[1], encoding="utf-8") as file:
        config = json.load(file)
    # The script's folder must not be importable for the project.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.getcwd()) != here]
    package = types.ModuleType("_looptop_trial")
    package.__path__ = [here]
    sys.modules["_looptop_trial"] = package
    sys.argv = ["pytest"]
    importlib.import_module("_looptop_trial.serve").main(config)


if __name__ == "__main__":
    main()
