/** How an account pages: `init` writes it, and `probe` names the setting that is to be written. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Kind, startPaged } from '../../probe/paged-account.ts';
import { writeAccount } from '../../probe/support.ts';
import { temporaryFolder } from '../../support/store.ts';
import { selvedge } from '../support.ts';

/** Kinds of accounts, the lines that are written of them, and what these were seen on. */
const KINDS: readonly (readonly [string, Kind, readonly string[], readonly string[]])[] = [
  [
    'pages of 20 from number 0, and counts of the page',
    { most: 20, first: 0, counts: 'page', behind: 404 },
    ['paging: pages', 'firstPage: zero', 'pageLimit: 20'],
    ['count is that of the page', 'HTTP 404 behind the last'],
  ],
  [
    'a header that links pages of 30',
    { most: 30, links: true },
    ['paging: pages', 'pageLimit: 30'],
    ['no count, the next by Link:', 'an empty page behind the last'],
  ],
  [
    'pages of 50 with the count of the list, and offsets of V2 that count pages',
    { most: 50, counts: 'list', offsets: 'pages' },
    ['paging: pages', 'pageLimit: 50', 'v2:', 'paging: pages', 'pageLimit: 8'],
    ['count is that of the list, no link', 'offsets count pages', 'cut to 8 rows'],
  ],
];

// A probe waits between its requests: the accounts are looked at side by side.
describe.concurrent('an account with', () => {
  it.for(KINDS)('%s is written so by init', async ([, kind, lines, seen], context) => {
    const reference = await startPaged(kind, context.onTestFinished);
    const [key] = Object.values(reference.credentials);
    const folder = temporaryFolder(context.onTestFinished);
    mkdirSync(join(folder, 'secrets'));
    writeFileSync(join(folder, 'secrets', 'client'), key?.clientSecret ?? '', { mode: 0o600 });
    const file = join(folder, 'selvedge.yaml');
    const { code, stderr } = await selvedge([
      ...['init', '--url', reference.v1Url, '--client-id', key?.clientId ?? ''],
      ...['--client-secret-file', join(folder, 'secrets', 'client'), '--output', file],
      ...['--login-spacing', '0s'],
    ]);
    expect(code, stderr).toBe(0);
    const text = readFileSync(file, 'utf8');
    const plain = text.replaceAll(/\s*\n\s*# /g, ' ');
    for (const words of seen) expect(plain).toContain(words);
    let from = text.indexOf('dialect:');
    for (const line of lines) {
      const at = text.indexOf(`${line}\n`, from);
      expect(at, `${line} in ${text}`).toBeGreaterThan(0);
      if (line === 'v2:') from = at;
    }
    if (!lines.includes('firstPage: zero')) expect(text).not.toContain('firstPage');
  });

  it('a wrong setting of its pages is told the right one by probe', async ({ onTestFinished }) => {
    const kind = { most: 20, counts: 'list', behind: 404 } as const;
    const reference = await startPaged(kind, onTestFinished);
    const wrong = `  dialect:
    v1: { paging: pages, firstPage: zero, pageLimit: 100 }
    v2: { paging: pages }
  limits: { loginSpacing: 0s }`;
    const { file } = writeAccount(reference, wrong, onTestFinished);
    const { stdout, stderr } = await selvedge(['probe', '--config', file]);
    expect(stdout, stderr).toContain('firstPage: one');
    expect(stdout).toContain('pageLimit: 20');
    expect(stdout).toMatch(/v2:[\s\S]*paging: token/);
  });
});
