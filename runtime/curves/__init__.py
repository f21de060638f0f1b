"""How much each further attempt brings, by model family: fix-rate curves, recommended caps, and what other caps would have done."""
