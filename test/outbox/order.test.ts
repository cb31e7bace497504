import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RESTORE_STEPS } from '../../src/daemon/upkeep.ts';
import { createBackup } from '../../src/store/backup/create.ts';
import { restoreBackup } from '../../src/store/backup/restore.ts';
import { openIncident } from '../../src/store/incidents.ts';
import { pauseFile } from '../../src/store/pauses.ts';
import { type House, startHouse } from './house.ts';
import { mirrorOrders } from './support.ts';

const POST = { path: '*/orders', method: 'POST' } as const;
const SOON = { 'outbox.quietTime': '2m', 'outbox.delayMin': '1s' };

function lines(house: House, quantity = 2) {
  const [barcode = ''] = house.barcodes;
  return { lines: [{ barcode, quantity, price: '12.50' }] };
}

function evidence(house: House, outboxId: number) {
  return house.store.db
    .selectFrom('outbox_evidence')
    .selectAll()
    .where('outbox_id', '=', outboxId)
    .orderBy('id')
    .execute();
}

async function classes(house: House, outboxId: number) {
  const rows = await house.store.db
    .selectFrom('outbox_attempt')
    .selectAll()
    .where('outbox_id', '=', outboxId)
    .orderBy('attempt')
    .execute();
  return rows.map((row) => row.class);
}

/** Makes a backup now; what it gives takes the house back to it, without a pause. */
async function backedUp(house: House): Promise<() => Promise<void>> {
  const { path } = house.store;
  const dataDir = dirname(path);
  const plan = { dataDir, exchangeFile: `${dataDir}/exchange.db`, busyTimeoutMs: 1_000 };
  const to = { directory: `${dataDir}/backups`, keep: 1, program: 'test' };
  const { backup } = await createBackup({ ...plan, ...to }, house.clock);
  return async () => {
    await house.kill();
    const from = { backup: backup.path, withExchange: false, actor: 'ann', steps: RESTORE_STEPS };
    const { directory } = to;
    await restoreBackup({ ...plan, ...from, directory }, house.clock);
    await house.start();
  };
}

