/** Pages about the system: daemon and host, doctor, settings, audit, and sessions. */
import { pausedWords } from '../../config/words.ts';
import { type Html, html } from '../../lib/html.ts';
import { plural } from '../../lib/strings.ts';
import { formatSize } from '../../lib/units.ts';
import { type BackupsShown, backups } from '../../ops/lists.ts';
import { describeCopy, type PlaneCopy, stepOfCopy } from '../../ops/plane-copy.ts';
import { describeStandby, isStandbyWell, type StandbyHere } from '../../ops/standby-here.ts';
import { pauseAct, resumeAct } from '../../ops/surface.ts';
import { describePause, type Pause, resumeStep } from '../../store/pauses.ts';
import { mayDo, type Role } from '../../surface/roles.ts';
import { type People, sessions } from '../access/lists.ts';
import type { Session, SessionRow } from '../access/sessions.ts';
import type { LoopDelay, readDaemon, Storage } from '../read/system.ts';
import { actForm, type Cells, tableFor } from '../surface/html.ts';
import type { ListView } from '../surface/lists.ts';
import { endSession } from '../surface/people.ts';
import { span, time, whole } from './format.ts';
import { type WrongNow, wrongPart } from './incident.ts';
import { figures, partsNav, pauseForm, type Reader, tableOf } from './parts.ts';

export interface HostView extends WrongNow {
  readonly daemon: Awaited<ReturnType<typeof readDaemon>>;
  readonly version: string;
  /** Milliseconds since the daemon last answered. */
  readonly silentMs: number;
  readonly loop: LoopDelay;
  readonly storage: Storage;
  readonly backups: BackupsShown;
  readonly pauses: readonly Pause[];
  readonly plane: PlaneCopy | null;
  readonly standby: StandbyHere | null;
}

function standbyText(here: StandbyHere): Html | string {
  const text = describeStandby(here);
  return isStandbyWell(here) ? text : html`<b class="state s-overdue">${text}</b>`;
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
        what: 'Once everything is paused, nothing is pulled, decided by rules or sent.',
        back: '/system',
      },
    )}`;
  }
  const one = (pause: Pause, index: number): Html => {
    const text = html`<b class="state s-held">${pausedWords(pause)}</b>, ${describePause(pause)}.`;
    if (pause.actor === 'file') return html`<p>${text} To end it: ${resumeStep(pause)}.</p>`;
    const id = `resume-${index}`;
    return pauseForm(resumeAct, pause, { role, id, what: text, back: '/system' });
  };
  return html`${pauses.map(one)}`;
}

function backupsPart({ rows, others, problem }: BackupsShown, reader: Reader): Html {
  if (problem !== null) return html`<p class="problem">${problem}</p>`;
  const [newest] = rows;
  const age = newest && !newest.isAhead ? span(reader.now - newest.createdAt) : undefined;
  return html`<p>${age !== undefined && `The newest is ${age} old. `}
<a href="${backups.path}">All, with CSV</a></p>${tableFor(backups, rows, reader)}${
    others > 0 && html`<p>${plural(others, 'backup')} of other databases in the same folder.</p>`
  }`;
}

export function hostPage(view: HostView, context: Reader): Html {
  const { storage, pauses, plane, standby } = view;
  return html`<h1>System</h1>${partsNav('/system')}
<h2>What is wrong now</h2>${wrongPart(view)}
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
    ['Second machine', standby && standbyText(standby)],
    ['Copy in PostgreSQL', plane && planeText(plane)],
  ])}
<h2>Messages</h2><p><a href="/acts/notify.test">Send a test through every channel…</a></p>
<h2>Backups</h2>${backupsPart(view.backups, context)}
<h2>For a bug report</h2><p>On the host, <code>selvedge support-bundle</code> writes one file with
versions, the masked settings, the doctor's findings and what went wrong lately; no orders, no
customers, no secrets. Look at it before you send it.</p>`;
}

/** Page of the doctor; without `checked`, the browser requests the findings by itself. */
export function doctorPage(checked: Html | undefined): Html {
  return html`<h1>Doctor</h1>${partsNav('/system/doctor')}
${
  checked ??
  html`<div id="findings" data-load="/system/doctor/findings" data-after="0" aria-live="polite">
<p>The checks take a few seconds, and leave the network alone.</p>
<p><a class="button" href="/system/doctor?now=1">Check now</a></p></div>`
}`;
}

export function problemPart(message: string): Html {
  return html`<p class="problem">The checks could not be made: ${message}.</p>
<p><a class="button" href="/system/doctor">Check again</a></p>`;
}

/** Findings, which `list` has as a table. */
export function findingsPart({ page, reader }: ListView, list: Html): Html {
  const count = (grade: string) => page.rows.filter((one) => one.grade === grade).length;
  return html`<p>Checked ${time(reader.now, reader.timeZone)}: ${whole(count('failed'))} failed,
${whole(count('warning'))} to look at, ${whole(count('ok'))} fine. The network was left alone:
<code>selvedge doctor</code> on the host looks at it too.</p>
<p><a class="button" href="/system/doctor">Check again</a></p>${list}`;
}

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

/** Cells of sessions with what an approver may do; the session that reads is marked. */
export function sessionCells(own: Session, timeZone: string): Cells {
  return {
    name: ({ name, sessionId }) => `${name}${sessionId === own.sessionId ? ' (you, here)' : ''}`,
    expiresAt: (row) => {
      const one = sessions.row.parse(row);
      const form = mayDo(own.role, endSession.role) && endForm(one, own.role);
      return html`${time(one.expiresAt, timeZone)} ${form}`;
    },
  };
}

/** Page of people; `list` has the sessions and tokens. */
export function peoplePage({ operators, proxyRole }: People, list: Html): Html {
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
<h2>Open sessions and tokens</h2>${list}
<p class="soft">A token is made on the host: <code>selvedge console token ${'<name>'}</code>.</p>`;
}
