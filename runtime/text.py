"""The one place that makes untrusted text safe: for the screen, for the store, and without secrets.

Whatever comes from a model, a command, a file or a broker passes here before a terminal sees it.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable, Mapping

_NAMED = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\u2421"}
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_INVISIBLE = "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200d\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
_TAGS = "\U000e0000-\U000e007f"
_SEPARATORS = "\u0085\u2028\u2029"
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff{_BIDI}{_INVISIBLE}{_TAGS}{_SEPARATORS}]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_HIDDEN = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}{_INVISIBLE}{_TAGS}{_SEPARATORS}{_SELECTORS}]")
# What a reader takes for a space or for nothing.
_BLANK_LIKE = re.compile(f"[\u00a0\u1680\u2000-\u200a\u200d\u202f\u205f\u2800\u3000{_SELECTORS}]")
_RUNS = re.compile(" {4,}|\t+")
_EMPTY_LINES = re.compile("\n{4,}")
_INDENT = 16
"""Spaces at the beginning of a line that are taken for its indent."""
_BLANKS = re.compile("[ \t\n]+")
_JOINER = "\u200d"
# CSI and OSC as ECMA-48 forms them; anything else that begins with ESC is left for `visible` to mark.
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[()*+][0-9A-B]"
)


def _mark(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    if code in _NAMED:
        return _NAMED[code]
    if char == _JOINER and _joins(match):
        return char
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"\u27e8U+{code:04X}\u27e9"


def _joins(match: re.Match[str]) -> bool:
    """Whether a zero-width joiner stands between two pictographs, where it belongs to what is seen."""
    text, at = match.string, match.start()
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    return bool(before and after) and all(
        unicodedata.category(c) in {"So", "Sk"} or c == "\ufe0f" or ord(c) >= 0x1F000 for c in (before, after)
    )


def visible(text: str) -> str:
    """The text with everything that could drive a terminal or deceive a reader shown as a mark; line ends and tabs stay."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if not _UNSAFE.search(text):
        return text
    return _UNSAFE.sub(_mark, text)


def strip_ansi(text: str) -> str:
    """Take well-formed colour and cursor sequences out of a command's output; what is malformed stays for `visible`."""
    if "\x1b" not in text and "\x9b" not in text and "\x9d" not in text:
        return text
    return _ANSI.sub("", text)


def plain(text: str) -> str:
    """A command's output for reading: without colours, made visible, and of a line that was overwritten only the last state."""
    text = strip_ansi(text).replace("\r\n", "\n")
    if "\r" in text:
        text = re.sub(r"[^\n]*\r(?=[^\n])", "", text).replace("\r", "")
    return visible(text)


def one_line(text: str, limit: int = 0) -> str:
    """One visible line: line ends and tabs folded to single spaces; cut with an ellipsis at `limit` characters (0: not cut)."""
    line = _BLANKS.sub(lambda m: " " if "\n" in m.group() or "\t" in m.group() else m.group(), visible(text)).strip()
    if limit and len(line) > limit:
        return line[: max(0, limit - 1)] + "\u2026"
    return line


def hidden_characters(text: str) -> int:
    """How many characters of the text don't show, line ends and tabs apart."""
    return len(_HIDDEN.findall(text))


def revealed(text: str) -> str:
    """Every character of a text that somebody is to agree to: like `visible`, and blanks that could push something out of sight
    are marks with their count, those that look like others marks with their number."""
    text = _BLANK_LIKE.sub(lambda m: f"\u27e8U+{ord(m.group()):04X}\u27e9", text.replace("\r", _NAMED[13]))
    text = _EMPTY_LINES.sub(lambda m: f"\n\u27e8{len(m.group()) - 1} empty lines\u27e9\n", visible(text))
    return "\n".join(map(_counted, text.split("\n")))


def _counted(line: str) -> str:
    indent = len(line) - len(line.lstrip(" "))
    if indent > _INDENT:
        indent = 0
    return line[:indent] + _RUNS.sub(_run, line[indent:])


