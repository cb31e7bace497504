#!/usr/bin/env bash
# A second machine as docs/operating/standby.md has it, under a real systemd: three small Debians in
# systemd-nspawn on a network of their own. `a` and `b` run Selvedge and keepalived, `db` has
# PostgreSQL with a synchronous replica, the reference service, and nginx as the one door. Needs
# root, a mirror of Debian, and some 4 GB; touches nothing outside of its folder.
#
#   test/system/machine/standby.sh [folder]      the folder is kept, so that a second call is quick
#
# What it said last stands in standby.txt.
rootfs=base
include=systemd,systemd-sysv,dbus,procps,curl,ca-certificates,libstdc++6,sqlite3,postgresql,iproute2
include+=,openssl,rsync,keepalived,nginx-light
# shellcheck source=test/system/machine/container.sh
. "$(dirname "$0")/container.sh"
guide=$repository/docs/operating/standby.md

declare -A leaders addresses=([a]=192.0.2.11 [b]=192.0.2.12 [db]=192.0.2.20) running
stop_all() { kill -TERM "${running[@]}" 2>/dev/null || true; wait || true; }
trap stop_all EXIT

on() { # host, command…
  local host=$1
  shift
  nsenter -t "${leaders[$host]}" -m -u -i -n -p -- \
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}
person() { local host=$1; shift; on "$host" runuser -u selvedge -- selvedge "$@"; }
unit() { on "$1" systemctl show "$2" -p ActiveState -p SubState -p ExecMainStatus | tr '\n' ' '; }
journal() { on "$1" journalctl -o cat -u selvedge -u selvedge-standby "${@:2}"; }

start_host() {
  local host=$1
  SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 "$tools/usr/bin/systemd-nspawn" --quiet --register=no \
    --keep-unit --network-zone=slv --console=pipe --machine="slv-$host" \
    --bind-ro="$repository:/opt/selvedge" -D "$work/$host" --boot \
    >"boot-$host.log" 2>&1 </dev/null &
  running[$host]=$!
  for _ in $(seq 60); do
    for leader in $(pgrep -P "${running[$host]}"); do
      grep -qsP '^NSpid:.*\t1$' "/proc/$leader/status" && break 2
    done
    sleep 0.5
  done
  leaders[$host]=$leader
  for _ in $(seq 120); do
    case $(on "$host" systemctl is-system-running 2>/dev/null || true) in running | degraded) break ;; esac
    sleep 0.5
  done
  on "$host" ip link set host0 up
  on "$host" ip address add "${addresses[$host]}/24" dev host0
}

# The n-th block of this language in the guide.
block() {
  awk -v language="$1" -v wanted="$2" '
    /^ *```/ { if (inside) { inside = 0 } else if ($0 ~ "```" language "$") { inside = ++seen == wanted; next } }
    inside { sub(/^   /, ""); print }' "$guide"
}

