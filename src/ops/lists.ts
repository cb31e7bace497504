/** Lists below the page of the system: the audit, settings, findings of the doctor, backups. */
import { z } from 'zod';
import { INCIDENT_NAMES, subjectWords, WORDS } from '../config/words.ts';
import { RefusedError } from '../lib/errors.ts';
import { formatSize } from '../lib/units.ts';
import { listAudit } from '../store/audit.ts';
import {
  type Backup,
  type BackupPlace,
  isAhead,
  requireBackups,
} from '../store/backup/manifest.ts';
import { list, onceForAnswer, pageOfAll, ROWS_MAX } from '../surface/lists.ts';
import { as, flag, oneOf, text, time, whole } from '../surface/members.ts';
import { INCIDENT, listIncidents } from './incidents.ts';

const DAY_MS = 86_400_000;

/** Part of the audit that is read unless somebody asks for more. */
const AUDIT_MS = 30 * DAY_MS;

const actor = text('Who', { about: 'Person or token' });
const action = text('Action', {
  about: 'Name of the act; as a filter also its beginning, such as delivery.',
  words: WORDS.act,
});
const subject = text('About', {
  about: 'What it was done to, such as delivery:500012 or rule:late',
});
const since = time('Since', {
  about: 'From then on: a time, or 7d for seven days ago; left out: 30d',
  alias: 'days',
  fromAlias: (days) => `${days}d`,
});

export const audit = list({
  name: 'audit.list',
  operation: 'listAudit',
  path: '/system/audit',
  title: 'Audit',
  about: 'what people did, and why, the latest first',
  more:
    'The reason is the one that was given. The daemon stands there where a reject rule was ' +
    'disarmed by itself.',
  examples: [['audit list --action rules. --since 7d', 'armed, reloaded …']],
  query: {
    actor: actor.optional(),
    action: action.optional(),
    subject: subject.optional(),
    since: since.optional(),
  },
  row: {
    id: whole('Row', {}, 1),
    at: time('Time'),
    actor,
    action,
    subject,
    reason: text('Reason'),
    session: text('Session').nullable(),
    address: text('Address').nullable(),
    detail: z.record(z.string(), z.unknown()),
  },
  shown: [
    'at',
    'actor',
    'action',
    { title: 'About', text: ({ subject: about }) => subjectWords(about) },
    'reason',
    {
      title: 'Session',
      text: ({ session, address }) => [session, address].filter(Boolean).join(' '),
    },
    {
      title: 'More',
      isFolded: true,
      text: ({ detail }) => (Object.keys(detail).length === 0 ? null : JSON.stringify(detail)),
    },
  ],
  terminal: ['Time', 'Who', 'Action', 'About', 'Reason'],
  empty: 'Nobody did anything that fits.',
  pageParameter: 'before',
  read: ({ db, now }, { since: from = now - AUDIT_MS, ...filter }, page) =>
    listAudit(db, { ...filter, since: from }, page),
  place: ({ id }) => String(id),
});

const path = text('Setting', { isCode: true, csv: 'setting' });

export const settings = list({
  name: 'config.show',
  operation: 'listSettings',
  path: '/system/settings',
  title: 'Settings',
  about: 'settings with their origins, without secrets',
  more:
    'As the daemon read them at its start. A change of the file acts from the next start on, of ' +
    'the rules and the operators after "selvedge rules reload".',
  examples: [],
  query: { changed: flag('Only what differs from the default').optional() },
  row: {
    path,
    value: as(z.string(), 'Value', 'text', { isCode: true }),
    origin: text('From', { csv: 'from' }),
  },
  shown: ['path', 'value', 'origin'],
  empty: 'Every setting is as it comes.',
  limit: ROWS_MAX,
  rowsAs: 'settings',
  beside: { file: text('File').nullable() },
  async read({ host }, { changed }, page) {
    const rows = host?.written?.rows ?? [];
    return pageOfAll(changed ? rows.filter(isChanged) : rows, page, settingOf);
  },
  place: settingOf,
  readBeside: async ({ host }) => ({ file: host?.written?.file ?? null }),
  notes: async ({ host }) =>
    host?.written
      ? []
      : ['This daemon was not started from a file: nobody knows where its settings come from.'],
});

function settingOf({ path: name }: { readonly path: string }): string {
  return name;
}

/** Whether a setting differs from the default file. */
export function isChanged({ origin }: { readonly origin: string }): boolean {
  return origin !== 'default';
}

const GRADES = ['failed', 'warning', 'skipped', 'ok'] as const;

const finding = {
  check: text('Check'),
  grade: oneOf('Grade', GRADES),
  text: as(z.string(), 'What was found', 'text'),
  advice: as(z.string(), 'Advice', 'text').optional(),
};

/** Findings as the process of the doctor tells them. */
export const findingsSchema = z.array(z.object(finding));

