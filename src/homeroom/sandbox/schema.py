"""The settings of srt, as far as homeroom writes them, to be read back strictly.

srt drops unknown keys in silence and some of its versions run unconfined on a file that
they cannot read, so homeroom never trusts what it wrote: it decodes the file again into
these types and compares. ``tests/sandbox`` gives the same bytes to srt's own schema
(``dist/sandbox/sandbox-config.js``, ``SandboxRuntimeConfigSchema``).
"""

from typing import Literal

import msgspec


class Literally(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A path in which no character is a pattern's."""

    path: str
    literal: Literal[True] = True


class ParentProxy(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True
):
    """``network.parentProxy``: what leaves the room goes on through it."""

    https: str
    no_proxy: str
    http: str | None = None


class Network(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True
):
    """``network``: both lists are required; an empty one means nobody."""

    allowed_domains: list[str]
    denied_domains: list[str]
    parent_proxy: ParentProxy | None = None


class Filesystem(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True
):
    """``filesystem``: what may be read and written; a plain text is for older versions."""

    deny_read: list[str | Literally]
    allow_write: list[str | Literally]
    deny_write: list[str | Literally]
    allow_read: list[str | Literally] | None = None


class Settings(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True
):
    """The whole file."""

    network: Network
    filesystem: Filesystem
    bwrap_path: str | None = None
    socat_path: str | None = None
