/**
 * Several dialects at once, drawn by a seed, for the campaigns: such as change how things are
 * written and not what they are, so that the campaigns' own judgement of right and wrong holds.
 */
import { type Random, seededRandom } from '../../src/lib/random.ts';

const CHOICES: Readonly<Record<string, readonly unknown[]>> = {
  numbers: ['text'],
  ids: ['text'],
  flags: ['number', 'text'],
  v2Ids: ['number'],
  emptyObject: ['array'],
  emptyList: ['object', 'null', 'absent', 'notFound', 'noContent'],
  lists: ['indexed'],
  absent: ['null', 'emptyText'],
  envelope: ['text', 'none'],
  errorBody: ['plain', 'html', 'empty'],
  errorData: ['array'],
  invalidDataAsObject: [true],
  retryAfter: ['date', 'none'],
  contentEncoding: ['gzip', 'br', 'utf8', 'empty', 'identity'],
  charset: ['iso-8859-1', 'windows-1252'],
  brandRequired: [true],
  unknownParameters: ['refuse'],
  orderCurrency: [false],
  orderSeason: [false],
  timeFormat: ['sql'],
  orderLines: ['sorted'],
  statusCase: ['capital', 'upper'],
  detailsFlat: [true],
  freightEmptyName: [true],
};

const SHARE = 0.25;

/**
 * Draws the same for the same seed; `without` names what a campaign cannot judge by its own means.
 */
export function drawDialects(
  seed: number,
  without: readonly string[] = [],
  random: Random = seededRandom(seed * 7_919 + 13),
): Record<string, unknown> {
  const drawn: Record<string, unknown> = {};
  for (const [name, values] of Object.entries(CHOICES)) {
    // Drawn in any case, so that what is left out changes nothing else.
    const [isOn, value] = [random.chance(SHARE), random.pick(values)];
    if (isOn && !without.includes(name)) drawn[name] = value;
  }
  return drawn;
}

/** For the line of a seed. */
export function namesOf(dialect: Readonly<Record<string, unknown>>): string {
  const names = Object.entries(dialect).map(([name, value]) => `${name}=${value}`);
  return names.length === 0 ? 'plain' : names.join(' ');
}
