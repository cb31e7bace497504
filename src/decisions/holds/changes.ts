/**
 * Holds decisions while a run of a stream that their rules read has changed most of its rows at
 * once (sync/run/change-guard.ts): such a change is more likely a fault of the service than the
 * truth. The same for the ERP's customers (mirror/customer-loss.ts). The decisions go on by
 * themselves when a person has accepted it, or a later run found the rows as they were.
 */
import { sql } from 'kysely';
import { readCustomerLoss } from '../../mirror/customer-loss.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Db, Tx } from '../../store/store.ts';
import { areCustomersRead, READ_FROM, streamsOf } from '../fact-streams.ts';
import type { Subject } from '../facts.ts';
import type { Candidate, Precaution } from '../judgement.ts';

interface ChangedRun {
  readonly run_id: number;
  readonly stream: string;
  readonly outcome: string;
}

/**
 * Milliseconds after which a delivery is evaluated again that waits for the end of a run, or for
 * the ERP's customers: nothing in the change feed tells of either.
 */
const LOOK_MS = 30_000;

/**
 * Finds runs whose changes wait for a person. A run that is still going counts while it has changed
 * most of the rows it has read so far; only its end shows the true share. Sorted by what is no
 * column, as SQLite would walk over all runs in their order rather than use the indexes.
 */
export async function changedRuns(db: Db | Tx): Promise<readonly ChangedRun[]> {
  const runs = await sql<ChangedRun>`
    select * from (
      select run_id, stream, outcome from sync_run where change_guard = 'open'
      union all select run_id, stream, outcome from sync_run
      where outcome = 'running' and change_guard is null
        and iif(rows_drastic > 100, rows_drastic, drastic ->> '$.members') * 2
          > rows_changed - rows_new + rows_unchanged
    ) order by +run_id desc`.execute(db);
  return runs.rows;
}

async function runToWaitFor(
  tx: Tx,
  { rules }: RuleSet,
  { facts }: Pick<Subject, 'facts'>,
): Promise<ChangedRun | undefined> {
  const runs = await changedRuns(tx);
  if (runs.length === 0) return undefined;
  const paths = rules.flatMap(({ mode, reads }) => (mode === 'live' ? reads : []));
  const streams = streamsOf(READ_FROM, paths);
  // Only pre-orders use the stream `season`.
  const isRead = (stream: string): boolean =>
    streams.includes(stream) && (stream !== 'season' || facts.order.season !== null);
  return runs.find(({ stream }) => isRead(stream));
}

function describe({ run_id: runId, stream, outcome }: ChangedRun): string {
  const what = `run ${runId} of ${stream} changed most of its rows at once`;
  if (outcome === 'running') return `${what} so far; waits for its end`;
  return `${what}; see "selvedge sync show ${runId}", then: selvedge sync release ${runId}`;
}

interface Waits {
  readonly why: string;
  /** Whether the delivery has to look by itself whether the wait is over. */
  readonly looks: boolean;
}

async function waitOf(
  tx: Tx,
  ruleSet: RuleSet,
  subject: Pick<Subject, 'facts'>,
): Promise<Waits | undefined> {
  const run = await runToWaitFor(tx, ruleSet, subject);
  if (run) return { why: describe(run), looks: run.outcome === 'running' };
  const loss = await readCustomerLoss(tx);
  if (!loss || !areCustomersRead(ruleSet)) return undefined;
  const release = '"selvedge sync release customers"';
  const why = `erp_customer has lost ${loss.what} at once; if it is meant: ${release}`;
  return { why, looks: true };
}

/** Says what a decision waits for; undefined when it need not wait. */
export async function waitsForChanges(
  tx: Tx,
  ruleSet: RuleSet,
  subject: Pick<Subject, 'facts'>,
): Promise<string | undefined> {
  return (await waitOf(tx, ruleSet, subject))?.why;
}

/** Holds an accept or a reject while the changes of a run wait for a person. */
export async function holdForChanges(
  tx: Tx,
  { ruleSet, subject, outcome, now }: Candidate,
): Promise<Precaution | undefined> {
  const wait = await waitOf(tx, ruleSet, subject);
  if (!wait) return undefined;
  const reason = `safeguard changes: ${wait.why}`;
  const held = { ...outcome, kind: 'hold', code: 'safeguard', rules: [], reason } as const;
  // A run may begin and end between two passes, so a delivery that waits for one has a time of its
  // own.
  return { outcome: held, ...(wait.looks ? { lookAt: now + LOOK_MS } : {}) };
}
