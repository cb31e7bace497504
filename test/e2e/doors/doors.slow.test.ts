import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Secret } from '../../../src/lib/secret.ts';
import { until } from '../../support/house.ts';
import { openDoors, receiptSchema, STREAMS, TOKEN } from './house.ts';

async function pausedDoors(overrides: Readonly<Record<string, unknown>> = {}) {
  const house = await openDoors(overrides);
  const { code } = await house.call('pause', 'pushes', '--reason', 'a test');
  expect(code).toBe(0);
  return house;
}

describe('the four doors', () => {
  it('each bring an order to the service, and its number back', async () => {
    const house = await openDoors();
    const row = house.insert('by-sql', house.order());
    const payload = house.order();
    house.drop('one.json', JSON.stringify({ kind: 'order', reference: 'by-file', payload }));
    const { status, location, body } = await house.post('/api/orders', {
      reference: 'by-http',
      ...payload,
    });
    expect([status, location]).toEqual([202, `/api/documents/${body.documentId}`]);
    const file = join(house.folder, 'order.json');
    writeFileSync(file, JSON.stringify({ reference: 'by-cli', ...payload }));
    const pushed = await house.call('orders', 'push', file, '--wait', '1m', '--json');
    expect(pushed.stderr).toBe('');
    expect(pushed.code).toBe(0);
    const [byCli] = z.array(receiptSchema).parse(JSON.parse(pushed.stdout));
    const [byFile] = await house.fileEnd('done/one.json');
    const bySql = await house.sqlEnd(row);
    const byHttp = await house.httpEnd(Number(body.documentId));
    const orders = house.reference.world.book.orders.all;
    for (const receipt of [bySql, byFile, byHttp, byCli]) {
      const made = orders.filter(({ reference }) => reference === receipt?.reference);
      expect(made).toHaveLength(1);
      const { orderId, orderNo } = made[0] ?? {};
      expect(receipt).toMatchObject({ state: 'confirmed', orderId, orderNo });
      expect(receipt?.problems.filter(({ severity }) => severity === 'error')).toEqual([]);
    }
  });

  it('each take a document bare and wrapped, and refuse what contradicts itself', async () => {
    const house = await openDoors();
    const bare = (reference: string) => ({ kind: 'order', reference, ...house.order() });
    const wrapped = (reference: string) => {
      return { kind: 'order', reference, payload: house.order() };
    };
    const shapes = { bare, wrapped };
    for (const [name, of] of Object.entries(shapes)) {
      const row = house.insert(`sql-${name}`, of(`sql-${name}`));
      house.drop(`${name}.json`, JSON.stringify(of(`file-${name}`)));
      const file = join(house.folder, `${name}.json`);
      writeFileSync(file, JSON.stringify(of(`cli-${name}`)));
      const posted = await house.post('/api/orders', of(`orders-${name}`));
      const document = await house.post('/api/documents', of(`documents-${name}`));
      expect([posted.status, document.status]).toEqual([202, 202]);
      const pushed = await house.call('orders', 'push', file, '--wait', '1m');
      expect(pushed.stdout).toMatch(new RegExp(`^cli-${name}: confirmed`));
      expect(await house.sqlEnd(row)).toMatchObject({ state: 'confirmed' });
      expect(await house.fileEnd(`done/${name}.json`)).toMatchObject([{ state: 'confirmed' }]);
      for (const { body } of [posted, document]) {
        expect(await house.httpEnd(Number(body.documentId))).toMatchObject({ state: 'confirmed' });
      }
      for (const channel of ['sql', 'file', 'cli', 'orders', 'documents']) {
        expect(house.ordersWith(`${channel}-${name}`)).toBe(1);
      }
    }
    const refund = { ...wrapped('x'), kind: 'pending_refund' };
    const kind = {
      path: 'kind',
      message: 'says "pending_refund" in the document and order beside it',
    };
    expect((await house.post('/api/orders', refund)).body.problems).toEqual([kind]);
    expect((await house.sqlEnd(house.insert('x', refund))).problems).toEqual([kind]);
    expect((await house.sqlEnd(house.insert('y', bare('z')))).problems).toEqual([
      { path: 'reference', message: 'says z in the document and y beside it' },
    ]);
    expect((await house.sqlEnd(house.insert('y', wrapped('z')))).problems).toEqual([
      { path: 'reference', message: 'says z in the document and y beside it' },
    ]);
  });

  it('know a document that came by another one: one order, one receipt', async () => {
    const house = await openDoors();
    const payload = { reference: 'SO-1', ...house.order() };
    const key = { 'idempotency-key': 'request-1' };
    const first = await house.post('/api/orders', payload, key);
    const documentId = Number(first.body.documentId);
    const end = await house.httpEnd(documentId);
    const again = await house.post('/api/orders', payload, key);
    expect([again.status, again.location]).toEqual([200, `/api/documents/${documentId}`]);
    expect(again.body).toEqual(end);
    const rows = [house.insert('SO-1', payload), house.insert('SO-1', house.order())];
    const envelope = JSON.stringify({ kind: 'order', payload });
    house.drop('same.json', envelope);
    const [byFile] = await house.fileEnd('done/same.json');
    house.drop('same.json', envelope);
    const [byFileAgain] = await house.fileEnd('done/same.json');
    expect(byFileAgain).toEqual(byFile);
    expect(byFile).toEqual({ line: 1, ...end });
    const file = join(house.folder, 'order.json');
    writeFileSync(file, JSON.stringify(payload));
    const pushed = await house.call('orders', 'push', file);
    expect(pushed.stdout).toMatch(/^SO-1: confirmed, document \d+, order \S+, submitted before/);
    for (const row of rows) expect(await house.sqlEnd(row)).toMatchObject({ documentId });
    expect(house.ordersWith('SO-1')).toBe(1);
  });

  it('show what the service refused in its own words; a corrected one goes through', async () => {
    const house = await openDoors();
    const wrong = { lines: [{ barcode: '1', quantity: 1, price: 1 }] };
    const row = house.insert('by-sql', wrong);
    house.drop('one.json', JSON.stringify({ kind: 'order', reference: 'by-file', payload: wrong }));
    const { body } = await house.post('/api/orders', { reference: 'by-http', ...wrong });
    const file = join(house.folder, 'order.json');
    writeFileSync(file, JSON.stringify({ reference: 'by-cli', ...wrong }));
    const pushed = await house.call('orders', 'push', file, '--wait', '1m');
    expect(pushed.code).toBe(3);
    expect(pushed.stdout).toMatch(
      /^by-cli: refused, .*there is no variant 1.*submit it under a new reference/,
    );
    const [byFile] = await house.fileEnd('done/one.json');
    const ends = [await house.sqlEnd(row), byFile, await house.httpEnd(Number(body.documentId))];
    for (const end of ends) {
      expect(end).toMatchObject({ state: 'refused', orderId: null });
      const told = end?.problems.find(({ severity }) => severity === 'error');
      expect(told).toMatchObject({ message: expect.stringContaining('there is no variant 1') });
      expect(end?.nextStep).toContain('new reference');
    }
    const corrected = await house.sqlEnd(house.insert('by-sql-2', house.order()));
    expect(corrected).toMatchObject({ state: 'confirmed' });
  });

  it('take the correction of what never left under its own reference, by each other', async () => {
    const house = await openDoors();
    const [line] = z.object({ lines: z.array(z.looseObject({})) }).parse(house.order()).lines;
    const wrong = { lines: [{ ...line, deliveryName: 'Drop 1' }] };
    const row = house.insert('SO-1', wrong);
    const first = await house.sqlEnd(row);
    expect(first).toMatchObject({ state: 'refused', orderId: null });
    expect(first.nextStep).toContain('under the same reference');
    const other = { lines: [{ ...line, deliveryName: 'Drop 2' }] };
    house.drop('one.json', JSON.stringify({ kind: 'order', reference: 'SO-1', payload: other }));
    await house.fileEnd('done/one.json');
    const file = join(house.folder, 'order.json');
    writeFileSync(file, JSON.stringify({ reference: 'SO-1', ...wrong }));
    const pushed = await house.call('orders', 'push', file, '--wait', '1m');
    expect(pushed.stdout).toMatch(/^SO-1: refused, .*under the same reference/);
    const { status, body } = await house.post('/api/orders', {
      reference: 'so-1',
      ...house.order(),
    });
    expect([status, body.documentId]).toEqual([202, first.documentId]);
    const end = await house.httpEnd(Number(body.documentId));
    expect(end).toMatchObject({ state: 'confirmed', reference: 'SO-1' });
    expect(house.ordersWith('SO-1')).toBe(1);
    // A document has one state, at all doors and in all its receipts.
    await until('the receipt of the first document', async () => {
      const told = await house.sqlEnd(row);
      return told.state === 'confirmed' ? told : undefined;
    });
    const [byFile] = await until('the receipt of the file', async () => {
      const told = await house.fileEnd('done/one.json');
      return told[0]?.state === 'confirmed' ? told : undefined;
    });
    expect(byFile).toMatchObject({ documentId: first.documentId, orderId: end.orderId });
    const again = await house.post('/api/orders', { reference: 'SO-1', ...wrong });
    expect([again.status, again.body.code]).toEqual([409, 'intake.conflict']);
    const shown = await house.call('outbox', 'show', String(first.documentId));
    expect(shown.stdout).toMatch(/EARLIER.*\n1 .* refused .*\n2 .* refused .*\n3 .* refused /s);
  });
});

