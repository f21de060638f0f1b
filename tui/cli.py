"""The command line's root: light at import, one place that turns errors into words and exit codes."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from runtime.errors import ExitCode, LooptopError

COMMANDS = {
    "run": "tui.commands.run",
    "demo": "tui.commands.demo",
    "runs": "tui.commands.runs",
    "show": "tui.commands.show",
    "apply": "tui.commands.deliver",
    "branch": "tui.commands.deliver",
    "discard": "tui.commands.deliver",
    "usage": "tui.commands.usage",
    "caps": "tui.commands.caps",
    "config": "tui.commands.config",
    "doctor": "tui.commands.doctor",
}
SUMMARIES = {
    "run": "Fix a repository until its verify commands pass.",
    "demo": "The dashboard on a bundled broken project, with the embedded model.",
    "runs": "List runs.",
    "show": "Show a run: its attempts, costs and end.",
    "apply": "Put a run's change into the working tree.",
    "branch": "Keep a run's change as a branch.",
    "discard": "Remove a run's workspace and change.",
    "usage": "Tokens and money, by day, model, project, run, ...",
    "caps": "The retry caps in force, and why.",
    "config": "Settings, each with where it came from.",
    "doctor": "Check what looptop needs on this machine.",
}


class LazyGroup(click.Group):
    """Loads a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        command = getattr(importlib.import_module(module), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="looptop", prog_name="looptop")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """The cockpit for fix/verify loops. Without a command: the dashboard."""
    if ctx.invoked_subcommand is None:
        if not sys.stdout.isatty() or not sys.stdin.isatty():
            raise click.UsageError("the dashboard needs a terminal; `looptop run --headless` works without one")
        from tui.dashboard import open_dashboard

        ctx.exit(open_dashboard())


def main(args: list[str] | None = None) -> None:
    """Run looptop and exit with its code; every failure is one sentence, never a traceback."""
    sys.exit(run(args))


def run(args: list[str] | None = None) -> int:
    """Run looptop and return its exit code."""
    try:
        result = cli.main(args, prog_name="looptop", standalone_mode=False)
        return result if isinstance(result, int) else int(ExitCode.OK)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.UsageError as error:
        return _say(f"{error.format_message().rstrip('.')}.{_where(error)}", ExitCode.USAGE)
    except click.ClickException as error:
        return _say(error.format_message(), ExitCode.USAGE)
    except LooptopError as error:
        return _say(str(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return int(ExitCode.ABORTED)
    except BrokenPipeError:
        # Whoever read our output has gone; nothing is left to say, also not at the interpreter's end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.OK)
    except Exception as error:  # noqa: BLE001 - the last line before a traceback would reach the user
        return _say(_logged(error), ExitCode.ENVIRONMENT)


def _where(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx is not None else "looptop"
    return f" See `{path} --help`."


def _say(text: str, code: int) -> int:
    from runtime.text import one_line

    click.echo(f"looptop: {one_line(text)}", err=True)
    return int(code)


def _logged(error: Exception) -> str:
    """What to tell of an error that nobody foresaw; its traceback goes to the log, without secrets."""
    import traceback

    from runtime.text import Masker, secret_values
    from tui.places import home_of

    log = home_of(os.environ) / "logs" / "looptop.log"
    try:
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a") as file:
            file.write(Masker(secret_values(os.environ)).mask("".join(traceback.format_exception(error))))
        where = f"The details are in {log}."
    except OSError:
        where = ""
    return f"looptop itself failed: {type(error).__name__}: {error}. {where}"


def echo_json(data: Any) -> None:
    """Print a value as one JSON document."""
    import json

    click.echo(json.dumps(data, ensure_ascii=False, default=str))
