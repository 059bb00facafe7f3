"""One file a way to make vectors; `indexer.embed` lists them."""