describe('the HTTP door', () => {
  it('does not say that nothing was taken when only the receipt cannot be read', async () => {
    const house = await pausedDoors();
    const { db } = house.daemon.store;
    const payload = { reference: 'SO-1', ...house.order() };
    await sql`create trigger refuse after insert on intake begin
      update outbox set state = 'refused', ended_at = 1; end`.execute(db);
    await sql`alter table outbox_attempt rename to not_to_be_read`.execute(db);
    const { status, body } = await house.post('/api/orders', payload);
    await sql`alter table not_to_be_read rename to outbox_attempt`.execute(db);
    expect([status, body.message]).toEqual([503, 'it is not known whether anything was taken']);
    // The document was taken, and refused before it was sent: so it is checked once more.
    expect((await house.post('/api/orders', payload)).status).toBe(202);
  });

  it('does not say it either when the database fails', async () => {
    const house = await pausedDoors();
    await sql`create trigger refuse after insert on outbox begin
      select raise(abort, 'no'); end`.execute(house.daemon.store.db);
    const payload = { reference: 'SO-1', ...house.order() };
    const { status, body } = await house.post('/api/orders', payload);
    expect([status, body.code]).toEqual([503, 'intake.later']);
  });

  it('gives each program Idempotency-Keys of its own', async () => {
    const other = 'the-token-of-the-shop-0123456789';
    const programs = Object.entries({ erp: TOKEN, shop: other });
    const clients = programs.map(([name, token]) => ({ name, token: new Secret('token', token) }));
    const house = await pausedDoors({ 'intake.clients': clients });
    for (const [name, token] of programs) {
      const headers = { 'idempotency-key': 'a', authorization: `Bearer ${token}` };
      const payload = { reference: `by-${name}`, ...house.order() };
      expect((await house.post('/api/orders', payload, headers)).status, name).toBe(202);
    }
  });

  it('says that this request took nothing while the disk is too full', async () => {
    const house = await openDoors({ 'store.space.receiveFloor': '1000000GiB' });
    const { status, body } = await house.post('/api/orders', { reference: 'A', ...house.order() });
    expect(status).toBe(503);
    expect(body).toMatchObject({
      ...{ code: 'intake.no_room', message: 'the disk is too full to take documents' },
      nextStep: 'send the same request again later; this one took nothing',
    });
    expect(house.ordersWith('A')).toBe(0);
  });

  it('answers by the code what came of a request, and names every mistake', async () => {
    const house = await pausedDoors();
    const payload = { reference: 'SO-1', ...house.order(1) };
    const key = (name: string) => ({ 'idempotency-key': name });
    expect((await house.post('/api/orders', payload, key('a'))).status).toBe(202);
    const clash = await house.post('/api/orders', { reference: 'SO-1', ...house.order(2) });
    expect(clash.status).toBe(409);
    expect(clash.body).toMatchObject({
      ...{ code: 'intake.conflict', documentId: null },
      conflict: {
        existing: { documentId: 1, document: { lines: [{ quantity: 1 }] } },
        given: { document: { lines: [{ quantity: 2 }] } },
        differences: ['lines[0].quantity: 1 there, 2 here'],
      },
    });
    const other = { reference: 'SO-2', ...house.order() };
    const reused = await house.post('/api/orders', other, key('a'));
    expect([reused.status, reused.body.code]).toEqual([409, 'intake.key_reused']);
    const mistakes = await house.post('/api/orders', { lines: [{ barcode: '1', quantity: 0 }] });
    expect([mistakes.status, mistakes.body.code]).toEqual([422, 'intake.invalid']);
    expect(mistakes.body.problems).toMatchObject([
      { path: 'lines[0].quantity' },
      { path: 'lines[0].price' },
    ]);
    const nameless = await house.post('/api/orders', house.order());
    expect(nameless.body.problems).toMatchObject([{ path: 'reference' }]);
    const broken = await house.post('/api/orders', '{"lines": 1,}');
    expect([broken.status, broken.body.message]).toEqual([
      400,
      expect.stringMatching(/^the body is no JSON: .* at column 13$/),
    ]);
    const twice = await house.post('/api/orders', '{"reference": "SO-3", "reference": "SO-4"}');
    expect([twice.status, twice.body.message]).toEqual([
      400,
      expect.stringMatching(/^reference is written twice: /),
    ]);
    expect((await house.post('/api/orders', payload, key('not visible'))).status).toBe(400);
    const text = { 'content-type': 'text/plain' };
    const typed = await house.post('/api/orders', 'x', text);
    expect([typed.status, typed.body.message]).toEqual([
      415,
      'the body is not declared as JSON: send "Content-Type: application/json"',
    ]);
    const large = { reference: 'SO-3', comment: 'x'.repeat(1_100_000) };
    const tooLarge = await house.post('/api/orders', large);
    const limit = 'the body is larger than 1048576 bytes';
    expect([tooLarge.status, tooLarge.body.message]).toEqual([413, limit]);
    for (const authorization of ['', 'Basic YTpi']) {
      const { status, body } = await house.post('/api/orders', payload, { authorization });
      expect([status, body.code]).toEqual([401, 'intake.no_token']);
    }
    const small = { authorization: `bearer ${TOKEN}` };
    expect((await house.post('/api/orders', payload, small)).status).toBe(200);
    const stranger = { authorization: 'Bearer the-token-of-somebody-else' };
    const { status, body } = await house.post('/api/orders', payload, stranger);
    expect([status, body.message]).toEqual([401, 'no token of intake.clients came with it']);
    expect((await house.http('/api/documents/1', { headers: stranger })).status).toBe(401);
    expect((await house.http('/api/documents/99')).status).toBe(404);
    const typo = await house.http('/api/documents?kind=orders&reference=SO-1');
    const kinds = expect.stringContaining('order, pending_refund, refund_status, style');
    expect([typo.status, typo.body.message]).toEqual([400, kinds]);
    const found = await house.http('/api/documents?kind=order&reference=so-1');
    expect(found.body).toMatchObject({ documentId: 1, state: 'queued' });
    const refund = { reference: 'R-1', orderReference: 'SO-1', ...house.order() };
    const refunds = await house.post('/api/pending-refunds', refund);
    expect([refunds.status, refunds.body.kind]).toEqual([202, 'pending_refund']);
    const envelope = { kind: 'refund_status', reference: 'RS-1', payload: {} };
    const general = await house.post('/api/documents', envelope);
    expect([general.status, general.body.kind]).toEqual([422, 'refund_status']);
    // The token of a program opens nothing else.
    expect((await house.post('/api/intake/push', {})).status).toBe(401);
    expect((await house.post('/api/acts/sync.run', {})).status).toBe(401);
  });
});

