"""Every public class, function and method says what it is for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src" / "dragoman"

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _definitions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, Definition]]:
    for node in body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            decorators = [ast.unparse(one) for one in getattr(node, "decorator_list", [])]
            if "overload" not in decorators:
                yield f"{prefix}{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from _definitions(node.body, f"{prefix}{node.name}.")


def test_every_public_name_has_a_docstring() -> None:
    """A method that a protocol describes need not repeat its words."""
    found = {
        f"{path.relative_to(ROOT)} {name}": node
        for path in sorted(ROOT.rglob("*.py"))
        for name, node in _definitions(ast.parse(path.read_text(encoding="utf-8")).body)
    }
    protocols = [
        node for node in found.values() if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases)
    ]
    described = {
        method.name
        for protocol in protocols
        for method in protocol.body
        if isinstance(method, ast.FunctionDef) and ast.get_docstring(method)
    }
    assert {"segment", "force", "signature"} <= described
    missing = [
        name
        for name, node in found.items()
        if not ast.get_docstring(node) and not ("." in name.split()[1] and node.name in described)
    ]
    assert not missing, "\n".join(missing)
