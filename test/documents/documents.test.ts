/** The documents say what is there: links lead somewhere, rooms and dependencies are named. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesBelow, repositoryRoot } from '../support/source.ts';

const documents = [
  ...filesBelow('docs', ['.md']).map(({ path }) => path),
  ...readdirSync(repositoryRoot).filter((name) => name.endsWith('.md')),
];

function read(path: string): string {
  return readFileSync(join(repositoryRoot, path), 'utf8');
}

describe('the documents', () => {
  it('link to files that exist', () => {
    const broken = documents.flatMap((path) =>
      [...read(path).matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
        .map((match) => join(dirname(path), match[1] ?? ''))
        .filter((target) => !existsSync(join(repositoryRoot, target)))
        .map((target) => `${path} → ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it('name every room', () => {
    const text = read('docs/internals/architecture.md');
    const rooms = readdirSync(join(repositoryRoot, 'src'));
    expect(rooms.filter((room) => !text.includes(`| \`${room}/\` |`))).toEqual([]);
  });

  it('give a reason for every dependency', () => {
    const text = read('docs/internals/decisions.md');
    const manifest: Record<string, Record<string, string>> = JSON.parse(read('package.json'));
    const names = ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) =>
      Object.keys(manifest[kind] ?? {}),
    );
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });

  it('are right in that dependencies are exact, locked by hash, and bring no scripts', () => {
    const manifest: Record<string, Record<string, string>> = JSON.parse(read('package.json'));
    const wanted = ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) =>
      Object.entries(manifest[kind] ?? {}),
    );
    expect(wanted.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
    const { packages }: { packages: Record<string, Record<string, unknown>> } = JSON.parse(
      read('package-lock.json'),
    );
    const locked = Object.entries(packages).filter(([place]) => place !== '');
    expect(locked.length).toBeGreaterThan(wanted.length);
    // What is not of the registry has an address; what it runs when it is installed is marked.
    const odd = locked.filter(
      ([, one]) =>
        !String(one.integrity).startsWith('sha512-') ||
        one.resolved !== undefined ||
        one.hasInstallScript !== undefined,
    );
    expect(odd.map(([place]) => place)).toEqual([]);
    expect(read('.npmrc')).toMatch(/^ignore-scripts=true$/m);
  });

  it('name settings that exist', () => {
    const shipped = read('config/selvedge.yaml');
    const named = documents.flatMap((path) =>
      [...read(path).matchAll(/`((?:service|listener|outbox|intake|rules|streams)\.[\w.]+)`/g)].map(
        (match) => match[1] ?? '',
      ),
    );
    expect(named.length).toBeGreaterThan(10);
    const lastOf = (name: string): string => name.split('.').at(-1) ?? '';
    expect(named.filter((name) => !shipped.includes(`${lastOf(name)}:`))).toEqual([]);
  });
});
