"""A conversation as a document to keep: Markdown, or one HTML page."""

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from homeroom.cli.printable import printable

if TYPE_CHECKING:
    from homeroom.provider import Message

_FENCE = "```"
_STYLE = """
  :root { color-scheme: light dark; }
  body { font: 1rem/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; }
  body { padding: 0 1rem; }
  h2 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font: inherit; }
  .tool pre { font: .875rem/1.4 ui-monospace, monospace; }
  .tool { border-left: .2rem solid #8886; padding-left: .8rem; }
"""


def document(kind: Literal["md", "html"], run_id: str, spoken: "Iterator[Message]") -> str:
    """Render a conversation.

    Args:
        kind: Which format.
        run_id: The run, for the title.
        spoken: What was said.
    """
    return _markdown(run_id, spoken) if kind == "md" else _page(run_id, spoken)


def _markdown(run_id: str, spoken: "Iterator[Message]") -> str:
    parts = [f"# {run_id}"]
    for message in spoken:
        text = printable(message.text.rstrip())
        if message.role.startswith("tool"):
            # A fence longer than any in the text.
            fence = _FENCE
            while fence in text:
                fence += "`"
            text = f"{fence}\n{text}\n{fence}"
        parts.append(f"## {message.role}\n\n{text}")
    return "\n\n".join(parts)


def _page(run_id: str, spoken: "Iterator[Message]") -> str:
    title = html.escape(run_id)
    head = (
        f"<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>{title}</title>"
        f"<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<style>{_STYLE}</style></head><body><main><h1>{title}</h1>"
    )
    parts = [head]
    for message in spoken:
        kind = "tool" if message.role.startswith("tool") else "said"
        at = f" <small>{html.escape(message.at)}</small>" if message.at else ""
        parts.append(
            f"<section class={kind}><h2>{html.escape(message.role)}{at}</h2>"
            f"<pre>{html.escape(message.text.rstrip())}</pre></section>"
        )
    parts.append("</main></body></html>")
    return "\n".join(parts)