export const findings = list({
  name: 'system.doctor',
  command: 'doctor',
  operation: 'examine',
  path: '/system/doctor',
  title: 'Findings',
  about: 'findings of the doctor without the network, the worst first',
  examples: [],
  query: {},
  row: finding,
  shown: [
    'check',
    {
      title: 'State',
      text: ({ grade }) => WORDS.grade[grade],
      class: ({ grade }) => `state s-grade-${grade}`,
    },
    'text',
    { title: 'What to do', text: ({ grade, advice = null }) => (grade === 'ok' ? null : advice) },
  ],
  empty: 'Nothing was checked.',
  limit: ROWS_MAX,
  rowsAs: 'checks',
  beside: { ok: z.boolean() },
  async read({ host }, _query, page) {
    const found = findingsSchema.parse((await host?.ask('doctor')) ?? []);
    const sorted = found.toSorted((a, b) => GRADES.indexOf(a.grade) - GRADES.indexOf(b.grade));
    return pageOfAll(sorted, page, ({ check }) => check);
  },
  place: ({ check }) => check,
  readBeside: async (_from, _query, rows) => ({
    ok: rows.every(({ grade }) => grade !== 'failed'),
  }),
});

const backup = {
  path: text('Backup', { isCode: true }),
  createdAt: time('Made'),
  schema: whole('Schema'),
  bytes: whole('Bytes'),
  program: text('Version'),
  isAhead: flag('Clock was ahead'),
};

export type BackupRow = z.output<z.ZodObject<typeof backup>>;

export const backups = list({
  name: 'backup.list',
  operation: 'listBackups',
  path: '/system/backups',
  title: 'Backups',
  about: 'finished backups of this database, the newest first',
  more: 'What was made while the clock was ahead comes last.',
  examples: [],
  query: {},
  row: backup,
  shown: [
    'createdAt',
    { title: 'Remark', text: ({ isAhead: isSo }) => (isSo ? '(clock was ahead)' : null) },
    'schema',
    { title: 'Size', kind: 'whole', text: ({ bytes }) => formatSize(bytes) },
    'path',
  ],
  empty: 'There is none: "selvedge backup create" makes one.',
  limit: ROWS_MAX,
  read: async (from, _query, page) => pageOfAll(backupsOf(from).rows, page, settingOf),
  place: settingOf,
  beside: { others: whole('Of other databases'), problem: text('Problem').nullable() },
  async readBeside(from) {
    const { others, problem } = backupsOf(from);
    return { others, problem };
  },
  notes: async (from) => [backupsOf(from).problem].filter((one) => one !== null),
});

export function backupRow({ path: file, manifest }: Backup, now: number): BackupRow {
  return {
    path: file,
    createdAt: Date.parse(manifest.createdAt),
    schema: manifest.mirror.schema,
    bytes: manifest.mirror.bytes + (manifest.exchange?.bytes ?? 0),
    program: manifest.program,
    isAhead: isAhead({ path: file }, now),
  };
}

export interface BackupsShown {
  readonly rows: readonly BackupRow[];
  /** Number of backups of other databases in the same folder. */
  readonly others: number;
  /** Error because of which backups cannot be listed; null: none. */
  readonly problem: string | null;
}

/** Backups of the database, or why they cannot be listed. */
export function readBackups(place: BackupPlace, now: number): BackupsShown {
  try {
    const { own, others } = requireBackups(place, now);
    return { rows: own.map((one) => backupRow(one, now)), others, problem: null };
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    const problem = [error.message, error.hint].filter(Boolean).join(': ');
    return { rows: [], others: 0, problem };
  }
}

const backupsOf = onceForAnswer(
  ({ host, now }): BackupsShown =>
    host ? readBackups(host.backups, now) : { rows: [], others: 0, problem: null },
);

export const incidents = list({
  name: 'incidents.list',
  operation: 'listIncidents',
  path: '/incidents',
  title: 'Incidents',
  about: 'what a person must look at, the latest first',
  more: 'Each ends by itself once its reason is gone, but for a few that a person ends.',
  examples: [
    ['incidents list', 'what is open'],
    ['incidents list --all --kind push_late', 'how often it was so'],
  ],
  query: {
    kind: oneOf('Kind', INCIDENT_NAMES, { words: WORDS.incident }).optional(),
    all: flag('Ended ones, too', { about: 'Whether ended ones are listed, too' }).optional(),
  },
  row: INCIDENT,
  shown: ['incidentId', 'kind', 'says', 'at', 'acknowledgedBy', 'resolvedAt'],
  terminal: ['Number', 'Incident', 'What happened', 'Since', 'Looks after it'],
  empty: 'No incident is open. What is over by now stands under "What went wrong".',
  limit: 50,
  pageParameter: 'before',
  read: async ({ db }, query, page) =>
    (await listIncidents(db, query, page)).map(({ detail: _, ...row }) => row),
  place: ({ incidentId }) => String(incidentId),
});

export const auditLists = [audit];
