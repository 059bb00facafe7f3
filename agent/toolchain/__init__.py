"""The compilers: one module a compiler, installed in an environment of its own."""
