"""A plan as one JSON document, and that document as text for people."""

import json
from typing import TYPE_CHECKING, Any

from homeroom import choice
from homeroom.cli import sources_view
from homeroom.cli.pages import located
from homeroom.cli.printable import in_one_line
from homeroom.credential.secret import Secret

if TYPE_CHECKING:
    from pathlib import Path

    from homeroom.errors import HomeroomError
    from homeroom.plan import Plan

SCHEMA = 1


def document(
    plan: "Plan",
    obstacle: "HomeroomError | None" = None,
    worktree: "tuple[Path, str] | None" = None,
) -> dict[str, Any]:
    """Render a plan for machines; ``docs/reference/json.md`` describes every key.

    Args:
        plan: What would be done.
        obstacle: Why it could not be done now, or None.
        worktree: Where one would be added first, and its branch; or None.

    Returns:
        A document that holds no secret: each is a mask or a digest.
    """
    workspace = plan.room.workspace
    return {
        "schema": SCHEMA,
        "provider": plan.provider.name,
        "run_id": plan.instance.run_id,
        "missing": list(plan.missing),
        "obstacle": {"message": obstacle.message, "hint": obstacle.hint} if obstacle else None,
        "workspace": {
            "directory": str(workspace.directory),
            "root": str(workspace.root),
            "git_directories": [str(path) for path in workspace.git_directories],
        },
        "worktree": {"path": str(worktree[0]), "branch": worktree[1]} if worktree else None,
        "instance": {"home": str(plan.instance.home), "tmp": str(plan.instance.tmp)},
        "toolchain": {
            "root": str(plan.toolchain.root),
            "lock_hash": plan.toolchain.lock_hash,
            "tools": [
                {
                    "name": tool.name,
                    "version": tool.version,
                    "path": str(tool.path),
                    "hash": tool.hash,
                }
                for tool in plan.toolchain.tools.values()
            ],
        },
        "system_tools": {name: str(path) for name, path in plan.host.programs.items()},
        "environment": {
            name: str(value) for name, value in sorted(plan.inside.environment.items())
        },
        "credential": _credential(plan),
        "credential_sources": sources_view.document(choice.rows(plan.wish)),
        "seeds": _seeds(plan),
        "certificates": _certificates(plan),
        "settings": json.loads(plan.settings),
        "proof": {
            "unreadable": [str(path) for path in plan.inside.unreadable],
            "unwritable": [str(path) for path in plan.inside.unwritable],
        },
        "command": {
            "argv": list(plan.command.argv),
            "environment": dict(plan.command.environment),
            "directory": str(plan.command.directory),
        },
        "agent": {"argv": list(plan.inside.argv), "mode": plan.mode},
        "container": _container(plan),
    }


def _container(plan: "Plan") -> dict[str, Any] | None:
    housing = plan.housing
    if housing is None:
        return None
    return {
        "engine": housing.address,
        "image": housing.image,
        "writable": [str(path) for path in housing.writable],
        "readable": [str(path) for path in housing.readable],
        "network": housing.network,
        "memory": housing.memory,
        "processes": housing.processes,
    }


def _credential(plan: "Plan") -> dict[str, Any] | None:
    credential = plan.credential
    if credential is None:
        return None
    secret: Secret = credential.secret
    return {
        "kind": credential.kind,
        "origin": plan.chosen.origin,
        "source": credential.source,
        "digest": secret.digest(),
        "expires_at": credential.expires_at,
    }


def _certificates(plan: "Plan") -> dict[str, Any] | None:
    bundle = plan.host.certificates
    if bundle is None:
        return None
    return {"count": bundle.count, "sources": list(bundle.sources)}


def _seeds(plan: "Plan") -> list[dict[str, Any]]:
    seeds: list[dict[str, Any]] = []
    for seed in plan.seeds:
        if seed.patch is not None:
            seeds.append({"path": seed.path, "keys": dict(seed.patch)})
        else:
            seeds.append({"path": seed.path, "text": seed.content.decode(errors="replace")})
    return seeds


def text(document: dict[str, Any]) -> str:
    """Render a plan for people.

    Args:
        document: The plan, as made for machines.

    Returns:
        Lines, without a last newline.
    """
    lines = [f"A run of {document['provider']} in {document['workspace']['directory']}", ""]
    if document["missing"]:
        lacking = ", ".join(document["missing"])
        lines += [f"NOT READY: missing: {lacking}; run `homeroom setup`", ""]
    elif document["obstacle"]:
        lines += [f"NOT READY: {document['obstacle']['message']}"]
        lines += [f"  {located(hint)}" for hint in [document["obstacle"]["hint"]] if hint] + [""]
    if document["worktree"]:
        lines += ["Worktree, added at the start; the rules for the workspace below move there"]
        lines += [f"  {name:<6} {value}" for name, value in document["worktree"].items()] + [""]
    lines.append(f"Tools ({document['toolchain']['root']})")
    for tool in document["toolchain"]["tools"]:
        lines.append(f"  {tool['name']:<13} {tool['version']:<10} {tool['hash']}")
    lines += [f"  {name:<13} {path}" for name, path in document["system_tools"].items()]
    lines += ["", "Room"]
    lines += [f"  {name:<5} {path}" for name, path in document["instance"].items()]
    for seed in document["seeds"]:
        content = seed.get("text") or json.dumps(seed.get("keys"), indent=2)
        lines += [f"  seeded {seed['path']}", *_indented(content)]
    lines += ["", "Credential", f"  {_credential_line(document['credential'])}"]
    lines += [f"    {line}" for line in sources_view.lines(document["credential_sources"])]
    lines += ["", "Environment of the agent"]
    lines += [f"  {name}={value}" for name, value in document["environment"].items()]
    if document["certificates"]:
        lines += ["", f"Certificate authorities ({document['certificates']['count']})"]
        lines += [f"  {source}" for source in document["certificates"]["sources"]]
    lines += ["", "Sandbox settings", *_indented(json.dumps(document["settings"], indent=2))]
    if document["container"]:
        lines += ["", "Container", *_container_lines(document["container"])]
    lines += ["", "Proven before the agent starts"]
    lines += [f"  cannot read  {path}" for path in document["proof"]["unreadable"]]
    lines += [f"  cannot write {path}" for path in document["proof"]["unwritable"]]
    lines += ["", "Commands", f"  sandbox: {json.dumps(document['command']['argv'])}"]
    lines.append(f"  agent:   {json.dumps(document['agent']['argv'])}")
    # The workspace's name, variables and seeded files are the user's, or somebody's project's.
    return "\n".join(map(in_one_line, lines))


def _container_lines(container: dict[str, Any]) -> list[str]:
    limits = f"{container['memory']} of memory, {container['processes']} processes"
    return [
        f"  image   {container['image']} of {container['engine']}",
        f"  network {container['network']}",
        f"  limits  {limits}",
        *(f"  write   {path}" for path in container["writable"]),
        *(f"  read    {path}" for path in container["readable"]),
    ]


def _credential_line(credential: dict[str, Any] | None) -> str:
    if credential is None:
        return "none: the room starts logged out"
    return f"{credential['kind']} from {credential['source']}, digest {credential['digest']}"


def _indented(content: str) -> list[str]:
    return [f"    {line.expandtabs()}" for line in content.splitlines()]
