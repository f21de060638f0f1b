"""What is known of models: caps, cache minimum, limits, end of life, prices. Unknown stays unknown."""
