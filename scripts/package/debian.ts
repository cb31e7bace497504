/** The .deb: control files and both archives. */
import { createHash } from 'node:crypto';
import { ar, type Entry, tarGz } from './archive.ts';
import { type Described, maintainerOf } from './tree.ts';

/** Each honours DPKG_ROOT, so that the package can be installed into a folder. */
const POSTINST = `#!/bin/sh
set -e
if [ "$1" = configure ]; then
  systemd-sysusers \${DPKG_ROOT:+--root="$DPKG_ROOT"} selvedge.conf
  systemd-tmpfiles \${DPKG_ROOT:+--root="$DPKG_ROOT"} --create selvedge.conf
  if [ -z "$DPKG_ROOT" ]; then
    if [ -d /etc/selvedge/rules ]; then chgrp -R selvedge /etc/selvedge/rules; fi
    if [ -d /run/systemd/system ]; then
      systemctl daemon-reload
      # An upgrade: the socket stays open meanwhile.
      if [ -n "$2" ]; then
        systemctl try-restart selvedge.service 'selvedge@*.service' \\
          selvedge-plane.service 'selvedge-plane@*.service' \\
          selvedge-standby.service 'selvedge-standby@*.service'
      fi
    fi
  fi
  rm -rf "$DPKG_ROOT/etc/selvedge/rules.before-purge"
  if [ ! -e "$DPKG_ROOT/etc/selvedge/selvedge.yaml" ]; then
    echo 'Next: selvedge init --output /etc/selvedge/selvedge.yaml (/opt/selvedge/docs/install.md)'
  fi
fi
`;

const PRERM = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  systemctl disable --now selvedge.socket selvedge.service selvedge-backup.timer \\
    selvedge-plane.service
  systemctl stop selvedge-standby.service 'selvedge-standby@*.service'
  systemctl stop 'selvedge-plane@*.service'
  systemctl stop 'selvedge@*.socket' 'selvedge@*.service' 'selvedge-backup@*.timer'
fi
`;

/**
 * A purge keeps all that is nowhere else. The rules of 0.1.0 were the package's configuration,
 * which dpkg itself takes away between the two calls, whatever a newer package says.
 */
const POSTRM = `#!/bin/sh
set -e
if [ "$1" = remove ] || [ "$1" = purge ]; then
  rm -rf "$DPKG_ROOT/opt/selvedge/node_modules/.cache"
  rules="$DPKG_ROOT/etc/selvedge/rules"
  if [ "$1" = remove ] && [ -d "$rules" ]; then
    rm -rf "$rules.before-purge"
    cp -a "$rules" "$rules.before-purge"
  fi
  if [ "$1" = purge ] && [ -d "$rules.before-purge" ]; then
    mkdir -p "$rules"
    # What was edited since the removal stays.
    cp -a "$rules/." "$rules.before-purge/"
    rm -rf "$rules"
    mv "$rules.before-purge" "$rules"
  fi
  if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
fi
if [ "$1" = purge ]; then
  rm -f "$DPKG_ROOT"/var/lib/systemd/timers/stamp-selvedge-backup*.timer
  echo 'Kept: /var/lib/selvedge, /var/backups/selvedge, and /etc/selvedge with your rules.'
fi
`;

function controlText(described: Described, entries: readonly Entry[]): string {
  const { version, description } = described;
  const bytes = entries.reduce(
    (sum, { content }) =>
      sum + (typeof content === 'object' && 'bytes' in content ? content.bytes.length : 0),
    0,
  );
  const [title, ...rest] = description.split(': ');
  return `Package: selvedge
Version: ${version}
Architecture: amd64
Maintainer: ${maintainerOf(described)}
Installed-Size: ${Math.ceil(bytes / 1_024)}
Depends: libc6 (>= 2.34), libgcc-s1, libstdc++6, systemd (>= 252)
Section: net
Priority: optional
Description: ${title}
 ${rest.join(': ').replaceAll(', ', ',\n ')}.
`;
}

function text(path: string, content: string, isProgram = false): Entry {
  return { path, content: { bytes: Buffer.from(content), isProgram } };
}

function checksums(entries: readonly Entry[]): string {
  return entries
    .flatMap(({ path, content }) => {
      if (content === 'folder' || 'target' in content) return [];
      return [`${createHash('md5').update(content.bytes).digest('hex')}  ${path}\n`];
    })
    .sort()
    .join('');
}

export function debianPackage(
  described: Described,
  entries: readonly Entry[],
  seconds: number,
): Buffer {
  const control = [
    text('control', controlText(described, entries)),
    text('md5sums', checksums(entries)),
    text('postinst', POSTINST, true),
    text('prerm', PRERM, true),
    text('postrm', POSTRM, true),
  ];
  return ar(
    [
      ['debian-binary', Buffer.from('2.0\n')],
      ['control.tar.gz', tarGz(control, seconds)],
      ['data.tar.gz', tarGz(entries, seconds)],
    ],
    seconds,
  );
}
