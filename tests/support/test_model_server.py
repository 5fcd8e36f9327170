"""The model server answers from its fixtures and keeps a journal, without any agent."""

import json
import urllib.request
from typing import Any

import pytest

from homeroom.toolchain.store import Toolchain
from tests.support.model_server import ModelServer, calls_then_says, model_server, says


def ask(server: ModelServer, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """Ask as an agent would, and return the blocks of the answer."""
    request = urllib.request.Request(
        f"{server.url}/v1/messages",
        json.dumps(
            {
                "model": "any",
                "max_tokens": 100,
                "messages": messages,
                "tools": [{"name": "Write", "input_schema": {"type": "object"}}],
            }
        ).encode(),
        {"Content-Type": "application/json", "x-api-key": "sk-ant-test"},
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        content: list[dict[str, Any]] = json.load(response)["content"]
    return content


def test_it_answers_and_remembers(toolchain: Toolchain) -> None:
    with model_server(toolchain, [says("good morning")]) as server:
        assert server.journal() == []
        assert ask(server, {"role": "user", "content": "hello"})[0]["text"] == "good morning"
        [entry] = server.journal(path="/v1/messages")
        assert entry["body"]["messages"][-1]["content"] == "hello"
        assert server.journal(path="/elsewhere") == []


def test_it_plays_a_turn_with_a_tool(toolchain: Toolchain) -> None:
    question = {"role": "user", "content": "write it"}
    with model_server(toolchain, calls_then_says("Write", {"path": "a"}, "written")) as server:
        [call] = ask(server, question)
        assert (call["type"], call["name"], call["input"]) == ("tool_use", "Write", {"path": "a"})
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": "ok"}
        said = ask(
            server,
            question,
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        )
        assert said[0]["text"] == "written"


def test_it_is_gone_after_the_block(toolchain: Toolchain) -> None:
    with model_server(toolchain, [says("hello")]) as server:
        server.journal()
    with pytest.raises(OSError, match="refused"):
        server.journal()
    assert not server.log.exists()


def test_bad_fixtures_fail_with_what_it_printed(toolchain: Toolchain) -> None:
    broken = {"match": {}, "response": {"nothing": "known"}}
    with (
        pytest.raises(AssertionError, match="Validation failed"),
        model_server(toolchain, [broken]),
    ):
        pass
