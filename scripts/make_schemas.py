"""Write the JSON Schemas of the format that is written now into the package. Those of former formats stay.

python scripts/make_schemas.py
"""

from __future__ import annotations

import json
from pathlib import Path

from gridveil.publish.manifest import FORMAT
from gridveil.publish.manifest import schema as manifest
from gridveil.wall.certificate import schema as certificate

FOLDER = Path(__file__).parents[1] / "src" / "gridveil" / "schemas"

for name, schema in {"manifest": manifest(), "certificate": certificate()}.items():
    path = FOLDER / f"{FORMAT}.{name}.json"
    path.write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")
    print(path.name)
