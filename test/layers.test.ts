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

/**
 * Packages, or single files of one, with the rooms that load them: by imports, also those that
 * wait, or by a `require` of their own. Types load nothing.
 */
const LOADED_IN: Readonly<Record<string, string>> = {
  '@marcbachmann/cel-js': 'rules',
  '@marcbachmann/cel-js/evaluator': 'rules',
  'better-sqlite3': 'daemon reference standby store',
  commander: 'cli',
  'csv-parse/sync': 'rules',
  'd3-scale': 'lib',
  fastify: 'lib',
  kysely: 'console daemon decisions inbox mirror ops outbox report standby store sync',
  'node-cron': 'config sync',
  nodemailer: 'ops',
  'p-retry': 'client',
  pg: 'plane',
  pino: 'lib',
  'prom-client': 'ops',
  'undici/lib/api/api-connect.js': 'lib',
  'undici/lib/api/api-request.js': 'lib',
  'undici/lib/core/connect.js': 'lib',
  'undici/lib/dispatcher/agent.js': 'lib',
  'undici/lib/dispatcher/client.js': 'lib',
  'undici/lib/dispatcher/pool.js': 'lib',
  'write-excel-file/node': 'report',
  yaml: 'cli config conformance decisions lib probe report rules suggest',
  zod:
    'cli client config console daemon decisions inbox lib local-api mirror ops outbox plane ' +
    'probe reference report rules standby store suggest surface sync',
  'zod-openapi': 'console local-api reference',
};

interface Edge {
  readonly from: string;
  readonly to: string;
}

function roomOf(path: string): string {
  return path.split('/')[1] ?? '';
}

function namesIn(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, name = '?']) => name);
}

/** Lists what a file loads by a `require` that it makes; '?' is a use that cannot be read. */
function requiredBy(text: string): string[] {
  const made = /\b(\w+) = createRequire\(import\.meta\.url\);|\bcreateRequire\b(?!\s*[,}])/g;
  const literal = String.raw`(?:\(\s*'([^']+)',?\s*\))?`;
  return [...text.matchAll(made)].flatMap(([whole, name]) => {
    if (name === undefined) return '?';
    const uses = new RegExp(String.raw`\b${name}\b(?:\.resolve)?${literal}`, 'g');
    return namesIn(text.replace(whole, ''), uses);
  });
}

function importsOf(path: string, text: string): Edge[] {
  const imported = namesIn(text, /(?:from|import|import\()\s*['"](\.[^'"]+)['"]/g);
  return [...imported, ...requiredBy(text)]
    .filter((name) => name.startsWith('.'))
    .map((name) => ({ from: path, to: posix.join(posix.dirname(path), name) }));
}

/** Lists what is loaded together with a file. */
function loadedWith(text: string): string[] {
  const imported = namesIn(text, /^(?:import|export) (?!type )(?:[\w\s{},*]+ from )?'([^']+)';/gm);
  return [...imported, ...requiredBy(text)];
}

/** Lists what of packages a file loads at any time. */
function packagesOf(text: string): string[] {
  const later = namesIn(text, /\bimport(?:\.meta\.resolve)?\(\s*'([^']+)'\s*\)/g);
  return [...loadedWith(text), ...later].filter((name) => !/^(?:\.|node:)/.test(name));
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
    for (const specifier of loadedWith(texts.get(path) ?? '')) {
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

  it('loads from packages what is declared, each in its rooms', () => {
    const pairs = sources.flatMap(({ path, text }) =>
      packagesOf(text).map((name) => `${name} in ${roomOf(path)}`),
    );
    const declared = Object.entries(LOADED_IN).flatMap(([name, rooms]) =>
      rooms.split(' ').map((room) => `${name} in ${room}`),
    );
    expect([...new Set(pairs)].sort()).toEqual(declared.sort());
  });

  it('sees what a file loads by a `require` of its own', () => {
    const text = `import { createRequire } from 'node:module';
const part = createRequire(import.meta.url);
const one = part('undici/lib/one.js');
const two = part.resolve(
  'undici/lib/two.js',
);
const three = part('../store/open.ts');
`;
    const loaded = ['undici/lib/one.js', 'undici/lib/two.js', '../store/open.ts'];
    expect(loadedWith(text)).toEqual(['node:module', ...loaded]);
    expect(packagesOf(text)).toEqual(['undici/lib/one.js', 'undici/lib/two.js']);
    const edge = { from: 'src/lib/parts.ts', to: 'src/store/open.ts' };
    expect(importsOf('src/lib/parts.ts', text)).toEqual([edge]);
  });

  it.each([
    'const part = createRequire(import.meta.url);\nload(part);\n',
    'const part = createRequire(import.meta.url);\npart(name);\n',
    "createRequire(import.meta.url)('undici');\n",
    "import { createRequire as makeOne } from 'node:module';\n",
  ])('does not take a `require` for nothing that it cannot read: %j', (text) => {
    expect(packagesOf(text)).toEqual(['?']);
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
    expect([...loaded].filter((path) => path.includes('undici'))).toEqual([]);
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
      const undeclared = (path: string) =>
        /^undici\b/.test(path) && !Object.hasOwn(LOADED_IN, path);
      expect([...loaded].filter(undeclared)).toEqual([]);
    },
  );

  it('finds an edge that breaks the plan', () => {
    const edges = importsOf('src/rules/evaluate.ts', "import { x } from '../store/open.ts';\n");
    expect(edges).toEqual([{ from: 'src/rules/evaluate.ts', to: 'src/store/open.ts' }]);
    expect(MAY_IMPORT.rules).not.toContain(roomOf('src/store/open.ts'));
  });
});
