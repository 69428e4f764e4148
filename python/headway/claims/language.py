"""The expressions that claims measure with: arithmetic, comparisons and a fixed vocabulary of functions.

    100 * mean(utilisation('s0->s1'), '1.2 ms', '2.4 ms')
    percent_lower(of('amrt', summary('fct_mean_s')), of('phost-arrival', summary('fct_mean_s')))

They are written in Python's expression syntax, of which only the part below is allowed; every name is checked when
the ledger is read, not when it is used. The functions are in `vocabulary`.
"""

from __future__ import annotations

import ast
import inspect
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from headway.data.bounds import certain
from headway.errors import nearest

# Exceptions of Python for values that are not of the kind that a function or an operator takes.
UNFIT = (TypeError, ValueError, IndexError, KeyError, AttributeError, OverflowError)
# Characters of an argument that a message shows.
SHOWN = 40


class ExpressionError(Exception):
    """A mistake in an expression, at a column of its text."""

    def __init__(self, message: str, column: int = 0) -> None:
        self.column = column
        super().__init__(message)


class CannotMeasure(Exception):
    """The runs at hand do not hold the data that an expression asks for; the claim is pending."""


@dataclass(frozen=True)
class Vocabulary:
    """Functions that an expression may call. `plain` get values and the context first; `forms` get unevaluated
    arguments.

    `literal` turns a text that is added to a number, such as `'200 us'`, into one.
    """

    plain: Mapping[str, Callable[..., Any]]
    forms: Mapping[str, Callable[..., Any]]
    literal: Callable[[str], float]

    def names(self) -> set[str]:
        """Names of all functions, plain ones and forms."""
        return {*self.plain, *self.forms}


@dataclass(frozen=True)
class Expression:
    """A checked expression."""

    text: str
    tree: ast.expr
    vocabulary: Vocabulary = field(repr=False)
    defined: Mapping[str, Expression] = field(repr=False)

    def evaluate(self, context: Any, names: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401
        """Its value; raises `CannotMeasure` if the runs lack something, or if a division is by zero."""
        evaluator = Evaluator(self.vocabulary, names or {}, self.defined)
        try:
            return evaluator.value(self.tree, context)
        except ZeroDivisionError:
            raise CannotMeasure("the measure divides by zero") from None
        except UNFIT as error:
            raise CannotMeasure(f"its values do not go together: {error}") from None

    def spelt_out(self) -> list[str]:
        """Its text, and that of all definitions it uses."""
        words = set(re.findall(r"[A-Za-z_]\w*", self.text))
        used = [definition for name, definition in sorted(self.defined.items()) if name in words]
        return [self.text, *(text for definition in used for text in definition.spelt_out())]

    def quotes(self, name: str) -> bool:
        """True if a name, such as a variant's, stands as a text in it or in a definition it uses."""
        return any(quoted(name).search(text) for text in self.spelt_out())


def quoted(name: str) -> re.Pattern[str]:
    """Pattern of a name as a text in an expression, between its quotes."""
    return re.compile(rf"(?<=['\"]){re.escape(name)}(?=['\"])")


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
}


def parse(
    text: str,
    vocabulary: Vocabulary,
    names: frozenset[str] = frozenset(),
    defined: Mapping[str, Expression] | None = None,
) -> Expression:
    """Check an expression. Raises `ExpressionError`.

    Of the plain names it may use, `names` get their values when it is evaluated, and `defined` stand for other
    expressions, evaluated where they are used.
    """
    known = defined or {}
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ExpressionError(f"not an expression: {error.msg}", max(0, (error.offset or 1) - 1)) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"not an expression: {error}") from None
    _check(tree, vocabulary, names | known.keys())
    return Expression(text.strip(), tree, vocabulary, known)


def _check(node: ast.expr, vocabulary: Vocabulary, names: frozenset[str]) -> None:
    """Refuse everything outside the language, with the column."""
    match node:
        case ast.Constant(value=bool() | None | complex() | bytes()):
            raise ExpressionError("only numbers and text can be written", node.col_offset)
        case ast.Constant(value=int() | float() | str()):
            return
        case ast.Name(id=name):
            if name not in names:
                raise ExpressionError(_unknown("name", name, names), node.col_offset)
            return
        case ast.Call():
            _check_call(node, vocabulary)
        case ast.BinOp(op=op) if type(op) not in BINARY:
            raise ExpressionError("only + - * / can be used", node.col_offset)
        case ast.Compare(ops=ops) if any(type(op) not in COMPARE for op in ops):
            raise ExpressionError("only < <= > >= == can be used", node.col_offset)
        case ast.Dict(keys=keys) if not all(isinstance(k, ast.Constant) for k in keys):
            raise ExpressionError("keys are written as text", node.col_offset)
        case ast.UnaryOp(op=ast.Invert()):
            raise ExpressionError("~ cannot be used", node.col_offset)
        case ast.BinOp() | ast.Compare() | ast.BoolOp() | ast.UnaryOp() | ast.Dict() | ast.List() | ast.Subscript():
            pass
        case _:
            raise ExpressionError(f"{type(node).__name__} cannot be used here", node.col_offset)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr) and not (isinstance(node, ast.Call) and child is node.func):
            _check(child, vocabulary, names)


