"""Commands that only read, and the options with which they do: what isn't listed here isn't known to be harmless."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """What keeps one command read-only. `exact` are whole options (`--lines`, find's `-name`); each may carry `=value`."""

    flags: str = ""
    """Single letters without a value, which may stand together: -rn."""
    valued: str = ""
    """Single letters with a value, in the next word or, where it has no letter in it, attached: -A3."""
    exact: frozenset[str] = frozenset()
    digits: bool = False
    """Whether a number is an option: -20."""
    patterns: int = 0
    """How many of the first operands are no paths; none where one of `pattern_options` gives the pattern."""
    pattern_options: frozenset[str] = frozenset()
    most: int | None = None
    """Operands at most, where a further one would be written to."""
    needs: frozenset[str] = frozenset()
    """Of these options one must be there, else the command does something else."""
    operand: re.Pattern[str] | None = None
    """What an operand must look like."""
    free: bool = False
    """Whether its words are only printed: neither options nor paths matter."""
    builtin: bool = False
    """Whether the shell has it itself, so that no program is looked for."""


def _rule(flags: str = "", valued: str = "", exact: str = "", needs: str = "", **more: object) -> Rule:
    return Rule(flags, valued, frozenset(exact.split()), needs=frozenset(needs.split()), **more)  # type: ignore[arg-type]


_PATTERN = frozenset({"-e", "-f", "--regexp", "--file"})
_SED_PRINT = r"(?:\d+|\$)(?:,(?:\d+|\$|\+\d+))?(?:p|=)"
SED_SCRIPT = re.compile(rf"{_SED_PRINT}(?:;\s*{_SED_PRINT})*;?|/[\w \-.:^$()=]+/p")
"""Scripts of sed that print lines; sed can also write files and run commands."""
GPG_FORMAT = re.compile(r"%G")
"""A part of git's formats that has another program check signatures."""

_DIFF = """
    --patch --no-patch --stat --shortstat --numstat --dirstat --summary --name-only --name-status --raw --unified --color --no-color
    --word-diff --color-words --cached --staged --check --exit-code --quiet --no-ext-diff --no-textconv --ignore-all-space
    --ignore-space-change --ignore-space-at-eol --ignore-blank-lines --diff-filter --find-renames --find-copies --no-renames
    --relative --no-relative --minimal --patience --histogram --abbrev --full-index --no-prefix --merge-base --function-context
    --text --pickaxe-regex --pickaxe-all
"""
_LOG = """
    --oneline --graph --all --branches --tags --remotes --decorate --no-decorate --max-count --skip --since --until --after --before
    --author --committer --grep --all-match --invert-grep --regexp-ignore-case --extended-regexp --fixed-strings --follow --format
    --pretty --abbrev-commit --no-abbrev-commit --reverse --first-parent --merges --no-merges --date --date-order --topo-order
    --left-right --cherry-pick --cherry-mark --no-walk --full-history --simplify-by-decoration --source --parents --children
    --no-notes --stdin
"""
GIT_BEFORE = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--icase-pathspecs"})
"""Options of git itself, before its subcommand."""
GIT: dict[str, Rule] = {
    "status": _rule(
        "sbvz", "u", "--short --branch --porcelain --long --untracked-files --ignored --show-stash --ahead-behind"
    ),
    "log": _rule("pszwbacitEFR", "nUSGMC", _DIFF + _LOG, digits=True),
    "show": _rule("pszwbacitR", "nUSGMC", _DIFF + _LOG, digits=True),
    "diff": _rule("pszwbaR", "USGMC", _DIFF),
    "diff-tree": _rule("prstz", "UMC", _DIFF + " --root --no-commit-id"),
    "rev-parse": _rule(
        "q",
        exact="--verify --short --abbrev-ref --symbolic-full-name --show-toplevel --show-prefix --show-cdup --git-dir --quiet"
        " --is-inside-work-tree --is-bare-repository --all --branches --tags --revs-only --no-revs",
    ),
    "rev-list": _rule("", "n", _LOG + " --count --objects --no-object-names", digits=True),
    "ls-files": _rule(
        "cdmostuzvk",
        "x",
        "--cached --deleted --modified --others --stage --unmerged --exclude --exclude-standard --full-name --error-unmatch"
        " --directory --ignored --deduplicate",
    ),
    "ls-tree": _rule("drtlz", "", "--name-only --name-status --long --full-name --full-tree --abbrev"),
    "cat-file": _rule("tspe", "", "--batch --batch-check"),
    "blame": _rule(
        "lsfnwcet", "LMC", "--show-name --show-number --show-email --porcelain --line-porcelain --date --since"
    ),
    "grep": _rule(
        "nivwclLEFGPoqhHrI",
        "ABCefm",
        "--cached --untracked --no-index --ignore-case --word-regexp --invert-match --line-number --count --files-with-matches"
        " --name-only --files-without-match --extended-regexp --fixed-strings --perl-regexp --only-matching --quiet --heading"
        " --break --show-function --function-context --max-depth --context --and --or --not --all-match --color --no-color",
        patterns=1,
        pattern_options=_PATTERN,
    ),
    "shortlog": _rule("nsec", "", _LOG + " --summary --numbered --email"),
    "describe": _rule(
        "", "", "--tags --all --always --long --dirty --abbrev --match --exclude --contains --first-parent"
    ),
    "merge-base": _rule("a", "", "--all --is-ancestor --octopus --fork-point"),
    "branch": _rule("arv", "", "--show-current --all --remotes --list --verbose --color --no-color", most=0),
    "tag": _rule("l", "n", "--list --sort", needs="-l --list"),
    "remote": _rule("v", "", "--verbose", most=0),
    "version": _rule("", "", "--build-options"),
    "check-ignore": _rule("qvn", "", "--quiet --verbose --non-matching --no-index"),
}
"""Git's subcommands that only look."""

_SUMS = _rule("bt", "", "--binary --text --tag")
COMMANDS: dict[str, Rule] = {
    "cat": _rule(
        "AbeEnstTuv",
        "",
        "--show-all --number --number-nonblank --show-ends --show-tabs --squeeze-blank --show-nonprinting",
    ),
    "ls": _rule(
        "aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1",
        "Iw",
        "--all --almost-all --directory --human-readable --recursive --reverse --size --sort --time --time-style --full-time --color"
        " --classify --file-type --inode --numeric-uid-gid --group-directories-first --ignore --hide --format --no-group --si",
    ),
    "head": _rule("qvz", "nc", "--lines --bytes --quiet --verbose --zero-terminated", digits=True),
    "tail": _rule("qvz", "nc", "--lines --bytes --quiet --verbose --zero-terminated", digits=True),
    "wc": _rule("clmwL", "", "--bytes --chars --lines --words --max-line-length --total"),
    "nl": _rule("p", "bdfhilnsvw", "--body-numbering --number-format --number-width --starting-line-number"),
    "tac": _rule("br", "s", "--before --regex --separator"),
    "rev": _rule(),
    "cut": _rule(
        "nsz", "bcdf", "--bytes --characters --delimiter --fields --complement --only-delimited --output-delimiter"
    ),
    "tr": _rule("cCdst", "", "--complement --delete --squeeze-repeats --truncate-set1", free=False, patterns=2),
    "paste": _rule("sz", "d", "--delimiters --serial --zero-terminated"),
    "fold": _rule("bs", "w", "--bytes --spaces --width"),
    "sort": _rule(
        "bcCdfghiMmnrRsuVz",
        "kt",
        "--ignore-leading-blanks --check --dictionary-order --ignore-case --general-numeric-sort --human-numeric-sort --month-sort"
        " --numeric-sort --reverse --stable --unique --version-sort --zero-terminated --key --field-separator",
    ),
    # A second operand is where it writes to.
    "uniq": _rule(
        "cdDuiz", "fsw", "--count --repeated --unique --ignore-case --skip-fields --skip-chars --check-chars", most=1
    ),
    "comm": _rule("123iz", "", "--check-order --nocheck-order --output-delimiter --total --zero-terminated"),
    "cmp": _rule("bls", "in", "--print-bytes --verbose --silent --quiet --bytes"),
    "diff": _rule(
        "abBcdeEiNpqrstTuwyZ",
        "CUWIxF",
        "--brief --recursive --unified --context --ignore-case --ignore-all-space --ignore-space-change --ignore-blank-lines --text"
        " --side-by-side --width --new-file --exclude --report-identical-files --color --suppress-common-lines --minimal",
    ),
    "grep": _rule(
        "abcEFGhHiIlLnoPqrRsTUvVwxyzZ",
        "ABCefmdD",
        "--after-context --before-context --context --byte-offset --count --extended-regexp --fixed-strings --basic-regexp --perl-regexp"
        " --no-filename --with-filename --ignore-case --no-ignore-case --files-with-matches --files-without-match --line-number"
        " --only-matching --quiet --silent --recursive --dereference-recursive --no-messages --text --invert-match --word-regexp"
        " --line-regexp --max-count --include --exclude --exclude-dir --exclude-from --regexp --file --color --colour --null"
        " --binary-files --line-buffered --initial-tab",
        digits=True,
        patterns=1,
        pattern_options=_PATTERN,
    ),
    "rg": _rule(
        "aAcFhHiIlLnNopPqsSuUvVwx0",
        "ABCefgjmMrtTd",
        "--after-context --before-context --context --count --count-matches --fixed-strings --ignore-case --case-sensitive --smart-case"
        " --files --files-with-matches --files-without-match --line-number --no-line-number --only-matching --quiet --invert-match"
        " --word-regexp --line-regexp --max-count --glob --iglob --type --type-not --type-list --hidden --no-ignore --no-ignore-vcs"
        " --no-heading --heading --no-filename --with-filename --multiline --multiline-dotall --pcre2 --regexp --file --color --colors"
        " --column --json --max-depth --max-columns --null --replace --sort --sortr --stats --text --trim --vimgrep --follow --no-config",
        patterns=1,
        pattern_options=_PATTERN | {"--files", "--type-list"},
    ),
    "find": _rule(
        "",
        "",
        "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -mmin -atime -amin -ctime"
        " -cmin -newer -anewer -cnewer -newermt -maxdepth -mindepth -empty -perm -user -group -uid -gid -nouser -nogroup -not -a -and"
        " -o -or -prune -print -print0 -printf -ls -quit -depth -L -H -P -mount -xdev -links -inum -samefile -readable -writable"
        " -executable -follow -daystart -true -false -lname -ilname",
        digits=True,
    ),
    "tree": _rule(
        "aCdDfFghilnpqrsStuUvxN", "ILP", "--dirsfirst --noreport --gitignore --prune --du --filelimit --charset"
    ),
    "stat": _rule("Lft", "c", "--dereference --file-system --format --printf --terse"),
    "file": _rule("bhikLNprv0", "", "--brief --mime --mime-type --mime-encoding --dereference --no-dereference"),
    "du": _rule(
        "abcDhHklLmsSx0",
        "dt",
        "--all --apparent-size --bytes --total --human-readable --max-depth --summarize --time --exclude",
    ),
    "df": _rule("ahHiklPT", "tx", "--all --human-readable --inodes --local --portability --print-type --total --type"),
    "basename": _rule("az", "s", "--multiple --suffix --zero", patterns=99),
    "dirname": _rule("z", "", "--zero", patterns=99),
    "realpath": _rule(
        "emLPqsz", "", "--canonicalize-existing --canonicalize-missing --relative-to --relative-base --no-symlinks"
    ),
    "readlink": _rule("efmnqsvz", "", "--canonicalize --canonicalize-existing --canonicalize-missing --no-newline"),
    "od": _rule("abcdfiloxsv", "AjNtwS", "--address-radix --skip-bytes --read-bytes --format --width"),
    "strings": _rule("af", "nte", "--all --bytes --radix --encoding"),
    "md5sum": _SUMS,
    "sha1sum": _SUMS,
    "sha256sum": _SUMS,
    "sha512sum": _SUMS,
    "cksum": _rule(),
    "date": _rule(
        "uRI", "", "--utc --universal --iso-8601 --rfc-3339 --rfc-email", operand=re.compile(r"\+.*", re.DOTALL)
    ),
    "whoami": _rule(most=0),
    "id": _rule("gGnru", "", "--group --groups --name --real --user"),
    "uname": _rule("amnoprsv", "", "--all --machine --kernel-name --kernel-release", most=0),
    "nproc": _rule("", "", "--all --ignore", most=0),
    "jq": _rule(
        "acCMnrRsSej",
        "",
        "--compact-output --raw-output --raw-input --slurp --sort-keys --null-input --exit-status --color-output --tab --indent",
        patterns=1,
    ),
    # What its script may be is checked apart.
    "sed": _rule("nEr", "", "--quiet --silent --regexp-extended", patterns=1),
    "which": _rule("a", "", "", patterns=99),
    "echo": _rule(free=True, builtin=True),
    "printf": _rule(free=True, builtin=True),
    "true": _rule(free=True, builtin=True),
    "false": _rule(free=True, builtin=True),
    "pwd": _rule("LP", most=0, builtin=True),
    "type": _rule("aptP", patterns=99, builtin=True),
    "command": _rule("vV", patterns=99, needs="-v -V", builtin=True),
    "cd": _rule("", most=1, builtin=True),
}
"""Commands by their bare name."""
