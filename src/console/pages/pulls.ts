/** Pages about pulls: all streams, one stream with its runs, and one run with what it held back. */

import { thingWords, wordFor } from '../../config/words.ts';
import { type Html, type HtmlValue, html } from '../../lib/html.ts';
import { plural } from '../../lib/strings.ts';
import { formatDuration, formatSize } from '../../lib/units.ts';
import { pauseAct, resumeAct } from '../../ops/surface.ts';
import { describePause, pauseOf } from '../../store/pauses.ts';
import type { Given } from '../../surface/given.ts';
import {
  outcomesText,
  type PullRow,
  type Quarantined,
  runs,
  stateText,
  streams,
} from '../../sync/lists.ts';
import type { ReleasePreview } from '../../sync/operations.ts';
import type { RunOverview } from '../../sync/overview.ts';
import { releaseRun, retryQuarantine, runPull } from '../../sync/surface.ts';
import type { RunView } from '../read/pulls.ts';
import { actForm, tableFor } from '../surface/html.ts';
import { type ListView, listPart } from '../surface/lists.ts';
import { span, time, whole } from './format.ts';
import { figures, type PauseReader, pauseForm, progressPart, tableOf } from './parts.ts';

function took(ms: number | null): string {
  return ms === null ? '–' : formatDuration(ms < 1_000 ? ms : Math.round(ms / 1_000) * 1_000);
}

function durationOf({ startedAt, endedAt }: RunOverview): number | null {
  return endedAt === null ? null : Math.max(0, endedAt - startedAt);
}

function rateText(rowsPerSecond: number | null): string {
  if (rowsPerSecond === null) return '–';
  return whole(
    rowsPerSecond < 10 ? Math.round(rowsPerSecond * 10) / 10 : Math.round(rowsPerSecond),
  );
}

function outcomeWord(outcome: string): Html {
  return html`<b class="state s-run-${outcome}">${wordFor('runOutcome', outcome)}</b>`;
}

function ageText({ completeAt }: PullRow, now: number): string {
  return completeAt === null ? 'never' : `${span(Math.max(0, now - completeAt))} ago`;
}

/** State of a stream; who paused it, and a run that is under way, are shown with it. */
function stateOf(row: PullRow, state: string | null, { pauses }: PauseReader): HtmlValue {
  const { stream, running, completeRows } = row;
  const pause = pauseOf(pauses, 'stream', stream);
  const progress = progressPart(stream, running && { rows: running.rows, of: completeRows });
  if (!pause) return html`${state}${progress}`;
  return html`<b class="state s-held">paused</b> by ${pause.actor}: ${pause.reason}${progress}`;
}

function quarantinePart(rows: readonly Quarantined[], { role, timeZone }: PauseReader): Html {
  if (rows.length === 0) {
    return html`<p class="empty">Every row that came could be read.</p>`;
  }
  const table = tableOf(
    'Rows that could not be read',
    rows,
    [
      { title: 'What', cell: ({ entity }) => wordFor('thing', entity) },
      { title: 'Rows', isNumber: true, cell: ({ rows: count }) => whole(count) },
      { title: 'Newest', cell: ({ newestAt }) => time(newestAt, timeZone) },
    ],
    '',
  );
  const what = 'Reads again where they came from, as far as this version can understand them.';
  const form = actForm(retryQuarantine, { role, given: {}, what, back: '/pulls' });
  return html`${table}${form}`;
}

export interface PullsView {
  readonly view: ListView;
  readonly quarantined: readonly Quarantined[];
  readonly latest: readonly Given[];
}

export function pullsPage({ view, quarantined, latest }: PullsView, context: PauseReader): Html {
  const state = streams.shown.find(({ title }) => title === 'State');
  const cells = {
    State: (row: Given) =>
      stateOf(streams.row.parse(row), state?.text(row, context.now) ?? null, context),
  };
  return html`<h1>Pulls</h1>
<p>${plural(view.page.rows.length, 'stream')}</p>${listPart(streams, view, cells)}
<h2>Latest runs</h2>${tableFor(runs, latest, context)}
<h2>Rows that could not be read</h2>${quarantinePart(quarantined, context)}`;
}

