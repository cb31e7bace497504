/** The list of proposed rules, for pages and programs. */
import { z } from 'zod';
import { plural } from '../lib/strings.ts';
import { list, pageOfAll } from '../surface/lists.ts';
import { text, time } from '../surface/members.ts';
import {
  beside,
  type Evidence,
  type Proposal,
  proposal,
  type Suggestion,
  type SuggestOptions,
} from '../surface/suggestion.ts';

const DAY_MS = 86_400_000;
const SINCE_MS = 90 * DAY_MS;

/** How people decided, in a line: `412 of 420 agree`. */
export function agreedText({ agreed, disagreed, undecided }: Evidence): string {
  const all = agreed.deliveries + disagreed.deliveries;
  const open = undecided.deliveries > 0 ? `, ${undecided.deliveries} undecided` : '';
  return `${agreed.deliveries} of ${all} agree${open}`;
}

export function errorText({ errorMax }: Pick<Proposal, 'errorMax'>): string {
  return `${(100 * errorMax).toFixed(1)} %`;
}

const query = {
  since: time('Since', {
    about: 'learn from this time on, or 90d for ago (default: 90d)',
  }).optional(),
  owner: text(
    'Owner',
    { about: 'owner of the new rules; looks at exceptions of theirs only' },
    100,
  ).optional(),
};

export const suggestQuery = z.strictObject(query);

interface Wish {
  readonly since?: number | undefined;
  readonly owner?: string | undefined;
}

/** Period and owner that a reader asks for. */
export function wished({ since, owner }: Wish, now: number): SuggestOptions {
  return { since: since ?? now - SINCE_MS, until: now, owner };
}

export const suggestions = list({
  name: 'rules.suggest',
  operation: 'suggestRules',
  path: '/rules/suggest',
  title: 'Suggestions',
  role: 'operator',
  about: 'propose rules that would have done what people decided',
  more:
    'Learns short rules from the earlier part of the period, and looks once at the later one,\n' +
    'where an accept may be wrong in 6 % at the most, a hold in 10 %. Where no rule applied it\n' +
    'proposes a rule, where a hold rule held an exception of it, and never a reject. A\n' +
    'proposal is a draft: try it, then keep it in shadow. Nothing changes by itself.',
  examples: [
    ['rules suggest', 'from the last 90 days'],
    ['rules suggest --write drafts', 'a copy of the rules with the proposals in shadow'],
  ],
  query,
  row: proposal,
  shown: [
    'id',
    'kind',
    'title',
    { title: 'Later part', text: ({ checked }) => agreedText(checked) },
    { title: 'May be wrong', text: (one) => errorText(one) },
    'lookAgainOn',
  ],
  sorts: ['id', 'kind'],
  empty: 'Nothing is proposed.',
  limit: 100,
  rowsAs: 'proposals',
  isWhole: true,
  beside,
  async read({ rules, now }, query, page) {
    const { proposals } = await rules.suggest(wished(query, now));
    return pageOfAll(proposals, page, ({ id, title }) => `${id} ${title}`);
  },
  async readBeside({ rules, now }, query) {
    const { proposals: _, ...more } = await rules.suggest(wished(query, now));
    return more;
  },
  place: ({ id, title }) => `${id} ${title}`,
});

/** The decisions to learn from, in a sentence. */
export function learnedText({
  decided,
  acts,
  undecided,
  covered,
}: Pick<Suggestion, 'decided' | 'acts' | 'undecided' | 'covered'>): string {
  const deliveries = plural(decided, 'delivery', 'deliveries');
  const all = `${deliveries} decided by people in ${plural(acts, 'act')}`;
  const more = [
    ...(undecided > 0 ? [`${undecided} left alone`] : []),
    ...(covered > 0 ? [`${covered} that the rules decide now`] : []),
  ];
  return more.length === 0 ? all : `${all}; ${more.join(', ')}`;
}
