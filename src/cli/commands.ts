/** The command tree, in the order of the help. A new command is a file and a line here. */

import { auditList } from './audit.ts';
import { backupCreate } from './backup/create.ts';
import { backupList } from './backup/list.ts';
import { backupRestore } from './backup/restore.ts';
import { backupVerify } from './backup/verify.ts';
import type { CommandFactory } from './command.ts';
import { configCheck } from './config/check.ts';
import { configSchema } from './config/schema.ts';
import { configShow } from './config/show.ts';
import { decisionsResume, decisionsStop } from './decisions/stop.ts';
import { decisionsVerify } from './decisions/verify.ts';
import {
  deliveriesAccept,
  deliveriesHold,
  deliveriesReject,
  deliveriesRelease,
} from './deliveries/act.ts';
import { deliveriesExplain } from './deliveries/explain.ts';
import { deliveriesList } from './deliveries/list.ts';
import { deliveriesShow } from './deliveries/show.ts';
import { demo } from './demo/demo.ts';
import { ordersPush, refundsPush } from './erp/push.ts';
import { eventsList } from './events/list.ts';
import { eventsMissed } from './events/missed.ts';
import { eventsPing } from './events/ping.ts';
import { portalOpen } from './events/portal.ts';
import { eventsReplay } from './events/replay.ts';
import { eventsShow } from './events/show.ts';
import { eventsTail } from './events/tail.ts';
import { api } from './ops/api.ts';
import { doctor } from './ops/doctor.ts';
import { migrate } from './ops/migrate.ts';
import { pause, resume } from './ops/pause.ts';
import { probe } from './ops/probe.ts';
import { status } from './ops/status.ts';
import { supportBundle } from './ops/support-bundle.ts';
import { outboxCancel, outboxResolve, outboxRetry } from './outbox/act.ts';
import { outboxList } from './outbox/list.ts';
import { outboxShow } from './outbox/show.ts';
import { outboxResume, outboxStop } from './outbox/stop.ts';
import { reference } from './reference/reference.ts';
import { reportList } from './report/list.ts';
import { reportRun } from './report/run.ts';
import { reportSnapshot } from './report/snapshot.ts';
import { rulesArm, rulesDisarm, rulesResetBreaker } from './rules/acting/arm.ts';
import { rulesMatches } from './rules/acting/matches.ts';
import { rulesQueue, rulesStop } from './rules/acting/queue.ts';
import { rulesReload } from './rules/acting/reload.ts';
import { rulesBacktest } from './rules/backtest.ts';
import { rulesCheck } from './rules/check.ts';
import { rulesDiff } from './rules/diff.ts';
import { rulesExplain } from './rules/explain.ts';
import { rulesFacts } from './rules/facts.ts';
import { rulesMisses } from './rules/misses.ts';
import { rulesReplay } from './rules/replay.ts';
import { rulesSchema } from './rules/schema.ts';
import { rulesTest } from './rules/test.ts';
import { rulesWhatif } from './rules/whatif.ts';
import { run } from './run.ts';
import { completion } from './self/completion.ts';
import { manual } from './self/manual.ts';
import { stock } from './stock.ts';
import { syncPause, syncRelease, syncResume, syncRetryQuarantine, syncRun } from './sync/act.ts';
import { syncList, syncRuns, syncShow } from './sync/show.ts';

interface CommandGroup {
  readonly name: string;
  readonly description: string;
  readonly commands: readonly CommandFactory[];
}

export interface CommandTree {
  /** Commands that stand alone, such as `selvedge run`. */
  readonly commands: readonly CommandFactory[];
  /** Commands below a noun, such as `selvedge config check`. */
  readonly groups: readonly CommandGroup[];
}

const COMMANDS: readonly CommandFactory[] = [
  run,
  demo,
  reference,
  migrate,
  status,
  stock,
  api,
  doctor,
  probe,
  supportBundle,
  pause,
  resume,
  completion,
  manual,
];

const COMMAND_GROUPS: readonly CommandGroup[] = [
  {
    name: 'config',
    description: 'check and show the configuration',
    commands: [configCheck, configShow, configSchema],
  },
  {
    name: 'deliveries',
    description: 'packed deliveries and what was decided about them',
    commands: [
      deliveriesList,
      deliveriesShow,
      deliveriesExplain,
      deliveriesAccept,
      deliveriesReject,
      deliveriesHold,
      deliveriesRelease,
    ],
  },
  {
    name: 'orders',
    description: 'orders of the ERP, on their way to the service',
    commands: [ordersPush],
  },
  {
    name: 'refunds',
    description: 'pending refunds of the ERP, on their way to the service',
    commands: [refundsPush],
  },
  {
    name: 'rules',
    description: 'check rules, try them out, and say which of them may reject',
    commands: [
      rulesCheck,
      rulesTest,
      rulesFacts,
      rulesExplain,
      rulesDiff,
      rulesBacktest,
      rulesWhatif,
      rulesReplay,
      rulesMisses,
      rulesSchema,
      rulesReload,
      rulesMatches,
      rulesArm,
      rulesDisarm,
      rulesQueue,
      rulesStop,
      rulesResetBreaker,
    ],
  },
  {
    name: 'audit',
    description: 'what people did',
    commands: [auditList],
  },
  {
    name: 'decisions',
    description: 'the journal of decisions, and the switch that stops them',
    commands: [decisionsVerify, decisionsStop, decisionsResume],
  },
  {
    name: 'events',
    description: 'events of the relay: what came, what it led to, and whether the way is open',
    commands: [eventsList, eventsShow, eventsReplay, eventsTail, eventsMissed, eventsPing],
  },
  {
    name: 'portal',
    description: "the relay's web page: endpoints, signing secrets, re-sending",
    commands: [portalOpen],
  },
  {
    name: 'outbox',
    description: 'what is sent to the service: orders, refunds, decisions; and what is in doubt',
    commands: [
      outboxList,
      outboxShow,
      outboxRetry,
      outboxCancel,
      outboxResolve,
      outboxStop,
      outboxResume,
    ],
  },
  {
    name: 'sync',
    description: 'the pulls: how they are, and what a person may do to them',
    commands: [
      syncList,
      syncRuns,
      syncShow,
      syncRun,
      syncPause,
      syncResume,
      syncRelease,
      syncRetryQuarantine,
    ],
  },
  {
    name: 'report',
    description: 'reports on the mirror, by SQL',
    commands: [reportList, reportRun, reportSnapshot],
  },
  {
    name: 'backup',
    description: 'copies of the databases, and the way back',
    commands: [backupCreate, backupList, backupVerify, backupRestore],
  },
];

export const COMMAND_TREE: CommandTree = { commands: COMMANDS, groups: COMMAND_GROUPS };
