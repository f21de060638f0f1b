"""Whether a tool call is provably read-only, and what an approval mode makes of it. Pure: no file is looked at here."""
