"""Hooks of a Python plugin that would not be called as they are written. Sources are parsed, not run.

Python has no interface to miss: a misspelt method is an ordinary method, a wrong signature fails at the first pod. The
hooks and their parameters are read from the SDK's source.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.projects import near_names
from kubewasp.projects.toolchain import BuildError, sdk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from kubewasp.projects.python_classes import PluginClass

_Function = ast.FunctionDef | ast.AsyncFunctionDef
# Names that other hosts have for hooks.
_ALIASES: Final = {
    **dict.fromkeys(("less", "queuesort"), "sort_key"),
    **dict.fromkeys(("eventstoregister", "enqueue", "clusterevents"), "events"),
    **dict.fromkeys(("signpod", "sign"), "signature"),
}


@dataclass(frozen=True, slots=True)
class _Found:
    """A method of the plugin: its declaration and its place."""

    node: _Function
    where: str


def check(project: Path, plugin: PluginClass, modules: Mapping[Path, ast.Module]) -> None:
    """Raises BuildError with all problems, a line each."""
    interface = _sdk()
    hooks = _hooks(interface)
    methods, others = _members(plugin, project)
    used = {node.attr for tree in modules.values() for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    problems = [problem for name in methods if name in hooks for problem in _wrong(name, methods[name], hooks[name])]
    stored = {name for tree in modules.values() for name in _assigned_attributes(tree)}  # Mine.filter = other
    missing = [name for name in hooks if name not in {*methods, *others, *stored}]
    misspelt = list(_misspelt({name: found for name, found in methods.items() if name not in used}, hooks, missing))
    problems += misspelt
    if len(missing) == len(hooks) and not misspelt and not plugin.has_unknown_bases:
        problems.append(_no_hook(plugin, project, modules, hooks))
    problems += _wrong_wants(others, project, plugin, known=_wants(interface))
    problems += _wrong_config(project, plugin, modules)
    if problems:
        raise BuildError("\n".join(problems))


def _sdk() -> ast.Module:
    return ast.parse((sdk("python") / "plugin.py").read_bytes())


def _hooks(tree: ast.Module) -> dict[str, list[str]]:
    """Hook → parameter names with self: the methods of the SDK's Plugin that are there to be overridden."""
    [plugin] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Plugin"]
    methods = [node for node in plugin.body if isinstance(node, ast.FunctionDef)]
    return {
        node.name: [item.arg for item in node.args.args]
        for node in methods
        if isinstance(node.body[-1], ast.Raise) and ast.unparse(node.body[-1]) == "raise NotImplementedError"
    }


def _wants(tree: ast.Module) -> tuple[str, ...]:
    """Data that a plugin may want."""
    [value] = [
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "WANTS"
    ]
    return tuple(ast.literal_eval(value))


