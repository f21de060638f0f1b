"""The command line's root: light at import, one place that turns errors into words and exit codes."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from typing import Any

import click

from runtime.errors import ExitCode, LooptopError
from tui.memory import relax

COMMANDS = {
    "run": "tui.commands.run",
    "demo": "tui.commands.demo",
    "resume": "tui.commands.resume",
    "send": "tui.commands.send",
    "runs": "tui.commands.runs",
    "show": "tui.commands.show",
    "apply": "tui.commands.deliver",
    "branch": "tui.commands.deliver",
    "discard": "tui.commands.deliver",
    "usage": "tui.commands.usage",
    "caps": "tui.commands.caps",
    "whatif": "tui.commands.whatif",
    "stoploss": "tui.commands.stoploss",
    "config": "tui.commands.config",
    "doctor": "tui.commands.doctor",
}
SUMMARIES = {
    "run": "Fix a repository until its verify commands pass.",
    "demo": "The dashboard on a bundled broken project, with the embedded model.",
    "resume": "Go on with a run whose process died.",
    "send": "Send a command to a run: pause, set_cap, steer, abort, ...",
    "runs": "List runs.",
    "show": "Show a run: its attempts, costs and end.",
    "apply": "Put a run's change into the working tree.",
    "branch": "Keep a run's change as a branch.",
    "discard": "Remove a run's workspace and change.",
    "usage": "Tokens and money, by day, model, project, run, ...",
    "caps": "The retry caps in force, why, and what own runs say of them.",
    "whatif": "Finished runs under other caps and budgets.",
    "stoploss": "Train, calibrate, evaluate and score: which runs will fail.",
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
    from tui.logs import keep_log
    from tui.places import home_of

    keep_log(home_of(os.environ), os.environ)
    if ctx.invoked_subcommand is None:
        if not sys.stdout.isatty() or not sys.stdin.isatty():
            raise click.UsageError("the dashboard needs a terminal; `looptop run --headless` works without one")
        from tui.dashboard import open_dashboard

        ctx.exit(open_dashboard())


def main(args: list[str] | None = None) -> None:
    """Run looptop and exit with its code; every failure is one sentence, never a traceback."""
    relax()
    code = run(args)
    # What is still buffered for a reader that has gone must not change the code at the interpreter's end.
    _nobody_reads()
    sys.exit(code)


def run(args: list[str] | None = None) -> int:
    """Run looptop and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal or a pipe of another encoding shows a mark for what it doesn't have.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
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
    except (BrokenPipeError, SystemExit):
        # click itself makes a closed pipe a SystemExit; nothing else here raises one.
        return _nobody_reads()
    except Exception as error:  # noqa: BLE001 - the last line before a traceback would reach the user
        return _say(_logged(error), ExitCode.ENVIRONMENT)


def _where(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx is not None else "looptop"
    return f" See `{path} --help`."


def _nobody_reads() -> int:
    """Write what is buffered; where whoever read our output has gone, let it go, also at the interpreter's end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
            continue
        with contextlib.suppress(OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
    return int(ExitCode.OK)


def _say(text: str, code: int) -> int:
    from runtime.text import Masker, one_line, secret_values

    try:
        click.echo(f"looptop: {Masker(secret_values(os.environ)).mask(one_line(text))}", err=True)
    except BrokenPipeError:
        _nobody_reads()
    return int(code)


def _logged(error: Exception) -> str:
    """What to tell of an error that nobody foresaw; its traceback goes to the log."""
    import traceback
    from datetime import UTC, datetime

    from runtime.text import one_line

    where = ""
    with contextlib.suppress(Exception):  # what is broken may be what the log needs
        from tui.logs import write_log
        from tui.places import home_of

        trace = "".join(traceback.format_exception(error))
        path = write_log(home_of(os.environ), os.environ, f"{datetime.now(UTC).isoformat()} {trace}")
        where = f"The details are in {path}." if path else ""
    return f"looptop itself failed: {type(error).__name__}: {one_line(str(error), 300)}. {where}".rstrip()


def json_line(text: str) -> str:
    """JSON with everything that doesn't show written as an escape: it means the same, and can't drive a terminal."""
    if text.isascii():
        return text
    import json

    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def echo_json(data: Any) -> None:
    """Print a value as one JSON document."""
    import json

    click.echo(json_line(json.dumps(data, ensure_ascii=False, default=str)))
