"""The wrapper of a job: it runs one command of `gridveil` in the folder of the workbench, keeps what is said, and
writes the exit code whole. It lives in a session of its own, so that neither browser nor server matters to it.

    python -P -m gridveil.web.runner JOB
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from gridveil.files import write_whole
from gridveil.web.started import started

COMMAND, PID, EXIT, OUT, ERR = "command.json", "pid.json", "exit.json", "stdout", "stderr"
ASKED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if os.name == "posix" else (signal.SIGINT, signal.SIGTERM)


def main() -> None:
    """Run the job of a folder, once."""
    job = Path(sys.argv[1]).resolve()
    for one in ASKED:  # a request to end is the command's business, and a handler of ours ends with its exec
        signal.signal(one, lambda *_: None)
    write_whole(job / PID, json.dumps({"pid": os.getpid(), "started": started(os.getpid())}), 0o600)
    told = json.loads((job / COMMAND).read_bytes())
    with (job / OUT).open("ab") as out, (job / ERR).open("ab") as err:
        process = subprocess.Popen(
            [sys.executable, "-P", "-X", "utf8", "-m", "gridveil", *told["arguments"]],
            cwd=told["folder"], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"},
        )  # fmt: skip
        code = process.wait()
    write_whole(job / EXIT, json.dumps({"code": code}), 0o600)


if __name__ == "__main__":
    main()
