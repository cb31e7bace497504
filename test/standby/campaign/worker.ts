/** Runs seeds in one world after the other, as the parent hands them out. */
import { z } from 'zod';
import { drawPlans } from './faults.ts';
import { isWrong, runSeed } from './seed.ts';
import { openWorld, type World } from './world.ts';

/** The book and the record grow with each seed. */
const SEEDS_PER_WORLD = 40;
const MESSAGE = z.object({ seed: z.number() });

const [, , lease = '2s'] = process.argv;

let world: World | undefined;
let seedsHere = 0;

async function work(seed: number): Promise<void> {
  world ??= await openWorld(lease);
  const { folder } = world;
  const result = await runSeed(world, seed, drawPlans(seed));
  seedsHere += 1;
  const isFailed = isWrong(result) || result.people.length > 0;
  if (isFailed || result.isSpent || seedsHere >= SEEDS_PER_WORLD) {
    await world.end(isFailed);
    world = undefined;
    seedsHere = 0;
  }
  process.send?.({ ...result, folder: isFailed ? folder : undefined });
}

process.on('message', (message) => {
  const { seed } = MESSAGE.parse(message);
  work(seed).catch((error: unknown) => {
    process.send?.({ seed, crash: error instanceof Error ? String(error.stack) : String(error) });
    process.exit(1);
  });
});
// Ctrl-C goes to the whole group; the parent hands out no further seed.
process.on('SIGINT', () => undefined);
process.on('disconnect', () => {
  void (world?.end(false) ?? Promise.resolve()).finally(() => process.exit());
});
process.send?.({ ready: true });
