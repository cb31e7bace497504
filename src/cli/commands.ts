/**
 * The command tree, in the order of the help. Modules that a command line does not need are not
 * loaded for it: all of them take half a second.
 *
 * Commands of acts and lists are made from their declarations (`acts`, `lists`). Any other new
 * command is a file that exports a `CommandFactory` and an entry here. One whose arguments are
 * names of the installation is in `ARGUMENTS` of `self/tree.ts`. `npm run references` writes the
 * page of commands again.
 */
import { Command } from 'commander';
import type { ActHead } from '../surface/acts.ts';
import type { List } from '../surface/lists.ts';
import type { CliContext, CommandFactory } from './command.ts';

type Load = () => Promise<CommandFactory>;

/** A command that stands alone, such as `selvedge run`. */
interface LoneCommand {
  /** Usage for the help of the program, which does not load the command. */
  readonly usage: string;
  readonly summary: string;
  readonly load: Load;
  /** Whether the command works on the whole command tree, so that every command is loaded. */
  readonly showsAll?: boolean;
}

/** Commands below a noun, such as `selvedge config check`, by their names. */
interface CommandGroup {
  readonly name: string;
  readonly description: string;
  readonly commands: Readonly<Record<string, Load>>;
  /** Declared acts of the noun; one that has a command by hand above is left to it. */
  readonly acts?: () => Promise<readonly ActHead[]>;
  /** Command that the noun alone means. */
  readonly fallback?: string;
  /** Declared lists of the noun. */
  readonly lists?: () => Promise<readonly List[]>;
}

const COMMANDS: readonly LoneCommand[] = [
  {
    usage: 'init [options]',
    summary: 'write a configuration that fits an account',
    load: async () => (await import('./setup/init.ts')).init,
  },
  {
    usage: 'run [options]',
    summary: 'run the daemon',
    load: async () => (await import('./run.ts')).run,
  },
  {
    usage: 'demo [options]',
    summary: 'run the daemon against an embedded service, without an account',
    load: async () => (await import('./demo/demo.ts')).demo,
  },
  {
    usage: 'reference [options]',
    summary: 'run the reference service: V1, V2, relay and portal with seeded data',
    load: async () => (await import('./reference/reference.ts')).reference,
  },
  {
    usage: 'status [options]',
    summary: 'show daemon, sync and outbox state',
    load: async () => (await import('./ops/status.ts')).status,
  },
  {
    usage: 'stock [options] [barcode|style]',
    summary: 'show the stock of a barcode or a style, also in the past',
    load: async () => (await import('./stock.ts')).stock,
  },
  {
    usage: 'takeover [options]',
    summary: 'take over from the other machine by hand',
    load: async () => (await import('./standby/takeover.ts')).takeover,
  },
  {
    usage: 'api [options] <method> <path>',
    summary: 'send one raw API request',
    load: async () => (await import('./ops/api.ts')).api,
  },
  {
    usage: 'doctor [options]',
    summary: 'check configuration, database, rules, network and account',
    load: async () => (await import('./ops/doctor.ts')).doctor,
  },
  {
    usage: 'probe [options]',
    summary: 'detect how an account differs from the contract and print the settings',
    load: async () => (await import('./ops/probe.ts')).probe,
  },
  {
    usage: 'conformance [options]',
    summary: 'test an account against the wire contract',
    load: async () => (await import('./ops/conformance.ts')).conformance,
  },
  {
    usage: 'support-bundle [file]',
    summary: 'collect diagnostics for a bug report (no secrets, no business data)',
    load: async () => (await import('./ops/support-bundle.ts')).supportBundle,
  },
  {
    usage: 'pause [options] <target> [name]',
    summary: 'pause pushes, decisions, a stream or all until "resume"',
    load: async () => (await import('./ops/pause.ts')).pause,
  },
  {
    usage: 'resume [options] <target> [name]',
    summary: 'go on after "pause", a restore or "account adopt"',
    load: async () => (await import('./ops/pause.ts')).resume,
  },
  {
    usage: 'completion <shell> [what]',
    showsAll: true,
    summary: 'print a completion script for the shell',
    load: async () => (await import('./self/completion.ts')).completion,
  },
];

