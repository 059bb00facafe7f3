"""Text that speaks to a language model and not to a reader of source code: it is neither quoted nor given to one."""

from __future__ import annotations

import re

_ADDRESSED = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}"
    r"\b(?:above|previous|prior|earlier|preceding|all|any|your|system|these|other)\b"
    r"[^.\n]{0,40}\b(?:instruction|prompt|rule|direction|guideline|question)s?\b"
    r"|\b(?:system|developer) prompt\b|\byou are (?:now )?(?:an?|the) (?:ai|assistant|language model|chatbot|llm)\b"
    r"|\bas an ai (?:language )?model\b|<\|?(?:im_start|im_end|system|endoftext|assistant)\|?>|\[/?INST\]"
    r"|\b(?:dear|hey|attention|note to)[ ,:]{1,3}(?:the )?(?:ai|assistant|llm|language model|chatbot)s?\b"
    r"|(?:忽略|无视|忘记|不要理会).{0,12}(?:以上|上述|上面|之前|前面|先前|所有|系统).{0,8}(?:指令|提示|要求|规则|命令)"
    r"|系统提示词|你现在是.{0,10}(?:助手|模型|AI)",
    re.IGNORECASE,
)


def speaks_to_model(text: str) -> bool:
    """Tell whether a text gives orders to a language model."""
    return _ADDRESSED.search(text) is not None
