/** Faults of the campaign: what strikes, at which step of which machine, for how long. */
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../../src/lib/random.ts';
import type { TapState } from './tap.ts';
import type { Step } from './wire.ts';
import type { Wired, World } from './world.ts';

export interface Plan {
  readonly fault: string;
  readonly step: Step;
  /** Strikes when the step passes for the n-th time. */
  readonly nth: number;
  /** Whether the step passes first. */
  readonly isAfter: boolean;
  readonly afterMs: number;
  readonly ms: number;
  readonly cut: Exclude<TapState, 'open'>;
  readonly hour: 1 | -1;
}

interface Struck {
  readonly world: World;
  /** Machine whose step it was. */
  readonly machine: Wired;
  readonly plan: Plan;
}

type Heal = () => Promise<void>;
type Fault = (struck: Struck) => Heal | Promise<Heal>;

const HOUR_MS = 3_600_000;
const ASYNCHRONOUS = 'asynchronous replica promoted';
const NOTHING: Heal = async () => undefined;

async function killed(machine: Wired): Promise<Heal> {
  await machine.kill();
  return async () => {
    if (!machine.isRunning()) machine.start();
  };
}

function suspended(machine: Wired): Heal {
  machine.freeze();
  return async () => machine.goOn();
}

function cutOff({ toPostgres }: Wired, state: TapState): Heal {
  for (const tap of toPostgres) tap.set(state);
  return async () => {
    for (const tap of toPostgres) tap.set('open');
  };
}

function stepped(machine: Wired, hour: number): Heal {
  machine.stepClock(hour * HOUR_MS);
  return async () => machine.stepClock(-hour * HOUR_MS);
}

function replicaCut({ cluster }: World, index: number, state: TapState): Heal {
  cluster.upstream(index).set(state);
  return async () => cluster.upstream(index).set('open');
}

/** Holds the replica that confirms nothing behind, from some time on after a seed begins. */
export async function prepare({ cluster }: World, plans: readonly Plan[]): Promise<void> {
  const plan = plans.find(({ fault, cut }) => fault === ASYNCHRONOUS && cut !== 'broken');
  if (!plan) return;
  await sleep(plan.afterMs * 100);
  if (cluster.primary() !== cluster.asynchronous()) {
    cluster.upstream(cluster.asynchronous()).set('stalled');
  }
}

/** The primary loses power, and a replica takes its place. */
async function promoted({ cluster }: World, index: number): Promise<Heal> {
  cluster.upstream(index).set('broken');
  await cluster.server(cluster.primary()).stop('immediate');
  return () => cluster.promote(index);
}

/** An operator cancels waits for a replica that is away, which is then promoted. */
async function waitCancelled({ world, plan }: Struck): Promise<Heal> {
  const { cluster } = world;
  const replica = cluster.synchronous();
  cluster.upstream(replica).set(plan.cut);
  let isOver = false;
  const canceling = (async () => {
    while (!isOver) {
      await cluster.cancelWaits().catch(() => 0);
      await sleep(40);
    }
  })();
  return async () => {
    isOver = true;
    await canceling;
    await (await promoted(world, replica))();
  };
}

/** Has the daemon give its lease away, as a drill does. */
async function handedOver(machine: Wired): Promise<Heal> {
  const local = machine.local();
  const headers = {
    authorization: `Bearer ${local?.token}`,
    'content-type': 'application/json',
  };
  const init = { method: 'POST', headers, body: JSON.stringify({ actor: 'eva' }) };
  const asked = fetch(`${local?.url}/api/standby/hand-over`, {
    ...init,
    signal: AbortSignal.timeout(8_000),
  });
  const done = asked.catch(() => undefined);
  return async () => void (await done);
}

