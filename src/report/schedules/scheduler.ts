/**
 * Worker that makes scheduled reports, one at a time. A report that was due while the daemon was
 * down is made once after its start; one that fails is tried again a few times, after growing
 * pauses. A stop that interrupts a report does not count as a try: it is made after the next start.
 *
 * Reads the reports' files and the mirror; writes `daemon_state`, the audit, files, and the
 * incident `report_failed` while the last try of a schedule has failed.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import { RefusedError, toError } from '../../lib/errors.ts';
import { localClockOf } from '../../lib/local-time.ts';
import type { Logger } from '../../lib/log.ts';
import type { Scrubber } from '../../lib/secret.ts';
import { formatSize } from '../../lib/units.ts';
import { writeAudit } from '../../store/audit.ts';
import { reconcileIncidents } from '../../store/incidents.ts';
import type { Store, StoreOptions } from '../../store/store.ts';
import { bindParameters } from '../parameters.ts';
import { findReport } from '../report-file.ts';
import { lastDue } from './due.ts';
import { type Made, makeInProcess } from './make-process.ts';
import { readSchedule, type ScheduleResult, type ScheduleState, writeSchedule } from './state.ts';

type ScheduleConfig = Config['reports']['schedules'][number];
type SmtpConfig = NonNullable<ScheduleConfig['to']['smtp']>;

interface ReportMail {
  /** Id of the mail, the same at each try, so that a receiver recognises a repetition. */
  readonly id: string;
  readonly subject: string;
  readonly text: string;
  readonly file: { readonly name: string; readonly content: Buffer };
}

export interface SchedulerDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly scrub: Scrubber['scrub'];
  readonly instance: string;
  readonly timeZone: () => string;
  /** Sends a mail; returns a remark if some addresses were refused, throws if all were. */
  readonly sendMail: (
    to: SmtpConfig,
    mail: ReportMail,
    how: { readonly signal: AbortSignal; readonly caFile: ScheduleConfig['caFile'] },
  ) => Promise<string | undefined>;
}

export interface SchedulerSettings {
  readonly schedules: readonly ScheduleConfig[];
  readonly directory: string;
  readonly locale: string | undefined;
  readonly source: Pick<StoreOptions, 'path' | 'busyTimeoutMs'>;
}

const LOOK_MS = 30_000;
const ROWS_MAX = 10_000;
const TIME_MS_MAX = 30_000;
/** Milliseconds before each further try; then the report waits until it is due again. */
const RETRY_MS: readonly number[] = [60_000, 600_000, 3_600_000];
/** Largest file to mail, in bytes; few mail servers take more. */
const MAIL_BYTES_MAX = 20_971_520;

/** Codes of failures that the same report would have again. */
const TOO_LARGE: readonly string[] = ['report.too_large_to_mail', 'notify.too_large'];

const REPORT_FAILED = { kind: 'report_failed', entity: 'report' } as const;

function fileName({ name, format }: ScheduleConfig, day: string): string {
  return `${name}-${day}.${format}`;
}

/** Removes all but the newest `keep` files of a schedule; their names sort by date. */
function prune({ name, format }: ScheduleConfig, folder: string, keep: number): void {
  if (!existsSync(folder)) return;
  const own = new RegExp(`^${name}-\\d{4}-\\d\\d-\\d\\d\\.${format}$`);
  const found = readdirSync(folder).filter((file) => own.test(file));
  const old = found.sort().reverse().slice(keep);
  for (const file of old) rmSync(join(folder, file), { force: true });
}

interface Delivered {
  readonly rows: number;
  readonly says: string;
}

function mailOf(
  { instance }: SchedulerDeps,
  { name, every }: ScheduleConfig,
  { title, day, dueAt, made }: MailParts,
): Omit<ReportMail, 'file'> {
  const rows = made.rows === 1 ? '1 row' : `${made.rows} rows`;
  const lines = [title, `${made.about}, ${rows}`, ...made.notes];
  const end = `Schedule ${name} (${every.text}) of Selvedge, ${instance}.`;
  return {
    id: `${instance}_report_${name}_${dueAt}`,
    subject: `[selvedge ${instance}] ${title} ${day}`,
    text: `${lines.join('\n')}\n\n${end}\n`,
  };
}

interface MailParts {
  readonly title: string;
  readonly day: string;
  readonly dueAt: number;
  readonly made: Made;
}

/** Makes the report, and writes it into its folder or mails it. */
async function deliver(
  deps: SchedulerDeps,
  settings: SchedulerSettings,
  schedule: ScheduleConfig,
  dueAt: number,
  signal: AbortSignal,
): Promise<Delivered> {
  const { format, params = {}, to } = schedule;
  const timeZone = deps.timeZone();
  const report = findReport(settings.directory, schedule.report);
  const order = {
    report,
    values: bindParameters(report, params, deps.clock, deps.timeZone),
    manner: { locale: schedule.locale ?? settings.locale, timeZone },
    rowsMax: ROWS_MAX,
    timeMaxMs: TIME_MS_MAX,
    store: settings.source,
  };
  const day = localClockOf(timeZone)(dueAt).date;
  const file = fileName(schedule, day);
  const { folder, smtp } = to;
  const target = folder ? join(folder.path, file) : null;
  const made = await makeInProcess({ order, format, target }, signal);
  if (folder && target !== null) {
    prune(schedule, folder.path, folder.keep);
    return { rows: made.rows, says: target };
  }
  if (!smtp) return { rows: made.rows, says: '' };
  if (made.content.length > MAIL_BYTES_MAX) {
    const size = formatSize(MAIL_BYTES_MAX);
    throw new RefusedError(
      'report.too_large_to_mail',
      `${file} is larger than ${size}, and no mail is tried`,
      {
        hint: 'narrow it by its parameters, or have it written into a folder',
      },
    );
  }
  const mail = mailOf(deps, schedule, { title: report.title, day, dueAt, made });
  const note = await deps.sendMail(
    smtp,
    { ...mail, file: { name: file, content: made.content } },
    { signal, caFile: schedule.caFile },
  );
  const says = [`mail by ${smtp.host} to ${smtp.to.length}`, note].filter((part) => part);
  return { rows: made.rows, says: says.join('; ') };
}

