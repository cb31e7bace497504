/**
 * Main program of the process that tries rules (trial.ts starts it): reads a request from stdin and
 * writes JSON lines to stdout.
 */

import { SelvedgeError, toError } from '../../lib/errors.ts';
import { takeJob, tell } from '../../lib/process/job.ts';
import { loadRules } from '../../rules/load.ts';
import type { RuleSet } from '../../rules/rule.ts';
import { runRuleTests } from '../../rules/testing.ts';
import { openReadOnlyStore, type Store } from '../../store/store.ts';
import { fillLists, listsOf } from '../rule-lists.ts';
import { backtest } from './backtest.ts';
import { backtestJson } from './backtest-text.ts';
import { diffRuleSets } from './diff.ts';
import { decidedDeliveries } from './history.ts';
import { tryQueue } from './queue.ts';
import { ruleFigures } from './rule-figures.ts';
import { ruleSetInForce } from './rule-sets.ts';
import type { Trial, TrialLine, TrialRequest, TrialTask } from './trial.ts';
import { layOver } from './trial-files.ts';

/** Maximum of changed deliveries that are listed; all of them are counted. */
const CHANGED_MAX = 500;
const REJECTS_MAX = 20;
const PROGRESS_EVERY = 50;

async function rulesOnTrial(
  { db }: Store,
  { files }: TrialRequest,
): Promise<{ readonly inForce: RuleSet; readonly tried: RuleSet } | TrialLine> {
  const inForce = await ruleSetInForce(db);
  if (files === null) return { inForce: inForce.ruleSet, tried: inForce.ruleSet };
  const all = layOver(inForce.files, files);
  const loaded = loadRules(all);
  if ('problems' in loaded) return loaded;
  const filled = await fillLists(db, { ruleSet: loaded.ruleSet, files: all }, listsOf(inForce));
  const { warnings } = loaded.ruleSet;
  return { inForce: inForce.ruleSet, tried: { ...filled.ruleSet, warnings } };
}

function testsOf(ruleSet: RuleSet): Trial['tests'] {
  const { tests, scenarios } = runRuleTests(ruleSet);
  const all = [...tests, ...scenarios.map((one) => ({ ruleId: 'scenario', ...one }))];
  const failed = all.filter(({ ok }) => !ok);
  return {
    passed: all.length - failed.length,
    failed: failed.map(({ ruleId, name, expected, actual }) => ({
      ruleId,
      name,
      expected,
      actual,
    })),
  };
}

async function tryRules(store: Store, request: TrialRequest): Promise<TrialLine> {
  const { since, until, freshness, shadowAsLive, now } = request;
  const of = await decidedDeliveries(store.db, { since, until });
  await tell<TrialLine>({ progress: { deliveries: 0, of } });
  const loaded = await rulesOnTrial(store, request);
  if (!('tried' in loaded)) return loaded;
  const { inForce, tried: rules } = loaded;
  const queue = await tryQueue(store, now, { rules, freshness, shadowAsLive });
  const report = await backtest(
    store.db,
    { since, until },
    {
      rules,
      shadowAsLive,
      changedMax: CHANGED_MAX,
      onProgress(deliveries) {
        if (deliveries % PROGRESS_EVERY === 0)
          void tell<TrialLine>({ progress: { deliveries, of } });
      },
    },
  );
  const { warnings } = rules;
  const kept = { ...report, rejects: report.rejects.slice(0, REJECTS_MAX) };
  return {
    trial: {
      diff: diffRuleSets(inForce, rules),
      warnings,
      tests: testsOf(rules),
      queue,
      backtest: backtestJson(kept),
    },
  };
}

async function run(task: TrialTask): Promise<TrialLine> {
  const store = await openReadOnlyStore(task.store);
  try {
    if (task.task === 'trial') return await tryRules(store, task);
    return { figures: await ruleFigures(store.db, task.now) };
  } finally {
    await store.close();
  }
}

const task = await takeJob<TrialTask>();
try {
  await tell(await run(task));
} catch (thrown) {
  const code = thrown instanceof SelvedgeError ? thrown.code : 'rules.trial_failed';
  await tell<TrialLine>({ failed: { code, message: toError(thrown).message } });
}
