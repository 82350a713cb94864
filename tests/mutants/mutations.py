"""Mutants of a source file: one small change each, found in its syntax tree."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from .rooms import SOURCES

ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.Mult,),
    ast.Pow: (ast.Mult,),
}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
EXTREMES = {
    one: other
    for pair in (("min", "max"), ("argmin", "argmax"), ("minimum", "maximum"), ("amin", "amax"))
    for one, other in (pair, pair[::-1])
}
AXES = {"axis", "dim"}
# Words for people, and guards against what callers in this package never do.
UNTOUCHED_KEYWORDS = {"words", "said", "stacklevel", "strict", "encoding"}
# What is short enough to be shown around a number or a name.
SHOWN = (ast.expr, ast.keyword, ast.Assign, ast.AnnAssign, ast.Return)
# Calls whose arguments are words for people.
MESSAGES = {"warn", "warn_user", "InvalidInput", "report", "shown", "describe"}


class Mutant(NamedTuple):
    """One change.

    Parameters
    ----------
    file
        Path below ``src/zerokin``.
    line
        Line of the change, from 1.
    where
        Name of the function or class around it.
    before, after
        The code there, and what takes its place, both in one line.
    span
        Bytes of the file that are replaced: first and one past the last.
    code
        What they are replaced by.
    """

    file: str
    line: int
    where: str
    before: str
    after: str
    span: tuple[int, int]
    code: str

    def apply(self) -> bytes:
        """Return the file with the change made."""
        source = (SOURCES / self.file).read_bytes()
        return source[: self.span[0]] + self.code.encode() + source[self.span[1] :]

    def before_lines(self) -> int:
        """Return how many lines it replaces."""
        return (SOURCES / self.file).read_bytes()[slice(*self.span)].count(b"\n") + 1

    def key(self) -> tuple[str, str, str, str]:
        """What names it when lines have moved."""
        return self.file, self.where, self.before, self.after

    def is_number(self) -> bool:
        """Tell whether a number takes the place of another."""
        return re.fullmatch(r"\([\d.]+(e-?\d+)?\)", self.code) is not None


def find_mutants(file: str) -> list[Mutant]:
    """List every mutant of a file below ``src/zerokin``."""
    return _Finder(file, (SOURCES / file).read_bytes()).found


class _Finder(ast.NodeVisitor):
    def __init__(self, file: str, source: bytes) -> None:
        self.file = file
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.found: list[Mutant] = []
        self.scopes: list[str] = []
        self.path: list[ast.AST] = []
        self.visit(ast.parse(source))

    def visit(self, node: ast.AST) -> None:
        self.path.append(node)
        super().visit(node)
        self.path.pop()

    # What is mutated

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if not (_is_text(node.left) or _is_text(node.right)):
            for operator in ARITHMETIC.get(type(node.op), ()):
                self._swap(node, op=operator())
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        for operator in ARITHMETIC.get(type(node.op), ()):
            self._swap(node, op=operator())
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for at, old in enumerate(node.ops):
            for operator in COMPARISONS[type(old)]:
                self._swap(node, ops=[*node.ops[:at], operator(), *node.ops[at + 1 :]])
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._swap_inside(node, value=not node.value)
        elif isinstance(node.value, int | float):
            more = node.value + 1
            self._swap_inside(node, value=more if more != node.value else 2 * node.value)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub | ast.Not | ast.Invert):
            self._replace(node, node.operand)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self._swap(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in EXTREMES and isinstance(node.ctx, ast.Load):
            self._swap_inside(node, id=EXTREMES[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr in EXTREMES:
            self._swap(node, attr=EXTREMES[node.attr])
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = _name(node.func)
        if name in MESSAGES:
            return
        for at, keyword in enumerate(node.keywords):
            if keyword.arg is None or keyword.arg in UNTOUCHED_KEYWORDS:
                continue
            given = f"{keyword.arg}={ast.unparse(keyword.value)}"
            if keyword.arg in AXES and isinstance(keyword.value, ast.Constant):
                self._axis(node, at, name)
            if keyword.arg in needed_keywords().get(name, ()):
                continue
            changed = copy.deepcopy(node)
            del changed.keywords[at]
            self._add(node, f"{name}(… {given})", f"{name}(…)", f"({ast.unparse(changed)})")
        self.visit(node.func)
        for argument in node.args:
            self.visit(argument)
        for keyword in node.keywords:
            if keyword.arg not in UNTOUCHED_KEYWORDS | AXES:
                self.visit(keyword)

    def _axis(self, node: ast.Call, at: int, name: str) -> None:
        value = node.keywords[at].value
        assert isinstance(value, ast.Constant)
        other = 1 if value.value == 0 else 0
        shown = f"{name}(… {node.keywords[at].arg}="
        self._add(value, f"{shown}{value.value})", f"{shown}{other})", str(other))

    def visit_If(self, node: ast.If) -> None:
        if _name(node.test) == "TYPE_CHECKING":
            return
        self._negate(node)

    def _negate(self, node: ast.If | ast.IfExp | ast.While) -> None:
        if not isinstance(node.test, ast.Compare | ast.UnaryOp):  # those are negated as such
            self._replace(node.test, ast.UnaryOp(ast.Not(), node.test))
        self.generic_visit(node)

    visit_IfExp = visit_While = _negate

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if any(_name(decorator) == "overload" for decorator in node.decorator_list):
            return
        self.scopes.append(node.name)
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)
        self._return_early(node.body)
        for statement in node.body:
            self.visit(statement)
        self.scopes.pop()

    def _return_early(self, body: list[ast.stmt]) -> None:
        for statement in body:
            # After a raise or in place of a bare return it would say the same.
            if isinstance(statement, ast.Raise | ast.Pass | ast.Import | ast.ImportFrom):
                continue
            if _is_docstring(statement) or _returns_none(statement):
                continue
            if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.With | ast.Try):
                continue
            before = ast.unparse(statement).splitlines()[0]
            self._add(statement, before, "return", "return")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.scopes.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self.scopes.pop()

    # What is not

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        pass

    visit_Assert = visit_JoinedStr = visit_Import = visit_ImportFrom = visit_Raise

    # How

    def _swap(self, node: ast.AST, **fields: object) -> None:
        changed = copy.copy(node)
        for name, value in fields.items():
            setattr(changed, name, value)
        self._replace(node, changed)

    def _swap_inside(self, node: ast.Constant | ast.Name, **fields: object) -> None:
        """Swap what says little by itself, and show it in the expression around it."""
        around = next(one for one in [*self.path[-2:-1], node] if isinstance(one, SHOWN))
        before = ast.unparse(around)
        kept = vars(node).copy()
        vars(node).update(fields)
        code, after = f"({ast.unparse(node)})", ast.unparse(around)
        vars(node).update(kept)
        self._add(node, before, after, code)

    def _replace(self, node: ast.AST, changed: ast.AST) -> None:
        after = ast.unparse(changed)
        code = after if isinstance(node, ast.stmt) else f"({after})"
        self._add(node, ast.unparse(node), after, code)

    def _add(self, node: ast.AST, before: str, after: str, code: str) -> None:
        first, last = self.starts[node.lineno - 1], self.starts[node.end_lineno - 1]  # type: ignore[attr-defined]
        span = first + node.col_offset, last + node.end_col_offset  # type: ignore[attr-defined]
        where = ".".join(self.scopes) or "module"
        one_line = [" ".join(text.split()) for text in (before, after)]
        self.found.append(Mutant(self.file, node.lineno, where, *one_line, span, code))  # type: ignore[attr-defined]


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _returns_none(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Return) and (
        statement.value is None
        or (isinstance(statement.value, ast.Constant) and statement.value.value is None)
    )


def _definitions() -> Iterator[tuple[str, ast.FunctionDef]]:
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef):
                yield node.name, node
            elif isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
                        yield node.name, inner


@cache
def needed_keywords() -> dict[str, set[str]]:
    """Parameters without a default by function or class of zerokin: no call can drop them."""
    needed: dict[str, set[str]] = {}
    for name, node in _definitions():
        plain = node.args.posonlyargs + node.args.args
        free = plain[: len(plain) - len(node.args.defaults)]
        free += [
            one
            for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if default is None
        ]
        needed.setdefault(name, set()).update(one.arg for one in free)
    return needed
