/** Checks the seed once all is calm again, one text per problem: the list must be empty. */
import type { Delivery } from '../../../src/reference/world/trade/orders.ts';
import type { Db } from '../../../src/store/store.ts';
import type { Life } from './happenings.ts';
import { meaningOf } from './rules.ts';
import { iso } from './truth.ts';

/** Longer than the grace, the quiet time of the outbox and any sweep together. */
const REST_MS = 3 * 3_600_000;

async function latestDecisions(db: Db) {
  const rows = await db
    .selectFrom('evaluation as e')
    .innerJoin('decision as d', 'd.decision_id', 'e.decision_id')
    .select(['e.order_delivery_id', 'd.outcome', 'd.reason', 'd.actor', 'd.trigger'])
    .execute();
  return new Map(rows.map((row) => [row.order_delivery_id, row]));
}

async function rejectStates(db: Db) {
  const rows = await db.selectFrom('reject_entry').selectAll().orderBy('entry_id').execute();
  return new Map(rows.map((row) => [row.order_delivery_id, row.state]));
}

/** Pushes that have not ended, broken workers, a journal that does not hold. */
async function troubles({ fixture }: Life, db: Db): Promise<string[]> {
  const open = await db.selectFrom('outbox').selectAll().where('ended_at', 'is', null).execute();
  const proof = await fixture.command('decisions', 'verify', '--sample', '1000');
  return [
    ...open.map((row) => `open push ${row.reference}: ${row.state}, ${row.last_error}`),
    ...fixture.errors.filter((line) => line.includes('worker failed')),
    ...(proof.code === 0 ? [] : [`the journal: ${proof.said}`]),
  ];
}

/** Names the problem of a delivery that is still pending. */
function unended(life: Life, delivery: Delivery, parts: Parts): string | undefined {
  const { truth } = life;
  const id = delivery.orderDeliveryId;
  const last = parts.decided.get(id);
  if (!last) return 'it was never decided';
  const state = parts.rejects.get(id) ?? '';
  // People keep a delivery that a safeguard or a person has stopped, whatever the rules say later.
  if (truth.touched(id)) return undefined;
  if (last.outcome === 'hold' && ['held', 'failed', 'stopped'].includes(state)) return undefined;
  if (last.outcome === 'hold' && truth.packedAgainAfter(delivery)) return undefined;
  const rule = meaningOf(truth.text.now, truth.caseOf(delivery));
  const told = `${last.actor} ${last.outcome} (${last.trigger}): ${last.reason}; reject ${state}`;
  if (rule === undefined) return last.outcome === 'hold' ? undefined : `not held; ${told}`;
  if (rule.startsWith('accept')) return `not accepted; ${told}`;
  if (!truth.armed(rule).now) return undefined;
  if (rule === 'reject-short' && !truth.shortage.isListed(delivery)) {
    return last.outcome === 'hold' ? undefined : `not held, its stock is not known; ${told}`;
  }
  return state === 'waiting' ? undefined : `not rejected; ${told}`;
}

interface Parts {
  readonly decided: Awaited<ReturnType<typeof latestDecisions>>;
  readonly rejects: Awaited<ReturnType<typeof rejectStates>>;
}

interface Told {
  readonly at: number;
  readonly told: string;
}

function storyOf({ truth }: Life, id: number, decisions: readonly Told[]): readonly string[] {
  const acts = truth.acts(id).map(({ at, by, action }) => ({ at, told: `${by} ${action}` }));
  const moves = truth.moves.filter((move) => move.id === id);
  const made = moves.map(({ at, to, by }) => ({ at, told: `made ${to} by ${by}` }));
  const all = [...acts, ...made, ...decisions].toSorted((a, b) => a.at - b.at);
  return [`story of ${id}:`, ...all.map(({ at, told }) => `  ${iso(at)} ${told}`)];
}

/** Tells who did what to these deliveries, and what the journal says of them, by its own clock. */
export async function storiesOf(life: Life, ids: Iterable<number>): Promise<readonly string[]> {
  const { db } = life.fixture.daemon().store;
  const stories: string[] = [];
  for (const id of ids) {
    const rows = await db
      .selectFrom('decision')
      .selectAll()
      .where('order_delivery_id', '=', id)
      .execute();
    const decisions = rows.map(({ at, actor, trigger, outcome, reason }) => ({
      ...{ at, told: `decided by ${actor} (${trigger}): ${outcome}, ${reason}` },
    }));
    stories.push(...storyOf(life, id, decisions));
  }
  return stories;
}

export async function verdictOf(life: Life): Promise<readonly string[]> {
  const { clock, fixture, truth } = life;
  await clock.runUntil(clock.now() + REST_MS);
  const { db } = fixture.daemon().store;
  const rows = await db.selectFrom('delivery').select(['order_delivery_id', 'status']).execute();
  const mirrored = new Map(rows.map((row) => [row.order_delivery_id, row.status]));
  const parts = { decided: await latestDecisions(db), rejects: await rejectStates(db) };
  const problems = await troubles(life, db);
  for (const delivery of fixture.reference.world.book.deliveries.all) {
    const { orderDeliveryId: id, status, createdAt } = delivery;
    const told = `${id} ${status} ${JSON.stringify(truth.caseOf(delivery))}`;
    const known = mirrored.get(id);
    if (known !== status) problems.push(`${told}: mirrored as ${known}`);
    const isOld = status === 'pending' && clock.now() - createdAt >= REST_MS;
    const wrong = isOld ? unended(life, delivery, parts) : undefined;
    if (wrong !== undefined) problems.push(`${told}: ${wrong}`);
  }
  return problems;
}
