/** Command lines that show the same rows as a page of the console with its filter. */
import { dashed, shellWord } from '../lib/strings.ts';
import type { Given } from '../surface/given.ts';
import type { ListHead } from '../surface/lists.ts';
import { flag, memberOf, text, whole } from '../surface/members.ts';

/** Options of every list, which are no members of a query. */
const ORDER = { sort: text('Sort'), descending: flag('Descending'), limit: whole('Limit') };

/** Command-line options for those query parameters of a page that have one. */
function optionsOf(query: URLSearchParams, names: Readonly<Record<string, string>>): string[] {
  return Object.entries(names).flatMap(([name, option]) => {
    const value = query.get(name);
    return value === null ? [] : [`--${option} ${shellWord(value)}`];
  });
}

const SHOWN_FLAGS: Readonly<Record<string, readonly string[]>> = {
  all: [],
  // The command cannot list undecided deliveries alone: they are among the pending.
  undecided: ['--pending'],
};

const REVIEW_OPTIONS = {
  ...{ rule: 'rule', owner: 'owner', country: 'country', customer: 'customer', season: 'season' },
  ...{ currency: 'currency', min: 'min', max: 'max', q: 'search' },
};

export function reviewCommand(query: URLSearchParams, shown: string): string {
  const older = query.get('older');
  return [
    'selvedge deliveries list',
    ...(SHOWN_FLAGS[shown] ?? [`--${shown}`]),
    ...optionsOf(query, REVIEW_OPTIONS),
    ...(older === null ? [] : [`--older ${shellWord(`${older}h`)}`]),
    ...(query.get('overdue') === '1' ? ['--overdue'] : []),
  ].join(' ');
}

/** Command line of a declared list with the filter, the order and the length of a page. */
export function commandOf(of: ListHead, given: Given): string {
  const named = of.args.flatMap((name) => (given[name] === undefined ? [] : [String(given[name])]));
  const options = Object.entries({ ...of.query.shape, ...ORDER }).flatMap(([name, schema]) => {
    const value = given[name];
    const { kind, option = dashed(name) } = memberOf(schema) ?? {};
    const [word] = option.split(' ');
    if (value === undefined || !word || of.args.includes(name)) return [];
    if (kind !== 'flag') return [`--${word}`, shellWord(String(value))];
    return value === '1' || value === 'true' ? [`--${word}`] : [];
  });
  const command = of.command ?? of.name.replace('.', ' ');
  return ['selvedge', command, ...named.map(shellWord), ...options].join(' ');
}
