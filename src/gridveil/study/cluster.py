"""Clusters that studies run on. Whoever can speak to one can run anything on it, and networks travel through it.

A local cluster therefore speaks TLS with credentials that are made for the run and never leave its processes; one that
exists must speak TLS too, or be called insecure by its user.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dask import config
from distributed import Client, LocalCluster
from distributed.security import Security

from gridveil.errors import StudyError

PATIENCE = "10s"
"""How long a scheduler is waited for, at the start and when it is lost."""
_CHOICES = {
    "distributed.admin.tick.limit": "60s",
    "distributed.scheduler.allowed-failures": 1,
    # a solver frees and takes the same memory all the time: giving it back to the system takes a fifth of the time
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 28,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 28,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    # Dask's web pages are plain and for all: they say that the cluster lives, and nothing of what it does
    "distributed.scheduler.http.routes": ["distributed.http.health"],
    "distributed.worker.http.routes": ["distributed.http.health"],
}


def credentials_of(ca: Path | None, cert: Path | None, key: Path | None) -> Security | None:
    """Credentials in files, or `None` where Dask's own configuration is to say."""
    if ca is None and cert is None and key is None:
        return None
    if ca is None or cert is None or key is None:
        raise StudyError("--tls-ca, --tls-cert and --tls-key belong together; give all three")
    return Security(
        tls_ca_file=str(ca), tls_client_cert=str(cert), tls_client_key=str(key), require_encryption=True
    )  # fmt: skip


def credentials(scheduler: str, security: Security | None, insecure: bool) -> Security | None:
    """Credentials for a scheduler that exists, or a refusal before anything is sent to it."""
    if not scheduler.startswith("tls://"):
        if insecure:
            return None
        raise StudyError(
            f"{scheduler} is not encrypted: whoever reaches it can run anything on its workers and here, and read the "
            "networks; start it with TLS and give tls://HOST:PORT (or, to a study, --insecure if only you reach it)"
        )
    security = security or Security()
    try:
        context = security.get_connection_args("client").get("ssl_context")
    except (OSError, ValueError) as error:
        raise StudyError(f"the TLS credentials for {scheduler} cannot be used ({error}); check the files") from None
    if context is None:
        raise StudyError(
            f"{scheduler} wants credentials; give --tls-ca, --tls-cert and --tls-key, or name them in Dask's "
            "configuration"
        )
    return security


@contextmanager
def connected(scheduler: str | None, security: Security | None, workers: int) -> Iterator[Client]:
    """A client of a cluster that exists, or of a local one that ends with the run."""
    with config.set({"distributed.comm.timeouts.connect": PATIENCE, **_CHOICES}):
        if scheduler is not None:
            try:
                client = Client(scheduler, security=security, timeout=PATIENCE)
            except (OSError, ValueError, TypeError, RuntimeError) as error:
                raise StudyError(f"no Dask scheduler answers at {scheduler} ({error}); is it running?") from error
            with client:
                if not client.scheduler_info()["workers"]:
                    raise StudyError(f"the scheduler at {scheduler} has no workers; start some and run again")
                yield client
            return
        with _local(workers) as cluster, Client(cluster) as client:
            yield client


def _local(workers: int) -> LocalCluster:
    """A cluster of processes of this machine; one of them may be killed while they start."""
    security = _temporary()
    try:
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
            security=security,
        )
    except (OSError, RuntimeError) as error:
        raise StudyError(f"the workers cannot be started ({error}); is there memory for them? Run it again") from error


def _temporary() -> Security:
    """Credentials for one run, in memory."""
    try:
        made: Security = Security.temporary()
    except ImportError:
        raise StudyError("studies need cryptography; install gridveil[study]") from None
    return made
