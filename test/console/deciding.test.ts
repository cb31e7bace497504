/** People decide held deliveries at the console, over HTTP as a browser without scripts does it. */
import { describe, expect, it } from 'vitest';
import { until } from '../support/house.ts';
import { auditOf, heldIds, holdMore, seenRows, signIn, startConsole } from './support.ts';

const seenFields = (row: { decisionId: number; contentHash: string }) => ({
  decisionId: String(row.decisionId),
  contentHash: row.contentHash,
});

describe('a person who decides', () => {
  it('accepts a held delivery, which the service hears of, and the audit says how', async () => {
    const house = await startConsole();
    const anna = await signIn(house, 'anna', 'operator');
    const [row] = await seenRows(anna);
    if (!row) throw new Error('nothing is held');
    const path = `/deliveries/${row.orderDeliveryId}`;
    const fields = { ...seenFields(row), reason: 'price agreed', back: '/review?country=DK' };
    const answer = await anna.form(`${path}/accept`, fields);
    expect(answer.status).toBe(303);
    const location = new URL(answer.headers.get('location') ?? '', house.url);
    expect([location.pathname, location.searchParams.get('country')]).toEqual(['/review', 'DK']);
    expect(location.searchParams.get('done')).toBe(`${row.deliveryNo} is accepted.`);
    await until('the service to show it', () => {
      const found = house.reference.world.book.deliveries.all.find(
        (one) => one.orderDeliveryId === row.orderDeliveryId,
      );
      return found?.status === 'accepted' ? true : undefined;
    });
    const session = expect.stringMatching(/^link:\d+$/);
    expect(await auditOf(house, 'delivery.accept')).toEqual([
      {
        actor: 'anna',
        action: 'delivery.accept',
        subject: `delivery:${row.orderDeliveryId}`,
        reason: 'price agreed',
        session,
        address: '127.0.0.1',
      },
    ]);
  });

  it('is told by name when somebody else was faster', async () => {
    const house = await startConsole({ held: 1 });
    const anna = await signIn(house, 'anna', 'operator');
    const ben = await signIn(house, 'ben', 'operator');
    const [row] = await seenRows(anna);
    if (!row) throw new Error('nothing is held');
    const path = `/deliveries/${row.orderDeliveryId}/hold`;
    const first = await ben.json(path, { ...seenFields(row), reason: 'ask Jutta' });
    expect(first.status).toBe(200);
    const second = await anna.json(path, { ...seenFields(row), reason: 'mine' });
    expect(second.status).toBe(409);
    expect(second.json).toMatchObject({ code: 'review.changed' });
    expect(second.text).toMatch(/ben decided \\?"hold\\?" \w+ ago/);
    const page = await anna.form(path, { ...seenFields(row), reason: 'mine' });
    expect([page.status, page.text.includes('ben decided')]).toEqual([409, true]);
  });

  it('undoes a hold, and an accept takes it back', async () => {
    const house = await startConsole({ held: 1 });
    const anna = await signIn(house, 'anna', 'operator');
    const [row] = await seenRows(anna);
    if (!row) throw new Error('nothing is held');
    const path = `/deliveries/${row.orderDeliveryId}`;
    const held = await anna.json(`${path}/hold`, { ...seenFields(row), reason: 'wait' });
    const { decisionId } = held.json as { decisionId: number };
    const undone = await anna.json(`${path}/undo`, { decisionId });
    expect([undone.status, undone.text]).toEqual([200, expect.any(String)]);
    const again = await anna.json(`${path}/undo`, { decisionId });
    expect(again).toMatchObject({ status: 409, json: { code: 'console.undo' } });
  });

  it('keeps a note for the next one who looks', async () => {
    const house = await startConsole({ held: 1 });
    const anna = await signIn(house, 'anna', 'operator');
    const [id] = await heldIds(house.daemon);
    await anna.form(`/deliveries/${id}/note`, { text: 'calls back at three' });
    const ben = await signIn(house, 'ben', 'viewer');
    const page = await ben.get(`/deliveries/${id}`);
    expect(page.text).toContain('calls back at three');
    expect(page.text).toContain('anna');
  });

  it('is led back to this console only, and to deliveries that there are', async () => {
    const house = await startConsole({ held: 1 });
    const anna = await signIn(house, 'anna', 'operator');
    const [id] = await heldIds(house.daemon);
    for (const back of [
      '/.//evil.example',
      '//evil.example',
      'https://evil.example',
      '/\\\\evil.example',
    ]) {
      const { headers } = await anna.form(`/deliveries/${id}/note`, { text: 'x', back });
      const { origin } = new URL(headers.get('location') ?? '', house.url);
      expect([back, origin]).toEqual([back, house.url]);
    }
    const none = await anna.json('/deliveries/4711/note', { text: 'x' });
    expect(none).toMatchObject({ status: 404, json: { code: 'deliveries.unknown' } });
  });

  it('rejects only as an approver who types the number', async () => {
    const house = await startConsole({ held: 1 });
    const [operator, approver] = [
      await signIn(house, 'anna', 'operator'),
      await signIn(house, 'carl', 'approver'),
    ];
    const [row] = await seenRows(operator);
    if (!row) throw new Error('nothing is held');
    const path = `/deliveries/${row.orderDeliveryId}/reject`;
    const wish = { ...seenFields(row), reason: 'ordered twice', confirmed: row.deliveryNo };
    expect(await operator.json(path, wish)).toMatchObject({ status: 403 });
    const typo = await approver.json(path, { ...wish, confirmed: 'DN-1' });
    expect(typo).toMatchObject({ status: 409, json: { code: 'review.unconfirmed' } });
    expect(await approver.json(path, wish)).toMatchObject({ status: 200 });
    expect(await auditOf(house, 'delivery.reject')).toMatchObject([{ actor: 'carl' }]);
  });
});

