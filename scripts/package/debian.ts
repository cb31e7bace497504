/** The .deb: control files and both archives. */
import { createHash } from 'node:crypto';
import { ar, type Entry, tarGz } from './archive.ts';
import { conffiles } from './tree.ts';

/** Each honours DPKG_ROOT, so that the package can be installed into a folder. */
const POSTINST = `#!/bin/sh
set -e
if [ "$1" = configure ]; then
  systemd-sysusers \${DPKG_ROOT:+--root="$DPKG_ROOT"} selvedge.conf
  systemd-tmpfiles \${DPKG_ROOT:+--root="$DPKG_ROOT"} --create selvedge.conf
  if [ -z "$DPKG_ROOT" ]; then
    chgrp -R selvedge /etc/selvedge/rules
    if [ -d /run/systemd/system ]; then
      systemctl daemon-reload
      # An upgrade: the socket stays open meanwhile.
      if [ -n "$2" ]; then
        systemctl try-restart selvedge.service 'selvedge@*.service' \\
          selvedge-plane.service 'selvedge-plane@*.service'
      fi
    fi
  fi
fi
`;

const PRERM = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  systemctl disable --now selvedge.socket selvedge.service selvedge-backup.timer \\
    selvedge-plane.service
  systemctl stop 'selvedge-plane@*.service'
  systemctl stop 'selvedge@*.socket' 'selvedge@*.service' 'selvedge-backup@*.timer'
fi
`;

/** A purge takes the rules away, as configuration, and nothing that is nowhere else. */
const POSTRM = `#!/bin/sh
set -e
if [ "$1" = remove ] || [ "$1" = purge ]; then
  rm -rf "$DPKG_ROOT/opt/selvedge/node_modules/.cache"
  if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
fi
if [ "$1" = purge ]; then
  echo 'Kept: /var/lib/selvedge, /var/backups/selvedge, and your files in /etc/selvedge.'
fi
`;

function controlText(version: string, description: string, entries: readonly Entry[]): string {
  const bytes = entries.reduce(
    (sum, { content }) =>
      sum + (typeof content === 'object' && 'bytes' in content ? content.bytes.length : 0),
    0,
  );
  const [title, ...rest] = description.split(': ');
  return `Package: selvedge
Version: ${version}
Architecture: amd64
Maintainer: The Selvedge authors <selvedge@localhost>
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

interface Described {
  readonly version: string;
  readonly description: string;
}

export function debianPackage(
  { version, description }: Described,
  entries: readonly Entry[],
  seconds: number,
): Buffer {
  const control = [
    text('control', controlText(version, description, entries)),
    text('conffiles', `${conffiles(entries).join('\n')}\n`),
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
