#!/usr/bin/env bash
# The manuals, walked by somebody who has nothing but them and a fresh Debian: every shell block of
# docs/install.md, docs/connect.md and docs/operating/ is typed as it stands, in the order in which
# one would; only what is written in capitals, or stands for an address, is filled in. The service is
# the reference service. See nspawn.sh for what it needs, and besides a registry of npm.
#
#   test/system/machine/walk.sh [folder]
#
# What it said last stands in walk.txt; what was typed and answered, in walk.log in the folder.
# shellcheck source=test/system/machine/container.sh
. "$(dirname "$0")/container.sh"
# shellcheck source=test/system/machine/manual.sh
. "$repository/test/system/machine/manual.sh"

# ---- Nothing ------------------------------------------------------------------------------------
rm -rf "$root"/opt/selvedge* "$root"/etc/selvedge* "$root"/var/lib/selvedge* "$root"/var/backups/selvedge \
  "$root"/usr/local/bin/selvedge "$root"/etc/systemd/system/selvedge* "$root"/root/* \
  "$root"/usr/lib/{sysusers,tmpfiles}.d/selvedge.conf "$root"/etc/systemd/system/*.wants/selvedge*
# A proxy on the way to the registry may have a certificate of its own.
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
at_home() { # with the network, which a container of its own does not have
  "$tools/usr/bin/systemd-nspawn" --quiet --register=no --keep-unit --console=pipe -D "$root" \
    --setenv=NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt \
    bash -c "cd /root; set -euo pipefail; $1" </dev/null
}
if ! [ -e "$root/usr/bin/npm" ]; then
  at_home 'apt-get install -qq --no-install-recommends npm' >apt.log 2>&1
fi
for name in selvedge selvedge-new; do
  mkdir -p "$root/root/$name"
  git -C "$repository" ls-files -z | tar -C "$repository" --null -T - -cf - | tar -C "$root/root/$name" -xf -
done
sed -i 's/"version": "0.1.0"/"version": "0.2.0"/' "$root"/root/selvedge-new/package{,-lock}.json

# ---- docs/install.md ----------------------------------------------------------------------------
enter() { at_home "$1"; }
typed install.md 'sources of a release'
enter() { inside env HOME=/root npm_config_offline=true bash -c "cd ${here:-/root}; set -euo pipefail; $1"; }
boot
inside systemd-run --quiet --unit=remote selvedge reference --keys /run/remote.json \
  --webhook http://127.0.0.1:8790/webhooks
until_is 'reference' '"urls"' inside cat /run/remote.json
key() { inside /opt/selvedge/node_modules/.bin/node -p "const k = require('/run/remote.json'); $1"; }
url=$(key 'k.urls.v1')
account="s|https://systemkey.example.com/api/v1|$url|; s|clientId: erp|clientId: $(key k.keys.plain.clientId)|"
typed install.md 'systemd-sysusers'
typed install.md 'THE-CLIENT-SECRET' "s|THE-CLIENT-SECRET|$(key k.keys.plain.clientSecret)|" \
  "s|whsec_[^\"]*|$(key k.webhookSecret)|"
block install.md 'store:' | sed -e "$account" >"$root/etc/selvedge/selvedge.yaml"
typed install.md 'rules check'
inside install -d -m 700 /root/secrets
inside cp /etc/selvedge/secrets/client-secret /root/secrets/client-secret
typed connect.md 'selvedge init' "s|https://systemkey.domain/api/v1|$url|; s|erp-1|$(key k.keys.plain.clientId)|"
typed connect.md 'export SELVEDGE_CONFIG'
typed connect.md 'systemd-run'
typed install.md 'enable --now selvedge.socket'
until_is 'ready' '^active$' shown ActiveState
until_is 'the stock is there' '^stock .* 20000 ' operator sync list
typed install.md 'selvedge doctor'
# ---- docs/connect.md ----------------------------------------------------------------------------
here=/etc/selvedge typed connect.md 'api GET /brands'
here=/etc/selvedge typed connect.md 'portal open'
here=/etc/selvedge typed connect.md 'selvedge.yaml doctor'
# ---- docs/operating/ ----------------------------------------------------------------------------
typed operating/monitoring.md 'readyz'
typed operating/monitoring.md 'journalctl'
typed operating/at-three-in-the-morning.md 'selvedge doctor'
typed operating/backup.md 'backup verify'
# The other host is a folder of this one, and its key is none.
mkdir -p "$root/etc/systemd/system/selvedge-backup-copy.service.d"
block operating/backup.md 'backup-key:' >"$root/etc/systemd/system/selvedge-backup-copy.service.d/key.conf"
inside install -m 600 /dev/null /etc/selvedge/secrets/backup-key
block operating/backup.md 'exec rsync' | sed -e '/^  -e /d; s|backup@.*|"$STATE_DIRECTORY/copies/"|' \
  >"$root/etc/selvedge/backup-copy"
echo 'operating/backup.md: exec rsync' >>typed
# A unit that runs, or has ended, is no success for `status`.
typed operating/backup.md 'chmod 750 /etc/selvedge/backup-copy' 's|^systemctl status.*|& \|\| test $? = 3|'
until_is 'the other host has the backups' 'backup-.*-mirror.db' \
  inside ls /var/lib/selvedge-backup-copy/copies
typed operating/backup.md 'backup restore'
typed operating/backup.md 'enable --now'
until_is 'sends again' '^outbox|^daemon +running' operator status
# ---- Upgrade and rollback -----------------------------------------------------------------------
typed install.md 'selvedge-new'
until_is 'the new version' '"version":"0.2.0|version="0.2.0"' inside curl -s http://127.0.0.1:8791/metrics
typed install.md 'backup restore'
until_is 'the old version' 'version="0.1.0"' inside curl -s http://127.0.0.1:8791/metrics
# ---- A second brand -----------------------------------------------------------------------------
typed install.md 'acme/secrets'
inside cp /etc/selvedge/secrets/client-secret /etc/selvedge/secrets/webhook-secret /etc/selvedge/acme/secrets
{
  block install.md 'instance: acme'
  sed -n '/^service:/,/^listener:/p; /^  secrets/p' "$root/etc/selvedge/selvedge.yaml"
} >"$root/etc/selvedge/acme/selvedge.yaml"
typed install.md 'selvedge-backup@acme.timer'
until_is 'the second brand is ready' '"ready":true' inside curl -s http://127.0.0.1:8801/readyz
# ---- Drop-ins -----------------------------------------------------------------------------------
drop_in() { # page, name
  local file
  file=$(block "$1" "$2" | sed -n 's/^# \(\/etc.*\)/\1/p')
  inside mkdir -p "$(dirname "$file")"
  block "$1" "$2" >"$root$file"
}
inside groupadd -f erp
inside install -d -m 2770 -g erp /srv/exchange
typed install.md 'usermod'
drop_in install.md 'ReadWritePaths=/srv/exchange'
drop_in install.md 'IPAddressDeny=any'
echo 'intake: { database: /srv/exchange/exchange.db }' >>"$root/etc/selvedge/selvedge.yaml"
inside systemctl daemon-reload
inside systemctl restart selvedge
until_is 'drop-ins: it runs with both' '^active$' shown ActiveState
until_is 'drop-ins: the exchange database is there for the group' 'erp' \
  inside stat -c '%U %G %a' /srv/exchange/exchange.db
until_is 'drop-ins: systemd finds nothing wrong' '^$' \
  inside systemd-analyze verify selvedge.service selvedge.socket
inside systemctl start selvedge-backup.service
until_is 'drop-ins: the backup has the exchange database' 'exchange.db"' operator backup list --json
inside systemctl stop selvedge.service selvedge.socket 'selvedge@acme.service' 'selvedge@acme.socket'
# ---- Uninstalling -------------------------------------------------------------------------------
inside systemctl disable --now 'selvedge@acme.socket' 'selvedge@acme.service' 'selvedge-backup@acme.timer'
typed install.md 'systemctl disable --now selvedge.socket'
typed install.md 'userdel selvedge'
until_is 'nothing of it is left' '^$' inside bash -c \
  'ls -d {/etc,/opt,/var/lib,/var/backups,/usr/local/bin,/etc/systemd/system{,/*.wants}}/selvedge* 2>/dev/null
   getent passwd selvedge; true'
# The package is installed by package.test.ts, and what it holds is what the sources hold.
echo "install.md: apt install" >>typed
# ---- Was everything typed? ----------------------------------------------------------------------
for page in install.md connect.md operating/{monitoring,at-three-in-the-morning,backup}.md; do
  there=$(grep -cE '^```(sh|console)' "$repository/docs/$page")
  done=$(grep -c "^$page: " typed)
  if [ "$there" = "$done" ]; then echo "ok    $page: all of its $there blocks"; else
    echo "FAIL  $page: $done of $there blocks were typed"
    failed=1
  fi
done
[ "$failed" = 0 ] && echo 'all as documented'
exit "$failed"
