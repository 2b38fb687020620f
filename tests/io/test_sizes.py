"""Files that unpack to too much, and JSON that Python itself gives up on."""

import gzip
import io

import pytest

from trelliswork import InputError
from trelliswork._text import read_text
from trelliswork.io.rows import read_rows


def test_a_compression_bomb_is_refused_before_memory_is_used(monkeypatch):
    monkeypatch.setenv("TRELLISWORK_MAX_SIZE", str(1 << 20))
    bomb = io.BytesIO(gzip.compress(b"a" * (3 << 20)))
    with pytest.raises(InputError, match="unpack to more than 1,048,576; raise --max-size"):
        read_text(bomb)


def test_files_of_several_gzip_members_are_read_whole():
    assert read_text(io.BytesIO(gzip.compress(b"one ") + gzip.compress(b"two")))[0] == "one two"


@pytest.mark.parametrize(
    ("value", "message"), [("[" * 100_000, "nested too deep"), ("9" * 10_000, "too many digits")]
)
def test_json_beyond_pythons_limits(tmp_path, value, message):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"label": "a", "x": 1}\n{"label": "b", "x": ' + value + "}\n")
    with pytest.raises(InputError, match=rf"rows.jsonl:2: cannot read JSON \(.*{message}"):
        read_rows(path)
