"""The one event vocabulary: whatever happens in a run is one of these, stored, shown, published, exported and replayed alike.

`base` has the envelope, the other modules the types by subject, `codec` the JSON line form and the tagged union.
"""
