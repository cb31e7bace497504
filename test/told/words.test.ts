/** Names that programs have, which no page shows to people. */
import { dirname } from 'node:path';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { OUTBOX_KINDS, WORDS } from '../../src/config/words.ts';
import { createEntrance } from '../../src/console/access/entrance.ts';
import { createConsoleApp } from '../../src/console/server.ts';
import { LISTS } from '../../src/console/surface/registry.ts';
import { KNOWN_TYPES } from '../../src/inbox/event-store.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { ENTITIES } from '../../src/mirror/catalog/entities.ts';
import { INCIDENT_KINDS } from '../../src/ops/incident-kinds.ts';
import { type Db, openReadOnlyStore, storeOptions } from '../../src/store/store.ts';
import { configOf } from '../config/config-of.ts';
import { settingsOf } from '../cost/pages.ts';
import type { DeciderFixture } from '../decisions/support.ts';
import { SETTINGS, STREAM_NAMES, wordsWorld } from './words-world.ts';

const HOUR_MS = 3_600_000;

/** Answers of a daemon, by what it is asked. */
const ANSWERS: Readonly<Record<string, unknown>> = {
  people: { operators: [], proxyRole: null },
  doctor: [],
  release: { preview: null, refused: 'it is complete' },
};
/** What a person reads of a page: no folds for who writes rules or has a terminal, no JSON. */
function textsOf(page: string): readonly string[] {
  const shown: string[] = [];
  let hidden = 0;
  const parts = page
    .replaceAll(
      /<details[^>]*>\s*<summary>(?:show(?: the rule)?|for the terminal|JSON)<\/summary>/g,
      '<pre>',
    )
    .split(/(<[^>]*>)/);
  const folds: boolean[] = [];
  for (const part of parts) {
    if (/^<(?:pre|script|style)\b/.test(part)) {
      hidden += 1;
      folds.push(true);
    } else if (/^<details\b/.test(part)) folds.push(false);
    else if (/^<\/(?:pre|script|style|details)>/.test(part)) {
      if (folds.pop()) hidden -= 1;
    } else if (hidden === 0) {
      // Texts that a screen reader says, or that stand in an empty field, are read as well.
      const said = part.matchAll(/\b(?:aria-label|title|placeholder|alt)="([^"]*)"/g);
      const texts = part.startsWith('<') ? [...said].map(([, text = '']) => text) : [part];
      shown.push(...texts.map((text) => text.replaceAll(/\s+/g, ' ').trim()));
    }
  }
  return shown;
}

/** Names of the schema: tables, views, columns, and the values that their checks allow. */
async function schemaNames(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly name: string; readonly text: string }>`
    select m.name, group_concat(c.name) || ' ' || m.sql text
    from sqlite_master m, pragma_table_info(m.name) c
    where m.type in ('table', 'view') group by m.name`.execute(db);
  return rows.flatMap(({ name, text }) => {
    const [columns = ''] = text.split(' ');
    const checks = [...text.matchAll(/\bIN\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
      [...list.matchAll(/'([^']+)'/g)].flatMap(([, value]) => value ?? []),
    );
    return [name, ...columns.split(','), ...checks];
  });
}

/** Values that only programs read: digests, references that we made, names of acts. */
async function codesIn(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly code: string }>`
    select distinct substr(hash, 1, 12) code from decision
    union select substr(rule_set_hash, 1, 12) from decision
    union select substr(content_hash, 1, 12) from delivery
    union select reference from outbox where kind = 'delivery_status'
    union select action from audit union select subject from audit
    union select source from delivery union select cause from change`.execute(db);
  return rows.map(({ code }) => code);
}

function isDigest(name: string): boolean {
  return /^[0-9a-f]{12}$/.test(name);
}

/** Whether a name cannot be a word of a sentence, so that it is found within one. */
function isCode(name: string): boolean {
  return isDigest(name) || /[_:/]|[a-z][A-Z]|\w\.\w/.test(name);
}

async function namesOf(db: Db): Promise<readonly string[]> {
  const kinds = [...OUTBOX_KINDS, ...STREAM_NAMES, ...INCIDENT_KINDS, ...KNOWN_TYPES];
  const members = LISTS.flatMap(({ row, query }) => Object.keys({ ...row.shape, ...query.shape }));
  const words = Object.values(WORDS).flatMap((of) => Object.keys(of));
  const entities = ENTITIES.map(({ entity }) => entity);
  const all = [...kinds, ...members, ...words, ...entities];
  return [...new Set([...all, ...(await schemaNames(db)), ...(await codesIn(db))])];
}

