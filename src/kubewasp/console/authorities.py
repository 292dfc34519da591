"""Authorities: the rights that a credential gives. Open access on loopback, and tokens of files.

Kubernetes is another one: kubernetes_authority.py. No text here or there has a token or a part of it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from kubewasp.errors import KubewaspError

if TYPE_CHECKING:
    from pathlib import Path

_LEAST_TOKEN: Final = 20
_MOST_TOKEN: Final = 16 * 1024
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/=-]+")
_MOST_FILE: Final = 64 * 1024


class ConsoleAccessError(KubewaspError):
    """Settings of access that cannot be used; the text has the cause and the remedy."""


class AccessUnknownError(KubewaspError):
    """Access that cannot be decided now; the text is for the viewer."""


@dataclass(frozen=True, slots=True)
class Grant:
    """Rights of a credential."""

    name: str
    may_view: bool = True
    may_act: bool = False


class Authority(Protocol):
    """Decides about credentials. `asks`: requests need one; `sign_in` describes it in the sign-in form."""

    @property
    def asks(self) -> bool: ...

    @property
    def sign_in(self) -> str: ...

    async def grant(self, token: str) -> Grant | None:
        """Rights of a token; None if it is not valid. Raises AccessUnknownError."""


class OpenAuthority:
    """Everybody who can connect, as for `/rollout`: for loopback only."""

    asks = False
    sign_in = ""

    async def grant(self, token: str) -> Grant | None:  # noqa: ARG002 - interface
        return Grant("local", may_act=True)


class TokenAuthority:
    """One token to look, and optionally another one to look and act."""

    asks = True
    sign_in = "The token of this console."

    def __init__(self, view: str, act: str = "") -> None:
        if act and hmac.compare_digest(view, act):
            raise ConsoleAccessError("the tokens for looking and for actions are the same: give two different ones")
        # Equal lengths: a comparison takes the same time for every token.
        self._known = [(token_key(view), Grant("token"))]
        if act:
            self._known.append((token_key(act), Grant("action token", may_act=True)))

    async def grant(self, token: str) -> Grant | None:
        key, found = token_key(token), None
        for known, grant in self._known:  # all of them, whichever it is
            if hmac.compare_digest(key, known):
                found = grant
        return found


def token_key(token: str) -> bytes:
    """Digest of a token, as a key of caches and for comparisons."""
    return hashlib.sha256(token.encode()).digest()


def is_token(text: str) -> bool:
    """Whether a text has the form of a bearer token."""
    return len(text) <= _MOST_TOKEN and _TOKEN.fullmatch(text) is not None


def new_token() -> str:
    return secrets.token_urlsafe(32)


def token_of_file(path: Path) -> str:
    """The token of a file; the whitespace around it does not count. Raises ConsoleAccessError."""
    try:
        with path.open("rb") as file:
            token = file.read(_MOST_FILE).decode("ascii").strip()
    except OSError as error:
        raise ConsoleAccessError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        token = ""
    if not is_token(token) or len(token) < _LEAST_TOKEN:
        raise ConsoleAccessError(
            f"{path}: expected a token of {_LEAST_TOKEN} or more letters, digits and ._~+/=-, "
            f"such as `openssl rand -hex 32` prints"
        )
    return token
