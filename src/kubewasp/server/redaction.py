"""Redaction of secrets in logs, `/configz` and decision traces."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

REDACTED: Final = "REDACTED"

_NAME = (
    r"(?:[\w.-]*(?:token|passw(?:or)?d|secret|credential|signature|api[_-]?key|access[_-]?key|private[_-]?key|authorization)"
    r"|sig|auth|keyData|key-data|client-key-data)"
)
_SECRET_NAME = re.compile(rf"(?i)^{_NAME}$")
# Cheap first checks: most texts have no match and stay unchanged. Names matter only before one of the signs.
_WORDS = ("bearer", "basic", "eyj", "-----begin")
_NAMES = ("@", "token", "passw", "secret", "credential", "sig", "key", "private", "auth")
_HINT = re.compile(
    r"(?i)://[^/\s]*@|token|passw|secret|credential|sig|api.?key|access.?key|private|auth|bearer|eyJ|key.?data"
)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
# All patterns are anchored at the start of a word: a guest's long line must not cost quadratic time.
_USER_INFO = re.compile(r"(?i)(?<![a-z0-9+.-])([a-z][a-z0-9+.-]*://)[^/\s\"']*@")
_SCHEME = re.compile(r"(?i)\b(bearer|basic)(\s+)(?!token\b|auth)[A-Za-z0-9+/=._~-]{4,}")
_JWT = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?")
_PAIR = re.compile(
    rf"(?is)(?<![\w.-])(?P<quote>[\"']?)(?P<name>{_NAME})(?P=quote)(?P<sign>\s*[=:]\s*)"
    # A quoted value may be cut off.
    r"(?!(?:bearer|basic)\s)(?P<value>\"(?:[^\"\\]|\\.)*(?:\"|\\?\Z)|'[^']*(?:'|\Z)|[^\s\"',;&}\]]+)"
)


def without_secrets(text: str) -> str:
    """The text with `REDACTED` in place of credentials in URLs, tokens, passwords and private keys."""
    if (text.isascii() and not may_have_secret(text)) or _HINT.search(text) is None:
        return text
    text = _PRIVATE_KEY.sub(REDACTED, text)
    text = _USER_INFO.sub(rf"\g<1>{REDACTED}@", text)
    text = _SCHEME.sub(rf"\g<1>\g<2>{REDACTED}", text)
    text = _PAIR.sub(_hidden, text)
    return _JWT.sub(REDACTED, text)


def may_have_secret(text: str) -> bool:
    """False for an ASCII text that has no secret; quick, also for many lines at once."""
    lowered = text.lower()
    for word in _WORDS:  # loops, as `any` costs more than the search
        if word in lowered:
            return True
    if "=" in text or ":" in text:
        for name in _NAMES:
            if name in lowered:
                return True
    return False


@lru_cache(maxsize=1024)
def is_secret_name(name: str) -> bool:
    """Whether values of that name are secret, regardless of their form."""
    return _SECRET_NAME.match(name) is not None


def document_without_secrets(value: Any) -> Any:
    """The JSON document with all its texts redacted."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return {
            name: REDACTED
            if isinstance(item, str) and item and is_secret_name(str(name))
            else document_without_secrets(item)
            for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [document_without_secrets(item) for item in value]
    return value


def _hidden(found: re.Match[str]) -> str:
    value = found["value"]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{found['quote']}{found['name']}{found['quote']}{found['sign']}{quote}{REDACTED}{quote}"
