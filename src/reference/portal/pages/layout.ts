/** Frame that all pages of the portal share. */
import { type Html, type HtmlValue, html } from '../../../lib/html.ts';
import type { DeliveryStatus, Page } from '../../relay/model.ts';

export interface PageFrame {
  readonly title: string;
  /** Path of the navigation entry that the page belongs to. */
  readonly section: string;
  /** Message about the result of the last action. */
  readonly done?: string | undefined;
}

const SECTIONS = [
  ['/portal/', 'Endpoints'],
  ['/portal/messages', 'Received'],
  ['/portal/attempts', 'Sent'],
  ['/portal/event-types', 'Event types'],
] as const;

function document(title: string, body: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Webhook portal</title>
<link rel="icon" href="/portal/assets/portal.svg">
<link rel="stylesheet" href="/portal/assets/portal.css">
<script src="/portal/assets/portal.js" type="module"></script>
</head>
<body>
${body}
</body>
</html>
`;
}

const BANNER = html`<div class="banner" role="note">Reference service: a stand-in for trials,
not the real service</div>`;

/** Renders a page for somebody who is signed in. */
export function portalPage(frame: PageFrame, content: HtmlValue): Html {
  const entry = ([path, label]: readonly [string, string]): Html =>
    path === frame.section
      ? html`<a href="${path}" aria-current="page">${label}</a>`
      : html`<a href="${path}">${label}</a>`;
  return document(
    frame.title,
    html`<a class="skip button" href="#main">Skip to content</a>
${BANNER}
<header class="top">
<strong>Webhook portal <span>· Reference service</span></strong>
<nav aria-label="Portal">${SECTIONS.map(entry)}</nav>
<form method="post" action="/portal/sign-out"><button class="small">Sign out</button></form>
</header>
<main id="main">
${frame.done && html`<p class="note" role="status">${frame.done}</p>`}
${content}
</main>`,
  );
}

/** Renders a page for somebody who is not (yet) signed in. */
export function outsidePage(title: string, content: HtmlValue): Html {
  return document(
    title,
    html`${BANNER}
<main id="main"><div class="card"><h1>${title}</h1>${content}</div></main>`,
  );
}

/** Renders a time in UTC, as in `2026-01-05 08:15:02`. */
export function time(at: number): Html {
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)}</time>`;
}

const BADGES = {
  success: ['good', 'Delivered'],
  pending: ['wait', 'Waiting'],
  failed: ['bad', 'Failed'],
} as const;

export function statusBadge(status: DeliveryStatus): Html {
  const [tone, label] = BADGES[status];
  return html`<span class="badge ${tone}">${label}</span>`;
}

/** Renders the HTTP status of an answer, or that there was none. */
export function answerBadge(status: number): Html {
  if (status === 0) return html`<span class="badge bad">No answer</span>`;
  const tone = status >= 200 && status < 300 ? 'good' : 'bad';
  return html`<span class="badge ${tone}">HTTP ${status}</span>`;
}

/** Renders a select field; `chosen` is selected at first, else the first choice. */
export function select(
  name: string,
  label: string,
  choices: readonly (readonly [value: string, label: string])[],
  chosen = '',
): Html {
  const options = choices.map(
    ([value, text]) =>
      html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`,
  );
  return html`<div><label for="${name}">${label}</label>
<select id="${name}" name="${name}">${options}</select></div>`;
}

/** Choices for how far back a filter or a recovery reaches: milliseconds and label. */
export const WINDOWS = [
  ['3600000', 'Last hour'],
  ['86400000', 'Last 24 hours'],
  ['604800000', 'Last 7 days'],
  ['1209600000', 'Last 14 days'],
] as const;

/** Renders links to the neighbouring pages of a list, with its filters kept. */
export function pager(
  path: string,
  query: URLSearchParams,
  page: Pick<Page<unknown>, 'iterator' | 'prevIterator' | 'done'>,
): Html {
  const iterator = query.get('iterator');
  const backwards = iterator?.startsWith('-') ?? false;
  const link = (to: string, label: string): Html => {
    const params = new URLSearchParams(query);
    params.set('iterator', to);
    return html`<a href="${path}?${params.toString()}">${label}</a>`;
  };
  const newer = backwards ? !page.done : iterator !== null;
  const older = backwards || !page.done;
  return html`<nav class="pager" aria-label="Pages">
${newer && page.prevIterator && link(page.prevIterator, '← Newer')}
${older && page.iterator && link(page.iterator, 'Older →')}
</nav>`;
}
