"""What counts as reading: the field's examples, the table, and every way to quote them."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.approval.policy import Does, decide
from runtime.approval.reading import Ground, why_not_reading

GROUND = Ground(("/repo",), lambda name: True, lambda: True)

FIELD = (
    "cat x > ~/.bashrc",
    "find . -exec sh -c id +",
    "echo $(id)",
    "./cat x",
    "git diff --output=/tmp/x",
    "git -c core.pager=id log",
)
READS = (
    "cat src/parser.py",
    "'cat' \"src/parser.py\"",
    "ls -la | head -5",
    "ls",
    "tail -n 20 log.txt",
    "grep -rn 'def first' src --include='*.py'",
    "grep -e one -e two -A3 src/parser.py",
    "grep '/api/v1' src/routes.py",
    "rg -n --hidden 'todo' src | wc -l",
    "find . -name '*.py' -not -path './build/*' -type f",
    "find src -maxdepth 2 -size +10k -mtime -1",
    "git status --short",
    "git --no-pager log --oneline -5",
    "git diff HEAD~1 -- src/parser.py",
    "git show HEAD:src/parser.py | sed -n '1,20p'",
    "git rev-parse --abbrev-ref HEAD && git ls-files",
    "git branch --show-current; git tag -l 'v1*'; git remote -v",
    "sed -n '10,40p' src/parser.py",
    "cat src/*.py 2>/dev/null | sort | uniq -c | sort -rn",
    'cat a 2>&1 | wc -l; echo "exit: $?"',
    "cd src && ls",
    "command -v python3 || which python",
    "cat < src/parser.py",
    "# what is there\nls\npwd",
    "ls \\\n  -la",
    "cat /repo/src/parser.py",
    "wc -l src/a.py src/b.py",
    "date '+%Y-%m-%d'",
    "jq -r '.name' package.json",
)
DOES_MORE = (
    # writing
    "cat x >> y", "cat x >| y", "cat x &> y", "cat x >& y", "cat x <> y", "echo hi > src/a.py", "ls >/dev/null2", "cat x 1>y",
    "cat x > '/dev/null'/y", "sort -o x x", "sort --output=x x", "sort -uox x", "uniq a b", "uniq -c a b", "tee x", "tree -o x",
    # other programs
    "rm -rf x", "find . -delete", "find . -execdir id ;", "find . -ok id ;", "find . -okdir id ;", "find . -fprint x", "find . -fls x",
    "find . -fprintf x %p", "find . -fprint0 x", "rg --pre id x", "rg --pre=id x", "rg --hostname-bin id x", "rg -z x", "xargs rm",
    "sort --compress-program=id x", "env cat x", "command rm -v x", "command -p rm", "sudo cat x", "bash -c 'cat x'", "sh x", "eval ls",
    "exec cat x", "time cat x", "! cat x", ". x", "source x", "awk 1 x", "python x", "git", "time", "nice cat x",
    # git
    "git commit -m x", "git checkout x", "git --git-dir=x status", "git -C x status", "git -p log", "git --exec-path=x status",
    "git diff --ext-diff", "git diff --textconv", "git show --textconv", "git grep -Oid x", "git grep --open-files-in-pager=id x",
    "git log --output=x", "git log --outpu=x", "git log --format=%G?", "git branch new", "git branch -d old", "git tag v1", "git tag v1 -l",
    "git remote add x y", "git remote show origin", "git stash", "git config x y", "git cat-file --textconv HEAD:x", "git log --help",
    "git -ccore.pager=id log", "cd x && git status", "git ls-files --recurse-submodules", "git fetch", "git diff --no-index a b",
    # substitution, assignment, grouping
    "cat `id`",
    "cat $X", "cat ${X}", "cat \"$(id)\"", "cat \"`id`\"", "echo $((1))", "cat <(id)", "cat >(id)", "cat {a,b}", "X=1 cat x",
    "GIT_PAGER=id git log", "PATH=. cat x", "cat $'x'", "cat $\"x\"", "(cat x)", "{ cat x; }", "cat x & id", "cat x &", "f() { id; }",
    "if true; then id; fi", "for x in a; do cat x; done", "cat <<E\n$(id)\nE", "cat <<< x", "cat <\\\n<E\necho '$(id)'\nE", "a\\\nb",
    "[[ -v x ]]", "trap id EXIT", "case x in x) id;; esac", "cat x |& tee y", "alias cat=rm", "printf -v PATH x", "printf '-v' PATH x", "set",
    # names
    "./cat x", "/bin/cat x", "bin/cat x", "c?t x", "~/cat x", "../cat x", "cat\u200b x", "Cat x", "", "   ", "#", "'' x",
    # options hidden in file names
    "cat *", "git diff *", "sort ?x", "uniq a*", "ls [a-z]*", "sort -*", "sed -n 1p *",
    # places
    "cat ~/.ssh/id_rsa", "cat ~root/x", "cat /etc/passwd", "cat ../x", "cat a/../../x", "cat /repo/../x", "ls /", "head -n5 /etc/hosts",
    "grep -r x /etc", "grep -f /etc/passwd x", "grep --file=/etc/passwd x", "find / -name x", "find /etc -type f", "cat < /etc/passwd",
    "cd /", "cd ..", "ls //etc", "cat /repository/x", "cat < ~/x",
    # sed
    "sed -i s/a/b/ x", "sed -n 'w y' x", "sed -n 's/a/b/w y' x", "sed 's/a/id/e' x", "sed -n '1e id' x", "sed -f x y", "sed -n -e p x",
    "sed -ni 1p x", "sed -n '/a/p;w y' x", "sed --in-place 1p x", "sed -n '/a/w x/p' y",
    # not understood
    "cat 'x", 'cat "x', "cat x \\", "cat x;; ls", "&& ls", "cat x ; ; ls", "cat \u00e9", "cat x\r", "cat x\x00", "cat \u202ex", "> /dev/null",
    "cat x >", "ls | | wc", "tail -f x", "date 010203", "cat <x*",
)  # fmt: skip


@pytest.mark.parametrize("line", FIELD)
def test_allowed_commands_that_arent_harmless_wait_or_are_refused(line: str) -> None:
    assert decide("ask", "shell", {"command": line}, GROUND).does is Does.WAITS
    refused = decide("read-only", "shell", {"command": line}, GROUND)
    assert refused.does is Does.REFUSED
    assert refused.why
    assert decide("auto", "shell", {"command": line}, GROUND).does is Does.RUNS


@pytest.mark.parametrize("line", READS)
def test_what_only_reads_runs_in_every_mode(line: str) -> None:
    assert why_not_reading(line, GROUND) == ""
    assert {decide(mode, "shell", {"command": line}, GROUND).does for mode in ("auto", "ask", "read-only")} == {
        Does.RUNS
    }


@pytest.mark.parametrize("line", DOES_MORE)
def test_what_does_more_or_isnt_understood_doesnt_count_as_reading(line: str) -> None:
    why = why_not_reading(line, GROUND)
    assert why
    assert why == why.strip().rstrip(".")


@pytest.mark.parametrize("line", DOES_MORE)
@pytest.mark.parametrize("frame", ["{}; ls", "ls; {}", "ls && {}", "ls | {}", "ls\n{}"])
def test_a_reading_neighbour_changes_nothing(line: str, frame: str) -> None:
    if line.strip() and not line.startswith("#") and not line.endswith("\\"):
        assert why_not_reading(frame.format(line), GROUND)


def test_tools_by_their_name() -> None:
    for mode, does in (("ask", Does.WAITS), ("read-only", Does.REFUSED)):
        for tool in ("edit_file", "write_file", "unheard_of"):
            assert decide(mode, tool, {"path": "x"}, GROUND).does is does
        for tool in ("read_file", "search"):
            assert decide(mode, tool, {"path": "x", "pattern": "x"}, GROUND).does is Does.RUNS
    assert decide("unheard-of", "write_file", {}, GROUND).does is Does.REFUSED


def test_a_name_that_path_doesnt_find_outside_of_the_workspace_isnt_trusted() -> None:
    ground = Ground(("/repo",), lambda name: name != "cat", lambda: True)
    assert "PATH" in why_not_reading("cat x", ground)
    assert why_not_reading("ls | cat", ground)
    assert why_not_reading("ls && echo cat", ground) == ""


def test_git_isnt_trusted_once_its_configuration_was_changed() -> None:
    ground = Ground(("/repo",), lambda name: True, lambda: False)
    assert "configuration" in why_not_reading("git status", ground)
    assert why_not_reading("cat x", ground) == ""


def quoted(draw: st.DrawFn, text: str) -> str:
    """A text quoted in one of the shell's ways, piece by piece."""
    pieces = []
    for char in text:
        ways = [f"'{char}'"] if char != "'" else ["\\'"]
        if char not in '$`"\\!':
            ways.append(f'"{char}"')
        if char.isalnum() or char in "-_./=:,":
            ways += [char, char]
        if char.isascii() and char.isprintable():
            ways.append(f"\\{char}")
        pieces.append(draw(st.sampled_from(ways)))
    return "".join(pieces)


