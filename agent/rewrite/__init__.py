"""Source rewrites; `table.REWRITES` lists them."""
