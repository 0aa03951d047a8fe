"""Who may speak to a study's cluster: nobody without the run's credentials, and no scheduler in the clear unless asked."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from typer.testing import CliRunner

pytest.importorskip("pyarrow", reason="the extra 'study' is not installed")
pytest.importorskip("distributed", reason="the extra 'study' is not installed")
pytest.importorskip("cryptography", reason="the extra 'study' is not installed")

from distributed import Client, LocalCluster
from distributed.security import Security

from gridveil.cli.main import app
from gridveil.errors import StudyError
from gridveil.study.cluster import connected, credentials, credentials_of
from gridveil.study.runner import run_study
from tests.studies import COUNT

pytestmark = [
    pytest.mark.filterwarnings("default", "error::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.usefixtures("quick_workers"),
]

INTRUDER = """
import sys
from distributed import Client
from distributed.security import Security

way, address, mark = sys.argv[1:]
security = {"clear": None, "none": Security(), "own": Security.temporary()}[way]
if way == "clear":
    address = address.replace("tls://", "tcp://")
try:
    client = Client(address, security=security, timeout="2s")
    client.run_on_scheduler(lambda: open(mark, "w").close())
except Exception as error:
    print("refused:", type(error).__name__)
else:
    print("ran")
"""


@pytest.mark.parametrize("way", ["clear", "none", "own"])
def test_a_stranger_runs_nothing_on_a_local_cluster(tmp_path: Path, way: str) -> None:
    """In the clear, over TLS without credentials, and with credentials that the stranger made."""
    mark = tmp_path / "mark"
    with connected(None, None, 1) as client:
        addresses = [
            client.scheduler_info()["address"],
            *client.scheduler_info()["workers"],
            *client.run(os.getpid, nanny=True),
        ]
        assert all(address.startswith("tls://127.0.0.1:") for address in addresses)
        tried = [sys.executable, "-c", INTRUDER, way, addresses[0], str(mark)]
        done = subprocess.run(tried, capture_output=True, text=True, check=False, timeout=60)
        assert "refused" in done.stdout, done.stdout + done.stderr
        here: Any = client  # untyped; code in this process is what the stranger wanted
        assert here.run_on_scheduler(os.getpid) == os.getpid()
    assert not mark.exists()


def test_the_stranger_of_these_tests_runs_code_where_nothing_stops_him(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with LocalCluster(n_workers=1, processes=False, dashboard_address="127.0.0.1:0", protocol="tcp://") as plain:  # type: ignore[no-untyped-call]
        tried = [sys.executable, "-c", INTRUDER, "clear", plain.scheduler_address, str(mark)]
        done = subprocess.run(tried, capture_output=True, text=True, check=False, timeout=60)
    assert "ran" in done.stdout
    assert mark.exists()


def test_the_pages_of_a_local_cluster_say_nothing(tmp_path: Path) -> None:
    with connected(None, None, 1) as client:
        info = client.scheduler_info()
        ports = [info["services"]["dashboard"], *(one["services"]["dashboard"] for one in info["workers"].values())]
        for port in ports:
            for page in ("info/main/workers.html", "info/logs.html", "json/identity.json", "metrics"):
                with pytest.raises(HTTPError, match="404"):
                    urlopen(f"http://127.0.0.1:{port}/{page}", timeout=10)


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:PORT", "127.0.0.1:PORT", "ws://127.0.0.1:PORT", "TLS://127.0.0.1:PORT"]
)
def test_a_scheduler_in_the_clear_is_refused_before_it_is_called(tmp_path: Path, address: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        place = address.replace("PORT", str(server.getsockname()[1]))
        done = CliRunner().invoke(
            app,
            [
                "study",
                "costs",
                "--cases",
                "case5",
                "--draws",
                "1",
                "--scheduler",
                place,
                "--out",
                str(tmp_path / "out"),
                "--json",
            ],
        )
        assert done.exit_code == 2
        assert "is not encrypted" in json.loads(done.stdout)["error"]
        assert "--insecure" in json.loads(done.stdout)["error"]
        with pytest.raises(BlockingIOError):
            server.accept()
    assert not (tmp_path / "out").exists()


def test_credentials_are_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StudyError, match="wants credentials"):
        credentials("tls://127.0.0.1:9", None, insecure=False)
    with pytest.raises(StudyError, match="wants credentials"):
        credentials("tls://127.0.0.1:9", None, insecure=True)
    with pytest.raises(StudyError, match="belong together"):
        credentials_of(tmp_path / "ca.pem", None, None)
    absent = credentials_of(tmp_path / "ca.pem", tmp_path / "cert.pem", tmp_path / "key.pem")
    with pytest.raises(StudyError, match="cannot be used"):
        credentials("tls://127.0.0.1:9", absent, insecure=False)
    (tmp_path / "ca.pem").write_text("not a certificate")
    with pytest.raises(StudyError, match="cannot be used"):
        credentials("tls://127.0.0.1:9", absent, insecure=False)


@contextmanager
def cluster(folder: Path, *options: str) -> Iterator[str]:
    """A scheduler and a worker as an administrator starts them."""
    info = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    start = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "tls://127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(info), "--idle-timeout", "120 seconds", *options]  # fmt: skip
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(info), "--nthreads", "1", "--no-dashboard", "--death-timeout", "60", *options]  # fmt: skip
    processes = [subprocess.Popen(start, **quiet)]  # type: ignore[call-overload]
    try:
        end = time.monotonic() + 60
        while not (info.exists() and info.read_text().rstrip().endswith("}")):
            assert time.monotonic() < end
            time.sleep(0.05)
        processes.append(subprocess.Popen(worker, **quiet))  # type: ignore[call-overload]
        yield json.loads(info.read_text())["address"]
    finally:
        for process in reversed(processes):  # a worker without its scheduler takes its time
            process.terminate()
            process.wait()


def test_a_cluster_with_credentials_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/studies.md says: files for the scheduler, the workers and `gridveil study`."""
    made = Security.temporary()  # type: ignore[no-untyped-call]
    files = {"ca": made.tls_ca_file, "cert": made.tls_client_cert, "key": made.tls_client_key}
    for name, text in files.items():
        (tmp_path / f"{name}.pem").write_text(text)
    ca, cert, key = (str(tmp_path / f"{name}.pem") for name in files)
    with cluster(tmp_path, "--tls-ca-file", ca, "--tls-cert", cert, "--tls-key", key) as address:
        assert address.startswith("tls://")
        security = credentials_of(Path(ca), Path(cert), Path(key))
        with Client(address, security=security, timeout="30s") as client:  # type: ignore[no-untyped-call]
            client.wait_for_workers(1, timeout=60)
        few = ["--set", "mechanism=log", "--set", "alpha=0.1", "--set", "beta=0.01"]
        command = ["study", "costs", "--cases", "case5", "--draws", "1", *few, "--scheduler", address, "--json"]
        with_files = ["--tls-ca", ca, "--tls-cert", cert, "--tls-key", key, "--out", str(tmp_path / "a")]
        done = CliRunner().invoke(app, [*command, *with_files])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["run"] == 1
        without = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "b")])
        assert without.exit_code == 2
        monkeypatch.setattr("gridveil.study.cluster.PATIENCE", "1s")
        with pytest.raises(StudyError, match="no Dask scheduler answers"):
            run_study(
                COUNT, tmp_path / "c", draws=1, scheduler=address,
                security=Security.temporary(),  # type: ignore[no-untyped-call]
            )  # fmt: skip
