"""Each class has a name of its own, so that a reader who meets the name knows which class it is."""

import ast
from collections import defaultdict
from pathlib import Path

import dragoman


def test_public_classes_have_different_names() -> None:
    package = Path(dragoman.__file__).parent
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(package)))
    assert len(places) > 300
    repeated = {name: files for name, files in places.items() if len(files) > 1}
    assert not repeated
