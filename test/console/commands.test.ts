/** The command line that each page names is one, and does the same. */
import { expect, it } from 'vitest';
import { drawOrder } from '../../src/reference/life/arrivals.ts';
import { startCliHouse } from '../cli/house.ts';
import { startTestReference, until } from '../support/house.ts';
import { caller, cookieIn, heldIds } from './support.ts';

const RULES = `
rules:
  - { id: hold-all, title: Held, action: hold, mode: live, when: [delivery.quantity > 0] }
`;

const ENTITIES: Readonly<Record<string, string>> = { '&#39;': "'", '&quot;': '"', '&amp;': '&' };

/** Words of a line as a shell gives them to the program. */
function wordsOf(line: string): string[] {
  const written = line.replaceAll(/&(?:#39|quot|amp);/g, (entity) => ENTITIES[entity] ?? entity);
  return [...written.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? '',
  );
}

it('the command line of each page is right: it runs, and shows what the page shows', async () => {
  const knobs = { auth: { loginSpacing: 0 }, life: { ordersPerMinute: 0, packAfter: '0s' } };
  const reference = await startTestReference(knobs);
  const set = (path: string, value: unknown) => ({ path: `console.${path}`, value });
  const overrides = [set('enabled', true), set('port', 0)];
  const house = await startCliHouse(reference, { rules: RULES, overrides });
  const { world } = reference;
  const orderId = world.book.orders.nextId();
  world.trade.place(drawOrder(world, { seed: 7, orderId, preOrderShare: 0 }));
  const id = await until('the held delivery', async () => (await heldIds(house.daemon))[0]);
  const { outbox_id: push } = await house.daemon.store.db
    .insertInto('outbox')
    .values({
      ...{ kind: 'order', ordering_key: 'x', reference: "PO of O'Neil", body_hash: '' },
      body: JSON.stringify({ lines: [{ barcode: '1', quantity: 1, price: '1.00' }] }),
      ...{ reference_key: "po of o'neil", state: 'in_doubt', in_doubt_since: 1, attempts: 1 },
      ...{ due_at: 4e12, created_at: 1, cause: 'test', blocked_reason: 'two of them' },
    })
    .returning('outbox_id')
    .executeTakeFirstOrThrow();
  const link = new URL(await house.daemon.consoleLink('anna', 'approver'));
  const key = link.searchParams.get('key') ?? '';
  const cookie = cookieIn(await caller(link.origin).form('/sign-in/link', { key }));
  const anna = caller(link.origin, { cookie });
  const shows = async (path: string, element = 'The same on the host: ') => {
    const { text } = await anna.get(path);
    const line = new RegExp(`${element}\\s*<code>(.*?)</code>`).exec(text)?.[1] ?? '';
    const [program, ...words] = wordsOf(line);
    expect([path, program]).toEqual([path, 'selvedge']);
    const { code, stdout, stderr } = await house.call(...words);
    expect([path, line, code, stderr]).toEqual([path, line, 0, expect.any(String)]);
    return stdout;
  };
  expect(await shows('/')).toContain('orders');
  expect(await shows('/review')).toContain(String(id));
  expect(await shows('/review?rule=hold-all&older=0&q=DN-&min=1')).toContain(String(id));
  expect(await shows('/review?rule=none&customer=of nobody')).not.toContain(String(id));
  expect(await shows('/review?shown=all&overdue=1')).not.toContain(String(id));
  expect(await shows('/review?shown=accepted')).not.toContain(String(id));
  expect(await shows('/review?shown=undecided')).not.toContain(String(id));
  expect(await shows(`/deliveries/${id}`)).toContain('hold-all');
  expect(await shows('/outbox')).toContain("PO of O'Neil");
  expect(await shows('/outbox?kind=order&state=in_doubt&attention=1&open=1')).toContain('PO of');
  expect(await shows('/outbox?kind=style')).not.toContain('PO of');
  expect(await shows(`/outbox?${new URLSearchParams({ reference: 'of nobody' })}`)).not.toContain(
    'PO of',
  );
  expect(await shows(`/outbox/${push}`)).toContain("PO of O'Neil");
  expect(await shows(`/deliveries/${id}`, 'for the terminal</summary>')).toContain('accept');
  expect(await heldIds(house.daemon)).toEqual([]);
});