def _check_call(node: ast.Call, vocabulary: Vocabulary) -> None:
    if not isinstance(node.func, ast.Name):
        raise ExpressionError("only named functions can be called", node.col_offset)
    name = node.func.id
    function = vocabulary.plain.get(name) or vocabulary.forms.get(name)
    if function is None:
        raise ExpressionError(_unknown("function", name, vocabulary.names()), node.col_offset)
    if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        raise ExpressionError(f"{name} takes its arguments by position", node.col_offset)
    leading: list[object] = [None] if name in vocabulary.plain else [None, None]
    try:
        inspect.signature(function).bind(*leading, *node.args)
    except TypeError:
        wanted = list(inspect.signature(function).parameters.values())[len(leading) :]
        signature = ", ".join(f"*{p.name}" if p.kind is p.VAR_POSITIONAL else p.name for p in wanted)
        raise ExpressionError(f"it is {name}({signature})", node.col_offset) from None


def _unknown(kind: str, name: str, known: set[str] | frozenset[str]) -> str:
    close = nearest(name, known)
    return f"no {kind} '{name}'" + (f"; nearest: {', '.join(close)}" if close else "")


@dataclass(frozen=True)
class Evaluator:
    """Computes the value of a checked tree in a context."""

    vocabulary: Vocabulary
    names: Mapping[str, Any]
    defined: Mapping[str, Expression]

    def value(self, node: ast.expr, context: Any) -> Any:  # noqa: ANN401
        """The value of one node."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self._named(name, context)
            case ast.BinOp(left=left, op=op, right=right):
                return BINARY[type(op)](self._operand(left, context), self._operand(right, context))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self.value(operand, context)
            case ast.UnaryOp(op=op, operand=operand):
                number = self.value(operand, context)
                return -number if isinstance(op, ast.USub) else number
            case ast.BoolOp(op=op, values=values):
                return self._decided(values, context, until=isinstance(op, ast.Or))
            case ast.Compare():
                return self._comparison(node, context)
            case ast.Call():
                return self._call(node, context)
            case ast.List(elts=items):
                return [self.value(item, context) for item in items]
            case ast.Dict(keys=keys, values=values):
                return {
                    self.value(k, context): self.value(v, context)
                    for k, v in zip(keys, values, strict=True)
                    if k is not None
                }
            case ast.Subscript(value=whole, slice=index):
                return self.value(whole, context)[self.value(index, context)]
            case _:
                raise ExpressionError(f"{type(node).__name__} cannot be used here", node.col_offset)

    def _named(self, name: str, context: Any) -> Any:  # noqa: ANN401
        if name not in self.defined:
            return self.names[name]
        meant = self.defined[name]
        return Evaluator(self.vocabulary, {}, meant.defined).value(meant.tree, context)

    def _operand(self, node: ast.expr, context: Any) -> Any:  # noqa: ANN401
        value = self.value(node, context)
        return self.vocabulary.literal(value) if isinstance(value, str) else value

    def look(self, node: ast.expr, context: Any) -> None:  # noqa: ANN401
        """Compute a node whose value no longer decides anything.

        A search runs the points that a measure has looked at. They must not depend on what came out of them: under
        another reading the value that decides may be a later one.
        """
        with suppress(CannotMeasure, *UNFIT):
            self.value(node, context)

    def _decided(self, nodes: Sequence[ast.expr], context: Any, *, until: bool) -> bool:  # noqa: ANN401
        """`and` or `or`: the first node that is `until` decides; the others are looked at."""
        for i, node in enumerate(nodes):
            if bool(self.value(node, context)) is until:
                for rest in nodes[i + 1 :]:
                    self.look(rest, context)
                return until
        return not until

    def _comparison(self, node: ast.Compare, context: Any) -> bool:  # noqa: ANN401
        left = self._operand(node.left, context)
        for i, (op, comparator) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self._operand(comparator, context)
            holds = certain(COMPARE[type(op)], left, right)
            if holds is None:
                raise CannotMeasure("flows were open at the end of the run, and it depends on them")
            if not holds:
                for rest in node.comparators[i + 1 :]:
                    self.look(rest, context)
                return False
            left = right
        return True

    def _call(self, node: ast.Call, context: Any) -> Any:  # noqa: ANN401
        assert isinstance(node.func, ast.Name)  # the check refused everything else
        name = node.func.id
        if name in self.vocabulary.forms:
            return self.vocabulary.forms[name](self, context, *node.args)
        arguments = [self.value(argument, context) for argument in node.args]
        function = self.vocabulary.plain[name]
        shown = ", ".join(_short(argument) for argument in arguments)
        if wrong := _of_another_kind(function, arguments):
            raise CannotMeasure(f"{name}({shown}) cannot be computed: {wrong}")
        try:
            return function(context, *arguments)
        except UNFIT as error:
            raise CannotMeasure(f"{name}({shown}) cannot be computed: {error}") from None


def _of_another_kind(function: Callable[..., Any], arguments: Sequence[object]) -> str | None:
    """Fault of an argument that is a text where the function takes a number, or the other way round."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    for parameter, value in zip(parameters, arguments, strict=False):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            break
        is_text = isinstance(value, str)
        if parameter.annotation in ("float", "int") and is_text:
            return f"`{parameter.name}` is a number, and {_short(value)} is a text"
        if parameter.annotation == "str" and not is_text:
            return f"`{parameter.name}` is a text, and {_short(value)} is none"
    return None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
