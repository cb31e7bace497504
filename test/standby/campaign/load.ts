/**
 * Work of a seed: orders of an ERP by HTTP, events of a relay, packed deliveries and acts of
 * people, each sent again, to either machine, until one acknowledges it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../../src/lib/random.ts';
import { drawOrder } from '../../../src/reference/life/arrivals.ts';
import { sign } from '../../inbox/support.ts';
import type { Wired, World } from './world.ts';

const ORDERS = 5;
const EVENTS = 2;
const ANSWER_MS = 2_500;
const AGAIN_MS = 100;
const GIVE_UP_MS = 75_000;

export interface Load {
  /** References that were submitted, and those of them with a receipt. */
  readonly submitted: string[];
  readonly receipts: string[];
  /** Ids of events that were acknowledged. */
  readonly events: string[];
  /** Reasons of acts that were acknowledged. */
  readonly acts: string[];
  /** Orders whose delivery is packed, as the daemon was told. */
  readonly packed: number[];
  /** Answers that nobody expects. */
  readonly odd: string[];
}

export const emptyLoad = (): Load => ({
  submitted: [],
  receipts: [],
  events: [],
  acts: [],
  packed: [],
  odd: [],
});

/** Answers that say "later", or come from a machine that is about to end. */
const LATER = new Set([401, 429, 500, 502, 503, 504]);

/** Asks either machine, again and again, until one takes it. Undefined: nobody did. */
async function untilTaken(
  { machines, other }: World,
  load: Load,
  ask: (machine: Wired) => Promise<Response> | undefined,
): Promise<Response | undefined> {
  const until = performance.now() + GIVE_UP_MS;
  for (let machine = machines[0]; performance.now() < until; machine = other(machine)) {
    const answer = await ask(machine)?.catch(() => undefined);
    if (answer?.ok) return answer;
    if (answer && !LATER.has(answer.status)) {
      load.odd.push(`${answer.status} ${(await answer.text().catch(() => '')).slice(0, 200)}`);
      return undefined;
    }
    await sleep(AGAIN_MS);
  }
  return undefined;
}

const signal = () => AbortSignal.timeout(ANSWER_MS);

/** Content of no two orders is equal, because such would be taken for each other. */
let contents = 0;

export async function submit(world: World, load: Load, reference: string): Promise<void> {
  contents += 1;
  const price = (10 + contents / 100).toFixed(2);
  const quantity = 1 + (contents % 90);
  const lines = [{ barcode: world.barcode, quantity, price, priceConfirmed: true }];
  const body = JSON.stringify({ reference, lines });
  const headers = {
    authorization: `Bearer ${world.token}`,
    'content-type': 'application/json',
  };
  load.submitted.push(reference);
  const taken = await untilTaken(world, load, (machine) => {
    const url = machine.local()?.url;
    if (url === undefined) return undefined;
    return fetch(`${url}/api/orders`, { method: 'POST', headers, body, signal: signal() });
  });
  if (taken) load.receipts.push(reference);
}

async function tell(world: World, load: Load, id: string, body: string): Promise<boolean> {
  const taken = await untilTaken(world, load, (machine) => {
    const url = machine.url();
    if (url === undefined) return undefined;
    const headers = sign(body, { id, key: world.webhook, at: Date.now() + machine.stepMs() });
    return fetch(url, { method: 'POST', headers, body, signal: signal() });
  });
  if (taken) load.events.push(id);
  return taken !== undefined;
}

/** Packs an order; the daemon reads it after the event, and accepts what is packed. */
async function pack(world: World, load: Load, id: string): Promise<void> {
  const { trade, book } = world.reference.world;
  const orderId = book.orders.nextId();
  const order = trade.place(
    drawOrder(world.reference.world, { seed: 7, orderId, preOrderShare: 0 }),
  );
  const orderDeliveryId = trade.packAll(order)?.orderDeliveryId;
  const body = JSON.stringify({
    type: 'sales_order.delivery_created',
    // Without a status, which would be waited for after it has changed: no event tells the next.
    data: { salesOrderDelivery: { orderDeliveryId, orderId } },
  });
  if (await tell(world, load, id, body)) load.packed.push(orderId);
}

/** Pauses the pushes of styles, or resumes them. */
async function act(world: World, load: Load, reason: string): Promise<void> {
  const given = { target: 'pushes', name: 'style' };
  const body = JSON.stringify({ actor: 'eva', reason, given });
  let isPausing = true;
  const until = performance.now() + GIVE_UP_MS;
  for (let machine = world.machines[0]; performance.now() < until; machine = world.other(machine)) {
    const local = machine.local();
    const headers = {
      authorization: `Bearer ${local?.token}`,
      'content-type': 'application/json',
    };
    const url = `${local?.url}/api/acts/${isPausing ? 'pause' : 'resume'}`;
    const init = { method: 'POST', headers, body, signal: signal() };
    const answer = local && (await fetch(url, init).catch(() => undefined));
    if (answer?.ok) {
      if (answer.headers.get('selvedge-kept') === null) load.acts.push(reason);
      return;
    }
    // Paused already, or not any more: by a seed before, or by ourselves without an answer.
    if (answer && !LATER.has(answer.status)) isPausing = !isPausing;
    await sleep(AGAIN_MS);
  }
}

/** Begins all of it; resolves when each part was acknowledged or given up. */
export async function runLoad(
  world: World,
  load: Load,
  seed: number,
  random: Random,
): Promise<void> {
  const later = async (msMax: number, work: () => Promise<void>): Promise<void> => {
    await sleep(random.int(0, msMax));
    await work();
  };
  const orders = Array.from({ length: ORDERS }, (_, index) => `K${seed}-${index}`);
  const events = Array.from({ length: EVENTS }, (_, index) => `event_${seed}_${index}`);
  await Promise.all([
    ...orders.map((reference) => later(1_200, () => submit(world, load, reference))),
    ...events.map((id) =>
      later(1_200, async () => {
        const body = JSON.stringify({ type: 'sales_order.created', data: { orderId: 1 } });
        await tell(world, load, id, body);
      }),
    ),
    later(600, () => pack(world, load, `packed_${seed}`)),
    later(1_200, () => act(world, load, `act of seed ${seed}`)),
  ]);
}
