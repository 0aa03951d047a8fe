# The command `gridveil`, run by a user without rights: docker build -t gridveil . ; see docs/installing.md
ARG PYTHON=3.12

# What builds is left behind: neither the sources nor pip's cache are in the image that runs.
FROM python:${PYTHON}-slim AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE CHANGELOG.md ./
COPY scripts/metadata_hook.py scripts/build_native.py scripts/
COPY native native
COPY src src
# No compiler is in this image: pip fetches the wheel `ziglang` for the build alone, 101 MB, and leaves it here.
RUN python -m venv /opt/gridveil \
    && GRIDVEIL_NATIVE=1 /opt/gridveil/bin/python -m pip install --no-cache-dir --disable-pip-version-check -c constraints.txt '.[verify]'

FROM python:${PYTHON}-slim
COPY --from=build /opt/gridveil /opt/gridveil
# The user owns nothing but the folder that is mounted at /work, and the one of the ledger.
RUN useradd --uid 10001 --no-create-home --home-dir /ledger --shell /usr/sbin/nologin gridveil \
    && install -d -o gridveil -g gridveil -m 700 /ledger /work
ENV PATH=/opt/gridveil/bin:$PATH \
    HOME=/ledger \
    XDG_DATA_HOME=/ledger \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUTF8=1
USER 10001:10001
WORKDIR /work
# a ledger that vanished with its container would forget what was spent
VOLUME ["/ledger"]
ENTRYPOINT ["gridveil"]
CMD ["--help"]
