/** Page of proposals: what people decided, as rules in draft with all that they rest on. */
import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { wordFor } from '../../config/words.ts';
import { type Html, type HtmlValue, html } from '../../lib/html.ts';
import { plural } from '../../lib/strings.ts';
import { errorText, learnedText, type suggestions } from '../../suggest/lists.ts';
import type { Beside, Evidence, Stake } from '../../surface/suggestion.ts';
import type { Cells } from '../surface/html.ts';
import { time, whole } from './format.ts';
import { figures, type Reader, tableOf } from './parts.ts';
import { rulePath } from './rules.ts';
import { amountsOf, amountsText, outcomeWord } from './trial.ts';

type Row = z.output<typeof suggestions.row>;

export interface SuggestView {
  readonly rows: readonly Row[];
  readonly beside: Beside;
  readonly filters: Html;
  readonly table: Html;
  readonly paging: Html;
  /** Parameters of this page, for links back to a proposal. */
  readonly asked: URLSearchParams;
}

const KEY_CHARS = 12;

/** Name of a proposal in addresses: a rule may get several exceptions. */
export function keyOf({ id, title }: Pick<Row, 'id' | 'title'>): string {
  return createHash('sha256').update(`${id} ${title}`).digest('hex').slice(0, KEY_CHARS);
}

/** Cells of the table that lead to the proposals below it. */
export function linkedCells(rows: readonly Row[]): Cells {
  const keys = new Map(rows.map((row) => [`${row.id} ${row.title}`, keyOf(row)]));
  return {
    title: ({ id, title }) => {
      const key = keys.get(`${String(id)} ${String(title)}`);
      return html`<a href="#p-${key}">${String(title)}</a>`;
    },
  };
}

const HEAD = html`<p><a href="/rules">All rules</a> · <a href="/rules/trial">Try rules</a></p>
<h1>Proposals</h1>
<p>Rules that would have done what people decided, learned from the earlier part of a period and
checked on the later one. Each is a draft: nothing here changes a rule, and a reject is never
proposed.</p>`;

/** While the proposals are made; the page asks again by itself. */
export function suggestWaitPage(filters: Html, address: string): Html {
  return html`${HEAD}${filters}<div id="proposals" role="status" data-load="${address}"
data-after="2000"><p>The decisions are being read, which takes up to a minute.
<a href="${address}">Show again</a></p></div>`;
}

export function suggestProblemPage(filters: Html, problem: string): Html {
  return html`${HEAD}${filters}<div id="proposals">
<p class="problem" role="alert">There are no proposals: ${problem}.</p></div>`;
}

function stakeCell({ deliveries, amounts }: Stake): HtmlValue {
  const sums = amountsOf(amounts).map((sum) => html`<div>${sum}</div>`);
  return html`<b>${whole(deliveries)}</b>${sums}`;
}

function evidencePart({ learned, checked }: Row, { timeZone }: Reader): Html {
  const parts: readonly (readonly [string, Evidence])[] = [
    ['learned on', learned],
    ['checked on', checked],
  ];
  return tableOf(
    'What it rests on',
    parts,
    [
      {
        title: 'Period',
        cell: ([name, { since, until }]) => html`${name} ${time(since, timeZone)} to
${time(until, timeZone)}`,
      },
      { title: 'People agreed', isNumber: true, cell: ([, { agreed }]) => stakeCell(agreed) },
      {
        title: 'People disagreed',
        isNumber: true,
        cell: ([, { disagreed }]) => stakeCell(disagreed),
      },
      { title: 'Not decided', isNumber: true, cell: ([, { undecided }]) => stakeCell(undecided) },
      { title: 'Acts', isNumber: true, cell: ([, { acts }]) => whole(acts) },
      { title: 'Acts otherwise', isNumber: true, cell: ([, { otherwise }]) => whole(otherwise) },
    ],
    '',
  );
}

