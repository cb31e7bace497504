/** Words for values of columns that are names of states, kinds and lists, as cells begin. */
import { WORDS } from '../../config/words.ts';

function begun(words: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(words).map(([name, word]) => [
      name,
      `${word.charAt(0).toUpperCase()}${word.slice(1)}`,
    ]),
  );
}

export const VALUES = {
  outcome: { ...begun(WORDS.runOutcome), ...begun(WORDS.outcome) },
  status: begun(WORDS.status),
  state: begun(WORDS.pushState),
  figure: {
    'in stock': 'On hand',
    'pre-orders': 'Pre-orders',
    'cover %': 'Cover (%)',
  },
  op: begun(WORDS.change),
  entity: begun(WORDS.thing),
  stream: begun(WORDS.stream),
  incident: begun(WORDS.incident),
  reason: { '(none)': 'Not told' },
  yes: { 0: 'No', 1: 'Yes' },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;
