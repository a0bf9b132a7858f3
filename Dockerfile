# Gantry's parts as images, from the distribution's packages. Targets: node, workers, agent, challenge, postgres,
# prometheus, alertmanager.
#   scripts/base-image && docker compose build
# The base has packages of pinned versions and content (scripts/base-image.lock), and all that is needed below. With
# another one, BASE=debian:bookworm-slim for example, what it lacks is installed in the versions of the day.
ARG BASE=gantry-base:bookworm

FROM ${BASE} AS python
RUN dpkg -s ca-certificates python3 python3-venv >/dev/null 2>&1 \
    || { apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*; }

# The released node, checked by its hash.
FROM python AS unpacked
WORKDIR /src
COPY chain/release chain/release
COPY offchain/__init__.py offchain/__init__.py
COPY offchain/devnet offchain/devnet
RUN GANTRY_CACHE=/out python3 -m offchain.devnet.release > /out.txt \
    && install -D "$(sed -n 1p /out.txt)" /node/gantry-node \
    && install -D -m 644 "$(sed -n 2p /out.txt)" /node/gantry-runtime.wasm

FROM ${BASE} AS node
# The node's network layer does not start on a machine that trusts no certificate authority.
RUN dpkg -s ca-certificates >/dev/null 2>&1 \
    || { apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/*; }
COPY --from=unpacked /node/gantry-node /usr/local/bin/gantry-node
COPY --from=unpacked /node/gantry-runtime.wasm /usr/local/share/gantry/gantry-runtime.wasm
COPY scripts/lib-node-container /usr/local/bin/gantry-node-container
RUN useradd --system --uid 10001 --home-dir /var/lib/gantry --create-home --shell /usr/sbin/nologin gantry
USER gantry
VOLUME /var/lib/gantry
EXPOSE 9944 9945 30333
# It compiles its runtime first: on a busy machine, or beside other nodes, that takes longer than usual. Services that wait for it
# start at its first success.
HEALTHCHECK --interval=10s --timeout=3s --start-period=300s --retries=3 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9945"]
ENTRYPOINT ["gantry-node-container"]

# The packages come before the sources, so that an upgrade of the sources alone installs none again.
FROM python AS environment
# The distribution's certificates, with those that the base image adds to them.
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt
COPY requirements.lock /opt/gantry/requirements.lock
RUN python3 -m venv /opt/gantry/venv \
    && /opt/gantry/venv/bin/python -m pip install --no-cache-dir --require-hashes --no-deps -r /opt/gantry/requirements.lock

# The scheduler needs more, and so do the export of spans (docs/tracing.md) and statements as PDF.
FROM environment AS scheduling
COPY requirements-scheduling.lock requirements-tracing.lock requirements-statements.lock /opt/gantry/
RUN /opt/gantry/venv/bin/python -m pip install --no-cache-dir --require-hashes --no-deps \
        -r /opt/gantry/requirements-scheduling.lock -r /opt/gantry/requirements-tracing.lock \
        -r /opt/gantry/requirements-statements.lock

FROM python AS sources
COPY offchain /opt/gantry/offchain
COPY node_agent /opt/gantry/node_agent
COPY examples /opt/gantry/examples
RUN python3 -m compileall -q /opt/gantry/offchain /opt/gantry/node_agent

FROM python AS runtime
ENV PYTHONPATH=/opt/gantry PYTHONUNBUFFERED=1 XDG_STATE_HOME=/var/lib GANTRY_CACHE=/var/lib/gantry/cache
# Workers and agent store their place in the chain with every final block. A scheduler of a new release compiles its kernels
# first, for a minute of processor time.
HEALTHCHECK --interval=15s --timeout=3s --start-period=300s --retries=3 \
    CMD ["bash", "-c", "[ -n \"$(find \"${GANTRY_AGENT_STATE:-/var/lib/gantry}\" -name '*.db*' -mmin -1)\" ]"]

# Scheduler, settler, and every other gantry command.
FROM runtime AS workers
# The second folder is for the index, which the gateway of docker-compose.yml shares with the indexer.
RUN useradd --system --uid 10001 --home-dir /var/lib/gantry --create-home --shell /usr/sbin/nologin gantry \
    && install -d -o gantry -g gantry /var/lib/gantry-index
COPY --from=scheduling /opt/gantry/venv /opt/gantry/venv
COPY --from=sources /opt/gantry /opt/gantry
USER gantry
VOLUME /var/lib/gantry
ENTRYPOINT ["/opt/gantry/venv/bin/python", "-m", "offchain.cli"]

# The agent speaks to the machine's Docker engine through its socket; root in this container is what may open it.
# iptables keeps pods away from the machine: without it they get no network. tini is the init of pods' containers.
FROM runtime AS agent
RUN { dpkg -s iptables tini >/dev/null 2>&1 \
    || { apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends iptables tini \
    && rm -rf /var/lib/apt/lists/*; }; } \
    && mkdir -p -m 700 /var/lib/gantry
COPY --from=environment /opt/gantry/venv /opt/gantry/venv
COPY --from=sources /opt/gantry /opt/gantry
COPY scripts/lib-agent-container /usr/local/bin/gantry-agent-container
VOLUME /var/lib/gantry
ENTRYPOINT ["gantry-agent-container"]

# The index of an operator's network (docs/operations.md). The user `gantry` has the number that it has in the image of the workers:
# by it the server knows them.
FROM ${BASE} AS postgres
RUN { dpkg -s postgresql >/dev/null 2>&1 \
    || { apt-get update \
    && mkdir -p /etc/postgresql-common && echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql \
    && rm -rf /var/lib/apt/lists/*; }; } \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin gantry \
    && install -d -m 700 -o postgres -g postgres /var/lib/postgresql \
    && install -d -m 755 -o postgres -g postgres /run/postgresql
COPY scripts/lib-postgres-container /usr/local/bin/gantry-postgres-container
USER postgres
VOLUME /var/lib/postgresql
HEALTHCHECK --interval=10s --timeout=3s --start-period=300s --retries=3 \
    CMD ["pg_isready", "--quiet", "--host=/run/postgresql", "--dbname=gantry"]
ENTRYPOINT ["gantry-postgres-container"]

# Monitoring (docs/monitoring.md), for machines that reach no image registry. The base has neither package, because only
# these two images need them.
FROM ${BASE} AS prometheus
RUN { dpkg -s prometheus >/dev/null 2>&1 \
    || { apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends prometheus \
    && rm -rf /var/lib/apt/lists/*; }; } \
    && install -d -o prometheus /prometheus
USER prometheus
VOLUME /prometheus
HEALTHCHECK --interval=15s --timeout=3s --start-period=30s --retries=3 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9090 && printf 'GET /-/ready HTTP/1.0\\r\\n\\r\\n' >&3 && head -n 1 <&3 | grep -q ' 200 '"]
ENTRYPOINT ["prometheus"]

FROM ${BASE} AS alertmanager
RUN { dpkg -s prometheus-alertmanager >/dev/null 2>&1 \
    || { apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends prometheus-alertmanager \
    && rm -rf /var/lib/apt/lists/*; }; } \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin gantry \
    && install -d -o gantry -g gantry /alertmanager
# The user of the workers' image: both read the token of alerts.
USER gantry
VOLUME /alertmanager
HEALTHCHECK --interval=15s --timeout=3s --start-period=30s --retries=3 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9093 && printf 'GET /-/ready HTTP/1.0\\r\\n\\r\\n' >&3 && head -n 1 <&3 | grep -q ' 200 '"]
ENTRYPOINT ["prometheus-alertmanager"]

# What the challenge program needs to prove a GPU of NVIDIA (docs/trust.md): Python, numpy and cupy with its libraries of CUDA. The
# program itself comes from the agent, so that the image serves each release of it:
#   docker build --target challenge --iidfile challenge.id . && gantry agent join --challenge-image "$(cat challenge.id)"
FROM python AS challenge
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt
COPY requirements-challenge.lock /opt/challenge/requirements-challenge.lock
RUN python3 -m venv /opt/challenge/venv \
    && /opt/challenge/venv/bin/python -m pip install --no-cache-dir --require-hashes --no-deps -r /opt/challenge/requirements-challenge.lock \
    && /opt/challenge/venv/bin/python -m compileall -q /opt/challenge/venv
ENV PATH=/opt/challenge/venv/bin:/usr/local/bin:/usr/bin:/bin
USER 65534:65534