function kindText({ kind, id }: Row): Html {
  if (kind === 'unless') {
    return html`exception of <a href="${rulePath(id)}"><code>${id}</code></a>`;
  }
  return html`<b class="state s-${kind}">${wordFor('action', kind)}</b>, rule <code>${id}</code>`;
}

function counterexamplesPart({ counterexamples }: Row, { timeZone }: Reader): Html {
  if (counterexamples.length === 0) {
    return html`<p>Nobody decided one of these deliveries otherwise.</p>`;
  }
  const count = plural(counterexamples.length, 'delivery', 'deliveries');
  return html`<details open><summary>Decided otherwise by people: ${count}, the newest
first</summary>${tableOf(
    'Decided otherwise',
    counterexamples,
    [
      {
        title: 'Delivery',
        cell: ({ orderDeliveryId: id, deliveryNo }) =>
          html`<a href="/deliveries/${id}">${deliveryNo || String(id)}</a>`,
      },
      { title: 'People decided', cell: ({ decided }) => outcomeWord(decided) },
      { title: 'Decided', cell: ({ at }) => time(at, timeZone) },
    ],
    '',
  )}</details>`;
}

function claimText({ backtest }: Row): Html {
  if (backtest.length === 0) return html`<p>Beside the rules in force it changes nothing.</p>`;
  return html`<p>Live in the whole period, it would have changed:</p>
<ul>${backtest.map(
    ({ from, to, deliveries, amounts }) => html`<li>
${plural(deliveries, 'delivery', 'deliveries')} ${outcomeWord(to)}
instead of “${outcomeWord(from)}”,
${amountsText(amounts)}</li>`,
  )}</ul>`;
}

function proposalPart(row: Row, asked: URLSearchParams, reader: Reader): Html {
  const { conditions, days, people, customers, lookAgainOn, draft, errorAllowed, checked } = row;
  const key = keyOf(row);
  const { acts, otherwise } = checked;
  const query = new URLSearchParams(asked);
  query.set('proposal', key);
  return html`<article class="card" id="p-${key}"><h2>${row.title}</h2>
<p>${kindText(row)}</p>
${figures([
  ['All of', html`<ul>${conditions.map((one) => html`<li><code>${one}</code></li>`)}</ul>`],
  ['May be wrong in', `${errorText(row)} of the acts at the most`],
  ['Allowed', errorText({ errorMax: errorAllowed })],
  ['Seen otherwise', `${whole(otherwise)} of ${plural(acts, 'act')} in the later part`],
  ['Rests on', `${plural(people, 'person', 'people')}, ${plural(days, 'day')}`],
  ['Customers', whole(customers)],
  ['Look again on', lookAgainOn],
])}
${evidencePart(row, reader)}${claimText(row)}${counterexamplesPart(row, reader)}
<details><summary>Text to keep in a file; it only watches</summary>
<pre tabindex="0">${draft}</pre></details>
<p class="buttons"><a class="button" href="/rules/trial?${query.toString()}">Try it</a></p>
</article>`;
}

const NEXT = html`<h2>What to do with a proposal</h2>
<ol><li>Look at the deliveries that people decided otherwise: either somebody was wrong, or the
proposal lacks a condition.</li>
<li><b>Try it</b> shows what it would do with what is pending and would have done in the past. The
text can be changed there.</li>
<li>Copy its text into a file beside the other rules. It is in shadow there: it only watches.
Somebody else reads it; <code>selvedge rules check</code> and <code>rules test --strict</code>
pass.</li>
<li>After a reload, the page of the rule shows what it would have decided, and what people did with
these deliveries.</li>
<li>Once that is right for two weeks or so, a person makes it <code>mode: live</code>, or moves the
exception to its rule. Nobody sees any more what a live rule accepts, so look again on the day
that stands in it.</li></ol>`;

