"""MkDocs hooks: pages from the repository root, and links from pages to files outside of `docs/`.

The same Markdown works in a checkout and on the site: `../examples/x` becomes an address in the repository,
`docs/abi.md` in CONTRIBUTING.md a page of the site.
"""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
# Files of the repository root with a page on the site.
ROOT_PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Rewrites relative links; links between pages of `docs/` stay as they are."""
    file = page.file.src_uri
    folder = "" if file in ROOT_PAGES.values() else normpath(f"docs/{file}/..")

    def rewritten(match: re.Match[str]) -> str:
        before, target, after = match.groups()
        return f"{before}{address(normpath(f'{folder}/{target}'.lstrip('/')), target)}{after}"

    def address(path: str, target: str) -> str:
        if path in ROOT_PAGES:
            return ("../" * file.count("/")) + ROOT_PAGES[path]
        if path.startswith("docs/"):
            return target if folder else path.removeprefix("docs/")
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"{config.repo_url}/{kind}/main/{path}"

    return LINK.sub(rewritten, markdown)


def on_page_context(context: dict[str, object], page: Page, **_: object) -> dict[str, object]:
    """Pages from the repository root have their edit link there."""
    names = {target: source for source, target in ROOT_PAGES.items()}
    if page.file.src_uri in names and page.edit_url:
        page.edit_url = page.edit_url.rsplit("/docs/", 1)[0] + "/" + names[page.file.src_uri]
    return context
