"""A module that is imported only when it is needed."""


def greeting() -> str:
    return "hello"
