/** Introduction and summary of the demo, for a person who sees the program for the first time. */
import { relative } from 'node:path';
import { formatDuration } from '../../lib/units.ts';
import type { Reference } from '../../reference/reference.ts';
import type { Outcome } from '../../rules/evaluate.ts';
import type { DemoFolder } from './folder.ts';
import { wrap } from './layout.ts';

export const ABOUT =
  'A wholesale platform packs your orders; each packed delivery waits for your yes or no.';

const BOTH_SIDES =
  'Here rules answer. Both sides run in this process: a made-up service, and the daemon with ' +
  'the example rules. It takes stock and orders first, which takes some seconds.';

const OUTCOMES: readonly (readonly [Outcome['kind'], string])[] = [
  ['accept', 'yes, sent to the service'],
  ['reject', 'no, sent only by a rule that a person armed'],
  ['hold', 'a rule wants a person to look; nothing is sent'],
  ['no_rule', 'no rule applies; the delivery waits for a person'],
];

const KIND_WIDTH = Math.max(...OUTCOMES.map(([kind]) => kind.length));

export const padKind = (kind: string): string => kind.padEnd(KIND_WIDTH);

/** Shows a path relative to the current folder, unless it lies outside. */
function shown(path: string): string {
  const near = relative('', path);
  return near.startsWith('..') ? path : near;
}

/** Command to type for this program; a checkout has no link of the name `selvedge`. */
function program(): string {
  const [, script = ''] = process.argv;
  return import.meta.url.endsWith('.ts') ? `node ${shown(script)}` : 'selvedge';
}

/** Commands for a person to copy; their lines are never broken here. */
function commandsIn(folder: DemoFolder): string[] {
  const name = program();
  return [
    `  export SELVEDGE_CONFIG=${shown(folder.configFile)}`,
    `  ${name} deliveries list --held`,
    `  ${name} deliveries explain <delivery>`,
    `  ${name} status`,
  ];
}

export function introduction(
  folder: DemoFolder,
  { v1Url, controlUrl }: Reference,
  columns: number,
): string[] {
  return [
    ...wrap(BOTH_SIDES, columns),
    '',
    ...OUTCOMES.flatMap(([kind, meaning]) =>
      wrap(`  ${padKind(kind)}  ${meaning}`, columns, ' '.repeat(KIND_WIDTH + 4)),
    ),
    '',
    'In another shell:',
    ...commandsIn(folder),
    `  ${program()} console open`,
    '',
    `service  ${v1Url}`,
    `keys     ${shown(folder.keysFile)}`,
    `control  ${controlUrl}`,
    '',
  ];
}

/** Counts of the daemon's events, for the summary. */
export interface Counted {
  /** Latest outcome of each delivery, by its id. */
  readonly outcomes: Map<number, string>;
  readonly pushes: Map<string, number>;
}

function counts(record: ReadonlyMap<string, number>): string {
  return [...record].map(([name, count]) => `${count} ${name}`).join(', ');
}

export function summary(
  folder: DemoFolder,
  { outcomes, pushes }: Counted,
  ranMs: number,
  columns: number,
): string[] {
  const byKind = new Map<string, number>();
  for (const kind of outcomes.values()) byKind.set(kind, (byKind.get(kind) ?? 0) + 1);
  const decided =
    outcomes.size === 0
      ? 'It ended before the first decision.'
      : `Deliveries decided: ${outcomes.size} (${counts(byKind)}).`;
  const sent = pushes.size === 0 ? '' : ` Answers to the service: ${counts(pushes)}.`;
  return [
    '',
    ...wrap(`Stopped after ${formatDuration(ranMs)}. ${decided}${sent}`, columns),
    'The database stays until the next demo:',
    ...commandsIn(folder),
    'Next:',
    ...wrap('  rules of your own: docs/rules.md', columns, '    '),
    ...wrap('  your account: selvedge init, then docs/connect.md', columns, '    '),
  ];
}
