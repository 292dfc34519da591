"""Lazily imported module."""


def greeting() -> str:
    return "hello"
