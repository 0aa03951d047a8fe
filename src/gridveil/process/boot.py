"""The first code of a process that `start.py` begins, run as a file: python -I boot.py MODULE PACKAGE [DIRECTORY]...

It imports the package from the directory that the parent runs it from, not from wherever a search would find one.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def main() -> None:
    """Set the search path, take the package from where it is, limit this process, run the module's `main`."""
    module, package, *path = sys.argv[1:]
    # what the isolated interpreter has itself is kept, and the package's own neighbours are looked at last of all
    sys.path[:] = dict.fromkeys([*path, *sys.path, str(Path(package).parent)])
    name = Path(package).name
    spec = spec_from_file_location(name, Path(package) / "__init__.py", submodule_search_locations=[package])
    if spec is None or spec.loader is None:
        raise ImportError(f"there is no package in {package}")
    sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    import_module(f"{name}.process.limits").settle()
    import_module(module).main()


if __name__ == "__main__":
    main()
