"""One module a symptom; `table.SYMPTOMS` lists them."""
