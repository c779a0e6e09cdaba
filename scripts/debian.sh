# Debian packages for private folders: sourced by the scripts here, never run by itself. Nothing is installed on the
# machine, and apt's own lists and state stay untouched: a second apt lives in $work for the time of the fetch.

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 2
}

# Sets cache, the folder where everything fetched is kept.
open_cache() {
    for tool in apt-get apt-cache dpkg flock; do
        command -v "$tool" >/dev/null || fail "needs $tool: this script works on Debian and its relatives"
    done
    cache=${VERBSGUARD_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/verbsguard}
    mkdir -p "$cache" || fail "cannot write to $cache; set VERBSGUARD_CACHE to a folder of yours"
    cache=$(cd "$cache" && pwd)
}

# The suite this machine runs, as its os-release names it.
own_suite() {
    # shellcheck disable=SC1091
    (. /etc/os-release && echo "${VERSION_CODENAME-}")
}

find_mirror() {
    mirror=${VERBSGUARD_MIRROR-}
    [ -n "$mirror" ] || mirror=$(
        apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
            awk -v c="$(own_suite)" '$1 == c && $2 == "main" { print $3; exit }'
    )
    [ -n "$mirror" ] || fail "no Debian mirror in this machine's apt sources; set VERBSGUARD_MIRROR=URL"
}

# apt_for SUITE: sets work, a temporary folder, and makes apt-get and apt-cache speak of that suite alone.
apt_for() {
    suite=$1
    find_mirror
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    [ -r "$keyring" ] || fail "needs Debian's signing keys: apt-get install debian-archive-keyring"
    work=$(mktemp -d "$cache/fetch-XXXXXX")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM HUP
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/state" "$work/debs" "$work/root" "$work/parts"
    : >"$work/status"
    echo "deb [signed-by=$keyring arch=$(dpkg --print-architecture)] $mirror $suite main" >"$work/sources.list"
    cat >"$work/apt.conf" <<CONF
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "$work/parts";
Dir::Etc::preferencesparts "$work/parts";
Dir::Etc::preferences "/dev/null";
Dir::State "$work/state";
Dir::State::Lists "$work/lists";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
CONF
    [ "$(id -u)" -ne 0 ] || echo 'APT::Sandbox::User "root";' >>"$work/apt.conf"
    export APT_CONFIG="$work/apt.conf"
    if ! apt-get update -qq >"$work/log" 2>&1 || grep -q '^[WE]: .*Failed to fetch' "$work/log"; then
        cat "$work/log" >&2
        fail "cannot read suite $suite from $mirror: is there a network? A mirror that has it can be named with VERBSGUARD_MIRROR=URL"
    fi
}

# run_apt COMMAND...: quiet, unless it fails.
run_apt() {
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        fail "cannot download from $mirror: is there a network?"
    }
}

# fetch PACKAGE...: these packages alone, into $work/debs.
fetch() {
    (cd "$work/debs" && run_apt apt-get download -qq "$@") || exit
}

# fetch_whole PACKAGE...: with all they depend on, down to the C library: what they need to run in a folder of their own.
fetch_whole() {
    run_apt apt-get install -qq -y --download-only --no-install-recommends "$@"
    mv "$work/cache/archives"/*.deb "$work/debs"
}

# Unpacks $work/debs into $work/root.
unpack() {
    for deb in "$work/debs"/*.deb; do
        dpkg -x "$deb" "$work/root" || fail "cannot unpack $(basename "$deb") to $cache: is the disk full?"
    done
    # Debian's merged /usr: some packages ship /lib, some /usr/lib. One folder, so one search path.
    for dir in lib lib64; do
        if [ -d "$work/root/$dir" ] && [ ! -L "$work/root/$dir" ]; then
            mkdir -p "$work/root/usr/$dir"
            cp -a "$work/root/$dir/." "$work/root/usr/$dir/"
            rm -rf "${work:?}/root/$dir"
        fi
        [ ! -d "$work/root/usr/$dir" ] || ln -sfn "usr/$dir" "$work/root/$dir"
    done
}
