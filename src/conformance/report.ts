/** Prints a conformance run for people: differences first, then the settings for each file. */
import { stringify } from 'yaml';
import type { Result, Run } from './suite.ts';

const MARKS = { S: 'stated', P: 'published', W: 'seen in clients', C: 'chosen' } as const;

/** Turns dotted paths (`a.b: 1`) into nested members. */
function nested(flat: Readonly<Record<string, unknown>>): object {
  const out: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(flat)) {
    const steps = path.split('.');
    const last = steps.pop() ?? '';
    let at: Record<string, unknown> = out;
    for (const step of steps) {
      const below = at[step];
      const next: Record<string, unknown> =
        typeof below === 'object' && below !== null ? { ...below } : {};
      at[step] = next;
      at = next;
    }
    at[last] = value;
  }
  return out;
}

function remedies(results: readonly Result[], of: 'config' | 'knobs'): Record<string, unknown> {
  return Object.assign({}, ...results.map(({ remedy }) => remedy?.[of] ?? {}));
}

function snippet(title: string, flat: Record<string, unknown>): string[] {
  return Object.keys(flat).length === 0 ? [] : ['', title, '', stringify(nested(flat)).trimEnd()];
}

/**
 * Whether the account keeps the contract: all cases are as stated, except those whose statement was
 * only chosen here.
 */
export function conforms({ results }: Run): boolean {
  return results.every(({ outcome, mark }) => outcome !== 'differs' || mark === 'C');
}

export function report(run: Run): string {
  const { results, extras } = run;
  const of = (outcome: Result['outcome']) => results.filter((one) => one.outcome === outcome);
  const differing = of('differs');
  const lines = differing.map(
    ({ id, mark, statement, observed }) =>
      `DIFFERS  ${id} (${MARKS[mark]}): ${statement}\n         seen: ${observed}`,
  );
  const notTried = of('not tried').map(({ id, observed }) => `not tried  ${id}: ${observed}`);
  const news = extras.map((member) => `unknown member  ${member}`);
  const counts = [
    `${of('as stated').length} as stated`,
    `${differing.length} different`,
    `${notTried.length} not tried`,
  ].join(', ');
  return [
    ...lines,
    ...notTried,
    ...news,
    '',
    counts,
    ...snippet('For the daemon (selvedge.yaml):', remedies(results, 'config')),
    ...snippet('For a reference service that behaves alike (knobs):', remedies(results, 'knobs')),
    '',
  ].join('\n');
}