/** Forms of a page, each with its submit buttons. */
function formsIn(page: string): readonly (readonly string[])[] {
  const forms = [...page.matchAll(/<form\b.*?<\/form>/gs)].map(([form]) => form);
  return forms.map((form) =>
    [...form.matchAll(/<button\b[^>]*>/g)].flatMap(([button]) =>
      button.includes('type="button"') ? [] : [button],
    ),
  );
}

it('a form of several acts begins with a button by which Enter does none of them', async () => {
  const house = await startConsole({ held: 2 });
  const carl = await signIn(house, 'carl', 'approver');
  const [id, other] = await heldIds(house.daemon);
  const [row] = await seenRows(carl);
  const said = { ...(row && seenFields(row)), reason: 'agreed' };
  await carl.form(`/deliveries/${row?.orderDeliveryId}/accept`, said);
  const { outbox_id: push } = await house.daemon.store.db
    .selectFrom('outbox')
    .select('outbox_id')
    .executeTakeFirstOrThrow();
  let several = 0;
  for (const path of [
    ...['/', '/review', '/review?shown=all', `/review?open=${id}`, `/deliveries/${id}`],
    ...[`/review/card/${other}`, '/outbox', `/outbox/${push}`, '/stock', '/reports', '/pulls'],
    ...['/pulls/brands', '/events', '/events/replay?hours=24', '/rules', '/rules/hold-all'],
    ...['/rules/reload', '/rules/trial', '/system', '/system/people', '/system/settings'],
    ...['/system/audit', '/reports/stock-grid'],
  ]) {
    const { status, text } = await carl.get(path);
    expect([path, status]).toEqual([path, 200]);
    for (const buttons of formsIn(text).filter(({ length }) => length > 1)) {
      several += 1;
      expect([path, buttons[0]]).toEqual([path, '<button disabled hidden data-enter>']);
      expect(buttons.slice(1).filter((button) => button.includes('data-enter'))).toEqual([]);
    }
  }
  expect(several).toBeGreaterThan(3);
});

describe('all that fit a filter', () => {
  const expectIn = (page: string) => ({
    count: /name="count" value="(\d+)"/.exec(page)?.[1] ?? '',
    digest: /name="digest" value="(\w+)"/.exec(page)?.[1] ?? '',
  });

  it('are decided in one act, while they are those that the person saw', async () => {
    const house = await startConsole();
    const anna = await signIn(house, 'anna', 'operator');
    const before = await anna.get('/review?rule=hold-all');
    await holdMore(house, 1);
    const fields = { 'filter.rule': 'hold-all', reason: 'all checked', action: 'accept' };
    const late = await anna.form('/review/bulk', { ...fields, ...expectIn(before.text) });
    expect(late.status).toBe(409);
    expect(late.text).toContain('4 deliveries fit the filter now, 3 did when you looked');
    expect(await auditOf(house, 'delivery.accept')).toEqual([]);
    const now = await anna.get('/review?rule=hold-all');
    const done = await anna.form('/review/bulk', { ...fields, ...expectIn(now.text) });
    const location = new URL(done.headers.get('location') ?? '', house.url);
    expect([done.status, location.searchParams.get('done')]).toEqual([303, '4 accepted.']);
    expect(await auditOf(house, 'delivery.accept')).toHaveLength(4);
  });

  it('can be named by a program, which hears of each', async () => {
    const house = await startConsole({ held: 2 });
    const anna = await signIn(house, 'anna', 'operator');
    const { text } = await anna.get('/review');
    const select = { filter: {}, expect: expectIn(text) };
    const wish = { action: 'hold', reason: 'stock-taking', select };
    const { status, json } = await anna.json('/review/bulk', wish);
    expect(status).toBe(200);
    expect(json).toMatchObject({ answers: [{ ok: true }, { ok: true }] });
  });
});

describe('a viewer', () => {
  it('reads everything and changes nothing, on page and API', async () => {
    const house = await startConsole({ held: 1 });
    const vera = await signIn(house, 'vera', 'viewer');
    const [row] = await seenRows(vera);
    if (!row) throw new Error('nothing is held');
    const page = await vera.get(`/deliveries/${row.orderDeliveryId}`);
    expect(page.text).toContain('You can read, and not decide');
    expect(page.text).not.toContain('/accept');
    for (const action of ['accept', 'hold', 'release', 'reject']) {
      const path = `/deliveries/${row.orderDeliveryId}/${action}`;
      const answer = await vera.json(path, { ...seenFields(row), reason: 'x', confirmed: 'x' });
      expect([action, answer.status, answer.json]).toMatchObject([
        action,
        403,
        { code: 'console.role' },
      ]);
    }
    expect(await vera.form('/pause', { target: 'all', reason: 'x' })).toMatchObject({
      status: 403,
    });
    expect(await heldIds(house.daemon)).toEqual([row.orderDeliveryId]);
  });
});

describe('pausing', () => {
  it('is for operators, resuming for approvers, and every page shows it', async () => {
    const house = await startConsole({ held: 0 });
    const anna = await signIn(house, 'anna', 'operator');
    const carl = await signIn(house, 'carl', 'approver');
    const wish = { target: 'pushes', reason: 'the warehouse moves' };
    expect(await anna.form('/pause', wish)).toMatchObject({ status: 303 });
    const page = await anna.get('/');
    expect(page.text).toContain('PAUSED: pushes, by anna: the warehouse moves');
    expect(await anna.form('/resume', wish)).toMatchObject({ status: 403 });
    expect(await carl.form('/resume', wish)).toMatchObject({ status: 303 });
    expect(await auditOf(house, 'pause')).toMatchObject([{ actor: 'anna', address: '127.0.0.1' }]);
  });
});