function pausePart(stream: string, { role, pauses }: PauseReader): Html {
  const pause = pauseOf(pauses, 'stream', stream);
  const back = `/pulls/${stream}`;
  if (!pause) {
    const what = 'Pauses it until somebody resumes it; a run that goes on comes to its end.';
    return pauseForm(pauseAct, { target: 'stream', name: stream }, { role, what, back });
  }
  if (pause.target !== 'stream' || pause.actor === 'file') {
    return html`<p>It is ${describePause(pause)}. That is not ended here.</p>`;
  }
  return pauseForm(resumeAct, pause, { role, what: 'Pulls it on its schedule again.', back });
}

function runForms(row: PullRow, context: PauseReader): Html {
  const { role, pauses } = context;
  const { stream } = row;
  if (row.notAtLevel !== null || row.schedule === null) {
    return html`<p class="empty">It is not pulled, so that there is nothing to do here.</p>`;
  }
  if (pauseOf(pauses, 'stream', row.stream)) return pausePart(row.stream, context);
  return html`${actForm(runPull, {
    role,
    given: { stream, full: '0' },
    what: 'Pulls it now. Rows that the service gives as before are not looked at again.',
  })}
${actForm(runPull, {
  role,
  given: { stream, full: '1' },
  id: 'full',
  button: 'Pull everything',
  what: 'Pulls it now and compares every row.',
})}
${pausePart(row.stream, context)}`;
}

/** Page of a stream; `list` has its runs. */
export function streamPage(row: PullRow, list: Html, context: PauseReader): Html {
  const { now, timeZone } = context;
  const { stream, figures: of } = row;
  const next = row.nextTimes.map(
    (at, index) => html`${index > 0 && ', '}${time(at, timeZone)} (in ${span(at - now)})`,
  );
  const limit = row.freshnessMs === null ? '' : `, at most ${formatDuration(row.freshnessMs)} old`;
  const rate = of.rowsPerSecond === null ? '' : `${rateText(of.rowsPerSecond)} rows a second`;
  return html`<h1>Pulls of ${wordFor('stream', stream)}</h1>
<p>${stateOf(row, stateText(row, now), context)}</p>
${figures([
  ['Complete', `${ageText(row, now)}${limit}`],
  ['Rows', whole(row.completeRows ?? 0)],
  ['Schedule', row.scheduleText && html`${row.scheduleText} (UTC) <code>${row.schedule}</code>`],
  ['Next times', next.length > 0 && next],
  ['Last runs', outcomesText(row)],
  ['Durations', `median ${took(of.p50Ms)}, 95 % within ${took(of.p95Ms)}`],
  ['Speed', rate],
  ['Last error', row.lastError],
])}
<section><h2>What you can do</h2>${runForms(row, context)}</section>
<h2>Runs</h2>${list}`;
}

/** Effect of a run's release, as the daemon previewed it. */
export interface ReleaseShown {
  readonly preview: Omit<ReleasePreview, 'stream' | 'runId'> | null;
  /** Reason why the run cannot be released; null: it can. */
  readonly refused: string | null;
}

function releasePart(
  { run }: RunView,
  { preview, refused }: ReleaseShown,
  { role }: PauseReader,
): Html {
  if (!preview) return html`<p class="empty">It cannot be released: ${refused}.</p>`;
  const { deletes, firstKeys, acceptsChange, acceptsCount, later } = preview;
  const what = [
    deletes > 0 &&
      html`<li>deletes ${plural(deletes, 'row')} of the mirror that it did not see</li>`,
    acceptsChange &&
      html`<li>lets the rules go by the ${plural(run.changed, 'row')} it changed</li>`,
    acceptsCount !== null && html`<li>takes it for right from now on that ${acceptsCount}</li>`,
    later !== null &&
      html`<li>deletes nothing yet, because ${later}: the next run looks again</li>`,
  ].filter((one) => one !== false);
  const keys =
    deletes > 0 &&
    html`<p>${
      firstKeys.length < deletes ? `The first ${firstKeys.length} of their keys:` : 'Their keys:'
    }</p><ul class="keys">${firstKeys.map((key) => html`<li><code>${key}</code></li>`)}</ul>`;
  return html`<p>Look at the service first. A release</p>
<ul>${what.length > 0 ? what : html`<li>deletes nothing: the run counts as complete</li>`}</ul>
${keys}
${actForm(releaseRun, {
  role,
  given: { run: run.runId, deletes },
  button: deletes > 0 ? `Release, and delete ${whole(deletes)}` : 'Release',
  what: 'What is deleted comes back as soon as the service lists it again.',
})}`;
}

