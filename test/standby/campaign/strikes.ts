/** Strikes with the faults of a seed, each when its step passes, and heals them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { FAULTS, type Plan } from './faults.ts';
import type { Handling } from './tap.ts';
import type { Step } from './wire.ts';
import type { Wired, World } from './world.ts';

/** A step that has not passed by then will not: the fault strikes all the same. */
const NO_STEP_MS = 4_000;
/** A take-over takes its time. */
const NO_TAKER_MS = 12_000;

export interface Strikes {
  /** Resolves once each fault has struck and is over. */
  readonly over: Promise<void>;
  /** Events of the seed and their times, for a person. */
  readonly told: readonly string[];
}

export function beginStrikes(world: World, plans: readonly Plan[]): Strikes {
  const told: string[] = [];
  const waiting = [...plans];
  const healed: Promise<void>[] = [];
  const over = Promise.withResolvers<void>();
  const begunAt = performance.now();
  const tell = (line: string): void => {
    const text = `${Math.round(performance.now() - begunAt)} ms: ${line}`;
    told.push(text);
    for (const machine of world.machines) machine.note(`### ${text}`);
  };
  let passed = 0;
  let timer: NodeJS.Timeout | undefined;
  const strike = async (plan: Plan, machine: Wired, at: string): Promise<void> => {
    tell(`${plan.fault}, ${plan.ms} ms, ${plan.cut}: ${at} of ${machine.name}`);
    const heal = await FAULTS[plan.fault]?.({ world, machine, plan });
    const healing = async (): Promise<void> => {
      await sleep(plan.ms);
      tell(`${plan.fault} is over`);
      await heal?.();
    };
    healed.push(healing());
    await next();
  };
  const next = async (): Promise<void> => {
    clearTimeout(timer);
    passed = 0;
    const [plan] = waiting;
    if (plan === undefined) {
      world.hear(undefined);
      Promise.all(healed).then(() => over.resolve(), over.reject);
      return;
    }
    const isOfTaker = plan.fault.startsWith('taker');
    const late = async (): Promise<void> => {
      waiting.shift();
      const machine = world.machines.find(({ role }) => role() === 'holder') ?? world.machines[0];
      await strike(
        plan,
        machine,
        plan.step === 'at once' ? 'at once' : `no ${plan.step} ${plan.nth}`,
      );
    };
    if (plan.step === 'at once') return late();
    timer = setTimeout(() => void late(), isOfTaker ? NO_TAKER_MS : NO_STEP_MS);
  };
  const onStep = (name: string, steps: readonly Step[]): Handling | undefined => {
    const [plan] = waiting;
    const machine = world.machines.find((one) => one.name === name);
    if (!plan || !machine) return undefined;
    if (!steps.includes(plan.step)) return undefined;
    passed += 1;
    if (passed < plan.nth) return undefined;
    waiting.shift();
    const at = `${plan.isAfter ? 'after' : 'before'} ${plan.step} ${plan.nth}`;
    return async (forward) => {
      if (plan.isAfter) forward();
      if (plan.isAfter && plan.afterMs > 0) await sleep(plan.afterMs);
      await strike(plan, machine, at);
      if (!plan.isAfter) forward();
    };
  };
  world.hear(onStep);
  void next();
  return { over: over.promise, told };
}
