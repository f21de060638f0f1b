"""The LoRA trainer on a tiny, randomly made model of the architecture it is meant for; skipped where PyTorch isn't installed."""

from __future__ import annotations

import importlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import EnvironmentFault, UsageError
from runtime.stoploss import training_lora
from runtime.stoploss.evaluate.ranking import auc
from runtime.stoploss.labels import Label
from runtime.stoploss.steps import Step
from runtime.stoploss.window import MAX_TOKENS, Window, Windower
from support.stoploss_runs import made_runs, write_runs

# What the libraries deprecate among themselves is theirs to settle.
pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"
)
OPTIONS = training_lora.LoraOptions(rank=8, alpha=16, rate=5e-3, epochs=3, batch=8, accumulate=1, dropout=0.0)
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def test_without_pytorch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> Any:
        raise ImportError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(importlib, "import_module", nothing)
    with pytest.raises(EnvironmentFault, match="torch is missing"):
        training_lora.prepare("some/model", OPTIONS)


def window(abort: bool, number: int) -> Window:
    """A window whose words tell its label, among words that don't."""
    rng = random.Random(number)
    windower = Windower()
    for _ in range(4):
        noise = " ".join(rng.choice(("alpha", "beta", "gamma", "delta")) for _ in range(4))
        windower.add(Step(f"run {noise}", "error failed again" if abort else "passed all good"))
    return windower.window()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A chat model of Qwen3's architecture with two narrow layers, random weights and a tokenizer of its own."""
    for name in ("torch", "transformers", "peft", "tokenizers"):
        pytest.importorskip(name, reason="the adapter's trainer needs looptop[train]: PyTorch, transformers, peft")
    torch, transformers = importlib.import_module("torch"), importlib.import_module("transformers")
    tokenizers = importlib.import_module("tokenizers")
    torch.manual_seed(1)
    raw = tokenizers.Tokenizer(tokenizers.models.BPE())
    raw.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = tokenizers.decoders.ByteLevel()
    special = ["<|im_start|>", "<|im_end|>", "<|pad|>"]
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=600, special_tokens=special, initial_alphabet=alphabet)
    texts = [window(n % 2 == 0, n).text() + " Continue Deliver Abort assistant system user" for n in range(40)]
    raw.train_from_iterator(texts, trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<|im_end|>", pad_token="<|pad|>")
    tokenizer.chat_template = TEMPLATE
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=4_096,
        tie_word_embeddings=False,
    )
    folder = tmp_path_factory.mktemp("base")
    transformers.Qwen3ForCausalLM(config).save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return str(folder)


def labelled(numbers: range, *, shuffled: bool = False) -> list[tuple[Window, Label]]:
    """Windows with Abort where their words say so, else Continue and Deliver in turn; or with these labels shuffled."""
    labels = [Label.ABORT if n % 2 == 0 else (Label.CONTINUE if n % 4 == 1 else Label.DELIVER) for n in numbers]
    if shuffled:
        random.Random(numbers.start).shuffle(labels)
    return [(window(n % 2 == 0, n), name) for n, name in zip(numbers, labels, strict=True)]


def ranked(lora: training_lora.Lora, rows: list[tuple[Window, Label]]) -> float:
    """AUC of P(Abort) against labels."""
    scores = [abort for _, _, abort in lora.scores([w for w, _ in rows])]
    bad = [score for score, (_, name) in zip(scores, rows, strict=True) if name is Label.ABORT]
    good = [score for score, (_, name) in zip(scores, rows, strict=True) if name is not Label.ABORT]
    found = auc(bad, good)
    assert found is not None
    return found


def test_it_learns_and_survives_its_files(base: str, tmp_path: Path) -> None:
    lora = training_lora.prepare(base, OPTIONS)
    fresh = labelled(range(1_000, 1_060))
    # A random model leans to one side of words that mean nothing to it; over all labels shuffled it tells nothing.
    before = ranked(lora, labelled(range(1_000, 1_200), shuffled=True))
    losses = training_lora.train_adapter(lora, labelled(range(200)), OPTIONS)
    after = ranked(lora, fresh)
    print(f"AUC {before:.2f} before, {after:.2f} after training; losses {losses}")
    assert 0.3 < before < 0.7
    assert losses[-1] < losses[0]
    assert after >= 0.95
    training_lora.save_adapter(lora, tmp_path / "adapter", base, OPTIONS, ["a"])
    again = training_lora.load_adapter(tmp_path / "adapter")
    some = [w for w, _ in fresh[:10]]
    for one, two in zip(lora.scores(some), again.scores(some), strict=True):
        assert one == pytest.approx(two, abs=1e-5)
        assert sum(one) == pytest.approx(1, abs=1e-5)
    assert (tmp_path / "adapter" / "adapter_config.json").exists()


def test_shuffled_labels_teach_nothing(base: str) -> None:
    lora = training_lora.prepare(base, OPTIONS)
    training_lora.train_adapter(lora, labelled(range(200), shuffled=True), OPTIONS)
    assert 0.3 < ranked(lora, labelled(range(1_000, 1_200), shuffled=True)) < 0.7


def test_scores_do_not_depend_on_the_batch(base: str) -> None:
    lora = training_lora.prepare(base, OPTIONS)
    some = [window(n % 2 == 0, n) for n in range(6)]
    alone = [score for w in some for score in lora.scores([w])]
    for one, two in zip(alone, lora.scores(some, batch=6), strict=True):
        assert one == pytest.approx(two, abs=1e-5)


def test_a_prompt_keeps_the_window_within_its_limit(base: str) -> None:
    lora = training_lora.prepare(base, OPTIONS)
    windower = Windower()
    for n in range(3):
        windower.add(Step("x" * 1_900, f"漢字 {n} " * 300))
    tokenizer = training_lora.HuggingFaceTokenizer(lora.tokenizer)
    assert tokenizer.count(windower.window().text(tokenizer)) <= MAX_TOKENS


def test_what_is_no_adapter_or_no_model_is_told(base: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no adapter"):
        training_lora.load_adapter(tmp_path)
    with pytest.raises(UsageError, match="can't be loaded"):
        training_lora.prepare(str(tmp_path), OPTIONS)
    lora = training_lora.prepare(base, OPTIONS)
    with pytest.raises(UsageError, match="teach nothing"):
        training_lora.train_adapter(lora, [(window(True, 1), Label.ABORT)] * 3, OPTIONS)


def test_the_command_trains_an_adapter_and_says_how_to_serve_it(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tui.cli import run

    monkeypatch.setenv("LOOPTOP_HOME", str(tmp_path / "home"))
    runs = write_runs(tmp_path / "runs.jsonl", made_runs(4, 4))
    out = tmp_path / "adapter"
    args = ["stoploss", "train", str(runs), "--lora", base, "--out", str(out), "--epochs", "1", "--rank", "4"]
    assert run(args) == 0
    said = capsys.readouterr()
    assert "epoch 1 of 1: loss" in said.err
    assert f"--lora-modules stoploss={out}" in said.out
    note = json.loads((out / training_lora.NOTE).read_text())
    assert (note["base"], len(note["tasks"]), set(note["labels"])) == (base, 8, {"Continue", "Deliver", "Abort"})
