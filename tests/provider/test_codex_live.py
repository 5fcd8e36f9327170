"""The real Codex keeps the live half of the contract."""

from collections.abc import Mapping

from homeroom.provider import Provider
from homeroom.provider.codex import Codex
from homeroom.testing import LiveProviderContract


class TestCodex(LiveProviderContract):
    leave = ("C-c",)
    moved_by = ("CODEX_HOME", "CODEX_SQLITE_HOME", "OPENAI_BASE_URL", "OPENAI_API_KEY")
    login_status = ("login", "status")

    def provider(self) -> Provider:
        return Codex()

    def make(self, name: str) -> tuple[str, Mapping[str, object]]:
        return "exec_command", {"cmd": f"touch {name}"}
