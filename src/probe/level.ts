/**
 * Derives the level of V1 that an account has, from what it answers and what its description says.
 */
import type { Finding } from './findings.ts';

/** Levels with which a feature came, in their order. */
const LEVELS = [
  '1.2.6',
  '1.2.7',
  '1.2.8',
  '1.2.14',
  '1.2.17',
  '1.2.37',
  '1.2.38',
  '1.2.45',
  '1.2.50',
  '1.2.54',
  '1.2.55',
  '1.2.56',
  '1.3.0',
  '1.3.3',
  '1.4.0',
  '1.4.1',
  '1.4.4',
  '1.4.9',
  '1.4.11',
  '1.4.12',
  '1.4.14',
] as const;

/** A feature that came with a level, and whether the account has it. */
export interface LevelSign {
  readonly since: string;
  readonly has: boolean;
  readonly seen: string;
}

function compare(a: string, b: string): number {
  const [first, second] = [a, b].map((text) => text.split('.').map(Number));
  for (const [at, part] of (first ?? []).entries()) {
    const difference = part - (second?.[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function highestBelow(level: string | undefined): string {
  const below = LEVELS.filter((one) => level === undefined || compare(one, level) < 0);
  return below.at(-1) ?? LEVELS[0];
}

/** Derives the level from observations first: a published description may be of another version. */
export function levelOf(
  signs: readonly LevelSign[],
  described: string | undefined,
  source: string | undefined,
): Finding {
  const setting = 'service.dialect.v1.level';
  const lacking = signs.filter(({ has }) => !has).sort((a, b) => compare(a.since, b.since))[0];
  const having = signs.filter(({ has }) => has).sort((a, b) => compare(b.since, a.since))[0];
  const isOdd = lacking && having && compare(having.since, lacking.since) >= 0;
  const odd = isOdd ? `, but ${having.seen}, which came with ${having.since}` : '';
  if (described === undefined) {
    const value = isOdd ? having.since : highestBelow(lacking?.since);
    const least = having ? `asking shows at least ${having.since} (${having.seen})` : undefined;
    const below = lacking ? `it is below ${lacking.since}: ${lacking.seen}${odd}` : undefined;
    const seen = below ?? least ?? 'nothing that is asked is missing';
    return { setting, value, seen, doubt: isOdd ? 'these two contradict each other' : undefined };
  }
  const said = `its description says so (${source})`;
  const isTooHigh = lacking && compare(described, lacking.since) >= 0;
  const isTooLow = having && compare(described, having.since) < 0;
  if (isTooHigh && !isOdd) {
    const doubt = `its description says ${described} (${source})`;
    return { setting, value: highestBelow(lacking.since), seen: lacking.seen, doubt };
  }
  if (isTooLow) {
    const doubt = `its description says ${described} (${source})`;
    return { setting, value: having.since, seen: having.seen, doubt };
  }
  return { setting, value: described, seen: having ? `${said}; ${having.seen}` : said };
}
