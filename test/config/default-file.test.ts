import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { DEFAULT_FILE, loadConfig, readConfig } from '../../src/config/load.ts';
import { membersOf, metaOf } from '../../src/config/schema/shape.ts';
import { nearestTree, showPath } from '../../src/config/source/tree.ts';

const written = readConfig({ file: DEFAULT_FILE, env: {} });
const lines = readFileSync(DEFAULT_FILE, 'utf8').split('\n');

/** The paths of all sections and settings that the schema knows. */
function pathsOf(schema: z.core.$ZodType, path: readonly string[] = []): string[][] {
  const own = path.length === 0 ? [] : [[...path]];
  if (metaOf(schema) !== undefined) return own;
  return [
    ...own,
    ...Object.entries(membersOf(schema) ?? {}).flatMap(([name, member]) =>
      pathsOf(member, [...path, name]),
    ),
  ];
}

describe('the shipped configuration', () => {
  it('lacks nothing but the account', () => {
    const loaded = loadConfig({ file: DEFAULT_FILE, env: {} });
    const missing = 'problems' in loaded ? loaded.problems : [];
    expect(missing.map(({ path, message }) => `${path} ${message}`)).toEqual([
      'service.v1.baseUrl is not set',
      'service.v1.login is not set, nor is apiKey',
    ]);
  });

  it('has every setting that the schema knows', () => {
    const paths = pathsOf(written.schema);
    expect(paths.length).toBeGreaterThan(90);
    const absent = paths.filter((path) => !nearestTree(written.tree, path).exact);
    expect(absent.map(showPath)).toEqual([]);
  });

  it('explains every setting in a comment above it', () => {
    const silent = pathsOf(written.schema).filter((path) => {
      const line = nearestTree(written.tree, path).tree.nameAt.line ?? 0;
      return !/^\s*#/.test(lines[line - 2] ?? '');
    });
    expect(silent.map(showPath)).toEqual([]);
  });

  it('keeps its lines readable', () => {
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
  });
});
