"""Text that speaks to a language model and not to a reader of source code: it is neither quoted nor given to one.

In a question it is left out, and what is asked besides is answered.
"""

from __future__ import annotations

import re

_FORGET = (
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}"
    r"\b(?:above|previous|prior|earlier|preceding|all|any|your|system|these|other)\b"
    r"[^.\n]{0,40}\b(?:instruction|prompt|rule|direction|guideline|question)s?\b"
    r"|(?:忽略|无视|忘记|不要理会).{0,12}(?:以上|上述|上面|之前|前面|先前|所有|系统).{0,8}(?:指令|提示|要求|规则|命令)"
)
_SPEAKS = (
    r"\b(?:system|developer) prompt\b|\byou are (?:now )?(?:an?|the) (?:ai|assistant|language model|chatbot|llm)\b"
    r"|\bas an ai (?:language )?model\b|<\|?(?:im_start|im_end|system|endoftext|assistant)\|?>|\[/?INST\]"
    r"|\b(?:dear|hey|attention|note to)[ ,:]{1,3}(?:the )?(?:ai|assistant|llm|language model|chatbot)s?\b"
    r"|系统提示词|你现在是.{0,10}(?:助手|模型|AI)"
)
_ADDRESSED = re.compile(f"{_FORGET}|{_SPEAKS}", re.IGNORECASE)
# In a question "does the pass ignore all other rules" is none: an order begins a sentence, or a part of one.
_ORDER = re.compile(
    r"(?:^|[,，:：(（\"“]|\b(?:and|then|but|so|please|now|also|must|should)\b|请你?|并且?|然后|现在|你必须)"
    rf"[\W_]{{0,8}}(?P<order>{_FORGET})|(?P<whole>{_SPEAKS})",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r".+?(?:[.!?;]+(?=\s|$)|[。！？；]+|$)\s*", re.MULTILINE)


def without_orders(question: str) -> tuple[str, tuple[str, ...]]:
    """Return what `question` asks, and the orders to a language model that stand in it."""
    orders: list[str] = []

    def keep(sentence: re.Match[str]) -> str:
        found = _ORDER.search(sentence[0])
        if found is None:
            return sentence[0]
        begin = found.start() if found["order"] else 0
        orders.append(sentence[0][begin:].strip(" ,，"))
        return sentence[0][:begin]

    asked = _SENTENCE.sub(keep, question)
    return (asked if re.search(r"\w", asked) else "", tuple(orders)) if orders else (question, ())


def speaks_to_model(text: str) -> bool:
    """Tell whether a text gives orders to a language model."""
    return _ADDRESSED.search(text) is not None
