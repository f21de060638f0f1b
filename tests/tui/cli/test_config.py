"""`looptop config`: shows values with their origin, edits files and leaves comments alone."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from support.cli import CommandLine, one_sentence


def test_every_setting_with_its_origin(looptop: CommandLine, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looptop.config.write_text("[budget]\nusd = 2\n")
    (repo / "looptop.toml").write_text("fix_verify_retry_cap = 4\n")
    (repo / "deep").mkdir()
    monkeypatch.chdir(repo / "deep")
    monkeypatch.setenv("LOOPTOP_TTL", "1h")
    said = looptop("config", "--json")
    found = json.loads(said.out)
    assert found["budget.usd"] == {"value": 2.0, "origin": str(looptop.config)}
    assert found["fix_verify_retry_cap"] == {"value": 4, "origin": str(repo / "looptop.toml")}
    assert found["ttl"] == {"value": "1h", "origin": "LOOPTOP_TTL"}
    assert found["max_rounds"] == {"value": 40, "origin": "default"}
    rows = {line.split()[0]: line.split() for line in looptop("config").out.splitlines()}
    assert rows["ttl"] == ["ttl", "1h", "LOOPTOP_TTL"]
    assert rows["budget.usd"] == ["budget.usd", "2", str(looptop.config)]


def test_set_keeps_comments_and_unset_takes_the_key_out(looptop: CommandLine) -> None:
    text = "# mine\nmodel = 'local'  # the cheap one\n\n[budget]\n# not much\nusd = 1.5\n"
    looptop.config.write_text(text)
    looptop.config.chmod(0o640)
    said = looptop("config", "set", "budget.usd", "2.5")
    assert (said.code, said.out) == (0, f"budget.usd = 2.5 in {looptop.config}\n")
    assert looptop.config.read_text() == text.replace("1.5", "2.5")
    assert looptop.config.stat().st_mode & 0o777 == 0o640
    assert looptop("config", "unset", "budget.usd").code == 0
    assert looptop.config.read_text() == text.replace("usd = 1.5\n", "")
    assert "was not set" in looptop("config", "unset", "budget.usd").out


def test_set_makes_the_file_and_its_folders(looptop: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    path = looptop.folder / "a" / "b" / "c.toml"
    monkeypatch.setenv("LOOPTOP_CONFIG", str(path))
    assert looptop("config", "set", "model", "local").code == 0
    assert tomllib.loads(path.read_text()) == {"model": "local"}


def test_set_in_the_project(looptop: CommandLine, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo)
    assert looptop("config", "set", "fix_verify_retry_cap", "7", "--project").code == 0
    assert (repo / "looptop.toml").read_text() == "fix_verify_retry_cap = 7\n"
    assert not looptop.config.exists()
    assert "could be anybody's" in one_sentence(looptop("config", "set", "base_url", "http://x", "--project"), 2)


def test_one_prefix_and_one_price(looptop: CommandLine) -> None:
    assert looptop("config", "set", "caps.defaults.claude-haiku", "5").code == 0
    assert looptop("config", "set", "prices.Qwen3.5-Coder", "{ input = 0.1, output = 0.4 }").code == 0
    assert tomllib.loads(looptop.config.read_text()) == {
        "caps": {"defaults": {"claude-haiku": 5}},
        "prices": {"Qwen3.5-Coder": {"input": 0.1, "output": 0.4}},
    }
    assert "claude-haiku-5-5    5" in looptop("caps", "claude-haiku-5-5").out
    assert looptop("config", "unset", "caps.defaults.claude-haiku").code == 0
    assert "claude-haiku-5-5    3" in looptop("caps", "claude-haiku-5-5").out


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("budget.usd", "-1"), "budget.usd is -1"),
        (("fix_verify_retry_cap", "0"), "fix_verify_retry_cap is 0"),
        (("fix_verify_retry_cap", "21"), "fix_verify_retry_cap is 21"),
        (("caps.defaults.qwen", "21"), "caps.defaults.qwen is 21"),
        (("max_round", "3"), "Did you mean 'max_rounds'?"),
        (("verify", "pytest"), "is a table"),
        (("prices.qwen", "3"), "prices.qwen is 3"),
        (("prices.qwen", "{ input = 1 }"), "needs `input` and `output`"),
        (("prices.qwen", "{ input = -1, output = 1 }"), "prices.qwen.input is -1"),
        (("prices", "{}"), "is a table"),
        (("ttl", "2h"), "one of 5m, 1h"),
    ],
)
def test_a_wrong_value_changes_nothing(looptop: CommandLine, args: tuple[str, str], told: str) -> None:
    looptop.config.write_text("# kept\n")
    assert told in one_sentence(looptop("config", "set", *args), 2)
    assert looptop.config.read_text() == "# kept\n"


@pytest.mark.parametrize("text", ["budget = 3\n", "modell = 'x'\n", "model = \n", "[[budget]]\nusd = 1\n"])
def test_a_file_that_is_wrong_already_is_told_and_kept(looptop: CommandLine, text: str) -> None:
    looptop.config.write_text(text)
    one_sentence(looptop("config", "set", "budget.usd", "1"), 2)
    assert looptop.config.read_text() == text
    assert [path.name for path in looptop.folder.iterdir()] == ["config.toml"]


def test_a_file_that_cannot_be_written(looptop: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    (looptop.folder / "file").write_text("x")
    monkeypatch.setenv("LOOPTOP_CONFIG", str(looptop.folder / "file" / "config.toml"))
    assert "can't be" in one_sentence(looptop("config", "set", "model", "local"), 2)


def test_a_link_to_the_file_stays_a_link(looptop: CommandLine) -> None:
    (looptop.folder / "dotfiles").mkdir()
    target = looptop.folder / "dotfiles" / "looptop.toml"
    target.write_text("# there\n")
    looptop.config.symlink_to(target)
    assert looptop("config", "set", "model", "local").code == 0
    assert looptop.config.is_symlink()
    assert target.read_text() == '# there\nmodel = "local"\n'


def test_the_documentation_lists_every_setting() -> None:
    from runtime.settings_keys import SETTINGS

    text = (Path(__file__).resolve().parents[3] / "docs" / "configuration.md").read_text()
    for setting in SETTINGS.values():
        row = next((line for line in text.splitlines() if line.startswith(f"| `{setting.key}` |")), "")
        assert row.endswith(f"| {setting.help} |"), setting.key


def test_an_override_of_the_store_is_shown_with_its_origin(
    looptop: CommandLine, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    from runtime.workspace.repository import open_repository
    from store.projects import project_update
    from store.store import open_store

    async def keep() -> None:
        project = (await open_repository(repo)).project
        async with open_store(looptop.home) as store:
            await store.projects.update(project, str(repo), project_update({"fix_verify_retry_cap": 7}))

    def shown() -> dict[str, object]:
        found: dict[str, object] = json.loads(looptop("config", "--json").out)["fix_verify_retry_cap"]
        return found

    asyncio.run(keep())
    assert shown() == {"value": None, "origin": "default"}
    monkeypatch.chdir(repo)
    assert shown() == {"value": 7, "origin": "this project, in the store"}
    looptop("config", "set", "fix_verify_retry_cap", "4", "--project")
    assert shown() == {"value": 4, "origin": str(repo / "looptop.toml")}
