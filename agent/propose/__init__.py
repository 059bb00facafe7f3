"""Who proposes rewrites: the rules and, where the user named one, a language model; both give the same `Proposal`."""
