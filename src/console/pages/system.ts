/** Pages about the system: daemon and host, doctor, settings, audit, and sessions. */
import type { SettingRow } from '../../config/describe.ts';
import { type Html, html } from '../../lib/html.ts';
import { plural } from '../../lib/strings.ts';
import { formatSize } from '../../lib/units.ts';
import { describeCopy, type PlaneCopy, stepOfCopy } from '../../ops/plane-copy.ts';
import { pauseAct, resumeAct } from '../../ops/surface.ts';
import { describePause, labelOf, type Pause, resumeStep } from '../../store/pauses.ts';
import { mayDo, type Role } from '../../surface/roles.ts';
import type { SessionRow, Way } from '../access/sessions.ts';
import type { WrittenSettings } from '../context.ts';
import type { BackupList, LoopDelay, readDaemon, Storage } from '../read/system.ts';
import { actForm } from '../surface/html.ts';
import { endSession } from '../surface/people.ts';
import { span, time, whole } from './format.ts';
import { figures, partsNav, pauseForm, type Reader, tableOf } from './parts.ts';
import { withQuery } from './review.ts';

function csvLink(path: string, locale: string, query = new URLSearchParams()): Html {
  return html`<a href="${withQuery(`${path}.csv`, query, { before: '', locale })}">CSV</a>`;
}

export interface HostView {
  readonly daemon: Awaited<ReturnType<typeof readDaemon>>;
  readonly version: string;
  /** Milliseconds since the daemon last answered. */
  readonly silentMs: number;
  readonly loop: LoopDelay;
  readonly storage: Storage;
  readonly backups: BackupList;
  readonly pauses: readonly Pause[];
  readonly plane: PlaneCopy | null;
}

function planeText(copy: PlaneCopy): Html | string {
  const text = `${describeCopy(copy)} (account ${copy.account})`;
  return copy.isLate ? html`<b class="state s-overdue">${text}</b>: ${stepOfCopy(copy)}` : text;
}

