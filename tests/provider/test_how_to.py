"""What docs/how-to/add-an-agent.md shows is what the kit asks for."""

import ast
import re
from pathlib import Path

import pytest

from homeroom.testing import LiveProviderContract, ProviderContract
from homeroom.testing.contract.base import AdapterTest

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "add-an-agent.md"


def shown(base: type) -> ast.ClassDef:
    """Find the class of an example that inherits a contract."""
    blocks = re.findall(r"```python\n(.*?)```", HOW_TO.read_text(encoding="utf-8"), re.DOTALL)
    classes = [
        node
        for block in blocks
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ClassDef)
    ]
    (found,) = [one for one in classes if ast.unparse(one.bases[0]) == base.__name__]
    return found


@pytest.mark.parametrize(
    ("base", "declares"),
    [(ProviderContract, AdapterTest), (LiveProviderContract, LiveProviderContract)],
)
def test_an_example_says_all_that_must_be_said(base: type, declares: type) -> None:
    example = shown(base)
    said = {
        target.id
        for node in example.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    assert said == set(declares.__annotations__)
    methods = {node.name for node in example.body if isinstance(node, ast.FunctionDef)}
    assert methods == set(base.__dict__.get("__abstractmethods__", ()))
