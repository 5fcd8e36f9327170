"""The command that installs a package on this very distribution."""

from collections.abc import Mapping, Sequence

# By the ID of os-release(5). Distributions that are not listed say in ID_LIKE, nearest
# first, which of these they derive from.
_MANAGERS = {
    "debian": "apt",
    "ubuntu": "apt",
    "fedora": "dnf",
    "rhel": "dnf",
    "centos": "dnf",
    "amzn": "dnf",
    "arch": "pacman",
    "alpine": "apk",
    "suse": "zypper",
    "opensuse": "zypper",
    "opensuse-leap": "zypper",
    "opensuse-tumbleweed": "zypper",
    "sles": "zypper",
    "nixos": "nix",
}
_COMMANDS = {
    # A fresh image has no package lists, so that the update belongs to the command.
    "apt": "{sudo}apt-get update && {sudo}apt-get install -y {packages}",
    "dnf": "{sudo}dnf install -y {packages}",
    "pacman": "{sudo}pacman -S --needed {packages}",
    "apk": "{sudo}apk add {packages}",
    "zypper": "{sudo}zypper install -y {packages}",
    "nix": "nix --extra-experimental-features 'nix-command flakes' profile install {packages}",
}


def read_release() -> Mapping[str, str]:
    """Read os-release(5).

    Returns:
        Its fields; none when the system has no such file or it cannot be read.
    """
    import platform

    try:
        return platform.freedesktop_os_release()
    except (OSError, UnicodeDecodeError):
        return {}


def install_command(packages: Sequence[str], release: Mapping[str, str], *, root: bool) -> str:
    """Tell how to install packages.

    Args:
        packages: Their names, which are the same on all known distributions.
        release: The fields of os-release(5).
        root: Whether the user is root already.

    Returns:
        A command line, or a sentence for a distribution that is not known.
    """
    names = " ".join(packages)
    for identifier in (release.get("ID", ""), *release.get("ID_LIKE", "").split()):
        manager = _MANAGERS.get(identifier.lower())
        if manager is None:
            continue
        if manager == "nix":
            names = " ".join(f"nixpkgs#{package}" for package in packages)
        return _COMMANDS[manager].format(sudo="" if root else "sudo ", packages=names)
    known = release.get("PRETTY_NAME", "this system")
    return f"install {names} with the package manager of {known}"
