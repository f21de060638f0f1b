"""Bad input: one clear sentence, the right exit code, and nothing left behind."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from support.cli import CommandLine, one_sentence
from support.repositories import CHECK, git

RUN = ("run", "--headless", "--model", "local", "--verify", CHECK)


def nothing_left(looptop: CommandLine, repo: Path | None = None) -> None:
    """No workspace, no run, no ref; the repository as it was."""
    assert not list(looptop.home.glob("workspaces/*"))
    assert not list(looptop.home.glob("runs/*"))
    if repo is not None:
        assert git(repo, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]
        assert git(repo, "status", "--porcelain") == ""
    if looptop.home.exists():
        assert looptop("runs").out == ""


def test_a_folder_that_is_no_repository(looptop: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    line = one_sentence(looptop(*RUN, "--repo", "plain"), 3)
    assert f"{tmp_path}/plain is not in a git repository" in line
    assert "git init" in line
    nothing_left(looptop)


def test_a_folder_that_is_not_there(looptop: CommandLine) -> None:
    assert "There is no folder" in one_sentence(looptop(*RUN, "--repo", "nowhere"), 2)


def test_a_file_as_repository(looptop: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert "is not a folder" in one_sentence(looptop(*RUN, "--repo", "file"), 2)


def test_a_repository_without_a_commit(looptop: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    assert "has no commit yet" in one_sentence(looptop(*RUN, "--repo", "empty"), 3)
    nothing_left(looptop)


def test_a_bare_repository(looptop: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    git(tmp_path / "bare", "init", "-q", "--bare")
    assert "is a bare repository" in one_sentence(looptop(*RUN, "--repo", "bare"), 3)
    nothing_left(looptop)


def test_no_verify_command_is_known(looptop: CommandLine, repo: Path) -> None:
    line = one_sentence(looptop("run", "--headless", "--model", "local", "--repo", str(repo)), 2)
    assert "No verify command is known" in line
    assert "--verify" in line
    nothing_left(looptop, repo)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("no-such-tool --check", "no-such-tool"),
        ("python3 check.py || true", "can't be trusted"),
        ("", "no command"),
        ("   ", "no command"),
    ],
)
def test_a_verify_command_that_is_none(looptop: CommandLine, repo: Path, command: str, told: str) -> None:
    said = looptop("run", "--headless", "--model", "local", "--repo", str(repo), "--verify", command)
    assert said.code in (2, 3), said
    assert told in said.err + said.out
    assert "Traceback" not in said.err + said.out
    assert git(repo, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]


def test_an_unknown_model(looptop: CommandLine, repo: Path) -> None:
    line = one_sentence(looptop(*RUN, "--repo", str(repo), "--model", "gpt-imaginary"), 2)
    assert "'gpt-imaginary' is not known" in line
    assert "--base-url" in line
    nothing_left(looptop, repo)


def test_no_key(looptop: CommandLine, repo: Path) -> None:
    line = one_sentence(looptop(*RUN, "--repo", str(repo), "--model", "claude-sonnet-5-5"), 2)
    assert "ANTHROPIC_API_KEY" in line
    nothing_left(looptop, repo)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host/v1", "http://", "http://ho st/v1"])
def test_a_base_url_that_is_none(looptop: CommandLine, repo: Path, url: str) -> None:
    line = one_sentence(looptop(*RUN, "--repo", str(repo), "--model", "qwen3", "--base-url", url), 2)
    assert "is not an address" in line
    nothing_left(looptop, repo)


def test_a_base_url_that_nobody_answers(looptop: CommandLine, repo: Path) -> None:
    with socket.socket() as taken:
        # Bound and not listening: every connection is refused.
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        os.environ["LOOPTOP_TRANSPORT_TRIES"] = "1"
        try:
            said = looptop(*RUN, "--repo", str(repo), "--model", "qwen3", "--base-url", url)
        finally:
            del os.environ["LOOPTOP_TRANSPORT_TRIES"]
    assert said.code == 3, said
    assert "unrecoverable" in said.out
    assert "127.0.0.1" in said.out
    assert "Traceback" not in said.err + said.out
    assert git(repo, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]


@pytest.mark.parametrize("cap", ["0", "21", "-3"])
def test_a_cap_out_of_bounds(looptop: CommandLine, repo: Path, cap: str) -> None:
    line = one_sentence(looptop(*RUN, "--repo", str(repo), "--cap", cap), 2)
    assert f"--cap is {cap}" in line
    assert "from 1 to 20" in line
    nothing_left(looptop, repo)


@pytest.mark.parametrize("cap", ["0", "21", "true", '"3"', "2.5", "1" * 400])
def test_a_project_cap_out_of_bounds(looptop: CommandLine, repo: Path, cap: str) -> None:
    (repo / "looptop.toml").write_text(f"fix_verify_retry_cap = {cap}\n")
    line = one_sentence(looptop(*RUN, "--repo", str(repo)), 2)
    assert "looptop.toml: fix_verify_retry_cap is" in line


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--budget-tokens", "-1", "--budget-tokens is -1"),
        ("--budget-usd", "-0.01", "--budget-usd is -0.01"),
        ("--budget-usd", "nan", "--budget-usd is nan"),
        ("--budget-usd", "inf", "--budget-usd is inf"),
        ("--budget-usd", "1e300", "--budget-usd is 1e+300"),
        ("--budget-minutes", "-5", "--budget-minutes is -5"),
        ("--max-rounds", "0", "--max-rounds is 0"),
        ("--ttl", "2h", "--ttl"),
        ("--recovery", "learned", "--recovery is 'learned'"),
        ("--budget-tokens", "many", "--budget-tokens"),
        ("--tenant", " ", "--tenant is empty"),
        ("--category", "", "--category is empty"),
        ("--branch", "", "--branch is empty"),
        ("--branch", "a..b", "not a name that git allows"),
        ("--branch", "main", "There is a branch main already"),
        ("--model", " ", "--model is ' '"),
        ("--continue", "r999", "There is no run 'r999'"),
        ("--continue", "", "is not a run's id"),
        ("--base-url", "", "--base-url is ''"),
    ],
)
def test_options_that_make_no_sense(looptop: CommandLine, repo: Path, option: str, value: str, told: str) -> None:
    assert told in one_sentence(looptop(*RUN, "--repo", str(repo), option, value), 2)
    nothing_left(looptop, repo)


def test_apply_and_branch_exclude_each_other(looptop: CommandLine, repo: Path) -> None:
    line = one_sentence(looptop(*RUN, "--repo", str(repo), "--apply", "--branch", "fix"), 2)
    assert "exclude each other" in line


def test_options_and_commands_that_are_not_there(looptop: CommandLine) -> None:
    assert "--stop" in one_sentence(looptop("run", "--stop", "x"), 2)
    assert "No such command 'archive'" in one_sentence(looptop("archive"), 2)
    assert "looptop show --help" in one_sentence(looptop("show"), 2)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model = \n", "is not TOML: Invalid value (at line 1"),
        ("[budget]\nusd = -1\n", "config.toml: budget.usd is -1"),
        ("[budget]\nusdd = 1\n", "Did you mean 'budget.usd'?"),
        ("budget = 3\n", "It must be a table: [budget]"),
        ("modell = 'x'\n", "Did you mean 'model'?"),
        ("[[verify]]\ncomand = 'x'\n", "has no command"),
        ("[[verify]]\ncommand = 'x'\ntimeout = 0\n", "timeout is 0"),
        ("[[verify]]\ncommand = 'x'\ntimeout = nan\n", "timeout is nan"),
        ("[caps.defaults]\nqwen = 0\n", "caps.defaults.qwen is 0"),
        ("[prices]\nqwen = 3\n", "prices.qwen is 3"),
        ("[prices.qwen]\ninput = -1\noutput = 1\n", "prices.qwen.input is -1"),
        ("[prices.qwen]\ninput = 1\n", "prices.qwen needs `input` and `output`"),
        ("[prices.qwen]\ngpu_hour = 1" + "0" * 400, "prices.qwen.gpu_hour is 1000"),
        ("x = " + "[" * 5000, "is not TOML"),
    ],
)
def test_a_configuration_that_is_wrong(looptop: CommandLine, repo: Path, text: str, told: str) -> None:
    looptop.config.write_text(text)
    assert told in one_sentence(looptop(*RUN, "--repo", str(repo)), 2)


def test_a_configuration_that_cannot_be_read(looptop: CommandLine, repo: Path) -> None:
    looptop.config.mkdir()
    line = one_sentence(looptop(*RUN, "--repo", str(repo)), 2)
    assert "config.toml can't be read: Is a directory" in line
    looptop.config.rmdir()
    looptop.config.write_bytes(b"model = '\xff'\n")
    assert "it is not UTF-8" in one_sentence(looptop("config"), 2)


def test_a_home_that_cannot_be_made(looptop: CommandLine, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (looptop.folder / "file").write_text("in the way")
    monkeypatch.setenv("LOOPTOP_HOME", str(looptop.folder / "file" / "home"))
    for args in ((*RUN, "--repo", str(repo)), ("runs",), ("show", "x"), ("usage",), ("demo",)):
        line = one_sentence(looptop(*args), 3)
        assert "file/home can't be used: Not a directory" in line
        assert "LOOPTOP_HOME" in line
    assert (looptop.folder / "file").read_text() == "in the way"
    assert git(repo, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]


def test_a_home_that_cannot_be_written(looptop: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not even root writes below /proc.
    monkeypatch.setenv("LOOPTOP_HOME", "/proc/looptop")
    assert "LOOPTOP_HOME" in one_sentence(looptop("runs"), 3)


@pytest.mark.parametrize("command", [("show",), ("apply",), ("discard", "--yes"), ("usage", "--run")])
def test_a_run_that_is_not_there(looptop: CommandLine, command: tuple[str, ...]) -> None:
    assert "There is no run 'r999'" in one_sentence(looptop(*command, "r999"), 2)
    assert "is not a run's id" in one_sentence(looptop(*command, "../x"), 2)


def test_a_home_is_the_users_alone(looptop: CommandLine) -> None:
    looptop("runs")
    assert looptop.home.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o077 == 0 for path in looptop.home.iterdir() if path.is_file())