/**
 * Names whose word is another one, which a cell or an option must not show in its place; a name
 * that is the word of another thing may be that.
 */
const ALL_WORDS: ReadonlySet<string> = new Set(
  Object.values(WORDS).flatMap((of): readonly string[] => Object.values(of)),
);
const RENAMED = new Set(
  Object.values(WORDS)
    .flatMap((of) => Object.keys(of))
    .filter((name) => !ALL_WORDS.has(name)),
);

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

async function addressesOf({ store: { db } }: DeciderFixture): Promise<readonly string[]> {
  const ids = async (id: string, table: string) => {
    const { rows } = await sql<{ readonly id: number | string }>`
      select ${sql.ref(id)} id from ${sql.table(table)}`.execute(db);
    return rows.map((row) => encodeURIComponent(row.id));
  };
  const deliveries = await ids('order_delivery_id', 'delivery');
  // A report has the name of its file, by which people know it.
  const lists = LISTS.map(({ path }) => path).filter((path) => !/\{id\}|^\/reports$/.test(path));
  return [
    '/',
    ...lists,
    ...(await ids('id', 'incident')).map((id) => `/incidents/${id}`),
    ...(await ids('order_id', 'sales_order')).map((id) => `/orders/${id}`),
    '/find?q=1',
    ...(await ids('outbox_id', 'outbox')).map((id) => `/outbox/${id}`),
    ...(await ids('run_id', 'sync_run')).map((id) => `/pulls/runs/${id}`),
    ...(await ids('event_id', 'webhook_event')).map((id) => `/events/${id}`),
    ...STREAM_NAMES.map((stream) => `/pulls/${stream}`),
    ...['', '/changes', '/now'].flatMap((part) =>
      deliveries.map((id) => `/deliveries/${id}${part}`),
    ),
    ...[
      '/rules/one',
      '/rules/never',
      '/rules/never/arm',
      '/rules/trial',
      '/system',
      '/review?shown=all',
    ],
  ];
}

async function openPages({ store, clock }: DeciderFixture) {
  const config = { ...configOf(SETTINGS), dataDir: dirname(store.path) };
  const reader = await openReadOnlyStore(storeOptions(config));
  const app = createConsoleApp({
    ...{ db: reader.db, clock, settings: settingsOf({ config }), log: silentLogger() },
    snapshot: (read) => reader.snapshot(read),
    ask: async ({ ask }) => ({ value: ANSWERS[ask] ?? {} }),
    daemonSeenAt: () => clock.monotonic(),
    rulesMode: () => 'live',
    beats: () => [],
  });
  onTestFinished(async () => {
    await app.close();
    await reader.close();
  });
  const entrance = createEntrance({
    ...{ store, clock, random: systemRandom(), sessionIdleMs: HOUR_MS },
    ...{ people: { operators: [], proxyRole: null }, sessionMs: HOUR_MS },
  });
  const person = { name: 'bi', role: 'approver', seesAddresses: true } as const;
  const given = { ...person, expiresAt: clock.now() + HOUR_MS };
  const { token } = await entrance.createToken(given, { actor: 'ada', reason: '' });
  return async (url: string) => {
    const headers = { authorization: `Bearer ${token}`, accept: 'text/html' };
    const { statusCode, body } = await app.inject({ url, headers });
    expect([url, statusCode, statusCode === 200 ? '' : textsOf(body)]).toEqual([url, 200, '']);
    return body;
  };
}

it('no page shows a name that is for programs, whatever the state of things', async () => {
  const world = await wordsWorld();
  const get = await openPages(world);
  const names = await namesOf(world.store.db);
  const codes = names.filter(isCode).map(escaped);
  const code = new RegExp(`(?<![\\w/.-])(?:${codes.join('|')})(?![\\w/-])`, 'g');
  const found = new Map<string, string>();
  for (const address of await addressesOf(world)) {
    for (const text of textsOf(await get(address))) {
      const odd = RENAMED.has(text) ? [text] : (text.match(code) ?? []);
      // Rule sets are known by their digests, which stand with the rules and nowhere else.
      for (const name of odd.filter((one) => !address.startsWith('/rules') || !isDigest(one))) {
        const page = address.replaceAll(/\d+|\?.*/g, '…');
        found.set(`${page} ${name}`, text.slice(0, 160));
      }
    }
  }
  expect([...found].map(([place, text]) => `${place}: ${text}`)).toEqual([]);
});