function twoWaysPart({ twoWays }: Beside): Html | false {
  if (twoWays.length === 0) return false;
  return html`<h2>Two ways of deciding</h2><p>People decide alike deliveries differently, by
habit: agree first, then ask again. Nothing is proposed for these.</p>
<ul>${twoWays.map(
    ({ rule, conditions, ways }) => html`<li>${
      rule !== null && html`What <a href="${rulePath(rule)}"><code>${rule}</code></a> holds: `
    }${conditions.length === 0 ? 'everything' : html`<code>${conditions.join(', ')}</code>`}
<ul>${ways.map(
      ({ roles, people, acts, accepted }) => html`<li>
${plural(people, 'person', 'people')} (${roles.join(', ')}) accepted ${whole(accepted)} of
${plural(acts, 'act')}</li>`,
    )}</ul></li>`,
  )}</ul>`;
}

const REASONS: Readonly<Partial<Record<Beside['refused'][number]['code'], string>>> = {
  covered: 'an existing rule covers it',
  two_ways: 'two ways of deciding',
};

function refusedPart({ refused }: Beside): Html | false {
  if (refused.length === 0) return false;
  return html`<h2>Seen, and not proposed</h2>${tableOf(
    'Seen, and not proposed',
    refused,
    [
      {
        title: 'It would',
        cell: ({ kind, rule }) =>
          rule === null
            ? outcomeWord(kind)
            : html`be an exception of <a href="${rulePath(rule)}"><code>${rule}</code></a>`,
      },
      {
        title: 'Conditions',
        cell: ({ conditions }) => html`<code>${conditions.join(', ')}</code>`,
      },
      {
        title: 'Why not',
        cell: ({ code, why }) => [REASONS[code], why].filter(Boolean).join(': '),
      },
    ],
    '',
  )}`;
}

function overruledPart({ overruled }: Beside, rows: readonly Row[]): Html | false {
  if (overruled.length === 0) return false;
  const links = (rule: string): HtmlValue => {
    const own = rows.filter(({ kind, id }) => kind === 'unless' && id === rule);
    return own.map((one) => html`<div><a href="#p-${keyOf(one)}">unless ${one.title}</a></div>`);
  };
  return html`<h2>Rules that people overrule</h2>${tableOf(
    'Rules that people overrule',
    overruled,
    [
      {
        title: 'Rule',
        cell: ({ rule, title }) => html`<a href="${rulePath(rule)}">${title}</a>
<div class="soft"><code>${rule}</code></div>`,
      },
      { title: 'Held', isNumber: true, cell: ({ held }) => whole(held) },
      { title: 'Alone', isNumber: true, cell: ({ alone }) => whole(alone) },
      { title: 'People accepted', isNumber: true, cell: ({ accepted }) => whole(accepted) },
      { title: 'Rejected', isNumber: true, cell: ({ rejected }) => whole(rejected) },
      { title: 'Held on to', isNumber: true, cell: ({ kept }) => whole(kept) },
      { title: 'Proposed exception', cell: ({ rule }) => links(rule) },
    ],
    '',
  )}<p>Perhaps another limit is enough: <a href="/rules/trial?what=in-force">a trial of the rules in
force</a> shows what each would let pass.</p>`;
}

export function suggestPage(view: SuggestView, reader: Reader): Html {
  const { rows, beside, filters, table, paging, asked } = view;
  const { since, until, learnedUntil, notGathered } = beside;
  const { timeZone } = reader;
  return html`${HEAD}${filters}<div id="proposals"><p>${time(since, timeZone)} to
${time(until, timeZone)}: ${learnedText(beside)}. Learned until ${time(learnedUntil, timeZone)}.</p>
${table}${paging}${rows.map((row) => proposalPart(row, asked, reader))}
${rows.length > 0 && NEXT}${twoWaysPart(beside)}${overruledPart(beside, rows)}${refusedPart(beside)}
${
  notGathered.length > 0 &&
  html`<p>Not asked, because not all decisions gathered it: ${notGathered.join(', ')}.</p>`
}</div>`;
}