const COMMAND_GROUPS: readonly CommandGroup[] = [
  {
    name: 'config',
    description: 'check, show and migrate the configuration',
    commands: {
      check: async () => (await import('./config/check.ts')).configCheck,
      show: async () => (await import('./config/show.ts')).configShow,
      migrate: async () => (await import('./config/migrate.ts')).configMigrate,
    },
  },
  {
    name: 'account',
    description: 'show or change the account of the data folder',
    commands: {
      show: async () => (await import('./account/account.ts')).accountShow,
      adopt: async () => (await import('./account/account.ts')).accountAdopt,
    },
  },
  {
    name: 'deliveries',
    description: 'inspect packed deliveries and decide them',
    commands: {
      list: async () => (await import('./deliveries/list.ts')).deliveriesList,
      show: async () => (await import('./deliveries/show.ts')).deliveriesShow,
      explain: async () => (await import('./deliveries/explain.ts')).deliveriesExplain,
    },
    lists: async () => [
      ...(await import('../decisions/review/parts.ts')).deliveryPartLists,
      (await import('../decisions/review/lists.ts')).views,
    ],
    acts: async () => (await import('../decisions/review/surface.ts')).deliveryActs,
  },
  {
    name: 'console',
    description: 'links, passwords and tokens for the console',
    commands: {
      open: async () => (await import('./console/console.ts')).consoleOpen,
      password: async () => (await import('./console/console.ts')).consolePassword,
      token: async () => (await import('./console/console.ts')).consoleToken,
      tokens: async () => (await import('./console/console.ts')).consoleTokens,
    },
    acts: async () => (await import('../console/surface/people.ts')).peopleActs,
    lists: async () => [(await import('../console/access/lists.ts')).sessions],
  },
  {
    name: 'orders',
    description: 'send orders of the ERP, see what became of them, forget the people in one',
    commands: {
      show: async () => (await import('./erp/look.ts')).ordersShow,
      push: async () => (await import('./erp/push.ts')).ordersPush,
    },
    acts: async () => [(await import('../outbox/surface.ts')).forgetOrder],
    lists: async () => [
      (await import('../outbox/lists.ts')).orders,
      (await import('../mirror/find/order.ts')).orderDeliveries,
      (await import('../mirror/find/find.ts')).found,
    ],
  },
  {
    name: 'refunds',
    description: 'send pending refunds of the ERP, and see what became of them',
    commands: {
      show: async () => (await import('./erp/look.ts')).refundsShow,
      push: async () => (await import('./erp/push.ts')).refundsPush,
    },
    lists: async () => [(await import('../outbox/lists.ts')).refunds],
  },
  {
    name: 'rules',
    description: 'check, simulate, arm and reload rules',
    commands: {
      check: async () => (await import('./rules/check.ts')).rulesCheck,
      test: async () => (await import('./rules/test.ts')).rulesTest,
      backtest: async () => (await import('./rules/backtest.ts')).rulesBacktest,
      whatif: async () => (await import('./rules/whatif.ts')).rulesWhatif,
      suggest: async () => (await import('./rules/suggest.ts')).rulesSuggest,
      reload: async () => (await import('./rules/acting/reload.ts')).rulesReload,
      matches: async () => (await import('./rules/acting/matches.ts')).rulesMatches,
      arm: async () => (await import('./rules/acting/arm.ts')).rulesArm,
    },
    acts: async () => (await import('../decisions/reject/surface.ts')).ruleActs,
    lists: async () => [
      ...(await import('../decisions/reject/lists.ts')).ruleLists,
      (await import('../decisions/review/parts.ts')).facts,
      (await import('../suggest/lists.ts')).suggestions,
    ],
  },
  {
    name: 'audit',
    description: 'show what people did',
    commands: {},
    lists: async () => (await import('../ops/lists.ts')).auditLists,
  },
  {
    name: 'incidents',
    description: 'see what a person must look at, and say who does',
    commands: {},
    acts: async () => (await import('../ops/surface.ts')).incidentActs,
    lists: async () => [
      (await import('../ops/lists.ts')).incidents,
      (await import('../ops/troubles.ts')).troubles,
    ],
  },
  {
    name: 'notify',
    description: 'try the messages to people',
    commands: {},
    acts: async () => (await import('../ops/surface.ts')).notifyActs,
  },
  {
    name: 'decisions',
    description: 'verify the decision journal',
    commands: {
      verify: async () => (await import('./decisions/verify.ts')).decisionsVerify,
    },
  },
  {
    name: 'events',
    description: 'inspect and replay events of the relay',
    commands: {
      list: async () => (await import('./events/list.ts')).eventsList,
      show: async () => (await import('./events/show.ts')).eventsShow,
    },
    acts: async () => [(await import('../inbox/surface.ts')).replayEvents],
    lists: async () => (await import('../inbox/lists.ts')).eventLists,
  },
  {
    name: 'portal',
    description: "open the relay's portal",
    commands: {},
    acts: async () => [(await import('../inbox/surface.ts')).openPortal],
  },
  {
    name: 'outbox',
    description: 'inspect what is sent to the service, and resolve unknown outcomes',
    commands: {
      show: async () => (await import('./outbox/show.ts')).outboxShow,
    },
    acts: async () => (await import('../outbox/surface.ts')).outboxActs,
    lists: async () => [(await import('../outbox/lists.ts')).pushes],
  },
  {
    name: 'sync',
    description: 'inspect and control pulls',
    commands: {
      show: async () => (await import('./sync/show.ts')).syncShow,
      run: async () => (await import('./sync/act.ts')).syncRun,
    },
    acts: async () => (await import('../sync/surface.ts')).syncActs,
    lists: async () => (await import('../sync/lists.ts')).syncLists,
  },
  {
    name: 'report',
    description: 'run reports on the mirror',
    commands: {
      list: async () => (await import('./report/list.ts')).reportList,
      run: async () => (await import('./report/run.ts')).reportRun,
      snapshot: async () => (await import('./report/snapshot.ts')).reportSnapshot,
    },
    lists: async () => (await import('../report/lists.ts')).reportLists,
  },
  {
    name: 'plane',
    description: 'keep a copy of the database in PostgreSQL, beside those of other brands',
    commands: {
      init: async () => (await import('./plane/init.ts')).planeInit,
      run: async () => (await import('./plane/run.ts')).planeRun,
      status: async () => (await import('./plane/status.ts')).planeStatusCommand,
      verify: async () => (await import('./plane/verify.ts')).planeVerify,
      rebuild: async () => (await import('./plane/rebuild.ts')).planeRebuild,
      'grant-reader': async () => (await import('./plane/grant-reader.ts')).planeGrantReader,
      remove: async () => (await import('./plane/remove.ts')).planeRemove,
    },
    acts: async () => (await import('../ops/surface.ts')).planeActs,
  },
  {
    name: 'standby',
    description: 'have a second machine take over when the first one fails',
    commands: {
      wait: async () => (await import('./standby/wait.ts')).standbyWait,
      init: async () => (await import('./standby/init.ts')).standbyInit,
      status: async () => (await import('./standby/status.ts')).standbyStatus,
      drill: async () => (await import('./standby/drill.ts')).standbyDrill,
    },
    fallback: 'wait',
  },
  {
    name: 'fleet',
    description: 'look at all brands of the plane',
    commands: {
      status: async () => (await import('./fleet/status.ts')).fleetStatus,
    },
  },
  {
    name: 'backup',
    description: 'create, verify and restore backups',
    commands: {
      create: async () => (await import('./backup/create.ts')).backupCreate,
      list: async () => (await import('./backup/list.ts')).backupList,
      verify: async () => (await import('./backup/verify.ts')).backupVerify,
      restore: async () => (await import('./backup/restore.ts')).backupRestore,
    },
  },
];

