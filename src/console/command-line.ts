/** Command lines that show the same rows as a page of the console with its filter. */
import { dashed, shellWord } from '../lib/strings.ts';
import type { Given } from '../surface/given.ts';
import type { ListHead } from '../surface/lists.ts';
import { flag, memberOf, text, whole } from '../surface/members.ts';

/** Options of every list, which are no members of a query. */
const ORDER = { sort: text('Sort'), descending: flag('Descending'), limit: whole('Limit') };

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
