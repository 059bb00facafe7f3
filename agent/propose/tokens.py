"""Tokens and what they cost, as documents."""

from __future__ import annotations

from collections.abc import Iterable

from agent.contract_run import TokensDoc
from agent.request import Price


def tokens_doc(prompt: int, completion: int, requests: int, price: Price | None) -> TokensDoc:
    """Describe what was used, with its cost where prices are known."""
    if price is None:
        return TokensDoc(prompt=prompt, completion=completion, requests=requests)
    cost = (prompt * price.prompt + completion * price.completion) / 1e6
    return TokensDoc(prompt=prompt, completion=completion, requests=requests, cost=cost, currency=price.currency)


def sum_tokens(parts: Iterable[TokensDoc]) -> TokensDoc:
    """Add up what was used."""
    found = list(parts)
    costs = [part.cost for part in found if part.cost is not None]
    return TokensDoc(
        prompt=sum(part.prompt for part in found), completion=sum(part.completion for part in found),
        requests=sum(part.requests for part in found), cost=sum(costs) if costs else None,
        currency=next((part.currency for part in found if part.currency), ""),
    )  # fmt: skip
