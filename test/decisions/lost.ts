/** Plays the loss of a database, its backup, and all that people did between the two. */
import { renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { pausesOf } from '../../src/daemon/pauses.ts';
import { RESTORE_STEPS } from '../../src/daemon/upkeep.ts';
import { createReview, type ReviewAction } from '../../src/decisions/review/review.ts';
import type { ManualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { type Random, seededRandom } from '../../src/lib/random.ts';
import { Secret } from '../../src/lib/secret.ts';
import { createActsLog } from '../../src/store/backup/acts-log.ts';
import { createBackup } from '../../src/store/backup/create.ts';
import { databaseMadeAt } from '../../src/store/backup/inspect.ts';
import { type RestorePlan, restoreBackup } from '../../src/store/backup/restore.ts';
import { openStore, type SqliteStore } from '../../src/store/store.ts';
import { configOf } from '../config/config-of.ts';
import { temporaryFolder } from '../support/store.ts';
import { ACCEPT_SMALL, createDeciderFixture, type DeciderFixture, loadedRules } from './support.ts';

/** Rules that hold what is large while people act; after the loss, all would be accepted. */
const RULES = loadedRules(ACCEPT_SMALL);
const AFTERWARDS = loadedRules(`
rules:
  - { id: accept-all, title: All, action: accept, mode: live, when: [ delivery.quantity > 0 ] }
`);

export const LARGE: readonly [string, number][] = [['a', 30]];

export interface Person {
  readonly delivery: number;
  readonly action: ReviewAction;
  readonly toRules?: boolean;
}

/** Has the daemon's worker write down what was done so far. */
export async function listActs({ store, clock }: DeciderFixture): Promise<void> {
  const directory = join(dirname(store.path), 'backups');
  const madeAt = databaseMadeAt(store.path);
  const worker = createActsLog({ store, clock, log: silentLogger(), directory, madeAt });
  await worker.run(AbortSignal.abort());
}

/** A person's act; false: it was refused. */
export async function actBy({ store, clock }: DeciderFixture, person: Person): Promise<boolean> {
  const nothing = () => undefined;
  const parts = { store, clock, rules: () => RULES, onPush: nothing, onReviewed: nothing };
  const { delivery, ...act } = person;
  const confirmed = [`DN-${delivery}`];
  const who = { actor: 'ada', reason: 'customer called', confirmed };
  return createReview(parts)
    .act({ ...act, ...who, delivery: `id:${delivery}` })
    .then(
      () => true,
      () => false,
    );
}

function planOf(store: SqliteStore) {
  const dataDir = dirname(store.path);
  const exchangeFile = join(dataDir, 'exchange.db');
  return { dataDir, exchangeFile, directory: join(dataDir, 'backups'), busyTimeoutMs: 1_000 };
}

export async function backUp({ store, clock }: DeciderFixture): Promise<string> {
  const plan = { ...planOf(store), keep: 5, program: 'test' };
  return (await createBackup(plan, clock)).backup.path;
}

/** The database is lost, and the backup is restored in a folder of its own. */
export async function loseAndRestore(
  { store, clock }: DeciderFixture,
  backup: string,
  more: Partial<RestorePlan> = {},
) {
  const dataDir = temporaryFolder();
  const exchangeFile = join(dataDir, 'exchange.db');
  const what = { backup, withExchange: false, actor: 'cli:ada', steps: RESTORE_STEPS };
  const plan = { ...planOf(store), dataDir, exchangeFile, ...what, ...more };
  const told = await restoreBackup(plan, clock);
  const path = join(dataDir, 'mirror.db');
  const opened = await openStore({ path, busyTimeoutMs: 1_000 }, clock);
  onTestFinished(() => opened.store.close());
  return { told, after: await createDeciderFixture(clock, opened.store) };
}

/** Pauses of the restored database, whose backups are in this folder. */
export function pausesAfter({ store, clock }: DeciderFixture, directory: string) {
  const config = configOf([
    { path: 'service.v1.baseUrl', value: 'https://service.invalid' },
    { path: 'service.v1.apiKey', value: new Secret('apiKey', 'none') },
    { path: 'store.backup.directory', value: directory },
  ]);
  const place = { ...config, dataDir: dirname(store.path) };
  return pausesOf(place, { store, clock, log: silentLogger() });
}

export const decideBefore = (fixture: DeciderFixture) => fixture.decide({ rules: () => RULES });
export const decideAfter = (fixture: DeciderFixture) => fixture.decide({ rules: () => AFTERWARDS });

const DELIVERIES = 8;
const STEPS = 14;

const ACTS: readonly Omit<Person, 'delivery'>[] = [
  { action: 'hold' },
  { action: 'hold' },
  { action: 'reject' },
  { action: 'accept' },
  { action: 'release', toRules: true },
  { action: 'release', toRules: false },
];

function anyPerson(random: Random): Person {
  return { ...random.pick(ACTS), delivery: random.int(1, DELIVERIES) };
}

const WHO = { actor: 'ada', reason: 'looked through' };

const isStop = ({ action, toRules }: Person): boolean =>
  action === 'hold' || action === 'reject' || (action === 'release' && toRules !== true);

/**
 * Plays one history by chance. Gives the deliveries that people stopped by their last word, and
 * those for which a push of the rules would tell the service "accepted" or "rejected" afterwards.
 */
export async function playLoss(seed: number, clock: ManualClock) {
  const random = seededRandom(seed);
  const fixture = await createDeciderFixture(clock);
  const words = new Map<number, Person>();
  const linesOf = new Map<number, typeof LARGE>();
  let known = 0;
  let backup = '';
  const backupAt = random.int(3, STEPS - 4);
  for (let step = 0; step < STEPS; step += 1) {
    if (known < DELIVERIES && random.chance(0.5)) {
      known += 1;
      const lines: typeof LARGE = random.chance(0.3) ? [['a', 2]] : LARGE;
      linesOf.set(known, lines);
      await fixture.delivery({ id: known, lines, more: { deliveryNo: `DN-${known}` } });
      await decideBefore(fixture);
    }
    const person = anyPerson(random);
    if (await actBy(fixture, person)) words.set(person.delivery, person);
    if (random.chance(0.3)) await listActs(fixture);
    if (step === backupAt) backup = await backUp(fixture);
    await clock.advance(random.int(0, 2) * 60_000);
  }
  await listActs(fixture);
  const { directory } = planOf(fixture.store);
  const [list, away] = [join(directory, 'acts.jsonl'), join(directory, 'away')];
  const isLate = random.chance(0.5);
  if (isLate) renameSync(list, away);
  const { told, after } = await loseAndRestore(fixture, backup);
  // A change is given to the rules again, whoever stopped it before the backup.
  for (const [id, lines] of linesOf) {
    await after.delivery({ id, lines, more: { deliveryNo: `DN-${id}` } });
  }
  await decideAfter(after);
  if (isLate) renameSync(away, list);
  const pauses = await pausesAfter(after, directory);
  const resume = () => pauses.resume({ target: 'pushes', name: '' }, WHO);
  const resumed = await resume().then(
    () => 'at once',
    () => resume().then(() => 'once looked at'),
  );
  await decideAfter(after);
  const pushes = await after.store.db
    .selectFrom('outbox as o')
    .innerJoin('decision as d', 'd.decision_id', 'o.decision_id')
    .select(['d.order_delivery_id as id', 'o.body', 'o.expected_from as from'])
    .where('o.ended_at', 'is', null)
    .where('d.actor', '=', 'daemon')
    .where('o.expected_from', '=', 'pending')
    .execute();
  const sent = pushes.filter(({ body }) => !body.includes('cancelRequested'));
  const stopped = [...words].filter(([, person]) => isStop(person)).map(([id]) => id);
  return { stopped, sent: sent.map(({ id }) => id), told, isLate, resumed };
}
