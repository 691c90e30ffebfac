"""Reads the lines of svmlight files into sparse matrices, and names file and line of faults."""

import array
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from boostrank.datasets.files import open_bytes, reading, what_it_is
from boostrank.messages import load
from boostrank.objectives.validation import Floats, Integers

# LETOR's comments: "#docid = GX008-86-4444840 inc = 1 prob = 0.086622".
_DOC_ID = re.compile(rb"\bdocid\s*=\s*(\S+)")


class Lines:
    """The lines of one file as scikit-learn's reader takes them, with the current position.

    Comments are removed, and NULL becomes nan. The qid is read here because the reader (1.9) copies
    all earlier ids to append the next, which takes quadratic time. `fault` explains the current
    line once the reader has refused it, so the explanation costs nothing for good files.
    """

    def __init__(self, path: Path, *, labelled: bool) -> None:
        self.path = path
        self.labelled = labelled  # whether every line must have a label
        self.number = 0  # of the current line, 1-based
        self.body = b""  # of the current line, without its comment
        self.n_bytes = 0
        self.rows = array.array("q")  # line number of each document
        self.qid = array.array("q")
        self.without_qid = 0  # number of the first line that has none
        self.without_label = 0  # likewise
        self.with_label = 0
        self.doc_id: list[bytes] = []  # from the comments

    def read(self, size: int = -1) -> bytes:
        """Make this look like a file: the reader checks for this name, then iterates."""
        raise io.UnsupportedOperation("read")

    def __iter__(self) -> Iterator[bytes]:
        with open_bytes(self.path) as lines:
            for line in lines:
                self.number += 1
                self.n_bytes += len(line)
                body, _, comment = line.partition(b"#")
                if self.number == 1:
                    body = body.removeprefix(b"\xef\xbb\xbf")  # a mark of UTF-8
                self.body = body
                start = body.split(None, 2)[:2]
                if not start:
                    continue
                # Numbers in Python may have underscores; those in files may not.
                if b"_" in body:
                    raise ValueError
                if b"\r" in comment.rstrip():  # the comment has swallowed the lines after it
                    self.body = line
                    raise ValueError
                self.rows.append(self.number)
                if self.labelled or b":" not in start[0]:
                    self.with_label = self.with_label or self.number
                else:
                    self.without_label = self.without_label or self.number
                    self.body = body = b"0 " + body
                    start = [b"0", start[0]]
                if len(start) == 2 and start[1].startswith(b"qid"):
                    query = start[1].removeprefix(b"qid:")
                    self.qid.append(int(query))
                    if query[0] in b"0+-" and b"%d" % self.qid[-1] != query:
                        raise ValueError  # 07, which would be the query 7
                elif not self.without_qid:
                    self.without_qid = self.number
                if comment and (named := _DOC_ID.search(comment)):
                    self.doc_id.append(named[1])
                yield body.replace(b":NULL", b":nan") if b"NULL" in body else body

    def error(self, what: str, *, row: int | None = None) -> ValueError:
        """Return the error that names the file and a line: that of a row, or the current one."""
        number = self.number if row is None else self.rows[row]
        return ValueError(f"{self.path}, line {number}: {what}")

    def fault(self) -> str:
        """Say what is wrong with the current line, or return an empty string."""
        if self.number == 1 and (what := what_it_is(self.body)):
            return what
        if b"\r" in self.body.strip():
            return "the lines end in CR alone; convert them, for example with: tr '\\r' '\\n'"
        label, *tokens = self.body.split()
        cure = ""
        if self.number == 1 and any(mark in self.body for mark in (b",", b";", b"\t")):
            cure = "; if it is a table, save it as CSV with a header, by a name that ends in .csv"
        if b":" in label:
            return f"the label is missing, the line begins with {shown(label)}{cure}"
        if not _is_number(label):
            return f"the label must be a number, got {shown(label)}{cure}"
        if tokens and tokens[0].startswith(b"qid"):
            token = tokens.pop(0)
            if not re.fullmatch(rb"qid:[+-]?\d{1,19}", token) or abs(int(token[4:])) >= 2**63:
                return f"the query must be qid: and a whole number of int64, got {shown(token)}"
            if b"%d" % int(token[4:]) != token[4:]:
                return (
                    "the query must be a whole number without leading zeros and plus signs, as "
                    "07 and 7 would be one query: write it so, or as text in CSV, got "
                    f"{shown(token)}"
                )
        previous = -1
        for token in tokens:
            index, colon, value = token.partition(b":")
            if index == b"qid":
                return f"the query must come right after the label, got {shown(token)} later"
            if not colon or not re.fullmatch(rb"[+-]?\d+", index):
                return f"expected a feature as number:value, got {shown(token)}{cure}"
            # Digits are truncated because Python refuses to convert thousands of them.
            feature = int(index[:20])
            if feature < 0:
                return f"features are numbered from 1, got {shown(token)}"
            if feature >= 2**31:
                return f"the feature's number is too large, got {shown(token)}"
            if feature <= previous:
                return f"features must increase along a line, got {feature} after {previous}"
            if value != b"NULL" and not _is_number(value):
                return (
                    f"the value of feature {feature} must be a number, nan or NULL, "
                    f"got {shown(value)}"
                )
            previous = feature
        return ""


def _is_number(token: bytes) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return b"_" not in token


def shown(token: bytes) -> str:
    """Quote a piece of a file for a message; it may hold any bytes."""
    return ascii((token if len(token) <= 40 else token[:37] + b"...").decode("utf-8", "replace"))


class SvmlightFile(NamedTuple):
    """What one file holds; features are numbered as in the file."""

    X: Any  # CSR matrix
    y: Floats
    qid: Integers  # empty if no line has one
    lines: Lines

    @property
    def first(self) -> int:
        """The lowest number of a feature, or 1 if there is none."""
        return int(self.X.indices.min()) if self.X.nnz else 1

    @property
    def last(self) -> int:
        """The highest number of a feature, or 0 if there is none."""
        return int(self.X.indices.max()) if self.X.nnz else 0

    def error(self, feature: int, what: str) -> ValueError:
        """Return the error that names the first line with a feature."""
        return self.error_at(np.argmax(self.X.indices == feature), f"feature {feature} {what}")

    def error_at(self, cell: Any, what: str) -> ValueError:
        """Return the error that names the line of one of the values."""
        row = np.searchsorted(self.X.indptr, cell, side="right")
        return self.lines.error(what, row=int(row) - 1)


def read_svmlight(path: Path, *, labelled: bool) -> SvmlightFile:
    """Read one file; features and their values are checked."""
    reader = load("sklearn.datasets", "reading LETOR files needs scikit-learn", "scikit-learn")
    lines = Lines(path, labelled=labelled)
    with reading(path, lambda: lines.number):
        try:
            X, y = reader.load_svmlight_file(lines, zero_based=True)
        except (ValueError, OverflowError) as error:
            if not lines.rows and not lines.body:  # a bad path, or an empty file and an old reader
                raise
            raise lines.error(lines.fault() or str(error)) from error
    if len(y) == 0:
        raise ValueError(f"{path} holds no documents")
    if lines.with_label and lines.without_label:
        raise ValueError(
            f"{path}, line {lines.without_label}: no label, though other lines of the file have one"
        )
    file = SvmlightFile(X, y, np.array(lines.qid, dtype=np.int64), lines)
    infinite = np.isinf(X.data)
    if infinite.any():
        cell = np.argmax(infinite)
        what = f"the value of feature {X.indices[cell]} must be finite, got {X.data[cell]}"
        raise file.error_at(cell, what)
    return file
