"""Sessions of signed-in browsers: a random cookie in place of the token, which stays in this process's memory.

The token is checked again with every request, so a token that ends or loses its rights ends its sessions.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kubewasp.clock import Clock

LIFETIME: Final = 12 * 3600.0
_MOST: Final = 1000


@dataclass(frozen=True, slots=True)
class Session:
    """A session. `token` is shown nowhere."""

    key: str
    token: str
    ends: float

    def __repr__(self) -> str:
        return "Session()"


class Sessions:
    """Sessions of one process; with too many of them, the least recently used one ends."""

    def __init__(self, clock: Clock, *, is_secure: bool) -> None:
        """`is_secure`: served by HTTPS. The prefix then forbids cookies of other hosts and paths."""
        self._clock = clock
        self._is_secure = is_secure
        self.cookie_name = "__Host-kubewasp-console" if is_secure else "kubewasp-console"
        self._secret = secrets.token_bytes(32)
        self._known: OrderedDict[bytes, Session] = OrderedDict()

    def begin(self, token: str) -> Session:
        session = Session(secrets.token_urlsafe(32), token, self._clock.now() + LIFETIME)
        self._known[_digest(session.key)] = session
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
        return session

    def find(self, key: str) -> Session | None:
        """The session of a cookie's value."""
        digest = _digest(key)  # a look-up by digest tells nothing about keys by its time
        session = self._known.get(digest)
        if session is None:
            return None
        if session.ends <= self._clock.now():
            del self._known[digest]
            return None
        self._known.move_to_end(digest)
        return session

    def end(self, key: str) -> None:
        self._known.pop(_digest(key), None)

    def csrf(self, holder: str) -> str:
        """Token for actions, of a session's key or of another holder."""
        return hmac.new(self._secret, holder.encode(), hashlib.sha256).hexdigest()

    def cookie(self, session: Session | None) -> str:
        """Value of Set-Cookie; None removes the cookie."""
        key, age = ("", 0) if session is None else (session.key, int(LIFETIME))
        secure = "; Secure" if self._is_secure else ""
        return f"{self.cookie_name}={key}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
