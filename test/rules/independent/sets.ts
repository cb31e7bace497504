/** Random rule sets: as files that the rules are loaded from, and as a person means them. */
import type { Random } from '../../../src/lib/random.ts';
import { type Condition, write } from './conditions.ts';
import type { Fact, Kind } from './pages.ts';
import { type Cell, cellOf, randomTable, spreadsheet, type Table } from './tables.ts';
import { NOW, type Told, textsOf } from './world.ts';
import { type ListKind, Writer } from './writer.ts';

export type Mode = 'off' | 'shadow' | 'live';
type Action = 'accept' | 'hold' | 'reject';

export interface Meant {
  readonly id: string;
  readonly action: Action;
  readonly mode: Mode;
  readonly when: readonly Condition[];
  readonly unless: readonly Condition[];
  readonly appliesTo: readonly string[];
  readonly from?: number | undefined;
  readonly until?: number | undefined;
  /** Act once a hold was held for its time. */
  readonly afterwards: string;
  /** What a live reject rule does that is not armed. */
  readonly otherwise?: 'hold' | 'nothing' | undefined;
}

export interface RandomSet {
  readonly files: readonly { readonly path: string; readonly bytes: Buffer }[];
  readonly mode: Mode;
  readonly rules: readonly Meant[];
  readonly lists: Readonly<Record<string, readonly Cell[]>>;
  readonly tables: readonly Table[];
  readonly zone: string;
  readonly told: Told;
}

const ZONES = ['UTC', 'Europe/Copenhagen', 'America/New_York', 'Pacific/Auckland'] as const;
const EXTRA: Readonly<Record<string, readonly [string, Kind]>> = {
  price_group: ['text', 'text'],
  risk: ['whole number', 'whole number'],
  share: ['decimal', 'number'],
  vip: ['true/false', 'true/false'],
};

const HOUR_MS = 3_600_000;

