"""``trelliswork fold`` on streams: answers as they come, little memory, and mistakes in the middle."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
import tracemalloc

import pytest

from trelliswork._errors import InputError
from trelliswork._lines import TextLines
from trelliswork.cli import _folding
from trelliswork.io import read_rna
from trelliswork.io.rna import stream_rna

HAIRPIN = "GGGGCGAAAGCUCC"


def fasta(n):
    return "".join(f">s{i}\n{HAIRPIN}{'ACGU'[i % 4]}\n" for i in range(n))


def names(text):
    return [line[1:] for line in text.splitlines() if line.startswith(">")]


def records(path, encoding="utf-8"):
    with TextLines(path, encoding) as lines:
        return list(stream_rna(lines))


@pytest.mark.parametrize(
    "text",
    [
        fasta(3),
        fasta(3).replace("\n", "\r\n"),
        "\ufeff" + fasta(1),
        "; a remark\n\n>a b\nGG AA\nACC\n>\nACGU",
        ">a\nGGAAACC\n((...))\n>b\nGGAAACC\n.......\n",
        "GGAAACC\n((...))\n",
        "# hairpin\n1 G 5\n2 A 0\n3 A 0\n4 A 0\n5 C 1\n",
        ">a\nACGU\n" + ">b\n" + "ACGU\n" * 40_000,
    ],
)
def test_streams_have_the_records_of_the_whole_file(tmp_path, text):
    path = tmp_path / "x"
    wanted = None
    for data in (text.encode(), gzip.compress(text.encode())):
        path.write_bytes(data)
        wanted = read_rna(str(path))
        found = records(str(path))
        assert ([r.name for r in found], [r.bases for r in found]) == (wanted.names, wanted.X)


def test_mistakes_of_streams_name_their_line(tmp_path):
    path = str(tmp_path / "x")
    text = fasta(5000).encode()
    cases = [
        (text + b">\xff\nACGU\n", rf"x:10001: byte 0xff at offset {len(text) + 1} is not valid utf-8"),
        (gzip.compress(text)[:-20], "broken gzip data"),
        (b">a\nACGU\n>b\n>c\nACGU\n", "x:3: b: no bases"),
        (b">a\nACGU\n>b\nACGU\n....\n", "x:3: b: a structure, but records before it have none"),
        (b"", "no sequence in the file"),
    ]
    for data, message in cases:
        (tmp_path / "x").write_bytes(data)
        with pytest.raises(InputError, match=message):
            records(path)
    with pytest.raises(InputError, match="unknown encoding"):
        records(path, "utf-99")
    with pytest.raises(InputError, match="no such file"):
        records(str(tmp_path / "nowhere"))


def test_packed_streams_have_a_limit(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(gzip.compress(fasta(5000).encode()))
    monkeypatch.setenv("TRELLISWORK_MAX_SIZE", "70000")
    with pytest.raises(InputError, match="unpack to more than 70,000"):
        records(str(tmp_path / "x"))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_mistake_in_the_middle_keeps_what_was_written_before(run, tmp_path, jobs):
    bad = {
        "read": (">empty\n", "new.fa:201: empty: no bases"),
        "folded": (">odd\nACJU\n", "new.fa: odd: 'J' at position 3 (from 1) is no base"),
    }
    for text, message in bad.values():
        (tmp_path / "new.fa").write_text(fasta(100) + text + fasta(3))
        (tmp_path / "old.db").write_text("old")
        done = run("fold", "new.fa", "--jobs", jobs)
        assert done.exit_code == 2
        assert names(done.stdout) == [f"s{i}" for i in range(100)]
        assert done.stderr.splitlines() == [f"trelliswork: {done.stderr[13:].strip()}"]
        assert message in done.stderr
        done = run("fold", "new.fa", "--jobs", jobs, "-o", "old.db", "--probabilities", "p.tsv")
        assert (done.exit_code, done.stdout) == (2, "")
        assert (tmp_path / "old.db").read_text() == "old"
        assert sorted(p.name for p in tmp_path.iterdir()) == ["new.fa", "old.db"]


def test_packed_output_is_complete(run, tmp_path):
    (tmp_path / "new.fa").write_text(fasta(70))
    plain = run("fold", "new.fa").stdout
    assert run("fold", "new.fa", "-o", "out.db.gz").exit_code == 0
    assert gzip.decompress((tmp_path / "out.db.gz").read_bytes()).decode() == plain
    assert names(plain) == [f"s{i}" for i in range(70)]


def test_a_pipe_is_answered_before_it_ends():
    command = [sys.executable, "-m", "trelliswork", "fold"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        late = threading.Timer(120, process.kill)  # whoever waits for the end of the pipe waits for ever
        late.start()
        process.stdin.write(f">one\n{HAIRPIN}\n>two\n".encode())
        process.stdin.flush()
        assert [process.stdout.readline().decode() for _ in range(2)] == [">one\n", f"{HAIRPIN}\n"]
        rest, _ = process.communicate(f"{HAIRPIN}\n".encode())
    late.cancel()
    assert names(rest.decode()) == ["two"]
    assert process.returncode == 0


def test_groups_keep_no_sequences(monkeypatch):
    """Memory of a long stream is that of a short one."""
    monkeypatch.setattr(_folding, "_folds", lambda learner, group, plan: [(one, None) for one in group])

    def peak(n):
        sequences = (_folding.Sequence(f"s{i}", "ACGU" * 25) for i in range(n))
        tracemalloc.start()
        count = sum(len(group) for group in _folding.fold_stream(None, sequences, None, "x"))
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return count, size

    short, long = peak(200), peak(20_000)
    assert (short[0], long[0]) == (200, 20_000)
    assert long[1] < 2 * short[1]


def test_probabilities_as_a_list_and_as_a_picture(run, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "new.fa").write_text(fasta(2))
    done = run("fold", "new.fa", "--probabilities", "p.tsv", "--probabilities", "p.svg", "--svg", "s.svg")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "p.tsv").read_text().startswith("s0\t1\t")
    assert "<svg" in (tmp_path / "p.svg").read_text()
    assert "<svg" in (tmp_path / "s.svg").read_text()
    done = run("fold", "new.fa", "--probabilities", "p.tsv", "--probabilities", "./p.tsv")
    assert done.exit_code == 2
    assert "name the same file" in done.stderr
