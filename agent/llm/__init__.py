"""A language model behind an OpenAI-compatible endpoint: answers of a given form, in bounds of time and tokens.

Layers wrap one another: `endpoint.Endpoint` sends one request, with retries; `record.Recording` keeps what was sent and
answered, without keys, `record.Replay` answers from such a record and `record.Ledger` does both; `chat.Chat` knows the
form wanted and the budget. An endpoint that fails raises `ModelError`; a model that answers, but not usably, is a
result: `chat.Unusable`.
"""
