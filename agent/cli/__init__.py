"""The command line: one module a command over the use cases of `agent.app`."""