@st.composite
def requoted(draw: st.DrawFn, lines: tuple[str, ...]) -> tuple[str, str]:
    """A line of plain words, and the same line with other quotes and blanks."""
    line = draw(st.sampled_from(lines))
    words = [quoted(draw, word) for word in shlex.split(line)]
    return line, draw(st.sampled_from([" ", "  ", "\t", " \\\n "])).join(words)


SPECIAL = set('|;&<>()*$\n#~?[]{}!`\\"\r\x00')
PLAIN_READS = tuple(line for line in READS if not set(line) & SPECIAL)
PLAIN_MORE = tuple(
    line
    for line in DOES_MORE
    if line.strip().isascii() and line.strip() and not set(line) & SPECIAL and line.count("'") % 2 == 0
)


@given(requoted(PLAIN_READS))
def test_however_a_reading_command_is_quoted_it_reads(pair: tuple[str, str]) -> None:
    line, other = pair
    assert why_not_reading(other, GROUND) == "", (line, other)


@given(requoted(PLAIN_MORE))
def test_however_a_harmful_command_is_quoted_it_isnt_read_only(pair: tuple[str, str]) -> None:
    line, other = pair
    assert why_not_reading(other, GROUND), (line, other)


@given(st.text(alphabet="cats -|;&<>'\"\\$`(){}*?~#=!\n/.x12", max_size=40))
def test_no_text_upsets_it(text: str) -> None:
    assert isinstance(why_not_reading(text, GROUND), str)
