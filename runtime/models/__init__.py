"""Models behind one streaming interface: Anthropic, OpenAI-compatible servers, and the embedded repair engine."""
