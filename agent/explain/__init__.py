"""Why a compiler refuses a kernel, buffer by buffer or word by word, and what to write instead."""
