# Shared by the scripts beside it: where things are, what is installed, and how to say what happens.
# Everything is said on standard error; standard output belongs to results.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cache=${GANTRY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gantry}
state=${GANTRY_STATE:-$root/.gantry}
export GANTRY_CACHE=$cache GANTRY_STATE=$state
export PYTHONPATH=$root:$root/offchain/sdk${PYTHONPATH:+:$PYTHONPATH}
# Modules come from this clone, whatever folder the command is given in.
export PYTHONSAFEPATH=1
# What is compiled while it runs is kept for all clones with the same sources.
export NUMBA_CACHE_DIR=${NUMBA_CACHE_DIR:-$cache/compiled}

say() { printf '%s\n' "$*" >&2; }

step() { printf '%-22s %s\n' "$1" "$2" >&2; }

die() { # message, what to do
  say "error: $1"
  if [ $# -gt 1 ]; then say "  $2"; fi
  exit 1
}

is_root() { [ "$(id -u)" = 0 ]; }

has_apt() { command -v apt-get >/dev/null 2>&1; }

apt_install() { # what for, packages...
  local why=$1 log
  shift
  has_apt || die "$why needs these packages: $*" "Install them with your distribution's package manager, then run this again."
  is_root || die "$why needs packages that are not installed" "Run: sudo apt-get update && sudo apt-get install -y --no-install-recommends $*"
  step "$why" "installing $*"
  mkdir -p "$cache"
  log=$cache/apt.log
  # Another process, such as unattended-upgrades, may hold the locks for a while. Where it holds that of the lists, it has
  # just updated them.
  if ! {
    apt-get update || true
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"
  } >"$log" 2>&1 </dev/null; then
    tail -n 5 "$log" >&2
    die "apt-get could not install $*" "Its output is in $log. Correct the cause, then run this again."
  fi
}

find_python() { # sets python
  local candidate
  for candidate in ${GANTRY_PYTHON:+"$GANTRY_PYTHON"} python3 python3.13 python3.12 python3.11 /usr/bin/python3; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      python=$candidate
      return
    fi
  done
  apt_install "Python 3.11 or newer" python3 python3-venv
  python=python3
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    die "this distribution's Python is older than 3.11" "Install Python 3.11 or newer and set GANTRY_PYTHON to it."
}

# Named after the locks and the interpreter.
name_venv() { # lock file...; sets venv
  local key
  find_python
  key=$({ cat "$@" && "$python" -c 'import sys, platform; print(sys.version, sys.base_prefix, platform.machine())'; } |
    sha256sum | cut -c1-16)
  venv=$cache/venv-$key
}

# What scripts/up needs: the packages of schedulers, and those with which gateways write statements as PDF.
network_locks=("$root/requirements-scheduling.lock" "$root/requirements-statements.lock")

# The environment of scripts/up.
ensure_network_venv() { # [command...]; sets venv
  ensure_venv "${network_locks[@]}" -- "$@"
}

# The environment of scripts/up, which can do everything, if it is there; else the small one.
ensure_any_venv() { # sets venv
  name_venv "${network_locks[@]}"
  if [ ! -e "$venv/.complete" ]; then ensure_venv "$root/requirements.lock"; fi
}

# An environment from lock files: it never changes once it is complete. While packages are installed, the command runs
# beside it; what it fails at is tried again, and reported, by whoever needs it.
ensure_venv() { # lock file..., [-- command...]; sets venv
  local locks=() beside= names
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    locks+=("$1")
    shift
  done
  if [ $# -gt 0 ]; then shift; fi
  names=$(basename -a "${locks[@]}" | paste -sd ' ')
  name_venv "${locks[@]}"
  if [ -e "$venv/.complete" ]; then return; fi
  mkdir -p "$cache"
  # One writer at a time; the descriptor closes with the subshell.
  (
    flock 9
    if [ -e "$venv/.complete" ]; then exit 0; fi
    rm -rf "$venv" && mkdir -p "$venv"
    # Locks of extras repeat the packages that all have.
    awk '/^[^ #]/ { named = !seen[$1]++ } named' "${locks[@]}" >"$venv/lock"
    if [ $# -gt 0 ]; then
      "$@" >/dev/null 2>&1 </dev/null 9>&- &
      beside=$!
    fi
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
      apt_install "Python environment" python3-venv
    fi
    step "Python environment" "installing $(grep -c '==' "$venv/lock") packages from $names"
    # The interpreter's own pip, if it can install elsewhere: to install another one takes seconds.
    local make=("$python" -m venv) pip=("$venv/bin/python" -m pip)
    if "$python" -c 'import sys; from pip import __version__ as v; sys.exit(int(v.split(".")[0]) < 23)' 2>/dev/null; then
      make+=(--without-pip) pip=("$python" -m pip --python "$venv/bin/python")
    fi
    "${make[@]}" "$venv" >"$cache/venv.log" 2>&1 ||
      die "the Python environment could not be made in $venv" "The reason is in $cache/venv.log."
    if ! install_packages "${pip[@]}"; then
      grep -m 5 -i error "$cache/venv.log" >&2 || tail -n 5 "$cache/venv.log" >&2
      die "the packages of $names could not be installed" \
        "The output of pip is in $cache/venv.log. Is the package index reachable?"
    fi
    if [ -n "$beside" ]; then wait "$beside" || true; fi
    touch "$venv/.complete"
  ) 9>"$cache/venv.lock" || exit 1
}

# Installs the packages of $venv/lock. What the scheduler's loops are compiled with comes first, so that they are compiled
# while the other packages are installed. Modules are compiled to bytecode when they are first imported; most never are.
install_packages() { # pip...
  local part
  for part in 1 0; do
    awk -v first="$part" '/^[^ #]/ { named = ($0 ~ /^(llvmlite|numba|numpy|pyyaml)==/) == first } named' "$venv/lock" >"$venv/part"
    if ! "$@" install --disable-pip-version-check --no-input --no-compile --require-hashes --no-deps \
      -r "$venv/part" >>"$cache/venv.log" 2>&1 </dev/null; then return 1; fi
    if [ "$part" = 1 ] && grep -q '^numba==' "$venv/part"; then compile_ahead 9>&-; fi
  done
}

# Compiles the scheduler's loops, if nobody has yet, beside what comes next: a scheduler that starts meanwhile waits for it.
compile_ahead() { # sets compiling
  "$venv/bin/python" -m offchain.services.compiling >/dev/null 2>"$cache/compiling.log" </dev/null &
  compiling=$!
}

ensure_docker_installed() {
  if [ -n "${DOCKER_HOST:-}" ] || [ -S /var/run/docker.sock ] || command -v dockerd >/dev/null 2>&1; then return; fi
  if [ -x /usr/sbin/dockerd ]; then return; fi
  apt_install "Docker engine" docker.io
}

# What the images of examples/service.yaml, rental.yaml and pod.yaml are made from. Without them only jobs can be shown.
ensure_example_programs() {
  if command -v busybox >/dev/null 2>&1 && command -v dropbear >/dev/null 2>&1; then return; fi
  if [ -x /usr/sbin/dropbear ] && [ -x /bin/busybox ]; then return; fi
  if has_apt && is_root; then (apt_install "Programs of examples" busybox-static dropbear-bin) || true; fi
}

# The browser of the console's tests and benchmarks; sets chromium.
ensure_chromium() {
  command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || apt_install "Browser" chromium
  chromium=$(command -v chromium || command -v chromium-browser)
}

# A registry for the tests of images. Its package is only unpacked: installed, it would start a service on this machine.
ensure_image_registry() {
  local folder=$cache/docker-registry
  export PATH=$PATH:$folder/usr/bin
  if command -v docker-registry >/dev/null 2>&1 || ! has_apt; then return; fi
  step "Image registry" "unpacking docker-registry"
  rm -rf "$folder.new" && mkdir -p "$folder.new"
  (
    cd "$folder.new"
    apt-get download docker-registry || { is_root && apt-get update && apt-get download docker-registry; }
    dpkg -x docker-registry_*.deb . && rm -f docker-registry_*.deb
  ) >"$cache/apt.log" 2>&1 </dev/null || { say "note: there is no docker-registry, so its tests are skipped ($cache/apt.log)"; return; }
  rm -rf "$folder" && mv "$folder.new" "$folder"
}

# Prometheus and Alertmanager, for scripts/up --monitoring and tests of alerts. Their packages are only unpacked: installed,
# they would start services on this machine.
ensure_prometheus() {
  local folder=$cache/prometheus
  export PATH=$PATH:$folder/usr/bin
  if ! command -v prometheus >/dev/null 2>&1; then
    if ! has_apt; then return; fi
    step "Monitoring" "unpacking prometheus and prometheus-alertmanager"
    rm -rf "$folder.new" && mkdir -p "$folder.new"
    (
      cd "$folder.new"
      set -- prometheus prometheus-alertmanager
      apt-get download "$@" || { is_root && apt-get update && apt-get download "$@"; }
      for package in prometheus*.deb; do dpkg -x "$package" .; done
      rm -f prometheus*.deb
    ) >"$cache/apt.log" 2>&1 </dev/null || { say "note: there is no Prometheus, so its tests are skipped ($cache/apt.log)"; return; }
    rm -rf "$folder" && mv "$folder.new" "$folder"
  fi
  # Debian's Alertmanager reads its templates there and nowhere else.
  local templates=usr/share/prometheus/alertmanager
  if [ -d "$folder/$templates" ] && ! [ -e "/$templates/default.tmpl" ]; then
    if is_root; then
      install -D -m 644 -t "/$templates" "$folder/$templates"/*.tmpl
    else
      say "note: Alertmanager needs /$templates; install the package prometheus-alertmanager, or be root"
    fi
  fi
}

# gVisor, for the tests of pods that run under it. Its package is only unpacked: it is for no engine but that of the tests.
ensure_runsc() {
  local folder=$cache/runsc
  export PATH=$PATH:$folder/usr/bin
  if command -v runsc >/dev/null 2>&1 || ! has_apt; then return; fi
  step "gVisor" "unpacking runsc"
  rm -rf "$folder.new" && mkdir -p "$folder.new"
  (
    cd "$folder.new"
    apt-get download runsc || { is_root && apt-get update && apt-get download runsc; }
    dpkg -x runsc_*.deb . && rm -f runsc_*.deb
  ) >"$cache/apt.log" 2>&1 </dev/null || { say "note: there is no runsc, so its tests are skipped ($cache/apt.log)"; return; }
  rm -rf "$folder" && mv "$folder.new" "$folder"
}

# Compose, and slirp4netns, through which the engine of the tests of docker-compose.yml reaches package registries.
ensure_compose() {
  local packages=()
  if ! docker compose version >/dev/null 2>&1 && ! command -v docker-compose >/dev/null 2>&1; then packages+=(docker-compose); fi
  if ! command -v slirp4netns >/dev/null 2>&1; then packages+=(slirp4netns); fi
  if [ "${#packages[@]}" = 0 ] || ! has_apt || ! is_root; then return; fi
  (apt_install "Compose" "${packages[@]}") || say "note: there is no ${packages[*]}, so the tests of docker-compose.yml are skipped"
}

# PostgreSQL's programs, for tests that start a server of their own. Its package would start one for everybody: not here.
ensure_postgres_installed() {
  local found
  for found in /usr/lib/postgresql/*/bin/initdb; do
    if [ -x "$found" ]; then return; fi
  done
  if command -v initdb >/dev/null 2>&1; then return; fi
  if is_root && has_apt && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common
    printf 'create_main_cluster = false\n' >/etc/postgresql-common/createcluster.conf
  fi
  apt_install "PostgreSQL" -o Dpkg::Options::=--force-confold postgresql
}

ensure_rust() {
  # Scripts that are called from here on keep the Python that was found before PATH changes, and so its environments.
  find_python
  GANTRY_PYTHON=$("$python" -c 'import sys; print(sys.executable)')
  # The distribution's compiler goes before any rustup shim: it carries the sources that the wasm build needs.
  export GANTRY_PYTHON PATH=/usr/bin:$PATH
  local tool sysroot
  for tool in cargo rustc clang protoc wasm-opt wasm-ld; do
    if ! command -v "$tool" >/dev/null 2>&1; then install_rust; return; fi
  done
  sysroot=$(rustc --print sysroot)
  if ! [ -d "$sysroot/lib/rustlib/src/rust/library" ] && ! [ -d /usr/lib/rustlib/src/rust/library ]; then install_rust; fi
}

install_rust() {
  apt_install "Rust toolchain" rustc-web cargo-web rust-web-src lld clang libclang-dev protobuf-compiler binaryen
}

ensure_node_from_source() {
  ensure_rust
  step "Node" "building from source; the first time takes about half an hour"
  mkdir -p "$cache"
  CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target} "$root/scripts/release-chain" --build >"$cache/from-source.out" ||
    die "the node could not be built" "The compiler's messages are above."
  tail -n 1 "$cache/from-source.out" >"$cache/from-source.json"
}
