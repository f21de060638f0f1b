"""Trains a LoRA adapter that makes a 7-8B chat model a served scorer. Needs `looptop[train]`; imported by its command alone.

The model reads the same prompt as a served scorer sends and is trained on the logits of the three labels' first tokens at the place
of its answer, so that the softmax over them is the score.
"""

from __future__ import annotations

import importlib
import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runtime.errors import EnvironmentFault, UsageError
from runtime.stoploss.labels import LABELS, Label
from runtime.stoploss.scorers.prompt import messages
from runtime.stoploss.window import Window

NOTE = "stoploss.json"
HINT = "Install them with `pip install 'looptop[train]'`."


@dataclass(frozen=True, slots=True)
class LoraOptions:
    """How to train. `rank` and `alpha` are LoRA's (Hu et al. 2021); `rate` the peak learning rate, warmed up and decayed linearly."""

    rank: int = 16
    alpha: int = 32
    dropout: float = 0.05
    rate: float = 2e-4
    epochs: int = 2
    batch: int = 4
    accumulate: int = 4
    """Batches whose gradients make one step."""
    seed: int = 7
    warm_up: float = 0.05
    """Share of all steps."""


class HuggingFaceTokenizer:
    """Counts and cuts as the model's own tokenizer does."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def count(self, text: str) -> int:
        """Tokens of a text, without special ones."""
        return len(self._ids(text))

    def tail(self, text: str, tokens: int) -> str:
        """The end of a text."""
        ids = self._ids(text)
        return text if len(ids) <= tokens else str(self._tokenizer.decode(ids[-tokens:])) if tokens > 0 else ""

    def _ids(self, text: str) -> list[int]:
        found: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return found


@dataclass
class Lora:
    """A chat model with an adapter, ready to train or to score."""

    model: Any
    tokenizer: Any
    label_ids: dict[Label, int]
    torch: Any

    def prompt(self, window: Window) -> list[int]:
        """The tokens of a check, up to where the answer begins."""
        return _template(self.tokenizer, messages(window, HuggingFaceTokenizer(self.tokenizer)))

    def logits(self, prompts: Sequence[Sequence[int]]) -> Any:
        """Logits of Continue, Deliver, Abort after each prompt; one forward pass, nothing is generated."""
        torch = self.torch
        longest = max(map(len, prompts))
        pad = (
            self.tokenizer.pad_token_id if self.tokenizer.pad_token_id is not None else self.tokenizer.eos_token_id or 0
        )
        rows = [[pad] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
        seen = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        device = next(self.model.parameters()).device
        mask = torch.tensor(seen, device=device)
        # Padded on the left, so places are counted from each prompt's own beginning.
        places = (mask.cumsum(-1) - 1).clamp(min=0)
        out = self.model(input_ids=torch.tensor(rows, device=device), attention_mask=mask, position_ids=places)
        return out.logits[:, -1, [self.label_ids[label] for label in LABELS]].float()

    def scores(self, windows: Sequence[Window], batch: int = 8) -> list[tuple[float, float, float]]:
        """P(Continue), P(Deliver), P(Abort) of windows."""
        self.model.eval()
        found: list[tuple[float, float, float]] = []
        with self.torch.no_grad():
            for at in range(0, len(windows), batch):
                logits = self.logits([self.prompt(window) for window in windows[at : at + batch]])
                found += [(row[0], row[1], row[2]) for row in logits.softmax(-1).tolist()]
        return found


def _libraries() -> tuple[Any, Any, Any]:
    try:
        return tuple(importlib.import_module(name) for name in ("torch", "transformers", "peft"))  # type: ignore[return-value]
    except ImportError as error:
        raise EnvironmentFault(
            f"Training an adapter needs torch, transformers and peft ({error.name} is missing).", HINT
        ) from error


def _template(tokenizer: Any, chat: Sequence[dict[str, str]], answer: str = "") -> list[int]:
    # `enable_thinking` is read by templates of reasoning models and ignored by others.
    text = tokenizer.apply_chat_template(list(chat), tokenize=False, add_generation_prompt=True, enable_thinking=False)
    ids: list[int] = tokenizer(text + answer, add_special_tokens=False)["input_ids"]
    return ids


def label_ids(tokenizer: Any) -> dict[Label, int]:
    """The first token of each label where the answer begins, tokenised in context. Raises UsageError where two share it."""
    chat = [{"role": "user", "content": "x"}]
    bare = _template(tokenizer, chat)
    found: dict[Label, int] = {}
    for name in LABELS:
        whole = _template(tokenizer, chat, str(name))
        if whole[: len(bare)] != bare or len(whole) <= len(bare):
            raise UsageError(
                f"The tokenizer joins the label {name} with what stands before it.", "Use another base model."
            )
        found[name] = whole[len(bare)]
    if len(set(found.values())) < len(found):
        raise UsageError(
            "Two labels begin with the same token, so they can't be told apart.", "Use another base model."
        )
    return found


def prepare(base: str, options: LoraOptions) -> Lora:
    """The base model with a fresh adapter on all its linear layers. Raises EnvironmentFault and UsageError."""
    torch, transformers, peft = _libraries()
    torch.manual_seed(options.seed)
    model, tokenizer = _base(base, transformers, torch)
    config = peft.LoraConfig(
        r=options.rank,
        lora_alpha=options.alpha,
        lora_dropout=options.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    return Lora(peft.get_peft_model(model, config), tokenizer, label_ids(tokenizer), torch)


def load_adapter(folder: Path) -> Lora:
    """A trained adapter with its base. Raises UsageError where the folder holds none."""
    torch, transformers, peft = _libraries()
    try:
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        base = str(note["base"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{folder} holds no adapter of StopLoss.", "Train one with `looptop stoploss train --lora`."
        ) from error
    model, tokenizer = _base(base, transformers, torch)
    return Lora(peft.PeftModel.from_pretrained(model, str(folder)), tokenizer, label_ids(tokenizer), torch)


def _base(base: str, transformers: Any, torch: Any) -> tuple[Any, Any]:
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(base)
        model = transformers.AutoModelForCausalLM.from_pretrained(base, dtype="auto")
    except (OSError, ValueError) as error:
        words = str(error).strip().splitlines()
        raise UsageError(
            f"The base model {base!r} can't be loaded ({words[0] if words else type(error).__name__})."
        ) from error
    if tokenizer.chat_template is None:
        raise UsageError(f"The base model {base!r} has no chat template.", "Use a chat model.")
    return model.to("cuda" if torch.cuda.is_available() else "cpu"), tokenizer


def train_adapter(
    lora: Lora,
    examples: Sequence[tuple[Window, Label]],
    options: LoraOptions,
    progress: Callable[[str], None] = lambda _: None,
) -> list[float]:
    """Train in place; the mean loss of every epoch. Labels count alike, however often each is seen. Deterministic on a CPU."""
    if len({label for _, label in examples}) < 2:
        raise UsageError(
            f"{len(examples)} windows of fewer than two labels teach nothing.", "Give more runs, of both kinds."
        )
    torch = lora.torch
    torch.manual_seed(options.seed)
    rng = random.Random(options.seed)
    prompts = [lora.prompt(window) for window, _ in examples]
    answers = [LABELS.index(label) for _, label in examples]
    weights = [len(answers) / (len(set(answers)) * max(1, answers.count(n))) for n in range(len(LABELS))]
    steps = max(1, math.ceil(len(prompts) / (options.batch * options.accumulate)) * options.epochs)
    trained = [parameter for parameter in lora.model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=options.rate, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, steps, options.warm_up))
    loss_of = torch.nn.CrossEntropyLoss(weight=torch.tensor(weights, device=trained[0].device), reduction="sum")
    losses = []
    for epoch in range(options.epochs):
        lora.model.train()
        order = list(range(len(prompts)))
        rng.shuffle(order)
        total = 0.0
        per_step = options.batch * options.accumulate
        for at in range(0, len(order), per_step):
            chosen = order[at : at + per_step]
            for part in range(0, len(chosen), options.batch):
                some = chosen[part : part + options.batch]
                wanted = torch.tensor([answers[n] for n in some], device=trained[0].device)
                loss = loss_of(lora.logits([prompts[n] for n in some]), wanted) / len(chosen)
                loss.backward()
                total += float(loss.detach()) * len(chosen)
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        losses.append(total / len(order))
        progress(f"epoch {epoch + 1} of {options.epochs}: loss {losses[-1]:.4f}")
    return losses


def _rate(step: int, steps: int, warm_up: float) -> float:
    """The share of the peak rate at a step."""
    warm = max(1, round(steps * warm_up))
    return (step + 1) / warm if step < warm else max(0.0, (steps - step) / max(1, steps - warm))


def save_adapter(lora: Lora, folder: Path, base: str, options: LoraOptions, tasks: Sequence[str]) -> None:
    """Write the adapter as vLLM loads it, with what it was trained on beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    lora.model.save_pretrained(str(folder))
    note = {
        "base": base,
        "labels": {str(name): token for name, token in lora.label_ids.items()},
        "options": asdict(options),
        "tasks": list(tasks),
    }
    (folder / NOTE).write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")
