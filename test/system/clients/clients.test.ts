/**
 * Clients that public generators make from our OpenAPI documents compile and place orders at a
 * running daemon; Prism finds no request or answer that differs from them, and stands in for the
 * service; Spectral finds nothing. Run by `npm run test:clients` and not in CI: it takes three
 * minutes, most of them for npm and the generators, and `npm test` holds what they stumbled over
 * (test/surface/described.test.ts).
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import type { Reference } from '../../../src/reference/reference.ts';
import { openDoors, TOKEN } from '../../e2e/doors/house.ts';
import { startTestDaemon, startTestReference, testConfig, until } from '../../support/house.ts';
import { temporaryFolder } from '../../support/store.ts';
import { freePorts } from '../proxies/programs.ts';
import {
  compile,
  DOCUMENTS,
  generate,
  install,
  installKind,
  type Kind,
  PROGRAMS,
  run,
  writeDocuments,
  writePrograms,
} from './generated.ts';

it.for<Kind>(['new', 'old'])(
  'clients of generators compile and place orders (%s zod)',
  async (kind, { skip }) => {
    const folder = temporaryFolder();
    if (!installKind(folder, kind)) skip('the registry cannot be reached');
    const house = await openDoors();
    await writeDocuments(folder, house.reference);
    for (const name of DOCUMENTS) await generate(folder, kind, name);
    writePrograms(folder, kind);
    await compile(folder);
    const [barcode = ''] = house.reference.world.book.orders.all.flatMap(({ lines }) =>
      lines.map((line) => line.barcode),
    );
    for (const name of Object.keys(PROGRAMS[kind])) {
      const env = { URL: house.url, TOKEN, BARCODE: barcode, REFERENCE: `made-by-${name}` };
      const program = join(folder, 'compiled', 'src', `${name}.js`);
      const { stdout } = await promisify(execFile)(process.execPath, [program], {
        cwd: folder,
        env: { ...process.env, ...env },
      });
      expect([name, stdout.trim()]).toEqual([name, 'queued']);
    }
  },
);

const STOPLIGHT = ['@stoplight/prism-cli@5.16.0', '@stoplight/spectral-cli@6.16.3'];
const LISTS = ['brands', 'freight', 'seasons', 'stock', 'season', 'orders'];

/** Prism with the description of V1: before a service, or in its place. */
async function startPrism(folder: string, ...args: readonly string[]): Promise<string> {
  const [port = 0] = await freePorts(1);
  const child = spawn(join(folder, 'node_modules/.bin/prism'), [...args, '-p', String(port)], {
    cwd: folder,
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  await until('Prism', () =>
    fetch(url).then(
      () => true,
      () => undefined,
    ),
  );
  return url;
}

/** A daemon that pulls all lists from this address; gives why the first run of each ended. */
async function pullFrom(reference: Reference, url: string): Promise<Record<string, string>> {
  const set = (path: string, value: unknown) => ({ path, value });
  const daemon = await startTestDaemon(
    reference,
    testConfig(reference, {
      overrides: [
        set('service.v1.baseUrl', url),
        set('service.limits.loginSpacing', '0s'),
        set('streams.off', []),
      ],
    }),
  );
  const rows = await until('a run of each list', async () => {
    const ended = await daemon.store.db
      .selectFrom('sync_run')
      .select(['stream', 'outcome', 'reason'])
      .where('ended_at', 'is not', null)
      .where('stream', 'in', LISTS)
      .orderBy('run_id', 'desc')
      .execute();
    return new Set(ended.map(({ stream }) => stream)).size === LISTS.length ? ended : undefined;
  });
  return Object.fromEntries(
    rows.map(({ stream, outcome, reason }) => [stream, reason ?? String(outcome)]),
  );
}

it('Prism finds no fault with the traffic, and is a service; Spectral finds none', async ({
  skip,
}) => {
  const folder = temporaryFolder();
  if (!install(folder, STOPLIGHT)) skip('the registry cannot be reached');
  const reference = await startTestReference({
    world: { styles: 20, orders: 5 },
    auth: { loginSpacing: 0 },
  });
  await writeDocuments(folder, reference);
  writeFileSync(join(folder, 'ruleset.yaml'), 'extends: ["spectral:oas"]\n');
  const documents = DOCUMENTS.map((name) => `${name}.json`);
  const lint = ['lint', '-r', 'ruleset.yaml', '-F', 'hint', ...documents];
  expect(await run(folder, 'spectral', lint)).toContain('No results');
  const complete = Object.fromEntries(LISTS.map((name) => [name, 'complete']));
  const between = await startPrism(folder, 'proxy', 'v1.json', reference.v1Url, '--errors');
  expect(await pullFrom(reference, between)).toEqual(complete);
  const instead = await startPrism(folder, 'mock', 'v1.json', '--errors');
  // It gives the same page of orders whatever page is asked for.
  const orders = 'the list of orders does not go down';
  expect(await pullFrom(reference, instead)).toEqual({ ...complete, orders });
});
