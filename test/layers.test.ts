/**
 * The house plan as a test: who may import whom. The table is that of
 * docs/internals/architecture.md; change the design there first, then here.
 */
import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesBelow } from './support/source.ts';

const EVERYTHING_BUT_THE_ENDS = [
  'lib',
  'config',
  'store',
  'surface',
  'client',
  'mirror',
  'sync',
  'inbox',
  'rules',
  'decisions',
  'suggest',
  'outbox',
  'report',
  'ops',
  'plane',
  'standby',
  'console',
  'local-api',
  'probe',
  'plane',
];

/** Room → rooms it may import (its own files are always allowed). */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  config: ['lib'],
  store: ['lib', 'config'],
  surface: ['lib', 'store', 'rules'],
  client: ['lib', 'config'],
  probe: ['lib', 'config', 'client'],
  mirror: ['lib', 'config', 'store', 'surface'],
  sync: ['lib', 'config', 'mirror', 'store', 'surface', 'client'],
  inbox: ['lib', 'config', 'mirror', 'store', 'surface', 'client'],
  rules: ['lib'],
  decisions: ['lib', 'config', 'rules', 'mirror', 'store', 'surface', 'client'],
  suggest: ['lib', 'rules', 'decisions', 'store', 'surface'],
  outbox: ['lib', 'config', 'mirror', 'store', 'surface', 'client'],
  report: ['lib', 'config', 'store', 'surface'],
  plane: ['lib', 'config', 'store', 'surface'],
  standby: ['lib', 'config', 'store', 'surface', 'plane'],
  ops: ['lib', 'config', 'store', 'surface', 'mirror', 'plane', 'standby'],
  console: [
    'lib',
    'config',
    'store',
    'surface',
    'mirror',
    'sync',
    'inbox',
    'rules',
    'decisions',
    'suggest',
    'outbox',
    'report',
    'ops',
  ],
  'local-api': EVERYTHING_BUT_THE_ENDS,
  daemon: EVERYTHING_BUT_THE_ENDS,
  conformance: ['lib', 'config', 'client', 'probe', 'reference'],
  cli: [...EVERYTHING_BUT_THE_ENDS, 'daemon', 'reference', 'conformance'],
  reference: ['lib'],
};

/** The doors between siblings: a decision enqueues its push, and cancels one that is not sent. */
const DOORS = new Set([
  'decisions -> src/outbox/enqueue.ts',
  'decisions -> src/outbox/cancel-pushes.ts',
]);

interface Edge {
  readonly from: string;
  readonly to: string;
}

function roomOf(path: string): string {
  return path.split('/')[1] ?? '';
}

function importsOf(path: string, text: string): Edge[] {
  const specifiers = text.matchAll(/(?:from|import|import\()\s*['"](\.[^'"]+)['"]/g);
  return [...specifiers].map((match) => ({
    from: path,
    to: posix.join(posix.dirname(path), match[1] ?? ''),
  }));
}

const sources = filesBelow('src', ['.ts']);

/** Circles of files in which each imports the next, type imports included. */
function circlesIn(edges: readonly Edge[]): string[] {
  const imports = Map.groupBy(edges, ({ from }) => from);
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, above: readonly string[]): void => {
    if (above.includes(file)) {
      circles.push([...above.slice(above.indexOf(file)), file].join(' -> '));
      return;
    }
    if (done.has(file)) return;
    for (const { to } of imports.get(file) ?? []) visit(to, [...above, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return circles;
}

/** Lists what a program loads as it starts: its modules, and those of packages by their names. */
function loadedBy(program: string): ReadonlySet<string> {
  const texts = new Map(sources.map(({ path, text }) => [path, text]));
  const loaded = new Set([program]);
  for (const path of loaded) {
    const statements = texts.get(path)?.matchAll(/^(?:import|export) (?!type )[^;]*?'([^']+)';/gm);
    for (const [, specifier = ''] of statements ?? []) {
      const isOurs = specifier.startsWith('.');
      loaded.add(isOurs ? posix.join(posix.dirname(path), specifier) : specifier);
    }
  }
  return loaded;
}

describe('layers', () => {
  it('has only rooms that the house plan knows', () => {
    const rooms = new Set(sources.map((file) => roomOf(file.path)));
    expect([...rooms].filter((room) => !Object.hasOwn(MAY_IMPORT, room))).toEqual([]);
  });

  it('imports downwards only', () => {
    const broken = sources
      .flatMap((file) => importsOf(file.path, file.text))
      .filter(({ from, to }) => {
        const [room, target] = [roomOf(from), roomOf(to)];
        if (room === target || DOORS.has(`${room} -> ${to}`)) return false;
        return !(MAY_IMPORT[room] ?? []).includes(target);
      })
      .map(
        ({ from, to }) =>
          `${from} must not import ${to}: see docs/internals/architecture.md, "Rooms"`,
      );
    expect(broken).toEqual([]);
  });

  it('has no files that import each other in a circle', () => {
    const edges = sources.flatMap((file) => importsOf(file.path, file.text));
    expect(circlesIn(edges)).toEqual([]);
  });

  it('finds a circle', () => {
    const edge = (from: string, to: string): Edge => ({ from, to });
    const edges = [edge('a.ts', 'b.ts'), edge('b.ts', 'c.ts'), edge('c.ts', 'b.ts')];
    expect(circlesIn(edges)).toEqual(['b.ts -> c.ts -> b.ts']);
  });

  it('starts the thread that writes lists without what it does not need', () => {
    const loaded = loadedBy('src/sync/bulk/writer-main.ts');
    expect(loaded).toContain('kysely');
    expect([...loaded].filter((path) => path === 'zod' || roomOf(path) === 'client')).toEqual([]);
  });

  it('starts the thread of the console without what speaks with the service', () => {
    const loaded = loadedBy('src/console/server-main.ts');
    expect(loaded).toContain('fastify');
    expect(loaded).not.toContain('src/lib/http-client/undici.ts');
  });

  it('starts the command line without what only some commands need', () => {
    const loaded = loadedBy('src/cli/main.ts');
    expect(loaded).toContain('src/cli/commands.ts');
    const theirs = (path: string) => path.startsWith('src/') && !/^src\/(?:cli|lib)\//.test(path);
    expect([...loaded].filter(theirs)).toEqual(['src/ops/version.ts']);
    expect(loaded).not.toContain('pino');
  });

  it('starts the daemon without what only the copy in PostgreSQL needs', () => {
    const loaded = loadedBy('src/daemon/daemon.ts');
    expect(loaded).toContain('src/plane/status-file.ts');
    const theirs = (path: string) => roomOf(path) === 'plane' || path === 'pg';
    expect([...loaded].filter(theirs)).toEqual(['src/plane/status-file.ts']);
  });

  it.each(['src/daemon/daemon.ts', 'src/cli/main.ts', 'src/local-api/ask.ts'])(
    'loads the parts of undici that are used, and not all of it, from %s',
    (program) => {
      const loaded = loadedBy(program);
      expect(loaded.size).toBeGreaterThan(5);
      expect(loaded).not.toContain('undici');
    },
  );

  it('finds an edge that breaks the plan', () => {
    const edges = importsOf('src/rules/evaluate.ts', "import { x } from '../store/open.ts';\n");
    expect(edges).toEqual([{ from: 'src/rules/evaluate.ts', to: 'src/store/open.ts' }]);
    expect(MAY_IMPORT.rules).not.toContain(roomOf('src/store/open.ts'));
  });
});
