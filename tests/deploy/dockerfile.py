"""Dockerfile parser: stages and instructions."""

import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Stage:
    """From one FROM to the next. `instructions` are pairs such as ("USER", "65532:65532")."""

    image: str
    name: str = ""
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def all(self, keyword: str) -> list[str]:
        return [rest for word, rest in self.instructions if word == keyword]


def stages(path: Path) -> list[Stage]:
    """The stages; build arguments before the first FROM are put in."""
    arguments: dict[str, str] = {}
    found: list[Stage] = []
    for keyword, rest in _instructions(path.read_text(encoding="utf-8")):
        if keyword == "FROM":
            image, *name = re.split(r"\s+AS\s+", rest)
            for argument, value in arguments.items():
                image = image.replace(f"${{{argument}}}", value)
            found.append(Stage(image, *name))
        elif not found:
            assert keyword == "ARG", f"{keyword} before the first FROM"
            name_of_it, _, value = rest.partition("=")
            arguments[name_of_it] = value
        else:
            found[-1].instructions.append((keyword, rest))
    return found


def _instructions(text: str) -> list[tuple[str, str]]:
    lines = (line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in joined.splitlines()]
