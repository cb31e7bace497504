/** Refusals for people: in the card of the form, or as a page of their own without scripts. */
import { type Html, html } from '../lib/html.ts';
import type { Refusal } from '../surface/problem.ts';
import { noticePage } from './pages/frame.ts';

function sentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

/** Pages in the place of commands that hints name, by the noun of the command. */
const PAGES: Readonly<Record<string, readonly [path: string, name: string, ofOne?: string]>> = {
  audit: ['/system/audit', 'Audit'],
  backup: ['/system/backups', 'Backups'],
  config: ['/system/settings', 'Settings'],
  console: ['/system/people', 'People and tokens'],
  deliveries: ['/review?shown=all', 'Review', '/deliveries/'],
  doctor: ['/system/doctor', 'Doctor'],
  events: ['/events', 'Events'],
  orders: ['/orders', 'Orders'],
  outbox: ['/outbox', 'Pushes', '/outbox/'],
  plane: ['/system', 'Host'],
  report: ['/reports', 'Reports'],
  review: ['/review', 'Review'],
  rules: ['/rules', 'Rules'],
  stock: ['/stock', 'Stock'],
  sync: ['/pulls', 'Pulls', '/pulls/'],
  views: ['/review/views', 'Saved views'],
};

/** Matches a command in a hint, with the noun and the thing that it names, or an option. */
const COMMAND =
  /selvedge (\w+)(?: [a-z]+(?: (\w[\w-]*)(?=$|[;,.]))?)?|\b(deliveries|outbox) list|--\w/;
/** Matches the words that lead to it. */
const LEADING = /(?:[\s:;,("]|\b(?:see|or|with)\b)+$/i;

interface Link {
  readonly href: string;
  readonly name: string;
}

/** Next step after a refusal: pages name pages where hints name commands. */
function stepOf({ code, hint = '' }: Refusal): readonly [text: string, link: Link | undefined] {
  // Nobody is signed in yet: the page of signing in tells where links come from.
  if (code === 'console.link') return ['', { href: '/sign-in', name: 'Sign in' }];
  const found = COMMAND.exec(hint);
  const [, noun, id, other] = found ?? [];
  const [ofCode = ''] = code.split('.');
  // Codes of the console are about sessions as well as about any list.
  const byCode = (ofCode !== 'console' && PAGES[ofCode]) || [];
  const [path, name, ofOne] = PAGES[noun ?? other ?? ''] ?? byCode;
  const text = found ? hint.slice(0, found.index).replace(LEADING, '') : hint;
  if (path === undefined || name === undefined) return [text, undefined];
  return [text, { href: id && ofOne ? `${ofOne}${encodeURIComponent(id)}` : path, name }];
}

/** Refusal in words; `back` is the page as it is now, `code` the refusal's code. */
function words(refusal: Refusal, back: string | undefined, code: Html): Html {
  const [text, link] = stepOf(refusal);
  const said = [refusal.message, text].filter((one) => one !== '').join('; ');
  return html`<p class="problem">${sentence(said)}</p>
<p class="ways">${back !== undefined && html`<a href="${back}">Show it as it is now</a>`}
${link && html`<a href="${link.href}">${link.name}</a>`} ${code}</p>`;
}

/** Refusal as a part of a page. */
export function refusalPart(refusal: Refusal, back?: string): Html {
  return words(refusal, back, html`<code class="soft">${refusal.code}</code>`);
}

/** Fields of forms in which people write, beside those that name what they saw. */
const TYPED: Readonly<Record<string, string>> = { reason: 'Reason', text: 'Text' };

/** Fields of a form without scripts: typed texts to be read, all others hidden. */
function sentFields(fields: Readonly<Record<string, unknown>>): readonly Html[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (typeof value !== 'string') return [];
    const title = TYPED[name];
    return title === undefined || value === ''
      ? [html`<input type="hidden" name="${name}" value="${value}">`]
      : [
          html`<label for="sent-${name}">${title}</label>
<textarea id="sent-${name}" name="${name}" rows="4">${value}</textarea>`,
        ];
  });
}

/** Form without scripts that came to nothing. */
export interface Unsent {
  readonly path: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Page on which the form stood; undefined: not known. */
  readonly back: string | undefined;
}

/** Page of a refusal, with the texts that were typed. */
export function refusalPage(title: string, refusal: Refusal, { fields, back }: Unsent): Html {
  const typed = Object.entries(fields).filter(([name]) => name in TYPED);
  const said = words(refusal, back, html`<code id="code">${refusal.code}</code>`);
  return noticePage(title, html`${said}${sentFields(Object.fromEntries(typed))}`);
}

/** Page in the place of an act for somebody whose session has ended, from where it goes on. */
export function signedOutPage({ path, fields, back = '/' }: Unsent): Html {
  const to = `/sign-in?${String(new URLSearchParams({ to: back }))}`;
  return noticePage(
    'Signed out',
    html`<p>Your session has ended: nothing was done. Sign in in another tab, come back, and send it
again.</p><p><a class="button" href="${to}" target="_blank">Sign in</a></p>
<form method="post" action="${path}">${sentFields(fields)}<button>Send it again</button></form>`,
  );
}
