/** Proposals at the console: what they rest on, how one is tried, and who may see them. */
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createEntrance } from '../../src/console/access/entrance.ts';
import { createConsoleApp } from '../../src/console/server.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { escapeHtml } from '../../src/lib/html.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { systemRandom } from '../../src/lib/random.ts';
import type { Role } from '../../src/surface/roles.ts';
import { buildHouse, decideAll, type House, type Policy } from '../suggest/clerk.ts';
import { until } from '../support/house.ts';
import { CONSOLE_SETTINGS } from './made-up.ts';

const HOUR_MS = 3_600_000;

/** Small deliveries pass, and other prices unless the order is an express one. */
const policy: Policy = ({ facts, byRules }) => {
  if (byRules.kind === 'no_rule') return (facts.delivery.quantity ?? 0) <= 15 ? 'accept' : 'hold';
  if (!byRules.rules.includes('hold-price') || byRules.rules.length > 1) return undefined;
  return facts.order.freight_type === 'Express' ? 'hold' : 'accept';
};

let house: House;
let app: ReturnType<typeof createConsoleApp>;
let as: (role: Role) => Promise<Readonly<Record<string, string>>>;
const clock = manualClock();

beforeAll(async () => {
  house = await buildHouse({ days: 36, aDay: 30 });
  await decideAll(house, { policy, mistakes: 0 });
  await clock.advance(house.until - clock.now());
  const { store } = house;
  const machine = { ...CONSOLE_SETTINGS.machine, dataDir: dirname(house.path) };
  app = createConsoleApp({
    ...{ db: store.db, clock, log: silentLogger() },
    settings: { ...CONSOLE_SETTINGS, machine },
    snapshot: (read) => store.snapshot(read),
    ask: async () => ({ value: {} }),
    daemonSeenAt: () => clock.monotonic(),
    rulesMode: () => 'live',
    beats: () => [],
  });
  const entrance = createEntrance({
    ...{ store, clock, random: systemRandom(), sessionIdleMs: HOUR_MS, sessionMs: HOUR_MS },
    people: { operators: [], proxyRole: null },
  });
  as = async (role) => {
    const given = { name: role, role, seesAddresses: false, expiresAt: clock.now() + HOUR_MS };
    const { token } = await entrance.createToken(given, { actor: 'ada', reason: '' });
    return { authorization: `Bearer ${token}`, accept: 'text/html' };
  };
}, 120_000);

afterAll(async () => {
  await app?.close();
  await house?.close();
});

/** Links that lead to a trial of a proposal, in the order of the page. */
function triesIn(page: string): readonly string[] {
  return [...page.matchAll(/href="(\/rules\/trial\?[^"]+)">Try it/g)].map(([, link = '']) =>
    link.replaceAll('&amp;', '&'),
  );
}

describe('proposals', () => {
  it('are waited for by the page in the place of the reader', async () => {
    const before = clock.pending();
    const headers = await as('operator');
    const asked = app.inject({ url: '/rules/suggest?since=70d', headers });
    // The process has a limit, and the page its moment.
    await until('the page waits', async () => clock.pending() >= before + 2 || undefined);
    await clock.advance(2_000);
    expect((await asked).payload).toContain('data-load="/rules/suggest?since=70d"');
  });

  it('come with what they rest on, and with the rules that people overrule', async () => {
    const headers = await as('operator');
    const { payload } = await app.inject({ url: '/rules/suggest?since=70d', headers });
    expect(payload).toContain('id: accept-by-');
    expect(payload).toContain('exception of <a href="/rules/hold-price">');
    expect(payload).toMatch(/May be wrong in<\/dt><dd>\d\.\d % of the acts at the most/);
    expect(payload).toMatch(/Look again on<\/dt><dd>2026-/);
    expect(payload).toMatch(/<a href="#p-\w+">unless [^<]*freight_type/);
    const twin = await app.inject({ url: '/rules/suggest.json?since=70d', headers });
    const json = z.array(z.looseObject({ draft: z.string() })).parse(twin.json().proposals);
    for (const { draft } of json) expect(payload).toContain(escapeHtml(draft));
    expect(triesIn(payload)).toHaveLength(json.length);
  });

  it('open as the text of a trial, a new rule as if it were live', async () => {
    const headers = await as('operator');
    const page = await app.inject({ url: '/rules/suggest?since=70d', headers });
    for (const url of triesIn(page.payload)) {
      const { payload } = await app.inject({ url, headers });
      const isException = payload.includes('id: hold-price');
      expect(payload).toMatch(/name="text"[^>]*>(?:# [^\n]*\n)?rules:/);
      expect(payload.includes('value="1" checked')).toBe(!isException);
      expect(payload).toContain('name="days" type="number" min="1" max="366" value="70"');
    }
    const gone = await app.inject({ url: '/rules/trial?proposal=x&since=70d', headers });
    expect([gone.statusCode, gone.payload]).toEqual([404, expect.stringContaining('any more')]);
  });

  it('are for those who may try rules', async () => {
    const headers = { ...(await as('viewer')), accept: 'application/json' };
    for (const url of ['/rules/suggest', '/rules/suggest.json', '/rules/trial?proposal=x']) {
      const { statusCode, payload } = await app.inject({ url, headers });
      expect([url, statusCode, JSON.parse(payload).code]).toEqual([url, 403, 'console.role']);
    }
  });
});
