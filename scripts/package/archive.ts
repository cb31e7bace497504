/**
 * Writers of tar and ar archives. Owner, order and times are fixed, so that the same files give the
 * same bytes on every machine.
 */
import { constants, gzipSync } from 'node:zlib';

export interface Entry {
  /** Path inside of the archive, without a leading slash. */
  readonly path: string;
  readonly content: { readonly bytes: Buffer; readonly isProgram: boolean } | 'folder' | Link;
}

interface Link {
  readonly target: string;
}

const BLOCK = 512;
const NAME_MAX = 100;
const PREFIX_MAX = 155;

function octal(value: number, width: number): string {
  return `${value.toString(8).padStart(width - 1, '0')}\0`;
}

/** Splits a long path at a slash, as the ustar format wants it. */
function splitPath(path: string): { readonly prefix: string; readonly name: string } {
  if (path.length <= NAME_MAX) return { prefix: '', name: path };
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    const name = path.slice(at + 1);
    if (at <= PREFIX_MAX && name.length <= NAME_MAX) return { prefix: path.slice(0, at), name };
  }
  throw new Error(`${path} is too long for a tar archive`);
}

function kindOf({ content }: Entry) {
  if (content === 'folder') return { type: '5', mode: 0o755, target: '', size: 0 };
  if ('target' in content) return { type: '2', mode: 0o777, target: content.target, size: 0 };
  const mode = content.isProgram ? 0o755 : 0o644;
  return { type: '0', mode, target: '', size: content.bytes.length };
}

function header(entry: Entry, seconds: number): Buffer {
  const { type, mode, target, size } = kindOf(entry);
  const { prefix, name } = splitPath(type === '5' ? `./${entry.path}/` : `./${entry.path}`);
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0, NAME_MAX, 'utf8');
  block.write(octal(mode, 8), 100, 'latin1');
  block.write(octal(0, 8), 108, 'latin1');
  block.write(octal(0, 8), 116, 'latin1');
  block.write(octal(size, 12), 124, 'latin1');
  block.write(octal(seconds, 12), 136, 'latin1');
  block.write('        ', 148, 'latin1');
  block.write(type, 156, 'latin1');
  block.write(target, 157, NAME_MAX, 'utf8');
  block.write('ustar\0' + '00', 257, 'latin1');
  block.write('root', 265, 'latin1');
  block.write('root', 297, 'latin1');
  block.write(prefix, 345, PREFIX_MAX, 'utf8');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

function byPath({ path: one }: Entry, { path: other }: Entry): number {
  return one < other ? -1 : 1;
}

/** A compressed tar archive; a folder sorts before what it holds. */
export function tarGz(entries: readonly Entry[], seconds: number): Buffer {
  const parts: Buffer[] = [];
  for (const entry of [...entries].sort(byPath)) {
    parts.push(header(entry, seconds));
    if (typeof entry.content === 'string' || 'target' in entry.content) continue;
    const { bytes } = entry.content;
    parts.push(bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK));
  }
  parts.push(Buffer.alloc(2 * BLOCK));
  return gzipSync(Buffer.concat(parts), { level: constants.Z_BEST_COMPRESSION });
}

/** An ar archive, the outer form of a .deb. */
export function ar(
  members: readonly (readonly [name: string, bytes: Buffer])[],
  seconds: number,
): Buffer {
  const parts: Buffer[] = [Buffer.from('!<arch>\n')];
  for (const [name, bytes] of members) {
    const fields = [
      name.padEnd(16),
      String(seconds).padEnd(12),
      '0'.padEnd(6),
      '0'.padEnd(6),
      '100644'.padEnd(8),
      String(bytes.length).padEnd(10),
    ];
    parts.push(Buffer.from(`${fields.join('')}\`\n`), bytes);
    if (bytes.length % 2 === 1) parts.push(Buffer.from('\n'));
  }
  return Buffer.concat(parts);
}
