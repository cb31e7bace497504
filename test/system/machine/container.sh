# A small Debian under systemd-nspawn, for the scripts beside this file, which source it with the
# folder to work in as first argument. `install_checkout` puts this checkout into it as
# docs/install.md says; `boot` starts it. Then `inside` runs a command in it as root, `operator` runs
# `selvedge` as the user of the service, `shown` gives a property of the unit, and `until_is` waits
# for what a command must say.
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
work=${1:-/tmp/selvedge-nspawn}
mirror=${MIRROR:-http://deb.debian.org/debian}
suite=${SUITE:-bookworm}
# What is there besides a minimal Debian; another one lies in another folder.
include=${include:-systemd,systemd-sysv,dbus,procps,curl,ca-certificates,libstdc++6,sqlite3}
root=$work/${rootfs:-rootfs}
tools=$work/tools
mkdir -p "$work"
cd "$work"

if ! [ -x "$tools/usr/bin/systemd-nspawn" ]; then
  apt-get download -qq debootstrap systemd-container
  for package in ./*.deb; do dpkg -x "$package" "$tools"; done
fi
export LD_LIBRARY_PATH=$tools/usr/lib/x86_64-linux-gnu/systemd
if ! [ -e "$root/etc/os-release" ]; then
  # In a space of its own: a /proc that it leaves mounted would be taken for the container's.
  DEBOOTSTRAP_DIR=$tools/usr/share/debootstrap unshare --mount \
    "$tools/usr/sbin/debootstrap" --no-check-gpg \
    --variant=minbase --include="$include" "$suite" "$root" "$mirror" >debootstrap.log
fi


# As far as no service manager is needed; `let_users_in` does the rest.
install_checkout() {
  rm -rf "$root"/opt/selvedge*
  mkdir -p "$root/opt/selvedge-0.1.0"
  for part in bin src config migrations systemd docs package.json node_modules; do
    cp -a "$repository/$part" "$root/opt/selvedge-0.1.0/"
  done
  ln -sfn /opt/selvedge-0.1.0 "$root/opt/selvedge"
  install_beside
}

# All but the program itself.
install_beside() {
  rm -rf "$root"/etc/selvedge "$root"/var/lib/selvedge
  mkdir -p "$root/etc/selvedge"
  install -D -m 644 "$repository/systemd/sysusers.conf" "$root/usr/lib/sysusers.d/selvedge.conf"
  install -D -m 644 "$repository/systemd/tmpfiles.conf" "$root/usr/lib/tmpfiles.d/selvedge.conf"
  cp "$repository"/systemd/*.{service,socket,timer} "$root/etc/systemd/system/"
  cat >"$root/etc/selvedge/selvedge.yaml" <<'YAML'
service:
  v1:
    baseUrl: http://127.0.0.1:9/api/v1
    login: { clientId: erp, clientSecret: { credential: client-secret } }
listener: { secrets: [{ secret: { credential: webhook-secret } }] }
rules: { directory: /etc/selvedge/rules }
store: { backup: { directory: /var/backups/selvedge } }
YAML
  cp -r "$repository/config/rules" "$root/etc/selvedge/rules"
  mkdir -p "$root/etc/selvedge/secrets"
  printf %s canary-client-secret >"$root/etc/selvedge/secrets/client-secret"
  printf 'whsec_%s' "$(head -c 24 /dev/zero | base64)" >"$root/etc/selvedge/secrets/webhook-secret"
  # Shorter times, so that the watchdog can be waited for.
  mkdir -p "$root/etc/systemd/system/selvedge.service.d"
  printf '[Service]\nWatchdogSec=10\n' >"$root/etc/systemd/system/selvedge.service.d/test.conf"
}

inside() {
  nsenter -t "$leader" -m -u -i -n -p -- \
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}
operator() { inside runuser -u selvedge -- selvedge "$@"; }
shown() { inside systemctl show selvedge.service -p "$1" --value; }

boot() {
  SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 "$tools/usr/bin/systemd-nspawn" --quiet --register=no \
    --keep-unit --private-network --console=pipe -D "$root" --boot >boot.log 2>&1 </dev/null &
  nspawn=$!
  trap 'kill -TERM $nspawn 2>/dev/null || true; wait $nspawn 2>/dev/null || true' EXIT
  for _ in $(seq 60); do
    # Its first child only sets up; the one that is PID 1 of a space of its own is the container.
    for leader in $(pgrep -P "$nspawn"); do
      grep -qsP '^NSpid:.*\t1$' "/proc/$leader/status" && break 2
    done
    sleep 0.5
  done
  for _ in $(seq 120); do
    case $(inside systemctl is-system-running 2>/dev/null || true) in running | degraded) break ;; esac
    sleep 0.5
  done
  echo "systemd $(inside systemctl --version | head -1 | cut -d' ' -f2), $(inside systemctl is-system-running || true)"
  inside ip link set lo up 2>/dev/null || inside ifconfig lo up 2>/dev/null || true
}

let_users_in() {
  inside systemd-sysusers
  inside systemd-tmpfiles --create
  inside chgrp -R selvedge /etc/selvedge
  inside chmod 600 /etc/selvedge/secrets/client-secret /etc/selvedge/secrets/webhook-secret
  inside ln -sfn /opt/selvedge/bin/selvedge.mjs /usr/local/bin/selvedge
  inside ln -sfn /opt/selvedge/node_modules/.bin/node /usr/local/bin/node
}

failed=0
until_is() { # what, wanted pattern, command…
  local what=$1 pattern=$2 found=''
  shift 2
  for _ in $(seq 120); do
    found=$("$@" 2>&1 || true)
    if grep -qE "$pattern" <<<"$found"; then
      echo "ok    $what: $(grep -m 1 -E "$pattern" <<<"$found" | cut -c 1-300)"
      return 0
    fi
    sleep 0.5
  done
  echo "FAIL  $what: $found"
  failed=1
}
