"""Every small change of a source file that a test should notice: the mutants, as replacements of bytes.

Only code is changed: no strings, docstrings, annotations, decorators or imports, and nothing that is only said, which
is all that stands in a `raise`. A mutant that does not compile, or compiles to the same tree, is none.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: (r"<", ("<=", ">=")),
    ast.LtE: (r"<=", ("<", ">")),
    ast.Gt: (r">", (">=", "<=")),
    ast.GtE: (r">=", (">", "<")),
    ast.Eq: (r"==", ("!=",)),
    ast.NotEq: (r"!=", ("==",)),
    ast.Is: (r"is", ("is not",)),
    ast.IsNot: (r"is\s+not", ("is",)),
    ast.In: (r"in", ("not in",)),
    ast.NotIn: (r"not\s+in", ("in",)),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: (r"\+", "-"),
    ast.Sub: (r"-", "+"),
    ast.Mult: (r"\*", "/"),
    ast.Div: (r"/", "*"),
    ast.FloorDiv: (r"//", "*"),
    ast.Mod: (r"%", "*"),
    ast.Pow: (r"\*\*", "*"),
    ast.BitOr: (r"\|", "&"),
    ast.BitAnd: (r"&", "|"),
    ast.BitXor: (r"\^", "|"),
}
OPPOSITE = {
    "min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all", "floor": "ceil", "fmin": "fmax", "sum": "max",
}  # fmt: skip
OPPOSITE |= {value: key for key, value in OPPOSITE.items() if key != "sum"}


@dataclass(frozen=True)
class Change:
    """One mutant of a file: its bytes from `start` to `end` become `text`; `function` is the qualified name around."""

    kind: str
    start: int
    end: int
    text: str
    line: int
    function: str


def mutated(source: bytes, change: Change) -> bytes:
    """The file with a change."""
    return source[: change.start] + change.text.encode() + source[change.end :]


def places(source: bytes) -> list[list[Change]]:
    """The mutants of a file in the order of its lines, those of one place together."""
    reader = _Reader(source)
    reader.visit(ast.parse(source))
    found: dict[tuple[int, int], list[Change]] = {}
    for change in sorted(set(reader.found), key=lambda one: (one.start, one.end, one.text)):
        found.setdefault((change.start, change.end), []).append(change)
    return list(found.values())


def is_one(source: bytes, change: Change) -> bool:
    """Whether the file with the change is another program."""
    try:
        other = ast.parse(mutated(source, change))
    except SyntaxError:
        return False
    return ast.dump(other) != ast.dump(ast.parse(source))


class _Reader(ast.NodeVisitor):
    """Walks over what is code and collects changes."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.scope: list[str] = []
        self.function = ""
        self.found: list[Change] = []

    def _span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def _add(self, kind: str, start: int, end: int, text: str) -> None:
        line = self.source.count(b"\n", 0, start) + 1
        self.found.append(Change(kind, start, end, text, line, self.function))

    def _between(self, kind: str, left: ast.expr, right: ast.expr, pattern: str, texts: tuple[str, ...]) -> None:
        """Replace the operator that stands between two operands, perhaps among brackets and comments."""
        start, end = self._span(left)[1], self._span(right)[0]
        gap = re.sub(rb"#[^\n]*", lambda found: b" " * len(found[0]), self.source[start:end])
        if found := re.search(pattern.encode(), gap):
            for text in texts:
                self._add(kind, start + found.start(), start + found.end(), text)

    # what is code, and what is not

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer, scope = self.function, list(self.scope)
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)
        self.scope += [node.name]
        self.function = ".".join(self.scope)
        self.scope += ["<locals>"]
        for statement in node.body:
            self.visit(statement)
        self.function, self.scope = outer, scope

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.scope.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self.scope.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        if node.exc is not None and self.function:
            self._add("removed statement", *self._span(node), "pass")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(one, ast.Name) and one.id == "__all__" for one in node.targets):
            return
        if all(isinstance(one, ast.Attribute | ast.Subscript) for one in node.targets) and self.function:
            self._add("removed statement", *self._span(node), "pass")
        if not self.function and isinstance(node.value, ast.BinOp | ast.Subscript):
            return  # a name for a type, or one that says it
        self.generic_visit(node)

    # operators

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, operation, right in zip(operands, node.ops, operands[1:], strict=False):
            self._between("comparison", left, right, *COMPARISONS[type(operation)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        text = any(_is_text(one) for one in (node.left, node.right))
        if type(node.op) in ARITHMETIC and not text:
            pattern, other = ARITHMETIC[type(node.op)]
            self._between("arithmetic", node.left, node.right, pattern, (other,))
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._add("removed statement", *self._span(node), "pass")
        if type(node.op) in ARITHMETIC and not _is_text(node.value):
            pattern, other = ARITHMETIC[type(node.op)]
            start = self._span(node.target)[1]
            if found := re.search(pattern.encode(), self.source[start : self._span(node.value)[0]]):
                self._add("arithmetic", start + found.start(), start + found.end(), other)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        kind = "sign" if isinstance(node.op, ast.USub | ast.UAdd) else "boolean"
        self._add(kind, self._span(node)[0], self._span(node.operand)[0], "")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        pattern, other = (r"\band\b", "or") if isinstance(node.op, ast.And) else (r"\bor\b", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between("and/or", left, right, pattern, (other,))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._add("constant", *self._span(node), str(not value))
        elif isinstance(value, int | float):
            others = {value + 1, value - 1, value * 2, type(value)(0)} - {value}
            for other in sorted(others):
                self._add("constant", *self._span(node), repr(other) if other >= 0 else f"({other!r})")

    # control

    def _negate(self, test: ast.expr) -> None:
        start, end = self._span(test)
        self._add("negated", start, end, f"not ({self.source[start:end].decode()})")

    def visit_If(self, node: ast.If) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        if not isinstance(node.test, ast.Constant):
            self._negate(node.test)
        for statement in [node.test, *node.body] if not isinstance(node.test, ast.Constant) else node.body:
            self.visit(statement)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negate(test)
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._add("return", *self._span(node), "return None")
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self._add("control", *self._span(node), "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._add("control", *self._span(node), "break")

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and self.function:
            self._add("removed statement", *self._span(node), "pass")
        self.generic_visit(node)

    # calls and slices

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in OPPOSITE:
            end = self._span(node.func)[1]
            self._add("min/max", end - len(name), end, OPPOSITE[name])
        if name.endswith(("Error", "Failed", "Breach")) or name == "TypeVar":
            return  # what is said
        arguments: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        for keyword in node.keywords:
            before = [one for one in arguments if self._span(one)[1] <= self._span(keyword)[0]]
            start, end = self._span(keyword)
            if before:
                self._add("dropped keyword", max(self._span(one)[1] for one in before), end, "")
            else:
                after = re.match(rb"\s*,\s*", self.source[end:])
                self._add("dropped keyword", start, end + (after.end() if after else 0), "")
        self.generic_visit(node)

    def visit_Slice(self, node: ast.Slice) -> None:
        for bound in (node.lower, node.upper):
            if bound is not None:
                self._add("slice", *self._span(bound), "")
        self.generic_visit(node)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