def _run(match: re.Match[str]) -> str:
    count, word = len(match.group()), "tab" if match.group()[0] == "\t" else "space"
    return f"\u27e8{count} {word}s\u27e9" if count > 1 else f"\u27e8{word}\u27e9"


def storable(text: str) -> str:
    """The text as a database and JSON can hold it: lone surrogates and NUL become marks."""
    if not _UNSTORABLE.search(text):
        return text
    return _UNSTORABLE.sub(lambda m: "\u2400" if m.group() == "\x00" else "\ufffd", text)


def decode(data: bytes) -> str:
    """Bytes as text, UTF-8 with a mark for what isn't."""
    return data.decode("utf-8", "replace")


class Decoder:
    """Decodes UTF-8 piece by piece; a character split over two reads comes out whole."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes, final: bool = False) -> str:
        """Decode what is complete."""
        return self._decoder.decode(data, final)


SECRET_MARK = "[secret]"
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|PWD$|CREDENTIAL|AUTH(?!OR)", re.IGNORECASE)
_SHAPES = (
    r"sk-ant-[A-Za-z0-9_-]{16,}|sk-(?:proj-)?[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}"
    r"|glpat-[A-Za-z0-9_-]{20,}|xox[abpr]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}"
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/-]{20,}=*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]{0,8000}?-----END [A-Z ]*PRIVATE KEY-----"
)
_LONGEST_SHAPE = 256
_KEY_BEGINS = re.compile(
    r"(?:s|sk|sk-[\w-]*|g|gh|gh[pousr]|gh[pousr]_\w*|gi|git|github|github_p\w*|gl|glp|glpat-?[\w-]*|x|xo|xox[abpr]?-?[\w-]*"
    r"|A|AK|AKI|AKIA[0-9A-Z]*|AI|AIz|AIza[\w-]*|[Bb]earer [\w.~+/-]*|-{1,5}|-----BEGIN[\s\S]{0,240})\Z"
)


def secret_values(env: Mapping[str, str]) -> list[str]:
    """Values of an environment that look like secrets by their name; short ones are left out, they would mask ordinary words."""
    return [value for name, value in env.items() if _SECRET_NAME.search(name) and len(value) >= 8]


class Masker:
    """Replaces known secret values, and what has the shape of a well-known key, by a mark."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        values = sorted({s for s in secrets if len(s) >= 8}, key=len, reverse=True)
        self._longest = max([_LONGEST_SHAPE, *map(len, values)])
        self._values = values
        self._known = frozenset(values)
        self._pattern = re.compile("|".join([*map(re.escape, values), _SHAPES]))

    def mask(self, text: str) -> str:
        """The text without secrets."""
        return self._pattern.sub(SECRET_MARK, text)

    def safe_cut(self, text: str) -> int:
        """Where the text can be cut so that no secret is split: what follows may be the beginning of one."""
        cut = len(text) - self._beginning(text)
        for match in self._pattern.finditer(text):
            if match.start() < cut <= match.end() and match.group() not in self._known:
                # A key known by its shape may go on in the next piece.
                cut = match.start() if match.end() == len(text) and len(match.group()) < _LONGEST_SHAPE else match.end()
            elif match.start() < cut < match.end():
                cut = match.end()
        return cut

    def _beginning(self, text: str) -> int:
        """How many characters at the end might be the beginning of a secret."""
        window = text[-self._longest :]
        longest = 0
        for value in self._values:
            for size in range(min(len(value) - 1, len(window)), 0, -1):
                if window.endswith(value[:size]):
                    longest = max(longest, size)
                    break
        word = _KEY_BEGINS.search(window)
        return max(longest, len(word.group())) if word else longest


class MaskingStream:
    """Masks text that comes in pieces; a secret that is split over pieces is masked too."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._kept = ""

    def feed(self, piece: str) -> str:
        """Take a piece; returns what is safe to hand on by now."""
        text = self._kept + piece
        cut = self._masker.safe_cut(text)
        ready, self._kept = text[:cut], text[cut:]
        return self._masker.mask(ready)

    def close(self) -> str:
        """What was held back, masked."""
        rest, self._kept = self._kept, ""
        return self._masker.mask(rest)