def _members(plugin: PluginClass, project: Path) -> tuple[dict[str, _Found], dict[str, ast.expr | None]]:
    """Methods, and other assigned names, of a class and its known bases; the nearest counts."""
    methods: dict[str, _Found] = {}
    others: dict[str, ast.expr | None] = {}
    for part in plugin.parts:
        shown = part.path.relative_to(project).as_posix()
        statements = list(_statements(part.node.body))
        own = {node.name: node for node in statements if isinstance(node, _Function)}
        for name, node in own.items():
            methods.setdefault(name, _Found(node, f"{shown}:{node.lineno}"))
        for item in statements:
            if isinstance(item, ast.Assign):
                others |= {target.id: item.value for target in item.targets if isinstance(target, ast.Name)} | others
            elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                others.setdefault(item.target.id, item.value)
    return methods, others


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a class, also those in conditions."""
    for node in body:
        yield node
        for part in ("body", "orelse", "handlers", "finalbody"):
            if not isinstance(node, _Function | ast.ClassDef):
                yield from _statements(getattr(node, part, ()))


def _assigned_attributes(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


# ---------------------------------------------------------------------- hooks with the right name


def _wrong(name: str, found: _Found, expected: Sequence[str]) -> Iterator[str]:
    node, where = found.node, found.where
    if isinstance(node, ast.AsyncFunctionDef):
        yield f"{where}: {name} is async; hooks are plain methods"
        return
    if any(isinstance(part, ast.Yield | ast.YieldFrom) for part in _own_nodes(node)):
        yield f"{where}: {name} has a yield, so its result is a generator; return the result"
        return
    decorators = [ast.unparse(item) for item in node.decorator_list]
    if any(item.endswith("property") for item in decorators):
        yield f"{where}: {name} is a property; hooks are methods"
        return
    is_static = decorators == ["staticmethod"]
    if decorators and not is_static and decorators != ["classmethod"]:
        return  # the decorator determines the parameters
    wanted = list(expected[1:] if is_static else expected)
    arguments = node.args
    given = [item.arg for item in (*arguments.posonlyargs, *arguments.args)]
    required = len(given) - len(arguments.defaults)
    keywords = [
        item.arg
        for item, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if value is None  # without a default
    ]
    fits = required <= len(wanted) and (len(wanted) <= len(given) or arguments.vararg is not None)
    # Names are the author's choice, but the same names in another order are a mistake.
    if not fits or keywords or (given != wanted and sorted(given) == sorted(wanted)):
        yield f"{where}: {name}({ast.unparse(arguments)}) is called with other arguments: {name}({', '.join(wanted)})"


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Nodes of a function without those of functions in it."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, _Function | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(node))


# ---------------------------------------------------------------------- names


def _misspelt(
    unused: Mapping[str, _Found], hooks: Mapping[str, Sequence[str]], missing: Sequence[str]
) -> Iterator[str]:
    """Methods that nothing calls and that are named almost like a hook that is not there."""
    for name, found in unused.items():
        if name in hooks or name.startswith("_") or found.node.decorator_list:
            continue
        given = {item.arg for item in found.node.args.args}
        parameters = {item for hook in missing for item in hooks[hook][1:]}
        meant = near_names.nearest(name, missing, aliases=_ALIASES, fuzzy=bool(given & parameters))
        if meant:
            yield f"{found.where}: {name} is not a hook; did you mean {meant}?"


def _no_hook(
    plugin: PluginClass, project: Path, modules: Mapping[Path, ast.Module], hooks: Mapping[str, Sequence[str]]
) -> str:
    path, declared = plugin.parts[0].path, plugin.parts[0].node
    where = f"{path.relative_to(project).as_posix()}:{declared.lineno}"
    outside = [node for node in modules[path].body if isinstance(node, _Function) and node.name in hooks]
    if outside:
        first = outside[0]
        return (
            f"{path.relative_to(project).as_posix()}:{first.lineno}: {first.name} is a function outside of the class "
            f"{declared.name}; indent it to make it a hook"
        )
    return f"{where}: {declared.name} implements no hook; give it a method such as filter or score"


# ---------------------------------------------------------------------- attributes


def _wrong_config(project: Path, plugin: PluginClass, modules: Mapping[Path, ast.Module]) -> Iterator[str]:
    """A class as the type of `config` that is not a dataclass."""
    for part in plugin.parts:
        for item in part.node.body:
            if not isinstance(item, ast.AnnAssign) or ast.unparse(item.target) != "config":
                continue
            name = ast.unparse(item.annotation).strip("'\"")
            for node in modules[part.path].body:
                if isinstance(node, ast.ClassDef) and node.name == name and not _may_be_dataclass(node):
                    where = f"{part.path.relative_to(project).as_posix()}:{node.lineno}"
                    yield f"{where}: {node.name}, the type of config, is not a dataclass; decorate it with @dataclass"


def _may_be_dataclass(node: ast.ClassDef) -> bool:
    return bool(node.decorator_list or node.bases or node.keywords)


def _wrong_wants(
    others: Mapping[str, ast.expr | None], project: Path, plugin: PluginClass, *, known: Sequence[str]
) -> Iterator[str]:
    value = others.get("wants")
    if value is None:
        return
    path = next(part.path for part in plugin.parts for node in ast.walk(part.node) if node is value)
    where = f"{path.relative_to(project).as_posix()}:{value.lineno}"
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield f'{where}: wants is a text; expected a tuple, ("{value.value}",)'
        return
    items = value.elts if isinstance(value, ast.Tuple | ast.List | ast.Set) else []
    texts = [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    for text in texts:
        if text not in known:
            meant = near_names.nearest(text, known, aliases={}, fuzzy=True)
            hint = f"did you mean {meant}?" if meant else f"there are {', '.join(known)}"
            yield f"{where}: wants: unknown {text!r}; {hint}"