describe('an order', () => {
  it('reaches the service, is read back, and its receipt says what it became', async () => {
    const house = await startHouse();
    const id = await house.put('order', 'A-1', lines(house));
    const state = await house.until(id, 'confirmed');
    const order = house.reference.world.book.orders.all.at(-1);
    expect(state).toMatchObject({
      orderId: order?.orderId,
      orderNo: order?.orderNo,
      nextAction: 'nothing: it is done',
      blockedReason: null,
    });
    const mirrored = await house.store.db.selectFrom('sales_order').selectAll().execute();
    expect(mirrored).toMatchObject([{ order_id: order?.orderId, reference: 'A-1' }]);
    expect(await evidence(house, id)).toMatchObject([{ outcome: 'matched' }]);
    expect(order?.lines).toMatchObject([{ quantity: 2, price: 1250 }]);
  });

  it('whose answer is lost is found at the service and not sent again', async () => {
    const faults = [{ kind: 'reset', moment: 'after', count: 1, ...POST }];
    const house = await startHouse({ knobs: { faults }, settings: SOON });
    const id = await house.put('order', 'A-1', lines(house));
    const state = await house.until(id, 'confirmed');
    expect(state.orderId).toBe(house.reference.world.book.orders.all.at(-1)?.orderId);
    expect(house.ordersWith('A-1')).toBe(1);
    expect(await classes(house, id)).toEqual(['ambiguous']);
  });

  it('that never arrived is sent again after two complete looks past the quiet time', async () => {
    const faults = [{ kind: 'reset', moment: 'before', count: 1, ...POST }];
    const house = await startHouse({ knobs: { faults }, settings: SOON });
    const id = await house.put('order', 'A-1', lines(house));
    await house.until(id, 'confirmed');
    expect(house.ordersWith('A-1')).toBe(1);
    expect(await classes(house, id)).toEqual(['ambiguous', 'done']);
    const attempts = await house.store.db.selectFrom('outbox_attempt').selectAll().execute();
    expect(attempts.map((one) => one.http_status)).toEqual([null, 200]);
    const doubtedAt = attempts[0]?.ended_at ?? 0;
    const resentAt = attempts[1]?.started_at ?? 0;
    const absences = (await evidence(house, id)).filter(({ outcome }) => outcome === 'not_found');
    const proofs = absences.filter(({ at }) => at >= doubtedAt + 120_000);
    expect(proofs.length).toBeGreaterThanOrEqual(2);
    expect(proofs.every(({ complete }) => complete === 1)).toBe(true);
    expect(resentAt - doubtedAt).toBeGreaterThanOrEqual(180_000);
  });

  it('that takes effect late is found, and teaches how late that can be', async () => {
    const orders = { lateCommitShare: 1, lateCommitAfter: '50s' };
    const house = await startHouse({ knobs: { orders }, settings: SOON });
    const id = await house.put('order', 'A-1', lines(house));
    await house.until(id, 'confirmed');
    expect(house.ordersWith('A-1')).toBe(1);
    const learned = await house.store.db.selectFrom('daemon_state').selectAll().execute();
    const lateness = learned.find(({ key }) => key === 'outbox.latest_effect_ms');
    expect(Number(lateness?.value)).toBeGreaterThan(0);
  });

  it('that the service refuses shows its lines; freight is asked for from then on', async () => {
    const house = await startHouse({ knobs: { orders: { freightRequired: true } } });
    const first = await house.until(await house.put('order', 'A-1', lines(house)), 'refused');
    expect(first.problems).toEqual([
      { path: 'freight', message: 'is required', severity: 'error' },
    ]);
    expect(first.nextAction).toContain('under a new reference');
    const second = await house.until(await house.put('order', 'A-2', lines(house)), 'refused');
    expect(second.attempts).toBe(0);
    expect(second.problems[0]).toMatchObject({ path: 'freight' });
    const freight = { amount: 0 };
    await house.until(await house.put('order', 'A-3', { ...lines(house), freight }), 'confirmed');
  });

  it('that the service has with other letters in its reference is not sent', async () => {
    const house = await startHouse();
    const [model, other] = house.reference.world.book.orders.all;
    if (!model || !other) throw new Error('no orders');
    await mirrorOrders(house.store, [model, other]);
    const own = model.reference.toLowerCase();
    expect(own).not.toBe(model.reference);
    const all = model.lines.map(({ barcode, quantity, price }) => {
      return { barcode, quantity, price: price / 100 };
    });
    const state = await house.until(await house.put('order', own, { lines: all }), 'confirmed');
    expect(state).toMatchObject({ orderId: model.orderId, attempts: 0 });
    expect(house.ordersWith(own)).toBe(0);
    const refund = await house.put('pending_refund', 'R-1', {
      orderReference: other.reference.toLowerCase(),
      lines: other.lines.slice(0, 1).map(({ barcode }) => ({ barcode, quantity: 1 })),
    });
    expect(await house.until(refund, 'confirmed')).toMatchObject({ orderId: other.orderId });
  });

  it('that was on its way when the daemon was killed is looked for and there once', async () => {
    const faults = [{ kind: 'latency', moment: 'after', delay: '20s', count: 1, ...POST }];
    const house = await startHouse({ knobs: { faults }, settings: SOON });
    const id = await house.put('order', 'A-1', lines(house));
    await house.until(id, 'sending');
    while (house.ordersWith('A-1') === 0) await house.clock.sleep(100);
    await house.kill();
    await house.start();
    await house.until(id, 'confirmed');
    expect(house.ordersWith('A-1')).toBe(1);
    expect(await classes(house, id)).toEqual(['interrupted']);
  });
});

it('is not sent while the disk is full or pushes are paused by a file, and says so', async () => {
  const held = { disk: true };
  const house = await startHouse({ space: { allows: () => !held.disk } });
  const file = pauseFile(dirname(house.store.path), 'pushes');
  writeFileSync(file, 'moving (bo)');
  const id = await house.put('order', 'A-1', lines(house));
  const saysIt = async (reason: string): Promise<void> => {
    let said = '';
    for (let second = 0; second < 60 && !said.includes(reason); second += 1) {
      await house.clock.sleep(1_000);
      const { state, lastError } = await house.until(id, 'queued', 'sending', 'sent', 'confirmed');
      said = `${state} ${lastError}`;
    }
    expect(said).toBe(`queued ${reason}`);
  };
  await saysIt('the disk is too full to send');
  held.disk = false;
  await saysIt('paused by file (pushes): moving (bo)');
  expect(house.ordersWith('A-1')).toBe(0);
  rmSync(file);
  await house.until(id, 'confirmed');
});

