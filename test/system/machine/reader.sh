#!/usr/bin/env bash
# A reader that holds a transaction for ten minutes and more, while the daemon writes all the time:
# what docs/operating/ says of it must be so. The daemon runs from its unit, against a reference
# service with a busy life; the reader is Debian's sqlite3. Takes 15 minutes; see nspawn.sh for what
# it needs.
#
#   test/system/machine/reader.sh [folder]
#
# What it said last stands in reader.txt.
# shellcheck source=test/system/machine/container.sh
. "$(dirname "$0")/container.sh"
install_checkout
boot
let_users_in

hold=${HOLD_SECONDS:-660}
# The keys are drawn at its start; every event goes to the daemon.
inside systemd-run --quiet --unit=remote /usr/local/bin/node /usr/local/bin/selvedge reference \
  --keys /run/remote.json --webhook http://127.0.0.1:8790/webhooks \
  --set life.ordersPerMinute=120 --set life.restocksPerMinute=6000
until_is 'reference' '"urls"' inside cat /run/remote.json
key() { inside /usr/local/bin/node -p "const k = require('/run/remote.json'); $1"; }
key 'k.keys.plain.apiKey' | tr -d '\n' >"$root/etc/selvedge/secrets/client-secret"
key 'k.webhookSecret' | tr -d '\n' >"$root/etc/selvedge/secrets/webhook-secret"
cat >"$root/etc/selvedge/selvedge.yaml" <<YAML
service: { v1: { baseUrl: "$(key 'k.urls.v1')", apiKey: { credential: client-secret } } }
listener: { secrets: [{ secret: { credential: webhook-secret } }] }
rules: { directory: /etc/selvedge/rules, mode: live }
store: { backup: { directory: /var/backups/selvedge } }
streams: { stock: { schedule: "* * * * *" } }
YAML
inside rm -f /etc/systemd/system/selvedge.service.d/test.conf
inside systemctl daemon-reload
inside systemctl enable --now selvedge.socket selvedge.service 2>/dev/null
inside systemctl restart selvedge.service
until_is 'ready' '^active$' shown ActiveState
until_is 'all is pulled' '^stock .* 20000 ' operator sync list
until_is 'a backup' 'checked' operator backup create

metric() { inside curl -s http://127.0.0.1:8791/metrics | sed -n "s/^selvedge_$1 //p"; }
mirror=/var/lib/selvedge/mirror.db
figures() {
  printf '%6s s  log %s bytes, pinned %s s, %s changes, resident %s MiB, loop p99 %s s, readyz %s\n' \
    "$1" "$(metric wal_bytes)" "$(metric wal_pinned_seconds)" \
    "$(inside sqlite3 -readonly $mirror "select max(seq) from change")" \
    "$(inside awk '/VmRSS/ { print int($2 / 1024) }' "/proc/$(shown MainPID)/status")" \
    "$(inside curl -s http://127.0.0.1:8791/metrics | sed -n 's/^nodejs_eventloop_lag_p99_seconds //p')" \
    "$(inside curl -s http://127.0.0.1:8791/readyz)"
}
figures before
# It holds its transaction until it is told to end it.
exec 9> >(exec nsenter -t "$leader" -m -u -i -n -p -- runuser -u selvedge -- \
  sqlite3 -readonly $mirror >"$work/reader.out")
echo 'begin; select count(*) from change;' >&9
for ((waited = 60; waited <= hold; waited += 60)); do
  sleep 60
  figures "$waited"
done
until_is 'the log warns' 'cannot be emptied' inside journalctl -b -t selvedge -p warning -o cat --grep='cannot be emptied'
until_is 'doctor names the reader' 'sqlite3 -readonly .*\(pid [0-9]+\)' \
  bash -c "nsenter -t $leader -m -u -i -n -p -- selvedge doctor | grep readers"
until_is 'status --check tells of it' 'the log of the database has' operator status --check
until_is 'ready all the while' '"ready":true' inside curl -s http://127.0.0.1:8791/readyz
until_is 'decides all the while' '^[1-9]' inside sqlite3 -readonly $mirror \
  "select count(*) from decision where at > (unixepoch() - 60) * 1000"
echo 'select count(*) from change; commit;' >&9
exec 9>&-
until_is 'the reader saw one state all the while' '^1$' bash -c "sort -u '$work/reader.out' | wc -l"
until_is 'nothing holds the log' '^0$' metric wal_pinned_seconds
until_is 'the log is small again' '^[0-9]{1,8}$' metric wal_bytes
figures after
until_is 'status --check is content with it' '^0$' bash -c "
  nsenter -t $leader -m -u -i -n -p -- selvedge status --check |
    grep -c 'log of the database' || true"
until_is 'the database is whole' '^ok$' inside sqlite3 -readonly $mirror 'pragma integrity_check'
inside systemctl stop selvedge.service selvedge.socket remote.service
until_is 'stops in order' 'success' shown Result
[ "$failed" = 0 ] && echo 'all as documented'
exit "$failed"
