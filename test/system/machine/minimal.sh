#!/usr/bin/env bash
# The package on a Debian that has nothing: no procps, sudo, man, curl or Node, and systemd as PID 1.
# Installs it, types docs/install.md as it stands, decides something, edits a rule, upgrades, and
# purges; what is left then is what the page says. `npm run test:package` runs it with packages of two
# versions; see nspawn.sh for what it needs.
#
#   test/system/machine/minimal.sh FOLDER OLD.deb NEW.deb
#
# What it said last stands in minimal.txt.
include=systemd-sysv
rootfs=minimal
# shellcheck source=test/system/machine/container.sh
. "$(dirname "$0")/container.sh"
# shellcheck source=test/system/machine/manual.sh
. "$repository/test/system/machine/manual.sh"
debs=("$2" "$3")

alone() { # with the network, and nothing running
  "$tools/usr/bin/systemd-nspawn" --quiet --register=no --keep-unit --console=pipe -D "$root" \
    --setenv=DEBIAN_FRONTEND=noninteractive bash -c "$1" </dev/null
}
same() { # what, wanted, found
  if [ "$2" = "$3" ]; then echo "ok    $1: $3"; else
    echo "FAIL  $1: ${3:-nothing}; wanted: ${2:-nothing}"
    failed=1
  fi
}
# All files but those of the running system, of its timers, and of apt and dpkg.
files() {
  (cd "$root" && find . -xdev \( -path ./run -o -path ./tmp -o -path ./var/tmp -o -path ./proc \
    -o -path ./sys -o -path ./dev -o -path ./root -o -path ./var/lib/dpkg -o -path ./var/lib/apt \
    -o -path ./var/cache -o -path ./var/log \) -prune -o -printf '%P\n' |
    grep -vE '^var/lib/systemd/timers(/stamp-([^s]|s[^e])[^/]*)?$' | sort)
}
alone 'dpkg --purge selvedge
  rm -rf /etc/selvedge /var/{lib,backups}/selvedge* /var/lib/systemd/timers/stamp-selvedge* \
    /etc/systemd/system/{,*.wants/}selvedge*' >/dev/null 2>&1
same 'nothing else is there' '' "$(alone 'for program in ps pgrep pkill sudo man npm node curl sqlite3 \
  python3 dbus-daemon less; do command -v $program; done; test ! -e /bin/kill || echo kill')"
files >before
for at in 0 1; do cp "${debs[at]}" "$root/root/$at.deb"; done

# ---- Installed ----------------------------------------------------------------------------------
boot
until_is 'the install says what is next' '^Next: selvedge init' inside apt-get install --yes /root/0.deb
echo 'install.md: apt install' >>typed
old=$(operator --version)
until_is 'nothing runs yet' '^inactive$' inside systemctl is-active selvedge.service
until_is 'systemd finds nothing wrong with the units' '^$' \
  inside systemd-analyze verify selvedge.service selvedge.socket selvedge-backup.timer selvedge-plane.service
inside systemd-run --quiet --unit=remote selvedge reference --keys /run/remote.json \
  --webhook http://127.0.0.1:8790/webhooks --set world.styles=20 --set life.ordersPerMinute=60 \
  --set life.packAfter=1s
until_is 'reference' '"urls"' inside cat /run/remote.json
key() { inside /opt/selvedge/node_modules/.bin/node -p "const k = require('/run/remote.json'); $1"; }

# ---- Configured ---------------------------------------------------------------------------------
account="s|https://systemkey.example.com/api/v1|$(key 'k.urls.v1')|"
account+="; s|--client-id erp|--client-id $(key k.keys.plain.clientId)|"
typed install.md 'THE-CLIENT-SECRET' "s|THE-CLIENT-SECRET|$(key k.keys.plain.clientSecret)|" \
  "s|whsec_[^\"]*|$(key k.webhookSecret)|"
typed install.md 'selvedge init' "$account"
typed install.md 'rules check'
typed install.md 'enable --now selvedge.socket'
until_is 'ready' '^active$' shown ActiveState
decided() { operator decisions verify | grep -oE 'whole, [0-9]+' | grep -oE '[0-9]+'; }
until_is 'it decides' '^[1-9]' decided
typed install.md 'selvedge doctor'

# ---- A rule is edited, and the package upgraded -------------------------------------------------
rules=/etc/selvedge/rules/settings.yaml
rule_set() { operator rules check | grep -oE 'rule set [0-9a-f]{12}' | cut -d' ' -f3; }
inside sed -i 's/accept_up_to: { DKK: [0-9]*/accept_up_to: { DKK: 14999/' "$rules"
at=$(inside date '+%F %T')
inside systemctl reload selvedge.service || failed=1
edited=$(rule_set)
until_is 'the edited rule counts, without procps' "\"to\":\"$edited" \
  inside journalctl -t selvedge -o cat --since "$at" --grep='other rules are in force'
sum=$(inside sha256sum "$rules")
pid=$(shown MainPID)
until_is 'the upgrade' '^Setting up selvedge' inside apt-get install --yes /root/1.deb
same 'the version is another one' no "$([ "$(operator --version)" = "$old" ] && echo yes || echo no)"
until_is 'the daemon is a new process' '^[0-9]+$' bash -c "
  now=\$(nsenter -t $leader -m -p -- systemctl show selvedge -p MainPID --value)
  [ \"\$now\" != $pid ] && [ \"\$now\" != 0 ] && echo \$now"
until_is 'ready' '^active$' shown ActiveState
same 'the edited rule is as it was' "$sum" "$(inside sha256sum "$rules")"
same 'and it counts' "$edited" "$(rule_set)"
before=$(decided)
more() { local now; now=$(decided); [ "$now" -gt "$before" ] && echo "more than $before: $now"; }
until_is 'it decides on, and all decisions are there' '^more' more
until_is 'a backup' 'checked' operator backup create

# ---- Purged -------------------------------------------------------------------------------------
inside systemctl stop remote
until_is 'the purge says what is kept' '^Kept: /var/lib/selvedge, /var/backups/selvedge, and /etc/selvedge' \
  inside apt-get purge --yes selvedge
until_is 'nothing of it runs' '^0$' bash -c \
  "nsenter -t $leader -m -p -- grep -lsa 'selvedg[e]' /proc/[0-9]*/cmdline | wc -l"
files >after
left=$(comm -13 before after)
same 'what is left besides data, backups and configuration' '' \
  "$(grep -vE '^(etc|var/lib|var/backups)/selvedge(/|$)' <<<"$left" || true)"
for path in etc/selvedge/{selvedge.yaml,rules/settings.yaml,secrets/client-secret} var/lib/selvedge/mirror.db; do
  same "$path is kept" "$path" "$(grep -xF "$path" <<<"$left" || true)"
done
until_is 'the backup is kept' 'backup-.*json' inside ls /var/backups/selvedge
same 'the edited rule is kept' "$sum" "$(inside sha256sum "$rules")"
[ "$failed" = 0 ] && echo 'all as documented'
exit "$failed"
