/**
 * Cost of proposing rules from 100,000 decisions, of which people made 40 %: time, and memory of
 * the process, with the limits of the one that pages and commands start.
 *
 * `node bench/suggest.ts [--decisions 100000] [--keep FILE]`: a kept file is used again.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { deflateSync } from 'node:zlib';
import { storeTexts } from '../src/decisions/rule-texts.ts';
import { systemClock } from '../src/lib/clock.ts';
import { canonicalJson, sha256 } from '../src/lib/json.ts';
import { seededRandom } from '../src/lib/random.ts';
import { evaluate } from '../src/rules/evaluate.ts';
import type { Facts } from '../src/rules/facts/plain.ts';
import { typicalFacts } from '../src/rules/facts/typical.ts';
import { loadRules } from '../src/rules/load.ts';
import { openWriter } from '../src/store/connection.ts';
import { writeStateAt } from '../src/store/state.ts';
import { openReadOnlyStore, openStore } from '../src/store/store.ts';
import { suggest } from '../src/suggest/suggest.ts';
import { lower, tell } from './support/figures.ts';

const { values: options } = parseArgs({
  options: {
    decisions: { type: 'string', default: '100000' },
    keep: { type: 'string' },
    measure: { type: 'string' },
  },
});
const DECISIONS = Number(options.decisions);
/** Deliveries that people decide, of those that the rules have looked at. */
const BY_PEOPLE = 2 / 3;
const DAYS = 90;
const DAY_MS = 86_400_000;
const BEGIN = Date.UTC(2026, 5, 1);
const BUSY = { busyTimeoutMs: 5_000 };
/** Flags of the process that pages and commands start. */
const FLAGS = ['--max-old-space-size=384', '--max-semi-space-size=8'];
const GOAL_S = 60;
const GOAL_MIB = 512;
const COUNTRIES = ['DK', 'SE', 'DE', 'NL', 'FI'];
const BRANDS = ['Northern Thread', 'Havn', 'Ask', 'Fjord'];
const RULES = `rules:
  - { id: a, title: A, action: accept, mode: live, when: ['delivery.quantity <= 4'] }
  - { id: b, title: B, action: hold, mode: live, when: ['delivery.quantity > 90'] }
`;

const random = seededRandom(3);

function factsOf(id: number, at: number): Facts {
  const base = typicalFacts();
  const [line] = base.delivery.lines;
  if (!line) throw new Error('the typical delivery has lines');
  const brand = random.pick(BRANDS);
  const lines = Array.from({ length: random.int(1, 8) }, (_, index) => ({
    ...line,
    barcode: `57${id}${index}`,
    quantity: random.int(1, 14),
    price: random.int(5, 90) * 10_0000,
    brand,
  }));
  return {
    ...base,
    delivery: { ...base.delivery, id, number: `DN-${id}`, created_at: at, lines },
    order: {
      ...base.order,
      id,
      country: random.pick(COUNTRIES),
      account_no: `C-${random.int(1, 400)}`,
      amount: random.int(50, 9_000) * 10_0000,
      freight_amount: random.int(0, 90) * 1_0000,
      preorder: random.chance(0.2),
    },
    clock: { ...base.clock, now: at },
    feed: 1,
  };
}

function decidedBy(facts: Facts): string {
  const pieces = facts.delivery.lines.reduce((sum, { quantity }) => sum + (quantity ?? 0), 0);
  const isAccepted = pieces <= (facts.order.country === 'DK' ? 40 : 20);
  return isAccepted !== random.chance(0.03) ? 'accept' : 'hold';
}

async function fill(path: string): Promise<void> {
  if (existsSync(path)) return;
  const files = [
    { path: 'settings.yaml', text: 'version: 1\n' },
    { path: 'r.yaml', text: RULES },
  ];
  const loaded = loadRules(files);
  if ('problems' in loaded) throw new Error(loaded.problems[0]?.message);
  const { ruleSet } = loaded;
  const { store } = await openStore({ path, ...BUSY }, systemClock());
  await store.transaction(async (tx) => {
    await storeTexts(tx, { hash: ruleSet.hash, files }, BEGIN);
    await writeStateAt(tx, 'rules_in_force', ruleSet.hash, BEGIN);
  });
  await store.close();
  const writer = openWriter(path, BUSY);
  const putFacts = writer.prepare('insert into fact_snapshot (digest, at, facts) values (?, ?, ?)');
  const put = writer.prepare(`insert into decision (order_delivery_id, order_id, at, trigger, actor,
    rule_set_hash, facts_digest, mode, outcome, reason, rules, shadow, said, matched, lapsed,
    evaluation, previous_hash, hash)
    values (?, ?, ?, 'new', ?, ?, ?, 'live', ?, 'looked at',
      '[]', '{}', ?, '[]', '[]', x'', '', ?)`);
  const journal = (facts: Facts, actor: string, outcome: string): void => {
    const text = canonicalJson(facts);
    const [digest, { id }] = [sha256(text), facts.delivery];
    const at = facts.clock.now;
    putFacts.run(digest, at, deflateSync(text));
    put.run(id, id, at, actor, ruleSet.hash, digest, outcome, outcome, `${id} ${actor}`);
  };
  const deliveries = Math.round(DECISIONS / (1 + BY_PEOPLE));
  writer.transaction(() => {
    for (let id = 1; id <= deliveries; id += 1) {
      const at = BEGIN + Math.floor(((id - 1) / deliveries) * DAYS * DAY_MS);
      const facts = factsOf(id, at);
      const { kind } = evaluate(ruleSet, facts, { operands: false }).live;
      journal(facts, 'daemon', kind);
      if (id % 3 === 0 || kind === 'accept') continue;
      const then = { ...facts, clock: { ...facts.clock, now: at + 3_600_000 + id } };
      journal(then, `person:${random.pick(['ada', 'bo', 'cy'])}`, decidedBy(facts));
    }
  })();
  writer.close();
}

/** Measures in a process of its own, which only proposes. */
async function measure(path: string): Promise<void> {
  const store = await openReadOnlyStore({ path, ...BUSY });
  const [from, cpu] = [performance.now(), process.cpuUsage()];
  const found = await suggest(store.db, { since: BEGIN, until: BEGIN + (DAYS + 1) * DAY_MS });
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - from) / 1_000;
  const mostMib = process.resourceUsage().maxRSS / 1_024;
  await store.close();
  for (const { kind, conditions } of found.proposals)
    console.log(`${kind}: ${conditions.join(', ')}`);
  process.send?.({ seconds, cpu: (user + system) / 1e6, mostMib });
}

interface Measured {
  readonly seconds: number;
  readonly cpu: number;
  readonly mostMib: number;
}

if (options.measure !== undefined) await measure(options.measure);
else {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  const path = options.keep ?? join(folder, 'mirror.db');
  await fill(path);
  const child = fork(import.meta.filename, ['--measure', path], { execArgv: FLAGS });
  const [told]: Measured[] = await once(child, 'message');
  if (!told) throw new Error('nothing was measured');
  const { seconds, cpu, mostMib } = told;
  rmSync(folder, { recursive: true });
  tell(lower('CPU s', cpu), lower('most memory, MiB', mostMib));
  const isMet = cpu <= GOAL_S && mostMib <= GOAL_MIB;
  console.log(
    `${DECISIONS} decisions: ${seconds.toFixed(1)} s, ${cpu.toFixed(1)} s of CPU, ` +
      `${Math.round(mostMib)} MiB; goals ${GOAL_S} s, ${GOAL_MIB} MiB: ` +
      `${isMet ? 'met' : 'missed'}`,
  );
  if (!isMet) process.exitCode = 1;
}
