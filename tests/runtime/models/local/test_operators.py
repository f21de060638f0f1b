"""Candidates: text edits that leave everything else as it is, valid Python, never the same twice, the usual mends among them."""

from __future__ import annotations

import ast
import textwrap

import pytest

from runtime.models.local.candidate import Candidate, overlap
from runtime.models.local.operators.registry import OPERATORS
from runtime.models.local.oracle import Oracle
from runtime.models.local.site import Harvest, Site
from runtime.models.local.source import Edit, SourceFile, apply_edits
from runtime.models.local.space import Space, build_space
from runtime.models.local.trials import Hello

HELLO = Hello((), (), (), {}, (3, 11), False)


def space_of(text: str, types: dict[str, set[str]] | None = None, harvest: Harvest | None = None) -> Space:
    """The space of one file whose every line is as suspicious as any other."""
    source = SourceFile("m.py", text)
    oracle = Oracle(HELLO, [])
    for function in source.functions:
        oracle.types[f"m.py:{function.lineno}"] = types or {}
    lines = {("m.py", number): 1.0 for number in range(1, text.count("\n") + 2)}
    return build_space({"m.py": source}, oracle, lines, harvest or Harvest())


def results(text: str, types: dict[str, set[str]] | None = None, harvest: Harvest | None = None) -> list[str]:
    """The file's text after each candidate, best first."""
    space = space_of(text, types, harvest)
    return [apply_edits(text, s.candidate.edits) for s in space.ranked if space.distinct(s.candidate)]


def body(*lines: str) -> str:
    """A function of these lines."""
    return "def f(a, b, items, text):\n" + "".join(f"    {line}\n" for line in lines)


TYPES = {
    "a": {"int"},
    "b": {"int"},
    "items": {"list[int]"},
    "text": {"str"},
    "x": {"int"},
    "out": {"list"},
    "n": {"int"},
}


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        (["return a < b"], ["return a <= b"]),
        (["return a <= b <= 10"], ["return a < b <= 10"]),
        (["return a not in items"], ["return a in items"]),
        (["return a is b"], ["return a == b"]),
        (["return a and b"], ["return a or b"]),
        (["if not a:", "    return b", "return a"], ["if a:", "    return b", "return a"]),
        (["return a - b"], ["return b - a"]),
        (["return a - b"], ["return abs(a - b)"]),
        (["return a * (b - 1)"], ["return a * b"]),
        (["return items[a]"], ["return items[a - 1]"]),
        (["return items[:a]"], ["return items[:a + 1]"]),
        (["return [x for x in range(a)]"], ["return [x for x in range(a + 1)]"]),
        (["return [x for x in range(a)]"], ["return [x for x in range(1, a)]"]),
        (["return sorted(items)"], ["return sorted(items, reverse=True)"]),
        (["return sorted(items)"], ["return sorted(items, key=abs)"]),
        (["return min(items)"], ["return max(items)"]),
        (["return any(x > a for x in items)"], ["return all(x > a for x in items)"]),
        (["return divmod(a, b)"], ["return divmod(b, a)"]),
        (["return text"], ["return text.lower()"]),
        (["return text.upper()"], ["return text.lower()"]),
        (["n = 0", "for x in items:", "    n = x", "return n"], ["n = 0", "for x in items:", "    n += x", "return n"]),
        (["n = 0", "for x in items:", "    n += x", "return n"], ["n = 1", "for x in items:", "    n += x", "return n"]),
        (["while a > 0:", "    b += a", "return b"], ["while a > 0:", "    b += a", "    a -= 1", "return b"]),
        (["for x in items:", "    if x > a:", "        a = x", "    return a"],
         ["for x in items:", "    if x > a:", "        a = x", "return a"]),
        (["return items[0]"], ["if not items:", "    return None", "return items[0]"]),
        (["text.strip()", "return text"], ["text = text.strip()", "return text"]),
        (["return set(items) == b"], ["return items == b"]),
        (["return text == b"], ["return text.lower() == b.lower()"]),
    ],
)  # fmt: skip
def test_usual_mends_are_among_the_candidates(broken: list[str], mended: list[str]) -> None:
    wanted = ast.dump(ast.parse(body(*mended)))
    types = TYPES | ({"b": {"str"}} if "text ==" in broken[0] else {})
    assert any(ast.dump(ast.parse(text)) == wanted for text in results(body(*broken), types))


def test_constants_of_the_failing_tests_are_used() -> None:
    found = results(body('return "jupyter"'), TYPES, Harvest(strings=("jupiter",)))
    assert any("'jupiter'" in text or '"jupiter"' in text for text in found[:10])


