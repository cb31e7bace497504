/**
 * Judges a seed by the service's own list of requests and the files on the disk, whatever the
 * daemon itself believes: nothing was sent again before it was proved absent, nothing without an
 * attempt that was written before, the databases are whole, and no secret is in any file.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { JournalEntry } from '../../../src/reference/edge/journal.ts';
import type { Reference } from '../../../src/reference/reference.ts';

export interface LedgerWish {
  readonly reference: Reference;
  readonly folder: string;
  /** How long what is in doubt must be left alone. */
  readonly reconcileAfterMs: number;
  /** How the account answers where a list is empty; some give no list then. */
  readonly emptyStatus: number;
  readonly secrets: readonly string[];
}

const LOOKS_MIN = 2;
/** Order and pending refund: what is made where it is looked for. */
const MADE = /\/orders(?:\/\d+\/pending-refunds)?$/;

function entriesOf({ reference }: LedgerWish, method: string): readonly JournalEntry[] {
  return reference.edge.journal.list({ method }).filter(({ path }) => MADE.test(path));
}

type Attempt = readonly [
  name: string,
  kind: string,
  startedAt: number,
  mayHaveDone: 0 | 1,
  previousAt: number | null,
];

const ATTEMPTS = `select o.kind || ' ' || o.reference, o.kind, started_at,
  lag(class) over attempts is not 'not_processed', lag(started_at) over attempts
  from outbox o join outbox_attempt a using (outbox_id)
  window attempts as (partition by outbox_id order by attempt)`;

/** Finds documents sent again too early, or without looks at what the first attempt has done. */
function hasty(wish: LedgerWish, attempts: readonly Attempt[]): string[] {
  const looks = entriesOf(wish, 'GET').filter(
    ({ status }) => status === 200 || status === wish.emptyStatus,
  );
  return attempts.flatMap(([name, kind, startedAt, mayHaveDone, previousAt]) => {
    if (previousAt === null || mayHaveDone === 0) return [];
    const looked = looks.filter(({ at, path }) => {
      const isOfKind = path.endsWith('/orders') === (kind === 'order');
      const ms = Date.parse(at);
      return isOfKind && ms >= previousAt + wish.reconcileAfterMs && ms <= startedAt;
    });
    if (looked.length >= LOOKS_MIN) return [];
    return [`sent again after ${startedAt - previousAt} ms and ${looked.length} looks: ${name}`];
  });
}

/** The session repeats by itself what met a dead token; all else has an attempt, written before. */
function unwritten(wish: LedgerWish, attempts: readonly Attempt[]): string[] {
  const posts = entriesOf(wish, 'POST').filter(({ status }) => status !== 401);
  // A request that is struck before it is read has no reference.
  const surplus = posts.length - attempts.length;
  const unknown = posts.filter(({ reference, path, at }) => {
    const kind = path.endsWith('/orders') ? 'order' : 'pending_refund';
    const isIt = ([name, , startedAt]: Attempt): boolean =>
      name === `${kind} ${reference}` && startedAt <= Date.parse(at);
    return reference !== null && !attempts.some(isIt);
  });
  return [
    ...(surplus > 0 ? [`${surplus} requests more than attempts`] : []),
    ...unknown.map(({ reference, at }) => `sent without an attempt: ${reference} at ${at}`),
  ];
}

function damaged(database: Database.Database): string[] {
  const whole = database.pragma('integrity_check', { simple: true });
  const foreign = database.pragma('foreign_key_check');
  const isRight = Array.isArray(foreign) && foreign.length === 0;
  return [
    ...(whole === 'ok' ? [] : [`${database.name}: ${String(whole)}`]),
    ...(isRight ? [] : [`${database.name}: ${JSON.stringify(foreign)}`]),
  ];
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((one) => {
    const path = join(folder, one.name);
    return one.isDirectory() ? filesBelow(path) : [path];
  });
}

/** Once no process and no connection of ours has any of the databases open. */
function leaked({ folder, secrets }: LedgerWish): string[] {
  const files = ['data', 'in'].flatMap((name) => filesBelow(join(folder, name)));
  return files.flatMap((file) => {
    const bytes = readFileSync(file);
    return secrets.some((secret) => bytes.includes(secret)) ? [`a secret is in ${file}`] : [];
  });
}

/** Gives a text for each problem; the daemon must have ended. */
export function ledgerProblems(wish: LedgerWish): string[] {
  const [mirror, exchange] = ['mirror', 'exchange'].map(
    (name) => new Database(join(wish.folder, 'data', `${name}.db`)),
  );
  if (!mirror || !exchange) throw new Error('there are no databases');
  const attempts = mirror.prepare<[], Attempt>(ATTEMPTS).raw().all();
  const damages = [...damaged(mirror), ...damaged(exchange)];
  mirror.close();
  exchange.close();
  return [...hasty(wish, attempts), ...unwritten(wish, attempts), ...damages, ...leaked(wish)];
}