const dates = new Map(
  ZONES.map((timeZone) => {
    const form = { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' } as const;
    return [String(timeZone), new Intl.DateTimeFormat('en-GB', form)] as const;
  }),
);

/** The date in a zone, 2026-03-01. */
function dayIn(zone: string, at: number): string {
  const parts = dates.get(zone)?.formatToParts(at) ?? [];
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? '';
  return `${part('year')}-${part('month')}-${part('day')}`;
}

/** The first moment of a day in a zone. */
function midnight(zone: string, day: string): number {
  const noon = Date.parse(`${day}T12:00:00Z`);
  let at = noon - 30 * HOUR_MS;
  while (dayIn(zone, at) < day) at += HOUR_MS / 2;
  return at;
}

interface Window {
  readonly season: string;
  readonly delivery?: string;
  readonly from: string;
  readonly to: string;
}

function randomWindows(random: Random): readonly Window[] {
  const names = ['1st', '2nd', undefined];
  return ['AW26', 'SS27'].flatMap((season) =>
    names.flatMap((delivery) => {
      if (random.chance(0.5)) return [];
      const [from, to] = [random.int(20, 28), random.int(1, 9)];
      const days = { from: `2026-02-${from}`, to: `2026-03-0${to}` };
      return [{ season, ...(delivery === undefined ? {} : { delivery }), ...days }];
    }),
  );
}

function toldBy(random: Random, zone: string, windows: readonly Window[], rates: object): Told {
  const base = random.chance(0.7) ? 'DKK' : null;
  const byCurrency = new Map(Object.entries(rates));
  return {
    base,
    rate(currency) {
      if (base === null || typeof currency !== 'string') return null;
      return currency === base ? '1' : (byCurrency.get(currency)?.toString() ?? null);
    },
    window(season, delivery) {
      const same = windows.filter((one) => one.season === season);
      const own = same.find((one) => one.delivery === delivery && delivery !== undefined);
      const found = own ?? same.find((one) => one.delivery === undefined);
      if (!found) return null;
      const dayAfter = new Date(Date.parse(found.to) + 24 * HOUR_MS).toISOString().slice(0, 10);
      return { from: midnight(zone, found.from), to: midnight(zone, dayAfter) };
    },
    extra() {
      const made = { price_group: 'Nord', risk: random.int(0, 12), share: 2.5, vip: true };
      const kept = Object.entries(made).filter(() => random.chance(0.7));
      return Object.fromEntries(kept);
    },
  };
}

function randomList(random: Random, kind: ListKind): readonly Cell[] {
  const cells = Array.from({ length: random.int(1, 3) }, (): Cell => {
    if (kind === 'text') return random.pick(['DK', 'SE', 'NO', 'Nord', 'PO-1', '900']);
    return kind === 'truth' ? random.chance(0.5) : { number: String(random.int(0, 9)) };
  });
  return cells;
}

const quoted = (value: string) => `'${value.replaceAll("'", "''")}'`;
const yamlCell = (cell: Cell) => {
  if (typeof cell === 'string') return JSON.stringify(cell);
  return typeof cell === 'boolean' ? String(cell) : cell.number;
};

const time = (at: number) => new Date(at).toISOString().replace('.000', '');

function ruleText(rule: Meant, isDefault: boolean): string {
  const list = (key: string, conditions: readonly Condition[]) =>
    conditions.length === 0
      ? ''
      : `    ${key}:\n${conditions.map((one) => `      - ${quoted(write(one))}\n`).join('')}`;
  const hold =
    rule.action === 'hold' ? `    hold: { at_most: 36h, then: ${rule.afterwards} }\n` : '';
  return (
    `  - id: ${rule.id}\n    title: A rule\n    action: ${rule.action}\n${hold}` +
    (isDefault ? '' : `    mode: ${rule.mode}\n`) +
    (rule.otherwise === undefined ? '' : `    otherwise: ${rule.otherwise}\n`) +
    `    applies_to: [${rule.appliesTo.join(', ')}]\n` +
    (rule.from === undefined ? '' : `    effective_from: ${time(rule.from)}\n`) +
    (rule.until === undefined ? '' : `    effective_until: ${time(rule.until)}\n`) +
    list('when', rule.when) +
    list('unless', rule.unless)
  );
}

/** Says in which currency the bare numbers are, as a rule must. */
function pins(random: Random, bare: ReadonlySet<string>): readonly Condition[] {
  const owners = new Set([...bare].map((path) => path.replace('delivery.', 'order.')));
  owners.delete('order.base_currency');
  return [...owners].map((path) => ({
    is: 'relation',
    sign: '==',
    sides: [
      { is: 'fact', path },
      { is: 'text', value: random.chance(0.7) ? 'DKK' : 'EUR' },
    ],
  }));
}

function randomRule(random: Random, id: string, known: ConstructorParameters<typeof Writer>[1]) {
  const action = random.pick(['accept', 'accept', 'hold', 'hold', 'reject'] as const);
  const writer = new Writer(random, known);
  const some = (least: number, most: number) =>
    Array.from({ length: random.int(least, most) }, () => writer.condition(random.int(0, 3)));
  const [when, unless] = [some(1, random.int(1, 3)), some(0, random.pick([0, 0, 1, 2]))];
  const ahead = random.chance(0.1) ? random.int(-24, 24) : undefined;
  const after = random.chance(0.1) ? random.int(-24, 24) : undefined;
  const at = (hours: number | undefined) =>
    hours === undefined ? undefined : NOW + hours * HOUR_MS;
  const ends = ahead !== undefined && after !== undefined && ahead >= after ? undefined : after;
  const states = action === 'hold' ? [['pending'], ['accepted'], ['pending', 'accepted']] : [];
  const rule: Meant = {
    ...{ id, action, mode: random.pick(['live', 'live', 'live', 'shadow', 'off'] as const) },
    ...{ when: [...when, ...pins(random, writer.bare)], unless },
    ...{ from: at(ahead), until: at(ends) },
    appliesTo: random.pick([['pending'], ['pending'], ...states]),
    afterwards: random.pick(['escalate', 're-evaluate', 'accept', 'release']),
  };
  if (action !== 'reject') return rule;
  const written = random.pick(['hold', 'nothing'] as const);
  return { ...rule, otherwise: random.chance(0.4) ? undefined : written };
}

export function randomSet(random: Random, facts: readonly Fact[]): RandomSet {
  const zone = random.pick(ZONES);
  const lists = {
    words: randomList(random, 'text'),
    counts: randomList(random, 'number'),
  };
  const extra = Object.entries(EXTRA).map(([name, [, kind]]) => {
    const path = `customer.extra.${name}`;
    return { path, kind, mayBeUnknown: true, values: [], currency: '' };
  });
  const keys = ['order.currency', 'order.country', 'customer.extra.price_group', 'order.city'];
  const tables = Array.from({ length: random.int(0, 3) }, (_, at) => {
    const by = Array.from({ length: random.int(1, 3) }, () => random.pick(keys));
    return randomTable(random, `t${at}`, by, (path) =>
      textsOf(path).filter((key) => key !== '' && key !== '*'),
    );
  });
  const known = { facts, extra, tables, lists: { words: 'text', counts: 'number' } as const };
  const rules = Array.from({ length: random.int(1, 5) }, (_, at) =>
    randomRule(random, `r${at}`, known),
  );
  const mode = random.pick(['live', 'live', 'live', 'live', 'shadow'] as const);
  const windows = randomWindows(random);
  const rates = random.pick([{}, { EUR: 7.46 }, { EUR: 7.4605, SEK: 0.65123 }]);
  const told = toldBy(random, zone, windows, rates);
  const settings = [
    `version: 1\nmode: ${mode}\ntimezone: ${zone}\ndefaults: { mode: live }`,
    `customer_fields: ${JSON.stringify(
      Object.fromEntries(Object.entries(EXTRA).map(([name, [word]]) => [name, word])),
    )}`,
    ...(told.base === null ? [] : [`base_currency: ${told.base}`]),
    `rates: ${JSON.stringify(rates)}`,
    `season_windows: ${JSON.stringify(windows)}`,
    'lists:',
    ...Object.entries(lists).map(([name, cells]) => `  ${name}: [${cells.map(yamlCell)}]`),
    ...(tables.length === 0 ? [] : ['tables:']),
    ...tables.map(({ name, by }) => {
      const columns = by.map((_, at) => `key${at}`).join(', ');
      const days = 'from: from, until: until';
      return `  ${name}: { file: ${name}.csv, keys: [${columns}], value: value, ${days} }`;
    }),
  ].join('\n');
  const text = rules.map((rule) => ruleText(rule, rule.mode === 'live' && random.chance(0.5)));
  const files = [
    { path: 'settings.yaml', bytes: Buffer.from(`${settings}\n`) },
    { path: 'rules.yaml', bytes: Buffer.from(`rules:\n${text.join('')}`) },
    ...tables.map((table) => ({
      path: `${table.name}.csv`,
      bytes: spreadsheet(random, table),
    })),
  ];
  return { files, mode, rules, lists, tables, zone, told };
}

/** The row of a table that counts at a time. */
export function cellAt(set: RandomSet, at: number, name: string, keys: readonly string[]) {
  const table = set.tables.find((one) => one.name === name);
  return table && cellOf(table, keys, dayIn(set.zone, at));
}