describe('selvedge orders push', () => {
  it('checks and submits nothing with --dry-run', async () => {
    const house = await openDoors({ 'streams.off': STREAMS.filter((name) => name !== 'stock') });
    const complete = () =>
      house.daemon.store.db
        .selectFrom('stream_state')
        .select('stream')
        .where('stream', '=', 'stock')
        .where('complete_at', 'is not', null)
        .executeTakeFirst();
    await until('the stock', complete);
    const file = join(house.folder, 'orders.ndjson');
    const unknown = { lines: [{ barcode: '1', quantity: 1, price: '1' }] };
    const documents = [
      { reference: 'SO-1', ...house.order() },
      { reference: 'SO-2', ...unknown },
    ];
    writeFileSync(file, documents.map((one) => JSON.stringify(one)).join('\n'));
    const { code, stdout } = await house.call('orders', 'push', file, '--dry-run');
    expect(stdout).toMatch(/^SO-1: fit.*\nSO-2: refused: lines\[0\]\.barcode /);
    expect(code).toBe(3);
    expect(await house.daemon.store.db.selectFrom('outbox').selectAll().execute()).toEqual([]);
  });

  it('takes a file however long its path is', async () => {
    const house = await pausedDoors();
    const folder = join(house.folder, ...['a', 'b', 'c'].map((letter) => letter.repeat(200)));
    mkdirSync(folder, { recursive: true });
    const file = join(folder, 'order.json');
    writeFileSync(file, JSON.stringify({ reference: 'SO-1', ...house.order() }));
    const { code, stdout } = await house.call('orders', 'push', file);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^SO-1: queued, document 1/)]);
  });

  it('does not take a refund for wrong whose order is still on its way', async () => {
    const house = await pausedDoors();
    await house.post('/api/orders', { reference: 'SO-1', ...house.order() });
    const file = join(house.folder, 'refund.json');
    const refund = { reference: 'R-1', orderReference: 'so-1', ...house.order() };
    writeFileSync(file, JSON.stringify(refund));
    const { stdout } = await house.call('refunds', 'push', file, '--dry-run');
    expect(stdout).toBe(
      'R-1: unclear: its order, document 1, is on its way (queued) and goes first\n',
    );
  });

  it('tells one line a document, whatever is wrong with some of them', async () => {
    const house = await pausedDoors();
    const file = join(house.folder, 'orders.ndjson');
    const order = (reference: string, quantity = 1) =>
      JSON.stringify({ reference, ...house.order(quantity) });
    const lines = [
      order('SO-1'),
      '{"reference": ',
      order('SO-1', 2),
      order('SO-2', 0),
      order('SO-3'),
      order('SO-4').replace('{', '{"reference": "SO-5", '),
    ];
    writeFileSync(file, lines.join('\n'));
    const { code, stdout, stderr } = await house.call('orders', 'push', file);
    expect(stderr).toBe('');
    expect(code).toBe(3);
    expect(stdout.split('\n')).toEqual([
      'SO-1: queued, document 1',
      expect.stringMatching(/^line 2: refused: is no JSON/),
      expect.stringMatching(/^SO-1: refused: reference belongs to document 1 .*1 there, 2 here/),
      expect.stringMatching(/^SO-2: refused: lines\[0\]\.quantity /),
      'SO-3: queued, document 2',
      expect.stringMatching(/^line 6: refused: reference is written twice/),
      '',
    ]);
    const waited = await house.call('orders', 'push', file, '--wait', '100ms', '--json');
    expect(waited.code).toBe(3);
    const receipts: object[] = JSON.parse(waited.stdout);
    expect(receipts[1]).toMatchObject({ line: 2, documentId: null, kind: 'order', final: true });
    expect(Object.keys(receipts[1] ?? {}).sort()).toEqual(Object.keys(receipts[3] ?? {}).sort());
    const checked = await house.call('orders', 'push', file, '--dry-run', '--json');
    for (const answer of JSON.parse(checked.stdout)) {
      expect(Object.keys(answer)).toEqual([
        ...['line', 'reference', 'verdict', 'documentId', 'problems'],
      ]);
    }
    writeFileSync(file, order('SO-3'));
    expect((await house.call('orders', 'push', file, '--wait', '100ms')).code).toBe(4);
  });

  it('refuses a document that is too large, and takes those around it', async () => {
    const house = await pausedDoors();
    const file = join(house.folder, 'orders.ndjson');
    const order = (reference: string, comment = '') =>
      JSON.stringify({ reference, ...house.order(), comment });
    const large = order('SO-2', 'x'.repeat(5_000_000));
    writeFileSync(file, [order('SO-1'), large, order('SO-3')].join('\n'));
    const { code, stdout } = await house.call('orders', 'push', file);
    expect(stdout.split('\n').slice(0, 3)).toEqual([
      'SO-1: queued, document 1',
      expect.stringMatching(/^line 2: refused: is 50\d+ bytes large; 1048576 are the most/),
      'SO-3: queued, document 2',
    ]);
    expect(code).toBe(3);
    writeFileSync(file, large);
    expect((await house.call('orders', 'push', file)).stdout).toMatch(/^line 1: refused: is 50/);
  });

  it('says so when no daemon runs, and when there is no such file', async () => {
    const house = await openDoors();
    await house.daemon.stop();
    const file = join(house.folder, 'order.json');
    writeFileSync(file, JSON.stringify({ reference: 'SO-1', ...house.order() }));
    const { code, stderr } = await house.call('orders', 'push', file);
    expect(code).toBe(75);
    expect(stderr).toContain('does it run');
    const missing = await house.call('orders', 'push', join(house.folder, 'none.json'));
    expect(missing.stderr).toContain('cannot read');
  });
});
