"""Texts that a careless reader takes quadratic time or hundreds of bytes per byte for, each of about n bytes."""

from __future__ import annotations

from collections.abc import Callable

HEAD = b"function mpc = x\nmpc.version = '2';\nmpc.baseMVA = 100;\noff = 0;\n"
REST = b"\nmpc.bus = [1 3 0 0 0 0 1 1 0 1 1 1 1];\nmpc.gen = [];\nmpc.branch = [];\n"


def many(unit: bytes, n: int) -> bytes:
    return unit * (n // len(unit))


def numbered(unit: bytes, n: int) -> bytes:
    """Statements about names that all differ."""
    return b"".join(unit % k for k in range(n // (len(unit) + 4)))


def at_top(unit: bytes) -> Callable[[int], bytes]:
    return lambda n: HEAD + many(unit, n) + REST


def inside(before: bytes, unit: bytes, after: bytes) -> Callable[[int], bytes]:
    return lambda n: HEAD + before + many(unit, n) + after + REST


def in_table(unit: bytes, after: bytes = b"") -> Callable[[int], bytes]:
    return inside(b"mpc.extra = [\n", unit, after + b"\n];\n")


def in_cell(unit: bytes) -> Callable[[int], bytes]:
    return inside(b"mpc.names = {\n", unit, b"\n};\n")


def statements(unit: bytes) -> Callable[[int], bytes]:
    return lambda n: HEAD + numbered(unit, n) + REST


HOSTILE: dict[str, Callable[[int], bytes]] = {
    "quoted brackets": in_table(b"']'"),
    "quoted brackets, apart": in_table(b"']' "),
    "double-quoted braces": in_cell(b'"}" '),
    "brackets in comments": in_table(b"%]\n"),
    "brackets in one comment": inside(b"mpc.extra = [ %", b"]", b"\n];"),
    "brackets after dots": in_table(b"...]\n"),
    "brackets never closed": inside(b"mpc.extra = ", b"[", b""),
    "nested brackets": lambda n: HEAD + b"mpc.extra = " + b"[" * (n // 2) + b"]" * (n // 2) + REST,
    "nested braces": lambda n: HEAD + b"mpc.names = " + b"{" * (n // 2) + b"}" * (n // 2) + REST,
    "closing brackets": inside(b"mpc.extra = [", b"]", b""),
    "blanks": at_top(b" "),
    "blank lines": at_top(b"\n"),
    "returns": at_top(b"\r"),
    "commas": at_top(b","),
    "blanks in a table": in_table(b" "),
    "blanks in a table, then a word": in_table(b" ", b"x"),
    "blanks before =": inside(b"mpc.extra", b" ", b""),
    "blanks after =": inside(b"mpc.extra =", b" ", b"x"),
    "blanks after a number": inside(b"mpc.extra = 1", b" ", b"x"),
    "blanks after function": lambda n: b"function" + b" " * n,
    "blanks after its name": lambda n: b"function mpc = a" + b" " * n + b"(",
    "blanks after if": inside(b"if", b" ", b"x"),
    "semicolons after return": lambda n: HEAD + b"return" + b";" * n + b"x",
    "commas in a table": in_table(b","),
    "semicolons in a table": in_table(b";"),
    "blanks before a comma": inside(b"mpc.extra = [1", b" ", b",2];"),
    "unterminated string": inside(b"mpc.extra = '", b"a", b""),
    "unterminated in a table": inside(b"mpc.extra = ['", b"]", b""),
    "unterminated lines in a table": in_table(b"']\n"),
    "apostrophes": in_table(b"'"),
    "quotes by turns": in_table(b"'\""),
    "doubled quotes in a table": inside(b"mpc.extra = ['", b"''x", b"];"),
    "doubled quotes": inside(b"mpc.extra = '", b"''", b"';"),
    "long string": inside(b"mpc.extra = '", b"a", b"';"),
    "comments": at_top(b"%\n"),
    "long comment": at_top(b"%"),
    "comments in a table": in_table(b"1%\n"),
    "continuations": at_top(b"...\n"),
    "continuations after =": inside(b"mpc.extra =", b"...\n", b"x"),
    "continuations in a table": in_table(b"1 ...\n"),
    "continuations in a cell array": in_cell(b"1 ...\n"),
    "dots in a table": in_table(b"."),
    "tiny rows": in_table(b"1;"),
    "tiny rows, the careful way": in_table(b"Inf;"),
    "one row": in_table(b"1 "),
    "one row, the careful way": in_table(b"+1 "),
    "signs": in_table(b"-"),
    "exponents without end": in_table(b"1e"),
    "digits": inside(b"mpc.extra = ", b"1", b"x"),
    "digits of a number": inside(b"mpc.extra = 0.", b"1", b";"),
    "digits in a table": in_table(b"1"),
    "digits in a table, the careful way": inside(b"mpc.extra = [+", b"1", b"x];"),
    "digits in a cell array": inside(b"mpc.names = {", b"1", b"x};"),
    "digits of an exponent": inside(b"mpc.extra = [1e", b"1", b"];"),
    "number statements": statements(b"mpc.a%d=1;"),
    "table statements": statements(b"mpc.a%d=[1];"),
    "careful table statements": statements(b"mpc.a%d=[Inf];\n"),
    "string statements": statements(b"mpc.a%d='';"),
    "cell statements": statements(b"mpc.a%d={1};"),
    "variables": statements(b"a%d=1;"),
    "function headers": lambda n: many(b"function mpc = a\n", n),
    "function outputs": lambda n: b"function [" + b"a" * n,
    "long word": lambda n: b"a" * n,
    "long field": lambda n: b"mpc." + b"a" * n,
    "dead blocks": at_top(b"if off\nend\n"),
    "nested dead blocks": lambda n: HEAD + b"if off\n" + many(b"if x\n", n // 2) + many(b"end\n", n // 2),
    "strings in a dead block": inside(b"if off\n", b"'a' ", b"\nend"),
    "unterminated in a dead block": inside(b"if off\n", b"'\"\n", b"\nend"),
    "blanks in a dead block": inside(b"if off\n", b" ", b"\nend"),
    "block comments": at_top(b"%{\n%}\n"),
    "nested block comments": lambda n: HEAD + many(b"%{\n", n // 2) + many(b"%}\n", n // 2) + REST,
    "open block comments": at_top(b"%{\n"),
    "blanks after a block mark": inside(b"%{", b" ", b"x\n"),
    "names in a cell array": in_cell(b"'ab';"),
    "numbers in a cell array": in_cell(b"1;"),
    "quotes in a cell array": in_cell(b"'"),
    "unterminated in a cell array": in_cell(b"'a\n"),
    "fields in a table": in_table(b"a.a\n", b"="),
    "equals in a table": in_table(b"=\n"),
    "a word in a table": in_table(b"a", b"="),
    "not ASCII": inside(b"%", "é".encode(), b""),
    "not UTF-8": lambda n: b"%" + b"\xff" * n,
    "buses": lambda n: (
        HEAD
        + b"mpc.bus = [\n"
        + b"".join(b"%d 1 0 0 0 0 1 1 0 1 1 1 1\n" % k for k in range(1, n // 30))
        + b"];\nmpc.gen = [];\nmpc.branch = [];"
    ),
}
