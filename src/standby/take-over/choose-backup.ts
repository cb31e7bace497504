/**
 * The backup from which a second machine goes on: the newest one of which the record has all that
 * came later, and which has nothing that the record lacks. A machine that was cut off goes on to
 * write for a while; its last backups are of a past that nobody else knows.
 */
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { RefusedError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import {
  type Backup,
  type BackupPlace,
  backupDirectory,
  listBackups,
} from '../../store/backup/manifest.ts';
import { PLACE_KEY } from '../feed.ts';
import { FEED_KEY } from '../recorded.ts';
import { literal, type Session } from '../session.ts';
import { TRIMMED } from '../trim.ts';

/** State that names the take-over from which a database stems; none: there was none. */
export const LINE_KEY = 'standby_line';

/** A copy, as far as the record is concerned. */
export interface Beginning {
  readonly feed: string | undefined;
  readonly line: string | undefined;
  /** Place up to which it has the record. */
  readonly place: number;
  /** Its last entry that PostgreSQL may not have had yet; 0: there is none. */
  readonly waiting: number;
}

/** Reads that of a copy of the mirror that nobody writes. */
function beginningOf(path: string): Beginning {
  const database = new Database(path, { readonly: true, fileMustExist: true });
  try {
    const state = database.prepare<[string], string>(
      'select value from daemon_state where key = ?',
    );
    const read = (key: string): string | undefined => state.pluck().get(key);
    const feed = read(FEED_KEY);
    const newest = 'select max(seq) from standby_change';
    const waiting = feed === undefined ? 0 : database.prepare(newest).pluck().get();
    return {
      feed,
      line: read(LINE_KEY),
      place: Number(read(PLACE_KEY) ?? 0),
      waiting: Number(waiting ?? 0),
    };
  } finally {
    database.close();
  }
}

/** The record as backups are judged by it. */
export interface Measure {
  /** Name of the present feed; undefined: nothing is recorded. */
  readonly feed: string | undefined;
  /** Place of its first row: what is before that is of another past, or in each of its backups. */
  readonly begins: number;
  /** Place up to which rows were deleted. */
  readonly trimmed: number;
  /** Take-overs by their places, the first first. */
  readonly lines: readonly { readonly name: string; readonly place: number }[];
  /** Last entry that a line of databases has recorded between two places. */
  lastSeq(after: number, before: number): Promise<number>;
}

const PLACE = z.coerce.number();
const FEED_ROW = z.object({ value: z.string() });

export async function readMeasure(session: Session, account: string): Promise<Measure> {
  const ours = `account = ${literal(account)}`;
  const feeds = await session.ask(
    `select place, row from standby_record where ${ours} and what = 'daemon_state'
       and key = ${literal(JSON.stringify([FEED_KEY]))} and row is not null order by place`,
  );
  const named = feeds.map(({ place, row }) => ({
    place: PLACE.parse(place),
    name: FEED_ROW.parse(tryParseJson(String(row))).value,
  }));
  const feed = named.at(-1)?.name;
  const [trim] = await session.ask(
    `select coalesce(max(backup_place), 0) AS place from standby_machine
     where ${ours} and machine = ${literal(TRIMMED)}`,
  );
  const lines = await session.ask(
    `select key, place from standby_record where ${ours} and what = 'line' order by place`,
  );
  return {
    feed,
    begins: named.find(({ name }) => name === feed)?.place ?? 0,
    trimmed: PLACE.parse(trim?.place ?? 0),
    lines: lines.map(({ key, place }) => ({
      name: z.tuple([z.string()]).parse(JSON.parse(String(key)))[0],
      place: PLACE.parse(place),
    })),
    async lastSeq(after, before) {
      const [last] = await session.ask(
        `select coalesce(max(seq), 0) AS seq from standby_record
         where ${ours} and place > ${after} and place < ${before}`,
      );
      return PLACE.parse(last?.seq);
    },
  };
}

/** Place behind which the record is played into a copy with the present feed. */
function placeOf({ place }: Beginning, { begins }: Measure): number {
  // A copy of soon after a feed began does not say yet how far the record has it.
  return Math.max(place, begins - 1);
}

/** Why a copy is no beginning; undefined: it is one. */
export async function whyNoBeginning(
  beginning: Beginning,
  measure: Measure,
): Promise<string | undefined> {
  const { feed, line, waiting } = beginning;
  if (feed === undefined) return 'it is of before there was a standby';
  // The feed's own row may be older than all that was kept: then it is that of any backup.
  if (measure.feed !== undefined && feed !== measure.feed) {
    return 'it is of an earlier feed: PostgreSQL or mirror.db was put back, or changes went by it';
  }
  const place = placeOf(beginning, measure);
  if (place < measure.trimmed) return 'it is older than what the record still has';
  if (waiting === 0) return undefined;
  const own = measure.lines.findLast(({ name }) => name === line);
  const after = Math.max(place, line === undefined ? 0 : (own?.place ?? 0));
  const next = measure.lines.find((one) => one.place > after && one.name !== line);
  const recorded = await measure.lastSeq(after, next?.place ?? Number.MAX_SAFE_INTEGER);
  return recorded >= waiting ? undefined : 'it has what was never recorded';
}

export interface Chosen {
  readonly backup: Backup;
  readonly beginning: Beginning;
}

/** The newest backup that is a beginning. Throws `standby.no_backup`, with the reason of each. */
export async function chooseBackup(
  config: BackupPlace,
  measure: Measure,
  now: number,
): Promise<Chosen> {
  const directory = backupDirectory(config);
  const reasons: string[] = [];
  for (const backup of listBackups(directory, now)) {
    const copy = join(dirname(backup.path), backup.manifest.mirror.file);
    let why: string | undefined;
    try {
      const beginning = beginningOf(copy);
      why = await whyNoBeginning(beginning, measure);
      const place = placeOf(beginning, measure);
      if (why === undefined) return { backup, beginning: { ...beginning, place } };
    } catch (thrown) {
      if (thrown instanceof RefusedError) throw thrown;
      why = `it cannot be read: ${String(thrown)}`;
    }
    reasons.push(`${backup.path}: ${why}`);
  }
  const all = reasons.length === 0 ? `there is none in ${directory}` : reasons.join('; ');
  throw new RefusedError('standby.no_backup', `no backup to go on from: ${all}`, {
    hint: 'make one on the holder, and have it copied here (docs/operating/standby.md)',
  });
}
