"""Any LETOR file gives its data, or an error that names the file and the line.

``make fuzz`` draws fifty times as many files, at random; `make test` always draws the same.
"""

import gzip
import math
import re
import tracemalloc

import numpy as np
import pytest
from commands import write
from hypothesis import given
from hypothesis import strategies as st
from programs import output_of
from test_fuzz import attempt, fuzzed

from boostrank.datasets import load_letor

LABELS = st.sampled_from(["0", "1", "2", "4", "0.5", "1e2", "31", "+1"])
VALUES = st.one_of(
    st.sampled_from(["0", "1", "-2.5", "1e-300", "1e300", "nan", "NULL", "-0.0", "+3"]),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)
ODD = st.sampled_from(
    [
        *("", " ", "\t", "\r", "\n", "\n\n", "\v", "\0", "\x85", "\ufeff", "#", "# 1:1"),
        *("1", "-1", "1001", "nan", "inf", "1_0", "0x1", "1e999", "٣", "é"),
        *("qid:0", "qid:-3", "qid:x", "qid:1.5", "qid:", "qid", "QID:1", "qid:9" + "9" * 30),
        *("0:1", "-1:1", "x:1", "1.0:1", "1:", ":1", "1:1:1", "1:x", "1:inf", "1:1_0", "1:1e"),
        *("99999999:1", "9999999999:1", "9" * 5000 + ":1", "2:1 1:1", "1:1 1:1"),
        *("__import__('os').system('x')", "!!python/object/apply:os.system"),
    ]
)


@st.composite
def files(draw):
    """Return the bytes of a valid file, possibly with a few odd pieces inserted anywhere."""
    lines = []
    for query in draw(st.lists(st.integers(-3, 9), min_size=1, max_size=3)):
        for _ in range(draw(st.integers(1, 3))):
            numbers = sorted(draw(st.sets(st.integers(1, 9), max_size=4)))
            features = [f"{number}:{draw(VALUES)}" for number in numbers]
            lines.append([draw(LABELS), f"qid:{query}", *features])
    for _ in range(draw(st.integers(0, 2))):
        line = draw(st.sampled_from(lines))
        piece = draw(st.one_of(ODD, st.text(max_size=3)))
        place = draw(st.integers(0, len(line)))
        line[place : place + draw(st.integers(0, 1))] = [piece]
    end = draw(st.sampled_from(["\n", "\r\n", " # comment\n"]))
    text = "".join(" ".join(line) + end for line in lines).encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 3)) == 0:
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(st.binary(max_size=4)) + text[place + draw(st.integers(0, 3)) :]
    return text


def plain_reading(text):
    """Return labels, qids and features of a valid file, read the simplest way."""
    labels, qids, rows = [], [], []
    for line in text.removeprefix("\ufeff".encode()).split(b"\n"):
        tokens = line.partition(b"#")[0].split()
        if tokens:
            assert tokens[1].startswith(b"qid:")
            labels.append(float(tokens[0]))
            qids.append(int(tokens[1][4:]))
            pairs = (token.split(b":") for token in tokens[2:])
            rows.append({int(i): math.nan if x == b"NULL" else float(x) for i, x in pairs})
    first = min(1, *(i for row in rows for i in row))  # features may be numbered from 0
    X = np.zeros((len(rows), max(i for row in rows for i in row) + 1 - first))
    for row, values in zip(X, rows, strict=True):
        for number, value in values.items():
            row[number - first] = value
    return X, labels, qids


@fuzzed
@given(files(), st.booleans(), st.one_of(st.none(), st.tuples(st.integers(0), st.integers(0, 255))))
def test_any_file_gives_its_data_or_an_error_with_a_place(tmp_path_factory, text, gz, damage):
    path = tmp_path_factory.getbasetemp() / ("fuzzed.txt.gz" if gz else "fuzzed.txt")
    data = bytearray(gzip.compress(text, 1, mtime=0) if gz else text)
    if gz and damage is not None:  # one byte changed, or all after it cut
        place = damage[0] % len(data)
        data[place:] = data[place + 1 :] if damage[1] == 0 else b""
        data[place:place] = bytes([damage[1]])
    path.write_bytes(data)
    read, message = attempt(lambda: load_letor(path), ValueError)
    if read is None:
        place = r"(, (after )?line \d+: .|: no document has a feature| holds no documents)"
        assert re.match(re.escape(str(path)) + place, message, re.DOTALL)
        assert message.isprintable()
        return
    X, labels, qids = plain_reading(text)
    np.testing.assert_array_equal(read.X, X)
    np.testing.assert_array_equal(read.y, labels)
    np.testing.assert_array_equal(read.qid, qids)


