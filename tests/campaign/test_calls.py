"""The system calls that strace sees, and those that the interposer numbers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from campaign.calls import Change, changes_in, reason_without_strace
from campaign.interposer import Operation

BENCH = Path(__file__).parents[2] / "bench"


def found(log: str, *existing: str) -> list[tuple[str, ...]]:
    changes = changes_in(log, Path("/f"), {f"/f/{name}" for name in existing})
    return [(change.operation.name, change.path, change.to)[: 3 if change.to else 2] for change in changes]


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ('openat(AT_FDCWD</f>, "a", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</f/a>', [("CREATE", "/f/a")]),
        ('openat(AT_FDCWD</f>, "old", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</f/old>', [("TRUNCATE", "/f/old")]),
        ('openat(AT_FDCWD</f>, "old", O_RDWR|O_CREAT, 0666) = 3</f/old>', []),
        ('openat(AT_FDCWD</g>, "a", O_WRONLY|O_CREAT, 0666) = 3</g/a>', []),
        ('openat(5</f/d>, "a", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3</f/d/a>', [("CREATE", "/f/d/a")]),
        ('write(3</f/k\\303\\244se>, ""..., 10) = 10', [("WRITE", "/f/käse")]),
        ('write(1</dev/null>, ""..., 10) = 10', []),
        ('write(3</f/a>, ""..., 10) = -1 ENOSPC (No space left on device)', []),
        ("fdatasync(3</f/a>) = 0", [("FSYNC", "/f/a")]),
        ('rename("a", "/f/b") = 0', [("RENAME", "/f/a", "/f/b")]),
        ('renameat2(AT_FDCWD</f>, "a", 4</f/d>, "b", 0) = 0', [("RENAME", "/f/a", "/f/d/b")]),
        ('unlinkat(4</f>, "d", AT_REMOVEDIR) = 0', [("RMDIR", "/f/d")]),
        ('symlink("a", "l") = 0', [("SYMLINK", "/f/l")]),
        ("copy_file_range(3</g/a>, NULL, 5</f/b>, NULL, 1, 0) = 1", [("OPAQUE_WRITE", "/f/b")]),
        ("mmap(NULL, 3, PROT_READ|PROT_WRITE, MAP_SHARED, 3</f/a>, 0) = 0x7fc7", [("OPAQUE_WRITE", "/f/a")]),
        ("mmap(NULL, 3, PROT_READ|PROT_WRITE, MAP_PRIVATE, 3</f/a>, 0) = 0x7fc7", []),
        ("io_uring_setup(8, {flags=0}) = 4<anon_inode:[io_uring]>", [("OPAQUE_WRITE", "/f")]),
    ],
)
def test_each_kind_of_call_is_read(line: str, changes: list[tuple[str, ...]]) -> None:
    assert found(f"12 {line}\n", "old") == changes


def test_a_call_that_another_thread_interrupts_is_joined() -> None:
    log = '1 write(3</f/a>, ""..., 10 <unfinished ...>\n2 fsync(4</f/b>) = 0\n1 <... write resumed>) = 10\n'
    assert found(log) == [("FSYNC", "/f/b"), ("WRITE", "/f/a")]


def test_names_are_followed_through_renames() -> None:
    create = 'openat(AT_FDCWD</f>, "{}", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</f/{}>'
    log = [create.format("d/a", "d/a"), 'rename("d", "e") = 0', *(create.format(name, name) for name in ("d/a", "e/a"))]
    kinds = [kind for kind, *_ in found("\n".join(f"1 {line}" for line in log), "d")]
    assert kinds == ["CREATE", "RENAME", "CREATE", "TRUNCATE"]


SCRIPT = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from campaign import interposer
interposer.load()
from campaign.calls import changes_of, compared
folder = Path(sys.argv[2])
(folder / "links").write_text("0-0 1-1\\n")
watched, calls = compared(["symmetrize", "links", "links", "-o", "out.gz"], folder, folder.with_name("log"))
print(json.dumps([watched.ended.code, list(changes_of(watched.steps)), calls]))
"""


@pytest.mark.skipif(reason_without_strace() is not None, reason=f"calls cannot be seen: {reason_without_strace()}")
@pytest.mark.skipif(shutil.which("cc") is None, reason="the interposer needs a C compiler")
def test_strace_sees_no_other_changes_than_the_interposer(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(BENCH), str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    code, numbered, calls = json.loads(done.stdout)
    assert code == 0
    assert numbered == calls
    changes = [Change(*call) for call in calls]
    assert {change.operation for change in changes} >= {Operation.CREATE, Operation.WRITE, Operation.FSYNC}
    assert str(folder.resolve() / "out.gz") in [each.to for each in changes if each.operation == Operation.RENAME]
