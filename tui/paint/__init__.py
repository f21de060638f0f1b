"""Pure painting: from pictures of runs to lines of text with roles. No widget, no event loop."""
