"""A real terminal for real TUIs: tmux, on a server of its own."""

from homeroom.testing.terminal import HOLDER, Terminal

__all__ = ["HOLDER", "Terminal"]
