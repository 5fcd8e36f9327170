"""The bill of materials of an image, as CycloneDX JSON."""

import json
import uuid
from collections.abc import Sequence
from urllib.parse import quote

from homeroom import __version__
from matrix.inventory import Package

# RFC 4122: the same content gives the same serial number, so that a document is reproducible.
_SPACE = uuid.UUID("6f0cb8e2-0d0c-5a35-9a8d-5d5c3b6c6a01")


def document(version: str, packages: Sequence[Package]) -> str:
    """Write the bill of an image.

    Args:
        version: Of srt.
        packages: What the image's own package managers listed.
    """
    components = [_component(*package) for package in packages]
    content = json.dumps(components)
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_SPACE, content)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "container",
                "bom-ref": "image",
                "name": "homeroom-srt",
                "version": version,
            },
            "tools": {
                "components": [
                    {"type": "application", "name": "homeroom matrix", "version": __version__}
                ]
            },
        },
        "components": components,
    }
    return json.dumps(bill, indent=2) + "\n"


def _component(kind: str, name: str, version: str) -> dict[str, str]:
    group, _, short = name.rpartition("/")
    where = f"{kind}/{quote(group, safe='/')}/" if group else f"{kind}/"
    link = f"pkg:{where}{quote(short, safe='')}@{quote(version, safe='')}"
    return {
        "type": "library",
        "bom-ref": link,
        "name": name,
        "version": version,
        "purl": link,
    }
