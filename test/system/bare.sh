#!/usr/bin/env bash
# Runs both commands of the README in a Debian that has Node and npm and nothing else, and prints
# how long each took: `npm run test:bare [-- folder]`. Takes what is committed. Needs root,
# debootstrap, git, Node, npm, and room for 2 GB.
#
# How this machine reaches its registry (npm's user and global configuration, proxies, certificates)
# reaches into the root as well; the root is removed at the end.
set -euo pipefail
cd "$(dirname "$0")/../.."
for program in debootstrap git node npm unshare; do
  command -v "$program" >/dev/null || { echo "bare: $program is missing" >&2; exit 1; }
done
[ "$(id -u)" -eq 0 ] || { echo "bare: debootstrap and chroot need root" >&2; exit 1; }

work=$(mktemp -d "${1:-${TMPDIR:-/tmp}}/bare-XXXXXX")
root="$work/root"
trap 'rm -rf --one-file-system "$work"' EXIT
. /etc/os-release
suite=${BARE_SUITE:-$VERSION_CODENAME}
mirror=${BARE_MIRROR:-http://deb.debian.org/debian}

# Runs a step and prints its time; its output goes to a file, which is shown when it fails.
step() {
  local name=$1 from=$SECONDS
  shift
  if ! "$@" >"$work/log" 2>&1; then
    tail -n "${BARE_LINES:-150}" "$work/log"
    printf 'FAILED %-34s %5d s\n' "$name" $((SECONDS - from))
    exit 1
  fi
  printf 'ok     %-34s %5d s\n' "$name" $((SECONDS - from))
}

# In namespaces of its own, so that nothing of it stays mounted or running.
inside() {
  local env=(HOME=/root PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 CI=true) name
  for name in NODE_EXTRA_CA_CERTS HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy \
    $(compgen -e npm_config_registry || true); do
    [ -z "${!name-}" ] || env+=("$name=${!name}")
  done
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child sh -c '
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount -t tmpfs tmpfs "$1/tmp"
    root=$1; shift
    exec chroot "$root" "$@"' sh "$root" env -i "${env[@]}" sh -c "cd /root/selvedge && $1"
}

copy_in() {
  [ ! -e "$1" ] || { mkdir -p "$root$(dirname "$2")" && cp -rLT "$1" "$root$2"; }
}

furnish() {
  local node npm
  node=$(node -p process.execPath)
  npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
  copy_in "$node" /usr/local/bin/node
  copy_in "$npm" /usr/local/lib/node_modules/npm
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
  copy_in "$(npm config get userconfig)" /root/.npmrc
  copy_in "$(npm config get globalconfig)" /usr/local/etc/npmrc
  local file
  for file in "${NODE_EXTRA_CA_CERTS:-}" "$(npm config get cafile)"; do
    case $file in /*) copy_in "$file" "$file" ;; esac
  done
  copy_in /etc/resolv.conf /etc/resolv.conf
  copy_in /etc/hosts /etc/hosts
  mkdir "$root/root/selvedge"
  git archive HEAD | tar -xf - -C "$root/root/selvedge"
}

has_nothing_else() {
  local found=no program
  for program in git python3 curl wget sqlite3 jq gcc make chromium systemctl; do
    if chroot "$root" sh -c "command -v $program"; then found=yes; fi
  done
  [ "$found" = no ]
}

# What the README promises of the first command: the stock, then decisions. SIGTERM stands for Ctrl-C,
# which a shell keeps from what it runs in the background.
start='npm start >/tmp/demo.log 2>&1 & npm=$!
  for second in $(seq 1 120); do
    grep -q "stock: complete" /tmp/demo.log && grep -q "delivery [0-9]*: " /tmp/demo.log && break
    sleep 1
  done
  cat /tmp/demo.log
  grep -q "delivery [0-9]*: " /tmp/demo.log || exit 1
  for process in /proc/[0-9]*; do
    case $(tr "\0" " " 2>/dev/null <"$process/cmdline") in
      "node bin/selvedge.mjs demo "*) kill -TERM "${process#/proc/}" ;;
    esac
  done
  wait "$npm"'

step "debootstrap $suite" debootstrap --variant=minbase "$suite" "$root" "$mirror"
step "Node $(node -v), npm $(npm -v), sources" furnish
step "nothing else is there" has_nothing_else
step "npm ci" inside "npm ci"
step "npm start, to the first decision" inside "$start"
step "rm -rf node_modules, npm ci" inside "rm -rf node_modules && npm ci"
step "npm test" inside "npm test"
grep -E '^ *(Test Files|Tests|Duration) ' "$work/log" || true
du -sh --exclude=./root/selvedge "$root" | sed "s|$root|the root without the checkout|"