MESSY = (
    "# -*- header: stays -*-\r\n"
    "def f( a,b ):   # sums\r\n"
    "\tx = [ a ,b ]  # odd   spacing\r\n"
    "\tif a<b :\r\n"
    '\t\treturn "größer"   +  str( x )\r\n'
    "\r\n"
    "\treturn a  -  b  # and a comment: äöü\r\n"
    "\r\n"
    "class  K( object ) :\r\n"
    "\tdef g( self ,n = 3 ):\r\n"
    "\t\treturn  self.z [ n ]\r\n"
)


def test_all_but_the_edited_text_stays_as_it_is() -> None:
    space = space_of(MESSY)
    assert len(space.ranked) > 100
    for scored in space.ranked:
        after = apply_edits(MESSY, scored.candidate.edits)
        assert after.startswith("# -*- header: stays -*-\r\n")
        if space.distinct(scored.candidate):
            ast.parse(after)
            # Every line that came in ends as the file's lines do.
            assert after.count("\n") == after.count("\r\n")


def test_no_candidate_is_made_twice_and_none_is_the_code_itself() -> None:
    text = body("if a < b:", "    return a + 1", "return b")
    found = results(text, TYPES)
    trees = [ast.dump(ast.parse(after)) for after in found]
    assert ast.dump(ast.parse(text)) not in trees
    assert len(trees) == len(set(trees))


def test_the_order_is_the_same_every_time() -> None:
    text = body("for x in items:", "    if x == a:", "        return x", "return None")
    first, second = (space_of(text, TYPES) for _ in range(2))
    assert [s.candidate.key for s in first.ranked] == [s.candidate.key for s in second.ranked]


def test_what_takes_behaviour_away_comes_late() -> None:
    text = body("if a < b:", "    items.append(a)", "return items")
    ranked = space_of(text, TYPES).ranked
    places = [at for at, s in enumerate(ranked) if s.candidate.removes]
    assert places
    assert sum(places) / len(places) > len(ranked) / 2


def test_operators_take_any_syntax() -> None:
    text = textwrap.dedent(
        '''
        import os
        from typing import Generic

        LIMIT: int = 3

        class A:
            """Doc."""
            size = 2

            @property
            def wide(self) -> int:
                return self.size * 2

            async def go(self, *args, key=None, **kw):
                async with self.lock as lock, open(os.devnull):
                    async for item in self:
                        yield item
                match args:
                    case [1, *rest] if rest:
                        return
                    case {"a": value}:
                        print(f"{value!r:>{self.size}}", end="")
                try:
                    (y := key) and (lambda z=1: z)(y)
                except (ValueError, KeyError) as error:
                    raise RuntimeError from error
                else:
                    del kw["a"]
                finally:
                    global LIMIT
                    LIMIT -= 1

        if __name__ == "__main__": print({**{}, "a": [*()]}, {1, 2}, (i for i in ()), -LIMIT ** 2, sep=","); x = y = 1
        '''
    )
    source = SourceFile("m.py", text)
    for node in [source.tree, *source.functions]:
        site = Site(source, node)
        made = [candidate for operator in OPERATORS for candidate in operator(site)]
        assert made
        for candidate in made:
            assert all(0 <= e.start <= e.end <= len(text) for e in candidate.edits)


def test_edits_at_one_place_are_not_joined() -> None:
    first = Candidate((Edit("a.py", 3, 6, "x"),), "o", 1.0, 1)
    assert overlap(first, Candidate((Edit("a.py", 5, 9, "y"),), "o", 1.0, 1))
    assert not overlap(first, Candidate((Edit("a.py", 7, 9, "y"),), "o", 1.0, 1))
    assert not overlap(first, Candidate((Edit("b.py", 3, 6, "y"),), "o", 1.0, 1))


def test_where_a_loop_counts_comes_before_one_use_of_its_variable() -> None:
    text = body("for i in range(1, len(items)):", "    if items[i] == a:", "        return i", "return b")
    found = results(text, TYPES)
    bound = found.index(text.replace("range(1,", "range(0,"))
    assert bound < found.index(text.replace("items[i]", "items[i - 1]"))


def test_an_index_that_would_reach_around_comes_late() -> None:
    text = body("for i in range(len(items)):", "    if items[i] == a:", "        return i", "return b")
    found = results(text, TYPES)
    assert found.index(text.replace("items[i]", "items[i + 1]")) < found.index(text.replace("items[i]", "items[i - 1]"))


@pytest.mark.parametrize(
    ("line", "better"),
    [("x + 1", "x"), ("len(x) - 1", "len(x)"), ("x * 2", "x")],
)
def test_a_number_without_effect_is_left_out_with_its_operator(line: str, better: str) -> None:
    proposed = results(f"def f(x):\n    return {line}\n", TYPES)
    assert f"def f(x):\n    return {better}\n" in proposed
    assert not any(text.rstrip().endswith(("+ 0", "- 0")) for text in proposed)
