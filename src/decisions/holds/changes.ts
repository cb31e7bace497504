/**
 * Decisions wait while a run of a stream that their rules read has changed most of its rows at once
 * (sync/run/change-guard.ts): what the rules would go by is more likely a fault of the service.
 * They go on by themselves when a person has accepted the run, or a later one found the rows as
 * they were.
 */
import { sql } from 'kysely';
import type { Outcome } from '../../rules/combine.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Db, Tx } from '../../store/store.ts';
import type { Subject } from '../facts.ts';
import { listsRead, type PulledList } from '../watch/reads.ts';

const STREAMS: Readonly<Record<PulledList, string>> = {
  stock_variant: 'stock',
  season_variant: 'season',
  style: 'styles',
  style_color: 'styleColors',
  color: 'colors',
};

interface ChangedRun {
  readonly run_id: number;
  readonly stream: string;
  readonly outcome: string;
}

/** How soon a delivery is looked at again that waits for the end of a run. */
const RUN_LOOK_MS = 30_000;

/**
 * Runs whose changes wait for a person. One that goes on counts while it has changed the most of
 * what it has read so far: at its end is known what that was.
 */
export async function changedRuns(db: Db | Tx): Promise<readonly ChangedRun[]> {
  const runs = await sql<ChangedRun>`select run_id, stream, outcome from sync_run
    where rows_drastic > 100 and (change_guard = 'open'
      or (outcome = 'running' and change_guard is null
        and rows_drastic * 2 > rows_changed - rows_new + rows_unchanged))
    order by run_id desc`.execute(db);
  return runs.rows;
}

async function runToWaitFor(
  tx: Tx,
  ruleSet: RuleSet,
  { facts }: Pick<Subject, 'facts'>,
): Promise<ChangedRun | undefined> {
  const runs = await changedRuns(tx);
  if (runs.length === 0) return undefined;
  const lists = listsRead(ruleSet)
    // What can be ordered ahead tells nothing of other orders.
    .filter((entity) => entity !== 'season_variant' || facts.order.season !== null)
    .map((entity) => STREAMS[entity]);
  return runs.find(({ stream }) => lists.includes(stream));
}

function told({ run_id: runId, stream, outcome }: ChangedRun): string {
  const what = `run ${runId} of ${stream} changed most of its rows at once`;
  if (outcome === 'running') return `${what} so far; waits for its end`;
  return `${what}; see "selvedge sync show ${runId}", then: selvedge sync accept-change ${runId}`;
}

/** What the decision waits for, in words; undefined when it need not wait. */
export async function waitsForChanges(
  tx: Tx,
  ruleSet: RuleSet,
  subject: Pick<Subject, 'facts'>,
): Promise<string | undefined> {
  const run = await runToWaitFor(tx, ruleSet, subject);
  return run && told(run);
}

interface Waiting {
  readonly outcome: Outcome;
  /** When it is to be looked at again; null: when something changes. */
  readonly lookAt: number | null;
}

/** The outcome, or the hold in the place of an accept or a reject that must wait. */
export async function outcomeBehindChanges(
  tx: Tx,
  ruleSet: RuleSet,
  subject: Pick<Subject, 'facts'>,
  outcome: Outcome,
  now: number,
): Promise<Waiting> {
  if (outcome.kind !== 'accept' && outcome.kind !== 'reject') return { outcome, lookAt: null };
  const run = await runToWaitFor(tx, ruleSet, subject);
  if (!run) return { outcome, lookAt: null };
  const reason = `rail changes: ${told(run)}`;
  return {
    outcome: { ...outcome, kind: 'hold', code: 'rail', rules: [], reason },
    // Such a run may begin and end between two looks at which are open.
    lookAt: run.outcome === 'running' ? now + RUN_LOOK_MS : null,
  };
}
