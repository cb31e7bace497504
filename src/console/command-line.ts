/** Command lines that show the same rows as a page of the console with its filter. */
import { shellWord } from '../lib/strings.ts';

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

export function outboxCommand(query: URLSearchParams): string {
  return [
    'selvedge outbox list',
    ...optionsOf(query, { kind: 'kind', state: 'state', reference: 'reference' }),
    ...(query.get('attention') === '1' ? ['--needs-attention'] : []),
    ...(query.get('open') === '1' ? ['--open'] : []),
  ].join(' ');
}
