"""The real Claude Code keeps the live half of the contract."""

from collections.abc import Mapping

from homeroom.provider import Provider
from homeroom.provider.claude import Claude
from homeroom.testing import LiveProviderContract


class TestClaude(LiveProviderContract):
    leave = ("C-c", "C-c")
    moved_by = (
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_SECURESTORAGE_CONFIG_DIR",
        "CLAUDE_CODE_TMPDIR",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_API_KEY",
    )
    login_status = ("auth", "status")

    def provider(self) -> Provider:
        return Claude()

    def make(self, name: str) -> tuple[str, Mapping[str, object]]:
        return "Bash", {"command": f"touch {name}", "description": "Make a file"}
