"""A patch as `edit_file` calls: exact, unique, undone by their reverse; and what a transcript remembers of them."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from runtime.events.values import StepStatus
from runtime.models.base import Message, Text, ToolCall, ToolResult
from runtime.models.local.candidate import Candidate
from runtime.models.local.proposal import proposals, replacements, signature, taken_back
from runtime.models.local.source import Edit, SourceFile, apply_edits
from runtime.tools.base import ToolContext
from runtime.tools.files import edit_file

TEXT = "def f(a):\n    return a\n\n\ndef g(a):\n    return a\n\n\ndef h(a):\n    x = 1\n    return a\n"


def context(folder: Path) -> ToolContext:
    return ToolContext(folder, folder, "r", folder / "out", {})


def carried_out(folder: Path, text: str, edits: tuple[Edit, ...]) -> str:
    """The file after the calls were made through the real tool."""
    (folder / "m.py").write_bytes(text.encode())
    for part in replacements(Candidate(edits, "o", 1.0, 1), {"m.py": SourceFile("m.py", text)}):
        assert edit_file(context(folder), part.path, part.old, part.new).status is StepStatus.OK
    return (folder / "m.py").read_bytes().decode()


def test_an_ambiguous_line_gets_as_much_context_as_it_needs(tmp_path: Path) -> None:
    where = TEXT.index("return a", 30)
    edits = (Edit("m.py", where, where + 8, "return -a"),)
    assert carried_out(tmp_path, TEXT, edits) == apply_edits(TEXT, edits)


def test_whole_lines_come_and_go(tmp_path: Path) -> None:
    where = TEXT.index("    x = 1\n")
    gone = (Edit("m.py", where, where + 10, ""),)
    assert carried_out(tmp_path, TEXT, gone) == apply_edits(TEXT, gone)
    added = (Edit("m.py", where, where, "    if not a:\n        return 0\n"), Edit("m.py", 4, 5, "k"))
    assert carried_out(tmp_path, TEXT, added) == apply_edits(TEXT, added)
    end = (Edit("m.py", len(TEXT), len(TEXT), "y = 2\n"),)
    assert carried_out(tmp_path, TEXT, end) == apply_edits(TEXT, end)


def test_line_endings_stay(tmp_path: Path) -> None:
    text = TEXT.replace("\n", "\r\n")
    where = text.index("    x = 1")
    edits = (Edit("m.py", where, where, "    y = 2\r\n"), Edit("m.py", where + 8, where + 9, "5"))
    assert carried_out(tmp_path, text, edits) == apply_edits(text, edits)


@given(st.data())
def test_any_edit_is_carried_out_exactly(data: st.DataObject) -> None:
    import tempfile

    start = data.draw(st.integers(0, len(TEXT)))
    end = data.draw(st.integers(start, len(TEXT)))
    new = data.draw(st.text("ab =\n()", max_size=12))
    edits = (Edit("m.py", start, end, new),)
    if apply_edits(TEXT, edits) == TEXT:
        return
    with tempfile.TemporaryDirectory() as folder:
        assert carried_out(Path(folder), TEXT, edits) == apply_edits(TEXT, edits)


def test_the_transcript_remembers_proposals_but_not_what_only_took_them_back() -> None:
    edits = (Edit("m.py", 4, 5, "k"),)
    parts = replacements(Candidate(edits, "o", 1.0, 1), {"m.py": SourceFile("m.py", TEXT)})
    calls = tuple(
        ToolCall(id=f"edit_1_{at}", name="edit_file", arguments=part.arguments) for at, part in enumerate(parts)
    )
    back = tuple(
        ToolCall(id="undo_3_1", name="edit_file", arguments={"path": part.path, "old": part.new, "new": part.old})
        for part in parts
    )
    messages = (
        Message(role="user", blocks=(Text(text="go"),)),
        Message(role="assistant", blocks=(Text(text="It is done: CHECKED."), *calls)),
        Message(role="user", blocks=tuple(ToolResult(call_id=c.id, content="Edited.") for c in calls)),
        Message(role="assistant", blocks=(Text(text="Taken back."), *back)),
        Message(role="user", blocks=(ToolResult(call_id="undo_3_1", content="No.", is_error=True),)),
    )
    found = proposals(messages, "CHECKED")
    assert len(found) == 1
    assert (found[0].whole, found[0].applied) == (True, True)
    assert signature(found[0].parts) == signature(parts)
    assert [(p.old, p.new) for p in taken_back(found[0])] == [(p.new, p.old) for p in reversed(parts)]
