"""One module a language: text of one file turned into spans with a kind, a symbol and its natural-language text."""
