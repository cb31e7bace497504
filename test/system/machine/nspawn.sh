#!/usr/bin/env bash
# The units under a real systemd: boots a small Debian in systemd-nspawn, installs this checkout as
# docs/install.md says, and exercises what only a real service manager can show. Needs root, a
# mirror of Debian, and some 700 MB; touches nothing outside of its folder.
#
#   test/system/machine/nspawn.sh [folder]      the folder is kept, so that a second call is quick
#
# What it said last stands in nspawn.txt.
# shellcheck source=test/system/machine/container.sh
. "$(dirname "$0")/container.sh"
install_checkout
boot
let_users_in

inside systemctl daemon-reload
inside systemctl enable --now selvedge.socket selvedge.service selvedge-backup.timer 2>/dev/null || true

until_is 'ready' '^active$' shown ActiveState
until_is 'status line' 'streams fresh' shown StatusText
until_is 'readyz' '"ready":true' inside curl -s http://127.0.0.1:8791/readyz
until_is 'socket is kept' '405|404' inside curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8790/webhooks
until_is 'runs as its own user' '^selvedge$' inside ps -o user= -p "$(shown MainPID)"
until_is 'files are private' '^600 selvedge' inside stat -c '%a %U' /var/lib/selvedge/mirror.db
until_is 'no privileges' 'NoNewPrivs:.1' inside grep NoNewPrivs "/proc/$(shown MainPID)/status"
until_is 'priorities in the journal' 'no rules|level lacks|refused|fail|warn' \
  inside journalctl -t selvedge -p warning -n 3 -o cat
rule_set() { operator rules check | grep -oE 'rule set [0-9a-f]{12}' | cut -d' ' -f3; }
reload() {
  reload_at=$(inside date '+%F %T')
  inside systemctl reload selvedge.service || failed=1
}
logged() { inside journalctl -t selvedge -o cat --since "$reload_at" --grep="$1"; }
# A changed rule counts at once; a broken one changes nothing; a setting says what it needs.
inside cp /etc/selvedge/rules/settings.yaml /etc/selvedge/good.yaml
inside sed -i 's/accept_up_to: { DKK: [0-9]*/accept_up_to: { DKK: 14999/' /etc/selvedge/rules/settings.yaml
reload
until_is 'reload: the changed rules count' "\"to\":\"$(rule_set)" logged 'other rules are in force'
inside bash -c 'echo "nonsense: [" >>/etc/selvedge/rules/settings.yaml'
reload
until_is 'reload: broken rules change nothing' 'stays as it was' logged 'nothing was reloaded'
inside mv /etc/selvedge/good.yaml /etc/selvedge/rules/settings.yaml
inside bash -c 'echo "instance: second" >>/etc/selvedge/selvedge.yaml'
reload
until_is 'reload: and back' "\"to\":\"$(rule_set)" logged 'other rules are in force'
until_is 'reload: a setting waits for a restart' 'instance' logged 'from the next start on'
inside sed -i '/^instance: second/d' /etc/selvedge/selvedge.yaml
until_is 'active after it' '^active$' shown ActiveState
pid=$(shown MainPID)
inside kill -KILL "$pid"
until_is 'kill -9: the door stays open' '^open$' inside bash -c 'for _ in $(seq 12); do
  systemctl -q is-active selvedge.socket || exec echo closed; sleep 0.2; done; echo open'
