"""Edit operators: each module yields source-preserving edits of one kind, from general knowledge of bugs."""