export const FAULTS: Readonly<Record<string, Fault>> = {
  'holder killed': ({ machine }) => killed(machine),
  'holder suspended': ({ machine }) => suspended(machine),
  'standby killed': ({ world, machine }) => killed(world.other(machine)),
  'standby suspended': ({ world, machine }) => suspended(world.other(machine)),
  'holder and PostgreSQL cut': ({ machine, plan }) => cutOff(machine, plan.cut),
  'standby and PostgreSQL cut': ({ world, machine, plan }) =>
    cutOff(world.other(machine), plan.cut),
  'holder and service cut': ({ machine, plan }) => {
    machine.toService.set(plan.cut);
    return async () => machine.toService.set('open');
  },
  'primary and synchronous replica cut': ({ world, plan }) =>
    replicaCut(world, world.cluster.synchronous(), plan.cut),
  'primary and asynchronous replica cut': ({ world, plan }) =>
    replicaCut(world, world.cluster.asynchronous(), plan.cut),
  'PostgreSQL stopped at once': async ({ world: { cluster } }) => {
    const server = cluster.server(cluster.primary());
    await server.stop('immediate');
    return () => server.start();
  },
  'synchronous replica promoted': ({ world }) => promoted(world, world.cluster.synchronous()),
  [ASYNCHRONOUS]: ({ world }) => promoted(world, world.cluster.asynchronous()),
  'promoted beside the old primary': ({ world: { cluster } }) => {
    const index = cluster.synchronous();
    for (const one of [index, cluster.asynchronous()]) cluster.upstream(one).set('broken');
    return () => cluster.promote(index);
  },
  'wait for a replica cancelled': waitCancelled,
  'clock of the holder': ({ machine, plan }) => stepped(machine, plan.hour),
  'clock of the standby': ({ world, machine, plan }) => stepped(world.other(machine), plan.hour),
  'POST comes late': async ({ machine }) => {
    machine.toService.set('stalled');
    await machine.kill();
    return async () => {
      machine.toService.set('open');
      machine.start();
    };
  },
  'lease handed over': ({ machine }) => handedOver(machine),
  'taker killed': ({ machine }) => killed(machine),
  'taker suspended': ({ machine }) => suspended(machine),
  none: () => NOTHING,
};

const DOWN = new Set([
  'synchronous replica promoted',
  ASYNCHRONOUS,
  'promoted beside the old primary',
  'wait for a replica cancelled',
]);

/** Faults after which servers are made again. */
export const breaksServers = ({ fault }: Plan): boolean => DOWN.has(fault);

const OF_HOLDER: readonly Step[] = [
  'document',
  'document kept',
  'permit asked',
  'permit given',
  'POST',
  'answer',
  'outcome',
  'outcome kept',
  'renewal',
];
const OF_TAKER: readonly Step[] = ['claim', 'claimed', 'line', 'record read', 'renewal'];
const LONG_MS = [300, 900, 2_500, 4_000, 8_000];
/** A server is away, or a wait is cancelled, for so long before the promotion. */
const SHORT_MS = [0, 300, 1_000, 2_500];
/** Some come while the successor waits whether anything does; none after all that. */
const LATE_MS = [3_500, 5_000, 6_500, 7_500];
const SECOND = [
  'clock of the holder',
  'clock of the standby',
  'holder suspended',
  'holder and PostgreSQL cut',
  'standby and PostgreSQL cut',
  'holder and service cut',
  'PostgreSQL stopped at once',
];

/** Draws what happens in a seed: a fault, or a take-over and a fault in it, at times one more. */
export function drawPlans(seed: number): readonly Plan[] {
  const random = seededRandom(seed * 7_919);
  const names = Object.keys(FAULTS).filter((name) => name !== 'none');
  const draw = (fault: string, steps: readonly Step[]): Plan => {
    const isLate = fault === 'POST comes late';
    const lengths = DOWN.has(fault) ? SHORT_MS : LONG_MS;
    return {
      fault,
      step: isLate ? 'POST' : random.pick(steps),
      nth: random.int(1, fault.startsWith('taker') ? 1 : 2),
      isAfter: !isLate && random.chance(0.5),
      afterMs: random.chance(0.5) ? 0 : random.int(0, 8),
      ms: random.pick(isLate ? LATE_MS : lengths),
      cut: random.pick(['broken', 'silent', 'stalled']),
      hour: random.pick([1, -1]),
    };
  };
  const fault = names[seed % names.length] ?? 'none';
  if (fault.startsWith('taker')) {
    const first = random.pick(['holder killed', 'holder suspended']);
    return [{ ...draw(first, OF_HOLDER), ms: 8_000 }, draw(fault, OF_TAKER)];
  }
  const one = draw(fault, OF_HOLDER);
  // A host that had both is gone: the other machine goes on with the other server.
  if (one.fault.endsWith('replica promoted') && random.chance(0.5)) {
    return [
      { ...draw('holder killed', OF_HOLDER), ms: 8_000 },
      { ...one, step: 'at once' },
    ];
  }
  const isAlone = fault === 'POST comes late' || DOWN.has(fault) || random.chance(0.65);
  return isAlone ? [one] : [one, draw(random.pick(SECOND), OF_HOLDER)];
}

export const nameOf = (plans: readonly Plan[]): string =>
  plans.find(({ fault }) => fault.startsWith('taker') || DOWN.has(fault))?.fault ??
  plans[0]?.fault ??
  'none';