until_is 'kill -9: started anew' '^[0-9]+$' bash -c "
  now=\$(nsenter -t $leader -m -p -- systemctl show selvedge -p MainPID --value)
  [ \"\$now\" != $pid ] && [ \"\$now\" != 0 ] && echo \$now"
until_is 'ready again' '^active$' shown ActiveState
until_is 'ready line again' 'streams fresh' shown StatusText
pid=$(shown MainPID)
inside kill -STOP "$pid"
until_is 'stopped process: watchdog' 'Watchdog timeout|watchdog' \
  inside journalctl -u selvedge.service -n 30 -o cat --grep='[Ww]atchdog'
until_is 'ready after the watchdog' '^active$' shown ActiveState
until_is 'backup service' 'Result=success' bash -c "
  nsenter -t $leader -m -p -- systemctl start selvedge-backup.service
  nsenter -t $leader -m -p -- systemctl show selvedge-backup.service -p Result"
until_is 'backup is there' 'backup-.*json' inside ls /var/backups/selvedge
# What an operator types, as docs/install.md shows it.
until_is 'config check' 'the configuration is right' operator config check
until_is 'rules check' '[0-9]+ rules|right|ok' operator rules check
until_is 'doctor --offline' 'nothing has failed' operator doctor --offline
until_is 'status' '^daemon +running' operator status
until_is 'backup verify' 'whole, made' operator backup verify
until_is 'pause' '^paused' operator pause a rehearsal
until_is 'resume' '^resumed; it was paused: a rehearsal' operator resume
until_is 'support-bundle' 'look at it before' operator support-bundle "/tmp/report-$RANDOM.json"
until_is 'no secret in the journal' '^0$' bash -c "
  nsenter -t $leader -m -p -- journalctl -o cat | grep -c canary-client-secret || true"
until_is 'no secret in the bundle' '^0$' \
  inside bash -c 'cat /tmp/report-*.json | grep -c canary-client-secret || true'
inside systemctl stop selvedge.service selvedge.socket
until_is 'restore' '^restored ' operator backup restore
inside systemctl start selvedge.socket selvedge.service
until_is 'paused after the restore' 'sending +PAUSED: restored' operator status
until_is 'resume after the restore' '^resumed' operator resume
# The second brand.
inside mkdir -p /etc/selvedge/acme/secrets /etc/systemd/system/selvedge@acme.socket.d
inside cp /etc/selvedge/secrets/client-secret /etc/selvedge/secrets/webhook-secret \
  /etc/selvedge/acme/secrets/
inside cp -r /etc/selvedge/rules /etc/selvedge/acme/rules
inside bash -c "printf '[Socket]\nListenStream=127.0.0.1:8800\n' \
  >/etc/systemd/system/selvedge@acme.socket.d/address.conf
  sed -e '/^rules/d' -e '/^store/d' -e '/^instance/d' /etc/selvedge/selvedge.yaml >/etc/selvedge/acme/selvedge.yaml
  printf '%s\n' 'instance: acme' 'dataDir: /var/lib/selvedge/acme' 'local: { port: 8801 }' \
    'rules: { directory: /etc/selvedge/acme/rules }' \
    'store: { backup: { directory: /var/backups/selvedge/acme } }' >>/etc/selvedge/acme/selvedge.yaml
  chgrp -R selvedge /etc/selvedge/acme"
inside systemctl daemon-reload
inside systemctl enable --now selvedge@acme.socket selvedge@acme.service 2>/dev/null || true
until_is 'second brand is ready' '"ready":true' inside curl -s http://127.0.0.1:8801/readyz
until_is 'second brand listens' '405|404' \
  inside curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8800/webhooks
inside install -d -m 700 -o selvedge -g selvedge /var/backups/selvedge/acme
until_is 'backup of the second brand' 'Result=success' bash -c "
  nsenter -t $leader -m -p -- systemctl start selvedge-backup@acme.service
  nsenter -t $leader -m -p -- systemctl show selvedge-backup@acme.service -p Result"
until_is 'it is there' 'backup-.*json' inside ls /var/backups/selvedge/acme
inside systemctl stop selvedge@acme.service selvedge@acme.socket
# A stream of requests over three restarts: senders wait, none is refused.
inside bash -c 'for i in $(seq 400); do curl -s -o /dev/null --max-time 30 \
  -w "%{http_code}\n" -X POST -H "content-type: application/json" -d "{}" \
  http://127.0.0.1:8790/webhooks || echo broken; done' >requests.log 2>&1 &
load=$!
for _ in 1 2 3; do sleep 2; inside systemctl restart selvedge.service; done
wait $load || true
until_is 'requests over three restarts (none broken)' '^0$' bash -c \
  "grep -cE 'broken|^000' '$work/requests.log' || true"
echo "      answers: $(sort requests.log | uniq -c | tr -s ' ' | tr '\n' ';')"
inside bash -c 'echo "nonsense: true" >> /etc/selvedge/selvedge.yaml'
inside systemctl restart selvedge.service 2>/dev/null || true
until_is 'wrong configuration: not restarted' 'failed.*78|78.*failed' bash -c "
  nsenter -t $leader -m -p -- systemctl show selvedge -p ActiveState -p ExecMainStatus | tr '\n' ' '"
until_is 'its door is closed' '^inactive$' inside systemctl is-active selvedge.socket
until_is 'so no event starts it' 'curl: .7. ' \
  inside curl -sS -m 2 -X POST -d '{}' http://127.0.0.1:8790/webhooks
until_is 'it is as it failed' 'failed' shown ActiveState
inside sed -i '/nonsense/d' /etc/selvedge/selvedge.yaml
inside systemctl start selvedge.service
until_is 'and goes on' '^active$' shown ActiveState
until_is 'with its door open' '405|404' inside curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8790/webhooks
inside systemctl stop selvedge.service selvedge.socket
until_is 'stops in order' 'success' shown Result
[ "$failed" = 0 ] && echo 'all as documented'
exit "$failed"