def features(n_bytes):
    pieces, size, number = [b"0 qid:1"], 7, 0
    while size < n_bytes:
        number += 1
        pieces.append(b" %d:1" % number)
        size += len(pieces[-1])
    return b"".join(pieces)


SIZE = 300_000
LARGE = {
    "features": features(SIZE),
    "features-then-a-fault": features(SIZE) + b" x",
    "label": b"1" * SIZE,
    "query": b"0 qid:" + b"1" * SIZE,
    "number": b"0 qid:1 " + b"1" * SIZE + b":1",
    "value": b"0 qid:1 1:" + b"1" * SIZE,
    "no-colons": b"0 qid:1 " + b"11 " * (SIZE // 3),
    "colons": b"0 qid:1 " + b":" * SIZE,
    "one-feature": b"0 qid:1 " + b"1:1 " * (SIZE // 4),
    "spaces": b"0 qid:1 1:1" + b" " * SIZE,
    "comment": b"0 qid:1 1:1 #" + b"x" * SIZE,
    "junk": b"\xff" * SIZE,
    "zeros": b"\0" * SIZE,
    "lines": b"\n" * SIZE,
    "documents": b"0 qid:1 1:1\n" * (SIZE // 12),
    "queries": b"".join(b"0 qid:%d 1:1\n" % i for i in range(SIZE // 16)),
}


@pytest.mark.parametrize("gz", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("kind", LARGE)
def test_memory_is_bounded_by_the_text(tmp_path, kind, gz):
    path = write(tmp_path / ("a.txt.gz" if gz else "a.txt"), LARGE[kind])
    attempt(lambda: load_letor(path), ValueError)  # the first call imports modules
    tracemalloc.start()
    try:
        read, message = attempt(lambda: load_letor(path), ValueError)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * SIZE + 2**20
    assert read is not None or message.startswith(str(path))
    assert len(message) < len(str(path)) + 300


def test_a_line_of_ten_megabytes(tmp_path):
    line = features(10_000_000)
    path = write(tmp_path / "a.txt", line)
    assert load_letor(path).X.shape == (1, line.count(b":") - 1)
    write(path, b"0 qid:1 1:1\n" + line + b":1\n")
    with pytest.raises(ValueError, match=r"a\.txt, line 2: the value of feature \d+ must be"):
        load_letor(path)


AUDITED = """
import pathlib, sys
from boostrank.datasets import load_letor

folder = pathlib.Path(sys.argv[1])
good = [folder / "good.txt", folder / "good.txt.gz"]
for path in good:
    load_letor(path)
files = sorted(path for path in folder.iterdir() if path not in good)
seen = []

def hook(event, arguments):
    if event == "open" and pathlib.Path(str(arguments[0])) in files:
        return
    if event.split(".")[0] in WATCHED:
        seen.append((event, arguments))

WATCHED = {"import", "exec", "compile", "open", "os", "subprocess", "socket", "pickle", "ctypes",
           "marshal", "shutil", "tempfile"}
sys.addaudithook(hook)
for path in files:
    try:
        load_letor(path)
    except ValueError:
        pass
assert not seen, seen[:5]
compile("1", "x", "eval")
assert seen  # the hook was watching
print(len(files))
"""


def test_nothing_in_a_file_is_run_or_imported_or_opened(tmp_path):
    for name in ("good.txt", "good.txt.gz"):
        write(tmp_path / name, b"0 qid:1 1:1\n1 qid:1 1:2\n")
    hostile = [
        b"cos\nsystem\n(S'touch pwned'\ntR.",  # a pickle
        b"\x80\x04\x95\x1e\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
        b"__import__('os').system('touch pwned') qid:1 1:1\n",
        b"0 qid:__import__('os') 1:1\n",
        b"0 qid:1 1:exec('import antigravity')\n",
        b"!!python/object/apply:os.system ['touch pwned']\n",
        b"import antigravity\n",
        b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n",
        b"0 qid:1 1:1 # $(touch pwned) `touch pwned` %s {0.__class__}\n",
        b"$(touch pwned) qid:1 1:1\n",
        b"0 qid:1 ../../etc/passwd:1\n",
    ]
    for number, data in enumerate(hostile):
        write(tmp_path / f"{number}.txt", data)
        write(tmp_path / f"{number}.txt.gz", data)
        (tmp_path / f"{number}-bad.txt.gz").write_bytes(data)
    assert output_of(AUDITED, tmp_path, cwd=tmp_path).strip() == str(3 * len(hostile))
    assert not (tmp_path / "pwned").exists()
