#!/usr/bin/env bash
# Holds the units to systemd's own judgement: "verify" must say nothing at all (it ends with 0 even
# for a misspelt directive), and the exposure of each service must be 1.5 or less. The drop-ins that
# the documents show are verified with them.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v systemd-analyze >/dev/null; then
  echo "check-units: systemd-analyze is missing (Debian: apt-get install systemd)" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# "verify" wants programs that are there, and an instance instead of a template.
for unit in systemd/*.service systemd/*.socket systemd/*.timer; do
  name=$(basename "$unit" | sed 's/@\./@acme./')
  sed -e "s|/opt/selvedge/node_modules/.bin/node|/bin/true|" \
    -e "s|^ExecStart=/etc/selvedge.*/backup-copy |ExecStart=/bin/true |" \
    -e "s|^Documentation=.*||" "$unit" >"$work/$name"
done
# A template's socket has its address in a drop-in.
sed -i 's|^\[Socket\]|[Socket]\nListenStream=127.0.0.1:8800|' "$work/selvedge@acme.socket"
# A block of a document that begins with the path of a drop-in is that drop-in.
awk -v work="$work" '
  /^```/ { file = ""; first = /^```ini/; next }
  first && match($0, /system\/[^ ]+\.d\//) {
    name = substr($0, RSTART + 7)
    folder = name
    sub(/\/[^\/]*$/, "", folder)
    system("mkdir -p " work "/" folder)
    file = work "/" name
  }
  { first = 0 }
  file { print > file }' docs/*.md docs/*/*.md
[ -e "$work/selvedge.service.d" ] || { echo "check-units: no drop-in was found in docs/" >&2; exit 1; }
said=$(systemd-analyze verify "$work"/*.{service,socket,timer} 2>&1) || true
if [ -n "$said" ]; then
  echo "systemd-analyze verify:" >&2
  echo "$said" >&2
  exit 1
fi
failed=no
for unit in "$work"/*.service; do
  if ! report=$(systemd-analyze security --offline=true --threshold=15 --no-pager "$unit" 2>&1); then
    failed=yes
  fi
  grep 'Overall exposure' <<<"$report" | sed 's/^[^O]*//'
done
[ "$failed" = no ] || { echo "check-units: exposure above 1.5" >&2; exit 1; }