function milliseconds(ms: number | null): string {
  return ms === null ? 'not measured yet' : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

function daemonPart({ daemon, version, silentMs, loop }: HostView, timeZone: string): Html {
  return figures([
    [
      'State',
      daemon.running
        ? html`runs as <code>${daemon.holder}</code>`
        : html`<b class="state s-overdue">does not run</b>`,
    ],
    ['Since', daemon.running && time(daemon.since, timeZone)],
    ['Version', version],
    ['Answered', `${span(silentMs)} ago`],
    [
      'Loop delay',
      `median ${milliseconds(loop.medianMs)}, longest ${milliseconds(loop.longestMs)}
of ${plural(loop.beats, 'beat')} in the last five minutes`,
    ],
  ]);
}

function pausesPart(pauses: readonly Pause[], { role }: Reader): Html {
  if (pauses.length === 0) {
    return html`<p class="empty">Nothing is paused.</p>${pauseForm(
      pauseAct,
      { target: 'all', name: '' },
      {
        role,
        button: 'Pause everything',
        what: 'Nothing is pulled, decided by rules or sent any more, until it is resumed.',
        back: '/system',
      },
    )}`;
  }
  const one = (pause: Pause, index: number): Html => {
    const text = html`<b class="state s-held">${labelOf(pause)}</b>, ${describePause(pause)}.`;
    if (pause.actor === 'file') return html`<p>${text} To end it: ${resumeStep(pause)}.</p>`;
    const id = `resume-${index}`;
    return pauseForm(resumeAct, pause, { role, id, what: text, back: '/system' });
  };
  return html`${pauses.map(one)}`;
}

function backupsPart({ rows, others, problem }: BackupList, { now, timeZone }: Reader): Html {
  if (problem !== null) return html`<p class="problem">${problem}</p>`;
  const [newest] = rows;
  const age = newest && !newest.isAhead ? span(now - Date.parse(newest.createdAt)) : undefined;
  return html`${age !== undefined && html`<p>The newest is ${age} old.</p>`}
${tableOf(
  'Backups',
  rows,
  [
    {
      title: 'Made',
      cell: (one) =>
        html`${time(Date.parse(one.createdAt), timeZone)}
${one.isAhead && '(the clock was ahead)'}`,
    },
    { title: 'Schema', isNumber: true, cell: ({ schema }) => schema },
    { title: 'Size', isNumber: true, cell: ({ bytes }) => formatSize(bytes) },
    { title: 'Backup', cell: ({ path }) => html`<code>${path}</code>` },
  ],
  html`There is none: <code>selvedge backup create</code> makes one.`,
)}${others > 0 && html`<p>${plural(others, 'backup')} of other databases in the same folder.</p>`}`;
}

export function hostPage(view: HostView, context: Reader): Html {
  const { storage, backups, pauses, plane } = view;
  return html`<h1>System</h1>${partsNav('/system')}
<h2>Daemon</h2>${daemonPart(view, context.timeZone)}
<h2>Pauses</h2>${pausesPart(pauses, context)}
<h2>Database and disk</h2>${figures([
    [
      'Mirror',
      `${formatSize(storage.mirrorBytes)}, of which ${formatSize(storage.unusedBytes)} unused`,
    ],
    ['Log (WAL)', formatSize(storage.logBytes)],
    ['Exchange', formatSize(storage.exchangeBytes)],
    ['Disk', `${formatSize(storage.freeBytes)} free`],
    ['Resting', storage.resting && html`<b class="state s-overdue">${storage.resting}</b>`],
    ['Schema', String(storage.schema)],
    ['Copy in PostgreSQL', plane && planeText(plane)],
  ])}
<h2>Messages</h2><p><a href="/acts/notify.test">Send a test through every channel…</a></p>
<h2>Backups</h2>${backupsPart(backups, context)}
<h2>For a bug report</h2><p>On the host, <code>selvedge support-bundle</code> writes one file with
versions, the masked settings, the doctor's findings and what went wrong lately; no orders, no
customers, no secrets. Look at it before you send it.</p>`;
}

export interface Finding {
  readonly check: string;
  readonly grade: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly text: string;
  readonly advice?: string | undefined;
}

const GRADES = { failed: 0, warning: 1, skipped: 2, ok: 3 } as const;
const GRADE_WORDS = { failed: 'failed', warning: 'look', skipped: 'left out', ok: 'fine' } as const;

/** Page of the doctor; without `checked`, the browser requests the findings by itself. */
export function doctorPage(checked: Html | undefined): Html {
  return html`<h1>Doctor</h1>${partsNav('/system/doctor')}
${
  checked ??
  html`<div hx-get="/system/doctor/findings" hx-trigger="load" aria-live="polite">
<p>The checks take a few seconds, and leave the network alone.</p>
<p><a class="button" href="/system/doctor?now=1">Check now</a></p></div>`
}`;
}

export function problemPart(message: string): Html {
  return html`<p class="problem">The checks could not be made: ${message}.</p>
<p><a class="button" href="/system/doctor">Check again</a></p>`;
}

export function findingsPart(
  findings: readonly Finding[],
  { now, timeZone, locale }: Reader,
): Html {
  const count = (grade: Finding['grade']): number =>
    findings.filter((one) => one.grade === grade).length;
  const sorted = findings.toSorted((a, b) => GRADES[a.grade] - GRADES[b.grade]);
  return html`<p>Checked ${time(now, timeZone)}: ${whole(count('failed'))} failed,
${whole(count('warning'))} to look at, ${whole(count('ok'))} fine. The network was left alone:
<code>selvedge doctor</code> on the host looks at it too. ${csvLink('/system/doctor', locale)}</p>
<p><a class="button" href="/system/doctor">Check again</a></p>
${tableOf(
  'Findings',
  sorted,
  [
    { title: 'Check', cell: ({ check }) => check },
    {
      title: 'State',
      cell: ({ grade }) => html`<b class="state s-grade-${grade}">${GRADE_WORDS[grade]}</b>`,
    },
    { title: 'What was found', cell: ({ text }) => text },
    { title: 'What to do', cell: ({ grade, advice }) => grade !== 'ok' && advice },
  ],
  'Nothing was checked.',
)}`;
}

export function settingsPage(
  written: WrittenSettings | null,
  onlyChanged: boolean,
  { locale }: Reader,
): Html {
  const head = html`<h1>Settings</h1>${partsNav('/system/settings')}`;
  if (!written) {
    return html`${head}<p class="empty">This daemon was not started from a file: nobody knows where
its settings come from.</p>`;
  }
  const rows = onlyChanged
    ? written.rows.filter(({ origin }) => origin !== 'default')
    : written.rows;
  const query = new URLSearchParams(onlyChanged ? { changed: '1' } : {});
  return html`${head}<p>As the daemon read them at its start, from <code>${written.file}</code>.
A change of the file acts from the next start on, of the rules and the operators after
<code>selvedge rules reload</code>. Secrets are shown nowhere.
${csvLink('/system/settings', locale, query)}</p>
<form class="filters" method="get" action="/system/settings">
<div><label><input type="checkbox" name="changed" value="1"${onlyChanged && html` checked`}>
only what differs from the default</label></div><div class="buttons"><button>Show</button></div>
</form>
${tableOf<SettingRow>(
  'Settings',
  rows,
  [
    { title: 'Setting', cell: ({ path }) => html`<code>${path}</code>` },
    { title: 'Value', cell: ({ value }) => html`<code>${value}</code>` },
    { title: 'From', cell: ({ origin }) => origin },
  ],
  'Every setting is as it comes.',
)}`;
}

interface People {
  readonly operators: readonly {
    readonly name: string;
    readonly role: string;
    readonly seesAddresses: boolean;
    readonly hasPassword: boolean;
  }[];
  readonly proxyRole: string | null;
}

export interface PeopleView {
  readonly people: People;
  readonly sessions: readonly SessionRow[];
  /** Id of the session that reads the page. */
  readonly own: number;
}

const WAYS: Readonly<Record<Way, string>> = {
  link: 'a printed link',
  password: 'a password',
  proxy: 'the proxy',
  token: 'a token',
};

function endForm({ sessionId, name, way }: SessionRow, role: Role): Html {
  const isToken = way === 'token';
  return html`<details><summary>${isToken ? 'Revoke' : 'End'}…</summary>${actForm(endSession, {
    role,
    given: { session: sessionId },
    back: '/system/people',
    id: `end-${sessionId}`,
    button: isToken ? `Revoke ${name}` : `Sign ${name} out`,
    what: isToken ? 'Programs with this token get in no more.' : 'At once, whatever is open there.',
  })}</details>`;
}

function sessionsTable(
  rows: readonly SessionRow[],
  { role, now, timeZone }: Reader,
  own: number,
): Html {
  return tableOf(
    'Sessions and tokens',
    rows,
    [
      {
        title: 'Who',
        cell: ({ name, sessionId }) => html`${name}${sessionId === own && ' (you, here)'}`,
      },
      { title: 'Role', cell: (one) => one.role },
      { title: 'By', cell: ({ way }) => WAYS[way] },
      { title: 'From', cell: ({ address }) => address },
      { title: 'Since', cell: ({ createdAt }) => time(createdAt, timeZone) },
      { title: 'Last seen', cell: ({ seenAt }) => `${span(now - seenAt)} ago` },
      { title: 'Ends', cell: ({ expiresAt }) => time(expiresAt, timeZone) },
      { title: 'End it', cell: (one) => mayDo(role, endSession.role) && endForm(one, role) },
    ],
    'Nobody is signed in.',
  );
}

export function peoplePage({ people, sessions, own }: PeopleView, context: Reader): Html {
  const { operators, proxyRole } = people;
  return html`<h1>People and tokens</h1>${partsNav('/system/people')}
<h2>Operators</h2>
${tableOf(
  'Operators',
  operators,
  [
    { title: 'Name', cell: ({ name }) => name },
    { title: 'Role', cell: ({ role }) => role },
    { title: 'Sees addresses', cell: ({ seesAddresses }) => (seesAddresses ? 'yes' : 'no') },
    { title: 'Password', cell: ({ hasPassword }) => (hasPassword ? 'has one' : 'none') },
  ],
  html`The configuration names nobody (<code>console.operators</code>): people sign in by a link.`,
)}
${proxyRole !== null && html`<p>Everybody else whom the proxy names is a ${proxyRole}.</p>`}
<h2>Open sessions and tokens</h2>
<p>${csvLink('/system/people', context.locale)}</p>
${sessionsTable(sessions, context, own)}
<p class="soft">A token is made on the host: <code>selvedge console token ${'<name>'}</code>.</p>`;
}
