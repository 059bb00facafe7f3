"""The program that runs inside the toolchain's own Python, in the sandbox: standard library, torch and triton only."""