describe('a dry run', () => {
  it('checks everything, tells what is unfit, and sends nothing', async () => {
    const house = await startHouse({ settings: { 'outbox.dryRun': true } });
    const fit = await house.put('order', 'A-1', lines(house));
    const unfit = await house.put('order', 'A-2', {
      lines: [{ barcode: house.barcodes[0], quantity: 1, price: 1, deliveryName: 'Drop 1' }],
    });
    expect((await house.until(unfit, 'refused')).problems[0]?.path).toBe('lines[0].deliveryName');
    while ((await house.until(fit, 'queued')).lastError === null) await house.clock.sleep(1_000);
    expect((await house.until(fit, 'queued')).lastError).toContain('would be sent now');
    expect(house.ordersWith('A-1') + house.ordersWith('A-2')).toBe(0);
  });
});

describe('manual review', () => {
  const WHO = { actor: 'anna', reason: 'looked at it' };

  async function doubled() {
    const house = await startHouse({ settings: SOON, paused: true });
    const { world } = house.reference;
    const [model] = world.book.orders.all;
    if (!model) throw new Error('no order');
    const id = await house.put('order', model.reference, lines(house));
    return { house, id, model };
  }

  it('gets an order whose reference the service has otherwise, and confirms it', async () => {
    const { house, id, model } = await doubled();
    await house.kill();
    await house.start();
    await mirrorOrders(house.store, [model]);
    const { review } = house.outbox;
    await review.retry({ outboxId: id }, WHO);
    const state = await house.until(id, 'in_doubt');
    expect(state.blockedReason).toContain('is not like this document');
    expect(state.nextAction).toContain(`selvedge outbox resolve ${id} --as confirmed:<orderId>`);
    const behind = await house.put('pending_refund', 'R-1', {
      orderReference: model.reference,
      lines: [{ barcode: house.barcodes[0], quantity: 1 }],
    });
    expect((await house.until(behind, 'queued')).nextAction).toContain(
      `selvedge outbox show ${id}`,
    );
    await expect(
      review.resolve(id, { as: 'confirmed', id: String(model.orderId + 1) }, WHO),
    ).rejects.toThrow(/reference|no order/);
    await review.resolve(id, { as: 'confirmed', id: String(model.orderId) }, WHO);
    expect(await house.until(id, 'confirmed')).toMatchObject({ orderId: model.orderId });
    const audit = await house.store.db.selectFrom('audit').selectAll().execute();
    expect(audit.map(({ action }) => action)).toEqual(['outbox.retry', 'outbox.confirmed']);
  });

  it('does not take one order for two documents', async () => {
    const house = await startHouse();
    const first = await house.put('order', 'A-1', lines(house));
    const { orderId } = await house.until(first, 'confirmed');
    // The service may show an order without the reference that it was sent with.
    Object.assign(house.reference.world.book.orders.all.at(-1) ?? {}, { reference: '' });
    house.reference.knobs.patch({ faults: [{ kind: 'reset', moment: 'before', ...POST }] });
    const second = await house.put('order', 'A-2', lines(house));
    await house.until(second, 'in_doubt');
    const { review } = house.outbox;
    await expect(
      review.resolve(second, { as: 'confirmed', id: String(orderId) }, WHO),
    ).rejects.toThrow(`order ${orderId} is what outbox ${first} (A-1) has become`);
    await house.until(second, 'in_doubt');
  });

  it('acts on many only when they are as many as was expected', async () => {
    const house = await startHouse({ paused: true });
    const ids = [
      await house.put('order', 'A-1', lines(house)),
      await house.put('order', 'A-2', lines(house)),
    ];
    const { review } = house.outbox;
    const filter = { kind: 'order', state: 'queued' } as const;
    await expect(review.cancel({ filter, expect: 1 }, WHO)).rejects.toThrow('fits 2 rows');
    expect(await review.cancel({ filter, expect: 2 }, WHO)).toEqual({ rows: 2, left: [] });
    for (const id of ids) await house.until(id, 'canceled');
    await expect(review.retry({ outboxId: ids[0] ?? 0 }, WHO)).rejects.toThrow(
      'cannot be tried again',
    );
    await expect(review.resolve(99, { as: 'absent' }, WHO)).rejects.toThrow('no outbox row 99');
  });

  it('says of many at once that they are absent, or of none', async () => {
    const faults = [{ kind: 'reset', moment: 'before', count: 2, ...POST }];
    const house = await startHouse({
      knobs: { faults },
      settings: { ...SOON, 'outbox.reviewAfter': '1m' },
    });
    const { review } = house.outbox;
    const ids = [
      await house.put('order', 'A-1', lines(house)),
      await house.put('order', 'A-2', lines(house)),
    ];
    const filter = { kind: 'order', state: 'in_doubt' } as const;
    for (const id of ids) await house.until(id, 'in_doubt');
    await expect(review.resolveAbsent({ filter, expect: 2 }, WHO)).rejects.toMatchObject({
      code: 'outbox.too_early',
    });
    while (!(await house.until(ids[1] ?? 0, 'in_doubt')).blockedReason)
      await house.clock.sleep(1_000);
    await house.clock.sleep(120_000);
    await expect(review.resolveAbsent({ filter, expect: 3 }, WHO)).rejects.toThrow('fits 2 rows');
    expect(await review.resolveAbsent({ filter, expect: 2 }, WHO)).toEqual({ rows: 2, left: [] });
    for (const id of ids) await house.until(id, 'confirmed');
    expect([house.ordersWith('A-1'), house.ordersWith('A-2')]).toEqual([1, 1]);
  });

  it('hears no more of a difference once it is put right, or a person has noted it', async () => {
    const house = await startHouse();
    const { db } = house.store;
    const ids = [
      await house.put('order', 'A-1', lines(house)),
      await house.put('order', 'A-2', lines(house)),
    ];
    for (const id of ids) {
      await house.until(id, 'confirmed');
      const incident = { kind: 'push_differs', entity: 'outbox', key: String(id), detail: {} };
      await house.store.transaction((tx) => openIncident(tx, incident, 0));
    }
    const quantities = (quantity: number) =>
      db.updateTable('sales_order_line').set({ quantity }).execute();
    const open = async (): Promise<string[]> => {
      const rows = await db
        .selectFrom('incident')
        .select('key')
        .where('kind', '=', 'push_differs')
        .where('resolved_at', 'is', null)
        .execute();
      return rows.map(({ key }) => key);
    };
    const [sent] = await db.selectFrom('sales_order_line').select('quantity').execute();
    await quantities(99);
    await house.clock.sleep(150_000);
    expect(await open()).toEqual(ids.map(String));
    await house.outbox.review.resolve(ids[0] ?? 0, { as: 'noted' }, WHO);
    expect(await open()).toEqual([String(ids[1])]);
    await expect(house.outbox.review.resolve(ids[0] ?? 0, { as: 'noted' }, WHO)).rejects.toThrow(
      'has no difference',
    );
    await quantities(sent?.quantity ?? 0);
    await house.clock.sleep(150_000);
    expect(await open()).toEqual([]);
  });
});

