/** The examples of docs/console.md, typed into a shell one after the other. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { drawOrder } from '../../src/reference/life/arrivals.ts';
import { startCliHouse } from '../cli/house.ts';
import { documentBlocks } from '../support/documents.ts';
import { startTestReference, until } from '../support/house.ts';
import { LAUNCHER, launcherEnv } from '../support/launcher.ts';
import { repositoryRoot } from '../support/source.ts';

const RULES = `
rules:
  - { id: hold-all, title: Held, action: hold, mode: live, when: [delivery.quantity > 0] }
`;
const HELD = { id: '500044', number: 'DN-500044', decisionId: '"decisionId": 8', hash: 'c0ffee' };

it('the examples of the console make a link and a token, read, and decide', async () => {
  const knobs = { auth: { loginSpacing: 0 }, life: { ordersPerMinute: 0, packAfter: '0s' } };
  const reference = await startTestReference(knobs);
  const overrides = ['enabled', 'port'].map((name) => ({
    path: `console.${name}`,
    value: name === 'enabled' ? true : 0,
  }));
  const house = await startCliHouse(reference, { rules: RULES, overrides });
  const { origin } = new URL(await house.daemon.consoleLink('nobody', 'viewer'));
  const { world } = reference;
  const orderId = world.book.orders.nextId();
  world.trade.place(drawOrder(world, { seed: 7, orderId, preOrderShare: 0 }));
  const held = await until('a held delivery', () =>
    house.daemon.store.db
      .selectFrom('evaluation as e')
      .innerJoin('decision as n', 'n.decision_id', 'e.decision_id')
      .innerJoin('delivery as d', 'd.order_delivery_id', 'e.order_delivery_id')
      .select(['d.order_delivery_id as id', 'd.content_hash as hash', 'n.decision_id as decision'])
      .where('n.outcome', '=', 'hold')
      .executeTakeFirst(),
  );
  const typed = documentBlocks('sh')
    .filter(({ place }) => place.startsWith('docs/console.md'))
    .map(({ text }) => `echo '>'\n${text}`)
    .join('')
    .replaceAll('~/.selvedge-token', 'erp.header')
    // The request before it has accepted this one.
    .replaceAll(/^selvedge --url .* accept .*$/gm, '')
    .replaceAll('https://selvedge.example.com', origin)
    .replaceAll(HELD.id, String(held.id))
    .replaceAll(HELD.decisionId, `"decisionId": ${held.decision}`)
    .replaceAll(HELD.hash, held.hash);
  const shell = `selvedge() { "${process.execPath}" "${LAUNCHER}" "$@"; }\n${typed}`;
  const { stdout } = await promisify(execFile)('bash', ['-euc', shell], {
    cwd: house.folder,
    env: { ...launcherEnv(), SELVEDGE_CONFIG: house.file },
  });
  const [link, token, read, decided, listed] = stdout.split('>\n').slice(1);
  expect(link).toContain(`${origin}/sign-in?key=`);
  expect(token).toBe('');
  expect(read).toMatch(/^\{"notes":\[\],"rows":\[.*\],"next":null,"back":null\}delivery_id,/);
  expect(JSON.parse(decided ?? '')).toMatchObject({
    orderDeliveryId: held.id,
    decisionId: expect.any(Number),
    outboxId: expect.any(Number),
  });
  expect(listed).toContain('ID  DELIVERY  CUSTOMER');
  const audit = await house.call('audit', 'list', '--action', 'delivery.', '--json');
  expect(JSON.parse(audit.stdout)).toMatchObject([
    { actor: 'token:erp', reason: 'paid in advance', address: '127.0.0.1' },
  ]);
});

it('the row of the list that the console page shows is one', () => {
  const page = readFileSync(join(repositoryRoot, 'docs/console.md'), 'utf8');
  const [block] = documentBlocks('json').filter(({ place }) => place.startsWith('docs/console.md'));
  expect(Object.keys(JSON.parse(block?.text ?? ''))).toEqual(
    expect.arrayContaining(['orderDeliveryId', 'decisionId', 'contentHash']),
  );
  for (const text of Object.values(HELD)) expect(page).toContain(text);
});
