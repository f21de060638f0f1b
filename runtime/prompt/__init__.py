"""Prompts that cache: constant system prompt and tools, an append-only transcript, and four breakpoints."""