function runFigures({ run, accepted }: RunView, timeZone: string): Html {
  const ms = durationOf(run);
  const rate = ms !== null && ms > 0 ? run.rows / (ms / 1_000) : null;
  const { waits, waitMs, retries, resumes, drastic } = run;
  return figures([
    ['Began', time(run.startedAt, timeZone)],
    ['Took', took(ms)],
    ['Because of', wordFor('runCause', run.cause)],
    ['Pages', whole(run.pages)],
    ['Rows', `${whole(run.rows)}${rate === null ? '' : `, ${rateText(rate)} a second`}`],
    ['Changed', `${whole(run.changed)}, unchanged ${whole(run.unchanged)}`],
    ['Deleted', whole(run.deleted)],
    ['Held back', whole(run.held)],
    ['Drastic', drastic > 0 && `${whole(drastic)} rows fell to nothing or jumped`],
    ['Unreadable', whole(run.quarantined)],
    ['Received', formatSize(run.bytes)],
    ['Asked again', plural(retries, 'request')],
    ['Waits', `${whole(waits)}, together ${took(waitMs)}`],
    ['Resumed', resumes > 0 && plural(resumes, 'time')],
    ['Accepted', accepted && `counts that are off, by ${accepted.by}: ${accepted.reason}`],
  ]);
}

function listOf(lines: readonly string[], empty: string): Html {
  if (lines.length === 0) return html`<p class="empty">${empty}</p>`;
  return html`<ul>${lines.map((text) => html`<li>${text}</li>`)}</ul>`;
}

export function runPage(view: RunView, release: ReleaseShown | null, context: PauseReader): Html {
  const { run, rowsBefore, lastError, drift, unread, changes } = view;
  const { timeZone } = context;
  const isRunning = run.outcome === 'running';
  return html`<h1>Run ${String(run.runId)} of ${wordFor('stream', run.stream)}</h1>
<p>${outcomeWord(run.outcome)}${run.reason !== null && `: ${run.reason}`}
${lastError !== null && `It goes on later: ${lastError}`}</p>
${isRunning && progressPart(run.stream, { rows: run.rows, of: rowsBefore })}
<p><a href="/pulls/${run.stream}">All runs of ${wordFor('stream', run.stream)}</a></p>
${
  release !== null &&
  html`<section><h2>What it held back</h2>${releasePart(view, release, context)}</section>`
}
<h2>Figures</h2>${runFigures(view, timeZone)}
<h2>Unknown members</h2>${listOf(drift, 'The stream sends nothing that is not known.')}
<h2>Rows that could not be read</h2>
${tableOf(
  'Rows that could not be read',
  unread,
  [
    { title: 'What', cell: ({ entity }) => wordFor('thing', entity) },
    { title: 'Member', cell: ({ path }) => html`<code>${path}</code>` },
    { title: 'Why', cell: ({ reason }) => reason },
    { title: 'Times', isNumber: true, cell: ({ times }) => whole(times) },
  ],
  'All could be read.',
)}
<h2>Some of its changes</h2>
${tableOf(
  'Changes',
  changes,
  [
    { title: 'Time', cell: ({ at }) => time(at, timeZone) },
    { title: 'What', cell: ({ entity, key }) => thingWords(entity, key) },
    { title: 'Change', cell: ({ op }) => wordFor('change', op) },
    { title: 'Members', cell: ({ diff }) => html`<code>${diff}</code>` },
  ],
  'It changed nothing.',
)}`;
}