/** Commands made from the declared acts and lists; acts that share a command are chosen among. */
async function madeCommands({
  acts,
  lists,
}: CommandGroup): Promise<Readonly<Record<string, Load>>> {
  if (!acts && !lists) return {};
  const { actCommand, choiceCommand, wordOf } = await import('./surface-commands.ts');
  const { listCommand } = await import('./surface-lists.ts');
  const ofLists = ((await lists?.()) ?? []).map((of) => {
    const load: Load = async () => (context) => listCommand(of, context);
    return [wordOf(of), load] as const;
  });
  const ofActs = [...Map.groupBy((await acts?.()) ?? [], wordOf)].map(([word, sharing]) => {
    const [of, ...others] = sharing;
    const load: Load = async () => (context) =>
      of && others.length === 0 ? actCommand(of, context) : choiceCommand(sharing, context);
    return [word, load] as const;
  });
  return Object.fromEntries([...ofLists, ...ofActs]);
}

function nameOf({ usage }: LoneCommand): string {
  return usage.replace(/ .*/, '');
}

/** Makes a stand-in for a command that is only listed, without loading it. */
function outlineOf(entry: LoneCommand): Command {
  const outline = new Command(nameOf(entry)).summary(entry.summary);
  for (const part of entry.usage.split(' ').slice(1)) {
    if (part === '[options]') outline.option('--any');
    else outline.argument(part);
  }
  return outline;
}

/**
 * Makes the command tree for these words: every command is named, but only those that the words may
 * lead to have options and commands below them.
 */
export async function commandsFor(
  [first = '', second = '']: readonly string[],
  context: CliContext,
): Promise<Command[]> {
  const create = async (load: Load) => (await load())(context);
  // Listing names for completion needs no other command, and a person waits for it at a prompt.
  const isAll =
    second !== 'names' && COMMANDS.some((entry) => entry.showsAll && nameOf(entry) === first);
  const commands = COMMANDS.map((entry) =>
    isAll || nameOf(entry) === first ? create(entry.load) : outlineOf(entry),
  );
  const groups = COMMAND_GROUPS.map(async (of) => {
    const { name, description, commands: below } = of;
    const group = new Command(name).description(description);
    if (!isAll && name !== first) return group;
    // A command by hand that is named needs no declaration beside its own.
    const isByHand = !isAll && second in below;
    const made = isByHand ? {} : await madeCommands(of);
    const known = Object.entries({ ...made, ...below });
    const named = known.filter(([one]) => name === first && one === second);
    // Without a known name, all commands of the group are loaded and shown.
    const loads = named.length > 0 ? named : known;
    for (const command of await Promise.all(loads.map(([, load]) => create(load)))) {
      group.addCommand(command, { isDefault: command.name() === of.fallback });
    }
    return group;
  });
  return Promise.all([...commands, ...groups]);
}
