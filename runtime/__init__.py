"""The engine of looptop: loop, models, prompts, tools, workspace and process handling. It knows no screen and no database."""