describe('after a restore', () => {
  it('an order that was sent since the backup and is submitted again is not sent', async () => {
    const house = await startHouse();
    await house.until(await house.put('order', 'A-1', lines(house)), 'confirmed');
    const restore = await backedUp(house);
    await house.until(await house.put('order', 'A-2', lines(house)), 'confirmed');
    await restore();
    const again = await house.until(await house.put('order', 'A-2', lines(house)), 'confirmed');
    expect(again.attempts).toBe(0);
    expect(house.ordersWith('A-2')).toBe(1);
  });

  it('an order that had not left is sent once it is proved not to have left since', async () => {
    const parts = { settings: SOON, paused: true };
    const house = await startHouse(parts);
    const [{ orderId = 0 } = {}] = house.reference.world.book.orders.all;
    await mirrorOrders(house.store, [{ orderId, reference: 'of-before' }]);
    const id = await house.put('order', 'A-1', lines(house));
    const restore = await backedUp(house);
    parts.paused = false;
    await restore();
    expect(await house.until(id, 'confirmed')).toMatchObject({ attempts: 1 });
    const looks = await evidence(house, id);
    const proofs = looks.filter(
      ({ outcome, complete }) => outcome === 'not_found' && complete === 1,
    );
    expect(proofs.length).toBeGreaterThanOrEqual(2);
    expect(house.ordersWith('A-1')).toBe(1);
  });
});

it('that waited in a snapshot of the machine is not sent again when that is put back', async () => {
  const parts = { paused: true };
  const house = await startHouse(parts);
  const [{ orderId = 0 } = {}] = house.reference.world.book.orders.all;
  await mirrorOrders(house.store, [{ orderId, reference: 'of-before' }]);
  const id = await house.put('order', 'A-1', lines(house));
  const { path } = house.store;
  await house.kill();
  copyFileSync(path, `${path}.snapshot`);
  parts.paused = false;
  await house.start();
  expect(await house.until(id, 'confirmed')).toMatchObject({ attempts: 1 });
  await house.kill();
  for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true });
  copyFileSync(`${path}.snapshot`, path);
  await house.start();
  expect(await house.until(id, 'confirmed')).toMatchObject({ attempts: 0 });
  expect(house.ordersWith('A-1')).toBe(1);
});
