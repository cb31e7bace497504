/** A seed: work for both machines, faults in its midst, and what became of it. */
import { seededRandom } from '../../../src/lib/random.ts';
import { breaksServers, nameOf, type Plan, prepare } from './faults.ts';
import { emptyLoad, type Load, runLoad, submit } from './load.ts';
import { beginStrikes } from './strikes.ts';
import { countOf, judge, knownTo, leftToPeople, type Verdict } from './verdict.ts';
import { LEASE_SCHEMA, type Wired, type World, waitFor } from './world.ts';

export interface SeedResult extends Verdict {
  readonly seed: number;
  readonly fault: string;
  readonly ms: number;
  /** Processor time of the machines and of this process, in seconds. */
  readonly cpuSeconds: number;
  readonly told: readonly string[];
  /** Whether the world is of no more use. */
  readonly isSpent: boolean;
}

/** A look at all orders opens the holder's database. */
const LOOK_MS = 300;
const NOTHING: Verdict = { doubled: [], lost: [], late: [], wrong: [], people: [], gone: [] };

async function lastPlace({ cluster }: World): Promise<number> {
  const [row] = await cluster.ask<{ place: string }>(
    `select coalesce(max(place), 0) as place from ${LEASE_SCHEMA}.standby_record`,
  );
  return Number(row?.place ?? 0);
}

/** Waits until one machine holds, sends and has sent all; gives it. */
async function settle(
  world: World,
  load: Load,
  { seed, mayLose }: { readonly seed: number; readonly mayLose: boolean },
): Promise<Wired> {
  await waitFor('one machine to send, and the other one to wait', () => world.holder());
  await submit(world, load, `K${seed}-last`);
  const isThere = (name: string): boolean => countOf(world, name) > 0;
  const isSettled = (): boolean => {
    const holder = world.holder();
    if (!holder) return false;
    const missing = load.receipts.filter((name) => !isThere(name));
    if (missing.length === 0) return true;
    const [people, known] = [leftToPeople(holder), knownTo(holder)];
    return missing.every((name) => people.has(name) || (mayLose && !known.has(name)));
  };
  await waitFor('each order to be there', isSettled, LOOK_MS).catch((error: unknown) => {
    const missing = load.receipts.filter((name) => !isThere(name));
    throw new Error(`missing ${missing.join(', ')}`, { cause: error });
  });
  const holder = world.holder();
  if (!holder) throw new Error('nobody sends any more');
  return holder;
}

const ownSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
};

/** Runs a seed with these faults. */
export async function runSeed(
  world: World,
  seed: number,
  plans: readonly Plan[],
): Promise<SeedResult> {
  const random = seededRandom(seed);
  const begunAt = performance.now();
  const cpuBefore = world.cpuSeconds() + ownSeconds();
  const load = emptyLoad();
  for (const machine of world.machines) {
    machine.failures();
    machine.note(`### seed ${seed}: ${JSON.stringify(plans)}`);
  }
  const from = await lastPlace(world);
  const isBroken = plans.some(breaksServers);
  const mayLose = plans.some(({ fault }) => fault.startsWith('asynchronous replica promoted'));
  const strikes = beginStrikes(world, plans);
  let verdict: Verdict = NOTHING;
  try {
    const working = Promise.all([runLoad(world, load, seed, random), prepare(world, plans)]);
    await strikes.over;
    if (isBroken) await world.cluster.rebuild();
    for (const machine of world.machines) if (!machine.isRunning()) machine.start();
    await working;
    const holder = await settle(world, load, { seed, mayLose });
    verdict = await judge({ world, load, holder, from, mayLose });
    if (random.chance(0.2)) await world.backUp(holder);
  } catch (error) {
    const why =
      error instanceof Error ? [error.message, String(error.cause ?? '')] : [String(error)];
    verdict = { ...NOTHING, wrong: [`it did not settle: ${why.join('; ')}`] };
  }
  world.hear(undefined);
  world.journal.permits.splice(0);
  world.journal.posts.splice(0);
  return {
    ...verdict,
    seed,
    fault: nameOf(plans),
    told: strikes.told,
    ms: performance.now() - begunAt,
    cpuSeconds: world.cpuSeconds() + ownSeconds() - cpuBefore,
    isSpent:
      verdict.people.length > 0 ||
      plans.some(({ fault, ms }) => fault === 'POST comes late' && ms > 5_000),
  };
}

export const isWrong = ({ doubled, lost, late, wrong }: Verdict): boolean =>
  doubled.length + lost.length + late.length + wrong.length > 0;
