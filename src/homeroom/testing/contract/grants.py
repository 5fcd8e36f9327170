"""Grants: what renews one stays at home, and what a full room renewed comes back."""

from __future__ import annotations

import errno
import json
import os
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

from homeroom.credential.secret import Credential
from homeroom.errors import CredentialError
from homeroom.provider import Needs
from homeroom.testing.contract.base import AdapterTest, holding, refuses, state, texts
from homeroom.testing.samples import corruptions, json_values, logged_out, login, write_files
from homeroom.testing.tree import changes, snapshot

_EARLY, _LATE = 4000000000.0, 4102444800.0


class Grants(AdapterTest):
    """For an adapter whose CLI holds grants that it renews by itself.

    Attributes:
        token_hosts: Where the CLI renews or revokes a grant.
    """

    token_hosts: ClassVar[tuple[str, ...]]

    def grant(
        self, root: Path, number: int, *, account: str = "one", ends: float = _LATE
    ) -> Credential:
        """Read a grant from a user's home, which is made for it."""
        held = login(number, account=account, expires_at=ends)
        home = self.user_home(root, held, f"from-{number}-{account}-{len(os.listdir(root))}")
        found = self.provider().discover({"HOME": str(home)}, home)
        assert found is not None, "the login of the sample was not found"
        assert found.kind == "oauth"
        return found

    def test_a_grant_tells_when_it_ends(self, tmp_path: Path) -> None:
        """Its access ends when the CLI's file says so."""
        assert self.grant(tmp_path, 1).expires_at == _LATE
        assert self.grant(tmp_path, 1, ends=_EARLY).expires_at == _EARLY

    def test_a_room_holds_nothing_that_renews(self, tmp_path: Path) -> None:
        """Unless it holds full credentials: then it holds the grant as it is."""
        credential = self.grant(tmp_path, 1)
        assert credential.can_renew()
        for full in (False, True):
            room = self.room(tmp_path, f"home-{full}", full_credentials=full)
            carried = self.provider().inject(room, credential)
            assert carried == {}, "a grant belongs in a file, where it can be replaced"
            held = texts(room.home)
            assert holding(held, [login(1).access]), "the access did not arrive"
            assert bool(holding(held, [login(1).renewal])) == full, f"full={full}"
            back = self.provider().collect(room.home)
            assert back is not None, "what was injected is not collected"
            assert back.can_renew() == full

    def test_a_full_room_gives_back_what_it_got(self, tmp_path: Path) -> None:
        """Collecting is the inverse of injecting: kind, secret, account and end."""
        credential = self.grant(tmp_path, 1)
        room = self.room(tmp_path, full_credentials=True)
        self.seed(room)
        self.provider().inject(room, credential)
        back = self.provider().collect(room.home)
        assert back is not None
        assert json.loads(back.secret.reveal()) == json.loads(credential.secret.reveal())
        assert (back.kind, back.expires_at) == (credential.kind, credential.expires_at)
        assert _parsed(back.account) == _parsed(credential.account)

    def test_a_room_cannot_reach_what_renews(self, tmp_path: Path) -> None:
        """The token hosts are reached by a room with full credentials and by no other."""
        assert self.token_hosts, "an adapter with grants says where they are renewed"
        plain = self.provider().needs(self.room(tmp_path, "plain"))
        full = self.provider().needs(self.room(tmp_path, "full", full_credentials=True))
        for host in self.token_hosts:
            assert not _reaches(plain, host), f"a room can renew a grant at {host}"
            assert _reaches(full, host), f"a full room cannot renew its grant at {host}"

    # --- restoring --------------------------------------------------------------------------

    def test_a_renewed_grant_replaces_the_old_one(self, tmp_path: Path) -> None:
        """A newer grant of the same account is written back, privately."""
        home = self.user_home(tmp_path, login(1, expires_at=_EARLY))
        assert self._restore(home, self.grant(tmp_path, 2))
        found = self.provider().discover({"HOME": str(home)}, home)
        assert found is not None
        assert login(2).access in found.secret.reveal()
        assert holding(texts(home), [login(1).access, login(1).renewal]) == [], "the old is left"
        modes = {entry.mode for entry in snapshot(home).values() if entry.kind == "file"}
        assert modes == {0o600}

    def test_what_is_not_better_is_not_written(self, tmp_path: Path) -> None:
        """An older grant, another account's, one that renews nothing, one for nobody."""
        home = self.user_home(tmp_path, login(1))
        empty = self.user_home(tmp_path, None, "never")
        out = self.user_home(tmp_path, logged_out(), "out")
        later = _LATE + 86400
        candidates = {
            "the same": (home, self.grant(tmp_path, 1)),
            "an older one": (home, self.grant(tmp_path, 2, ends=_EARLY)),
            "another account's": (home, self.grant(tmp_path, 2, account="two", ends=later)),
            "one without renewal": (home, self._without_renewal(tmp_path, ends=later)),
            "one where nothing was": (empty, self.grant(tmp_path, 2, ends=later)),
            "one for a user who logged out": (out, self.grant(tmp_path, 2, ends=later)),
        }
        for what, (target, renewed) in candidates.items():
            before = snapshot(target)
            assert not self._restore(target, renewed), f"{what} was taken"
            assert changes(before, snapshot(target)) == [], f"{what} was written"

    def test_a_blanked_grant_is_never_collected(self, tmp_path: Path) -> None:
        """What a CLI leaves of a grant that was refused is no credential."""
        room = self.room(tmp_path, full_credentials=True)
        self.provider().inject(room, self.grant(tmp_path, 1))
        for name, text in texts(room.home).items():
            blanked = text.decode().replace(login(1).access, "").replace(login(1).renewal, "")
            write_files(room.home, {name: blanked})
        found = self.provider().collect(room.home)
        assert found is None or not found.can_renew(), "a blanked grant is a credential"

    def test_restoring_keeps_everything_else(self, tmp_path: Path) -> None:
        """Foreign keys in the user's file stay what they were."""
        from hypothesis import given, settings

        renewed = self.grant(tmp_path, 2)
        files = self.logged_in(login(1, expires_at=_EARLY))
        homes = iter(range(1_000_000))

        @settings(database=None, max_examples=20)
        @given(json_values())
        def check(value: object) -> None:
            foreign = {
                name: {**json.loads(text), "kit-foreign": value} for name, text in files.items()
            }
            home = tmp_path / f"user-{next(homes)}"
            write_files(home, {name: json.dumps(held) for name, held in foreign.items()})
            assert self._restore(home, renewed)
            for name in files:
                found = json.loads((home / name).read_bytes())
                assert found.get("kit-foreign") == value, f"{name} lost a foreign key"

        check()

    def test_restoring_follows_the_users_own_symlink(self, tmp_path: Path) -> None:
        """A user who keeps the file elsewhere still has a symlink, and the new grant."""
        for name in self.logged_in(login(1)):
            (root := tmp_path / name.replace("/", "-")).mkdir()
            home = self.user_home(root, login(1, expires_at=_EARLY))
            (home / name).rename(root / "elsewhere")
            (home / name).symlink_to(root / "elsewhere")
            assert self._restore(home, self.grant(root, 2))
            assert (home / name).is_symlink(), f"the symlink {name} was replaced"
            found = self.provider().discover({"HOME": str(home)}, home)
            assert found is not None
            assert login(2).access in found.secret.reveal()

    def test_a_store_that_cannot_be_written_is_as_it_was(self, tmp_path: Path) -> None:
        """On a read-only mount restoring raises OSError, and every byte stays."""
        home = self.user_home(tmp_path, login(1, expires_at=_EARLY))
        renewed = self.grant(tmp_path, 2)
        before = snapshot(tmp_path)
        # Root may write where the modes say no: it is the system call that has to refuse.
        with mock.patch("os.open", _read_only(os.open)):
            refused: list[int | None] = []
            try:
                self._restore(home, renewed)
            except OSError as error:
                refused.append(error.errno)
        assert refused == [errno.EROFS], "it was restored without being written"
        assert changes(before, snapshot(tmp_path)) == []

    def test_a_corrupt_store_is_not_restored_over(self, tmp_path: Path) -> None:
        """What cannot be read is not replaced: the error names it."""
        renewed = self.grant(tmp_path, 2)
        for name, text in self.logged_in(login(1)).items():
            for number, (what, corrupt) in enumerate(corruptions().items()):
                (root := tmp_path / f"{name.replace('/', '-')}-{number}").mkdir()
                home = self.user_home(root, login(1, expires_at=_EARLY))
                (home / name).unlink()
                corrupt(home / name, text.encode())
                before = state(root, what)
                with refuses(CredentialError, f"restore over {name} that is {what}") as errors:
                    self._restore(home, renewed)
                assert str(home / name) in errors[0].message
                assert changes(before, state(root, what)) == [], (
                    f"{name} that is {what} was changed"
                )

    def _restore(self, home: Path, renewed: Credential) -> bool:
        return self.provider().restore({"HOME": str(home)}, home, renewed)

    def _without_renewal(self, root: Path, *, ends: float) -> Credential:
        room = self.room(root, "plain")
        self.provider().inject(room, self.grant(root, 2, ends=ends))
        found = self.provider().collect(room.home)
        assert found is not None
        return found


def _reaches(needs: Needs, host: str) -> bool:
    return any(fnmatch(host, pattern.partition(":")[0]) for pattern in needs.hosts)


def _parsed(account: str | None) -> Any:  # noqa: ANN401
    return json.loads(account) if account else None


def _read_only(real: Any) -> Any:  # noqa: ANN401
    def open_(path: Any, flags: int, *rest: Any, **more: Any) -> int:  # noqa: ANN401
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        descriptor: int = real(path, flags, *rest, **more)
        return descriptor

    return open_