/** Ends one try of a schedule: writes its state and the audit in one transaction. */
async function endTry(
  { store, clock, log }: SchedulerDeps,
  { name, report }: ScheduleConfig,
  state: ScheduleState,
  last: ScheduleResult,
): Promise<void> {
  const { attempts, dueAt } = state;
  const retryAt = last.isGood ? null : state.retryAt;
  const isOver = last.isGood || retryAt === null;
  await store.transaction(async (tx) => {
    await writeSchedule(tx, name, { ...state, retryAt, last }, clock.now());
    if (!isOver) return;
    const action = last.isGood ? 'report.deliver' : 'report.give_up';
    const due = new Date(dueAt).toISOString();
    const detail = { report, due, attempts, rows: last.rows, says: last.says };
    const about = { action, subject: `schedule:${name}`, detail };
    await writeAudit(tx, { actor: 'daemon', reason: `${report} was due`, ...about }, clock.now());
  });
  const told = { schedule: name, report, attempts };
  if (last.isGood) log.info({ ...told, rows: last.rows, to: last.says }, 'report delivered');
  else if (isOver)
    log.error({ ...told, error: last.says }, 'report given up until it is due again');
  else log.warn({ ...told, error: last.says }, 'report failed and is tried again');
}

async function attempt(
  deps: SchedulerDeps,
  settings: SchedulerSettings,
  schedule: ScheduleConfig,
  before: ScheduleState,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock, scrub } = deps;
  const pause = RETRY_MS[before.attempts];
  const retryAt = pause === undefined ? null : clock.now() + pause;
  const state = { ...before, attempts: before.attempts + 1, retryAt };
  // Counts the try before it begins: a report that kills the daemon must not be tried for ever.
  await writeSchedule(store.db, schedule.name, state, clock.now());
  try {
    const { rows, says } = await deliver(deps, settings, schedule, state.dueAt, signal);
    await endTry(deps, schedule, state, { at: clock.now(), isGood: true, rows, says });
  } catch (thrown) {
    if (signal.aborted) {
      await writeSchedule(store.db, schedule.name, { ...before, retryAt: 0 }, clock.now());
      return;
    }
    const says = scrub(toError(thrown).message);
    const isFinal = thrown instanceof RefusedError && TOO_LARGE.includes(thrown.code);
    const ended = isFinal ? { ...state, retryAt: null } : state;
    await endTry(deps, schedule, ended, { at: clock.now(), isGood: false, rows: null, says });
  }
}

/** State of a schedule to continue with; a new or changed schedule is due only from now on. */
function begin(
  { every }: ScheduleConfig,
  known: ScheduleState | undefined,
  latest: number,
): ScheduleState {
  const fresh = { every: every.text, attempts: 0, retryAt: null, last: known?.last ?? null };
  // After the clock was set back, due times that are in the future again come once more.
  const isKnown = known?.every === every.text && known.dueAt <= latest;
  if (!isKnown) return { ...fresh, dueAt: latest };
  return known.dueAt < latest ? { ...fresh, dueAt: latest, retryAt: 0 } : known;
}

function isDue({ retryAt }: ScheduleState, now: number): boolean {
  if (retryAt === null) return false;
  return retryAt <= now || retryAt - now > Math.max(...RETRY_MS);
}

/** Makes every report that is due; opens an incident for schedules whose last try failed. */
async function tendSchedules(
  deps: SchedulerDeps,
  settings: SchedulerSettings,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock } = deps;
  const failing = [];
  for (const schedule of settings.schedules) {
    if (signal.aborted) return;
    const { name, every } = schedule;
    const now = clock.now();
    const known = await readSchedule(store.db, name);
    const state = begin(schedule, known, lastDue(every, deps.timeZone(), now));
    if (isDue(state, now)) await attempt(deps, settings, schedule, state, signal);
    else if (state !== known) await writeSchedule(store.db, name, state, now);
    const last = (await readSchedule(store.db, name))?.last;
    if (!last || last.isGood) continue;
    const hint = '"selvedge report list" shows when it is tried again';
    failing.push({ ...REPORT_FAILED, key: name, detail: { error: last.says, hint } });
  }
  await reconcileIncidents(store.db, [REPORT_FAILED.kind], failing, clock.now());
}

/** Creates the worker; without schedules it only ends the incidents of former ones. */
export function createScheduler(deps: SchedulerDeps, settings: SchedulerSettings) {
  return {
    name: 'reports',
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await tendSchedules(deps, settings, signal);
        await deps.clock.sleep(LOOK_MS, signal).catch(() => undefined);
      }
    },
  };
}
