"""What a user can set once instead of typing it: files, then the environment, then flags, in rising priority."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, PositiveFloat, ValidationError

from agent.cli.config import FILE_NAME, config_folder, read_config
from indexer.errors import BadInput

PREFIX = "TRITONKB_"
# A stranger's repository must not run its own programs, do without the sandbox, or send your text to a model, by
# bringing a configuration file.
OWN_ONLY = ("unsafe_no_sandbox", "toolchain_python", "model")
# Nor may it have texts and the user's key sent somewhere.
SENDING = "openai:"


class Settings(BaseModel):
    """The values after merging; a command reads them and not the environment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    store: str | None = None
    target: str = "ascend910b3"
    embedder: str | None = None
    # No language model is called unless this names one.
    model: str | None = None
    # What a million tokens of the model cost; without, a run tells tokens only.
    price_prompt: NonNegativeFloat | None = None
    price_completion: NonNegativeFloat | None = None
    price_currency: str = "USD"
    toolchain_python: Path | None = None
    unsafe_no_sandbox: bool = False
    # Seconds that one run of a host or candidate may take.
    host_seconds: PositiveFloat = 60.0


def load_settings(flags: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Settings:
    """Merge `tritonkb.toml`, `TRITONKB_*` and `flags` (None: not given); raises `BadInput` for an unusable value."""
    environ = os.environ if environ is None else environ
    layers = [(str(path), _without_language(path, table)) for path, table in read_config()]
    layers.append((f"{PREFIX}*", dict(_from_environment(environ))))
    merged: dict[str, Any] = {}
    for origin, layer in layers:
        merged.update(_checked(origin, layer))
    merged.update(_checked("--", {key: value for key, value in flags.items() if value is not None}))
    return Settings.model_validate(merged)


def _without_language(path: Path, table: Mapping[str, Any]) -> dict[str, Any]:
    """Drop `lang`, which is read before; raises `BadInput` for what only the user's own file may say."""
    sent = str(table.get("embedder", "")).startswith(SENDING)
    loose = next((name for name in OWN_ONLY if name in table), "embedder" if sent else None)
    if loose and path == Path(FILE_NAME):
        raise BadInput("cli.own_only", path=path, name=loose, folder=config_folder())
    return {key: value for key, value in table.items() if key != "lang"}


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in Settings.model_fields:
        value = environ.get(PREFIX + name.upper())
        if value:
            yield name, value


def _checked(origin: str, layer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give `layer` back if every value of it is usable, so that the error can name the place it came from."""
    try:
        Settings.model_validate(layer)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = ", ".join(["lang", *Settings.model_fields])
            raise BadInput("cli.unknown_setting", origin=origin, name=name, known=known) from error
        raise BadInput("cli.bad_setting", origin=origin, name=name, value=first["input"]) from error
    return layer
