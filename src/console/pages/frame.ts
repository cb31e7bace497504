/** Frame of all pages: head, tabs, the person's name, warnings and the footer. */
import { type Html, type HtmlValue, html } from '../../lib/html.ts';
import type { Session } from '../access/sessions.ts';
import { assetPath } from '../assets.ts';

const TABS = [
  ['/', 'Overview'],
  ['/review', 'Review'],
  ['/outbox', 'Pushes'],
  ['/stock', 'Stock'],
  ['/reports', 'Reports'],
  ['/rules', 'Rules'],
  ['/pulls', 'Pulls'],
  ['/events', 'Events'],
  ['/system', 'System'],
] as const;
export type Tab = (typeof TABS)[number][0];

export interface Frame {
  readonly title: string;
  readonly tab: Tab | undefined;
  readonly session: Session;
  readonly instance: string;
  readonly version: string;
  readonly timeZone: string;
  /** Command line that shows or does the same as the page. */
  readonly cli: string;
  /** Numbers beside the tabs' names; 0 is not shown. */
  readonly counts: Partial<Readonly<Record<Tab, number>>>;
  /** Latest decision, run and event when the page was read; other ones mean news. */
  readonly marks: Readonly<Record<'decisionId' | 'runId' | 'eventAt', unknown>>;
  /** Whether the daemon's loop does not answer now; the page takes it back once it does. */
  readonly isBusy: boolean;
  /** Warnings that concern the whole console, such as pauses. */
  readonly warnings: readonly string[];
  /** Confirmation of the act that was just done, with an undo button where possible. */
  readonly done?: Html | undefined;
}

function head(title: string): Html {
  return html`<head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="${assetPath('console.svg')}">
<link rel="stylesheet" href="${assetPath('console.css')}">
<script src="${assetPath('console.js')}" defer></script></head>`;
}

/** Page of a single notice, for people who are not signed in, and for refusals. */
export function noticePage(title: string, text: HtmlValue): Html {
  return html`<!doctype html><html lang="en">${head(`${title} · Selvedge`)}
<body class="outside"><main class="card"><h1>${title}</h1><div>${text}</div>
<p><a href="/">To the start</a></p></main></body></html>`;
}

const OPEN_COMMAND = 'selvedge console open';

export interface SignIn {
  /** Key of the printed link that was opened; undefined: none. */
  readonly key: string | undefined;
  readonly hasPasswords: boolean;
  readonly name?: string;
  readonly problem?: string;
  /** Page to go on with. */
  readonly to?: string | undefined;
}

export function signInPage({ key, hasPasswords, name = '', problem, to }: SignIn): Html {
  const goOn = to !== undefined && html`<input type="hidden" name="to" value="${to}">`;
  const byLink =
    key !== undefined &&
    html`<form method="post" action="/sign-in/link">${goOn}
<input type="hidden" name="key" value="${key}">
<button class="primary">Sign in with this link</button>
<p class="soft">It works once.</p></form>`;
  const byPassword =
    hasPasswords &&
    html`<form method="post" action="/sign-in/password">${goOn}
<label for="name">Name</label>
<input id="name" name="name" value="${name}" autocomplete="username" required>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<button class="primary">Sign in</button></form>`;
  const neither =
    !byLink &&
    !byPassword &&
    html`<p>Ask for a link: on the host of Selvedge,
this prints one: <code>${OPEN_COMMAND}</code></p>`;
  return html`<!doctype html><html lang="en">${head('Sign in · Selvedge')}
<body class="outside"><main class="card"><h1>Sign in to Selvedge</h1>
${problem !== undefined && html`<p class="problem" role="alert">${problem}</p>`}
${byLink}${byPassword}${neither}${
  to !== undefined &&
  html`<p>Signed in in another tab? <a href="${to}">Go on where you were</a></p>`
}</main></body></html>`;
}

function tabs({ tab, counts }: Frame): Html {
  const link = ([path, name]: (typeof TABS)[number]): Html => {
    const count = counts[path] ?? 0;
    return html`<a href="${path}"${tab === path && html` aria-current="page"`}>${name}
<span class="count" data-count="${path}"${count === 0 && html` hidden`}>${count}</span></a>`;
  };
  return html`<nav aria-label="Pages">${TABS.map(link)}</nav>`;
}

/** Mark that each tab's page compares with the live one, and the line shown on a change. */
const FOLLOWED = {
  '/': ['decisionId', 'Something was decided meanwhile: show it'],
  '/review': ['decisionId', 'Something was decided meanwhile: show it'],
  '/outbox': ['decisionId', 'Something was decided meanwhile: show it'],
  '/stock': undefined,
  '/reports': undefined,
  '/pulls': ['runId', 'A pull has ended meanwhile: show it'],
  '/events': ['eventAt', 'An event came meanwhile: show it'],
  '/rules': undefined,
  '/system': undefined,
} as const satisfies Record<Tab, readonly [keyof Frame['marks'], string] | undefined>;

const BUSY = 'Selvedge is busy: nothing can be changed for the moment.';

export function framed(frame: Frame, body: HtmlValue): Html {
  const { session, warnings, done, instance, version, timeZone, cli, marks, tab } = frame;
  const [mark, newer] = (tab && FOLLOWED[tab]) ?? [];
  const how = session.way === 'link' ? ' by link' : '';
  return html`<!doctype html><html lang="en">${head(`${frame.title} · ${instance} · Selvedge`)}
<body data-user="${session.name}"><a class="skip" href="#main">To the content</a>
<header class="top"><a class="brand" href="/">Selvedge <span class="soft">${instance}</span></a>
${tabs(frame)}
<form class="find" method="get" action="/find" role="search" aria-label="Find anything">
<label class="hidden" for="find">Order, delivery, customer or article</label>
<input id="find" name="q" type="search" placeholder="Find anything" maxlength="200">
</form>
<div class="who"><span>${session.name} · ${session.role}${how}</span>
<form method="post" action="/sign-out"><button class="small">Sign out</button></form></div></header>
${
  warnings.length > 0 &&
  html`<div class="band" role="alert">${warnings.map((text) => html`<p>${text}</p>`)}</div>`
}
<div id="lost" class="band"${!frame.isBusy && html` hidden`}>${frame.isBusy && BUSY}</div>
<div id="done" role="status">${done && html`<div class="toast">${done}</div>`}</div>
${newer !== undefined && html`<p id="newer" role="status"><a href="" hidden>${newer}</a></p>`}
<main id="main" data-mark="${mark}" data-seen="${mark && String(marks[mark] ?? '')}">${body}</main>
<details id="keys"><summary>Keys</summary><p><kbd>j</kbd> <kbd>k</kbd> next and previous delivery ·
<kbd>x</kbd> tick, <kbd>Shift</kbd> <kbd>x</kbd> tick all from the last one ·
<kbd>a</kbd> accept · <kbd>h</kbd> hold · <kbd>u</kbd> give to the rules · <kbd>r</kbd> reject ·
<kbd>z</kbd> undo · <kbd>/</kbd> search · <kbd>?</kbd> this list. The first press of a key leads
to the reason, which every decision needs; Enter there does what the key says. With ticked
deliveries the keys are about these, and a page asks once more.</p></details>
<footer><span>Selvedge ${version}</span><span>Times: ${timeZone}</span>
<details class="cli"><summary>for the terminal</summary>The same on the host: <code>${cli}</code>
</details>
<form method="post" action="/sign-out/everywhere"><button class="small">Sign out everywhere</button>
</form></footer></body></html>`;
}