for host in a b db; do
  [ -e "$root" ] || { echo "no $root" >&2; exit 1; }
  [ -e "$work/$host" ] || cp -a "$root" "$work/$host"
  root=$work/$host
  # The program is bound into it, read-only: three copies of it take minutes.
  rm -rf "$root"/opt/selvedge* "$root"/var/backups/selvedge "$root"/etc/nginx/conf.d/selvedge.conf \
    "$root"/etc/systemd/system/selvedge.socket.d "$root"/etc/systemd/system/*.wants/selvedge* \
    "$root"/etc/keepalived/keepalived.conf "$root"/var/log/journal
  mkdir -p "$root/opt/selvedge"
  install_beside
  rm -f "$root/etc/systemd/system/selvedge.service.d/test.conf"
  echo "$host" >"$root/etc/hostname"
  printf '%s\n' '127.0.0.1 localhost' '192.0.2.20 one' '192.0.2.21 two' >"$root/etc/hosts"
  root=$work/base
done
for host in db a b; do start_host "$host"; done
ip link set vz-slv up
echo "systemd $(on a systemctl --version | head -1 | cut -d' ' -f2)"

echo "== PostgreSQL: a primary, and a replica that confirms"
on db ip address add 192.0.2.21/24 dev host0
on db bash -ec '
  cd /etc/postgresql-common
  [ -e ca.pem ] || {
    openssl req -x509 -newkey rsa:2048 -nodes -days 9 -subj /CN=house -keyout ca.key -out ca.pem 2>/dev/null
    openssl req -newkey rsa:2048 -nodes -subj /CN=one -keyout server.key -out server.csr 2>/dev/null
    openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 9 \
      -extfile <(echo subjectAltName=DNS:one,DNS:two) -out server.pem 2>/dev/null
    chown postgres server.key; chmod 600 server.key
  }
  pg_lsclusters -h | while read -r version name rest; do pg_dropcluster --stop "$version" "$name"; done
  pg_createcluster 15 one -p 5432 >/dev/null
  cat >>/etc/postgresql/15/one/postgresql.conf <<CONF
listen_addresses = '"'192.0.2.20,127.0.0.1'"'
ssl = on
ssl_cert_file = '"'/etc/postgresql-common/server.pem'"'
ssl_key_file = '"'/etc/postgresql-common/server.key'"'
fsync = off
CONF
  echo "hostssl all selvedge 192.0.2.0/24 scram-sha-256
host replication postgres 127.0.0.1/32 trust" >>/etc/postgresql/15/one/pg_hba.conf
  pg_ctlcluster 15 one start
  pg_createcluster 15 two -p 5433 >/dev/null
  rm -rf /var/lib/postgresql/15/two
  runuser -u postgres -- pg_basebackup -h /var/run/postgresql -p 5432 -D /var/lib/postgresql/15/two -c fast -R \
    -d "application_name=two"
  sed -e s/192.0.2.20,127.0.0.1/192.0.2.21/ -e "/^port/d" -e "/^data_directory/d" -e "/^hba_file/d" -e "/^ident_file/d" \
    -e "/^external_pid_file/d" -e "/^cluster_name/d" /etc/postgresql/15/one/postgresql.conf >>/etc/postgresql/15/two/postgresql.conf
  echo "port = 5433" >>/etc/postgresql/15/two/postgresql.conf
  cp /etc/postgresql/15/one/pg_hba.conf /etc/postgresql/15/two/pg_hba.conf
  chown -R postgres /etc/postgresql/15/two
  pg_ctlcluster 15 two start'
block sql 1 | sed "s/password '…'/password 'a-password'/" | tee statements.sql
on db runuser -u postgres -- psql -qXv ON_ERROR_STOP=1 -p 5432 <statements.sql
until_is 'the replica confirms' 'quorum' \
  on db runuser -u postgres -- psql -XAtp 5432 -c 'select application_name, sync_state from pg_stat_replication'
for host in a b; do
  on "$host" bash -ec '
    systemd-sysusers
    systemd-tmpfiles --create
    chgrp -R selvedge /etc/selvedge
    chmod 600 /etc/selvedge/secrets/client-secret /etc/selvedge/secrets/webhook-secret
    ln -sfn /opt/selvedge/bin/selvedge.mjs /usr/local/bin/selvedge
    ln -sfn /opt/selvedge/node_modules/.bin/node /usr/local/bin/node'
  on db cat /etc/postgresql-common/ca.pem | on "$host" install -m 644 /dev/stdin /etc/selvedge/pg-ca.pem
  block sh 1 | on "$host" bash -e
  on "$host" sed -i -e 's#$#\&sslrootcert=/etc/selvedge/pg-ca.pem#' -e 's#@two/#@two:5433/#' \
    /etc/selvedge/pg-one /etc/selvedge/pg-two
done

echo "== the first machine, then with a standby"
on a systemctl enable --now selvedge.socket selvedge.service 2>/dev/null || true
until_is 'a runs' 'ActiveState=active' unit a selvedge.service
for host in a b; do
  block yaml 1 | on "$host" tee -a /etc/selvedge/selvedge.yaml >/dev/null
  block ini 1 | sed "s/192.0.2.11/${addresses[$host]}/" | on "$host" bash -c '
    mkdir -p /etc/systemd/system/selvedge.socket.d
    cat >/etc/systemd/system/selvedge.socket.d/address.conf
    systemctl daemon-reload'
done
on a systemctl stop selvedge.service selvedge.socket
on a systemctl start selvedge.socket
block sh 2 | on a bash -e
until_is 'a holds the lease' 'holder +a:.*taking 1' person a standby status
until_is 'a replica confirms' 'replica +synchronous: yes' person a standby status

copy_backups() { # from, to: as /etc/selvedge/backup-copy does
  on "$1" tar -C /var/backups/selvedge -cf - . | on "$2" tar -C /var/backups/selvedge -xf -
}
copy_backups a b
block sh 3 | on b bash >/dev/null 2>&1 || true
until_is 'b ends with 76' 'ExecMainStatus=76.*ActiveState=failed' unit b selvedge.service
until_is 'b waits' 'ActiveState=active' unit b selvedge-standby.service
until_is 'its door is closed' 'ActiveState=inactive' unit b selvedge.socket
until_is 'a sees it' '^b:/var/lib/selvedge' person a standby status

echo "== the address that moves, and nginx in front of both"
for host in a b; do
  block text 1 | sed -e 's/interface eth0/interface host0/' \
    -e "s/priority 100\$/priority $([ "$host" = a ] && echo 100 || echo 90)/" |
    on "$host" tee /etc/keepalived/keepalived.conf >/dev/null
  on "$host" keepalived -t && echo "ok    keepalived -t on $host"
  on "$host" systemctl restart keepalived
done
address() { on "$1" ip -brief address show host0; }
until_is 'the address is at a' '192.0.2.10/24' address a
block nginx 1 | on db bash -c '
  mkdir -p /etc/letsencrypt/live/hooks.example.com
  cp /etc/postgresql-common/server.pem /etc/letsencrypt/live/hooks.example.com/fullchain.pem
  cp /etc/postgresql-common/server.key /etc/letsencrypt/live/hooks.example.com/privkey.pem
  cat >/etc/nginx/conf.d/selvedge.conf'
on db nginx -t 2>&1 | sed 's/^/      /'
on db systemctl restart nginx
# A signed event through nginx; gives the status.
event() {
  on db bash -c '
    id=msg_$RANDOM$RANDOM at=$(date +%s) key=$(head -c 24 /dev/zero | od -An -tx1 | tr -d " \n")
    body="{\"type\":\"other\",\"data\":{\"id\":\"$id\"}}"
    signed=$(printf %s "$id.$at.$body" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)
    curl -sk -o /dev/null -m 20 -w "%{http_code}\n" --resolve hooks.example.com:443:127.0.0.1 -H "svix-id: $id" \
      -H "svix-timestamp: $at" -H "svix-signature: v1,$signed" \
      -H "content-type: application/json" -d "$body" https://hooks.example.com/webhooks'
}
until_is 'an event is taken' '^204$' event

echo "== the holder is cut off, and comes back"
on a ip link set host0 down
until_is 'b took over (77)' 'this machine has taken the lease' journal b
until_is 'and its unit started the daemon' 'ActiveState=active' unit b selvedge.service
until_is 'b holds the lease' 'holder +b:' person b standby status
until_is 'an event is taken there' '^204$' event
until_is 'a sends nothing meanwhile' 'SENDS NOTHING' person a status
until_is 'the address is at b' '192.0.2.10/24' address b
on a ip link set host0 up
until_is 'a ends with 76' 'ExecMainStatus=76' unit a selvedge.service
until_is 'a waits' 'ActiveState=active' unit a selvedge-standby.service
until_is 'what a had is set aside' 'before-standby-' journal a
until_is 'its door is closed' 'ActiveState=inactive' unit a selvedge.socket
until_is 'an event is taken' '^204$' event

echo "== kill -9 is no take-over"
on b systemctl kill -s KILL selvedge.service
until_is 'b takes its own lease again' 'holder +b:.*taking 4' person b standby status
until_is 'and runs' 'ActiveState=active' unit b selvedge.service
until_is 'an event is taken' '^204$' event
[ "$failed" = 0 ] && echo 'all as documented'
exit "$failed"
