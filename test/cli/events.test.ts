import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { runCli } from '../../src/cli/program.ts';
import { localFile } from '../../src/local-api/ask.ts';
import { startTestDaemon, startTestReference, testConfig, until } from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';
import { selvedge } from './support.ts';

/** A daemon that is subscribed at a relay, and the file with which the command line finds both. */
async function startHouse() {
  const folder = temporaryFolder();
  const reference = await startTestReference({
    world: { styles: 6, orders: 3 },
    life: { ordersPerMinute: 0, packAfter: '1h' },
    auth: { loginSpacing: 0 },
  });
  const quick = [{ path: 'service.limits.loginSpacing', value: '0s' }];
  const config = testConfig(reference, { folder, overrides: quick });
  const [credentials] = Object.values(reference.credentials);
  const secret = (name: string, value = ''): { readonly file: string } => {
    writeFileSync(join(folder, name), value, { mode: 0o600 });
    return { file: join(folder, name) };
  };
  const clientSecret = secret('client', credentials?.clientSecret);
  const login = { clientId: credentials?.clientId, clientSecret };
  const written = {
    dataDir: config.dataDir,
    rules: { directory: config.rules.directory },
    service: { v1: { baseUrl: reference.v1Url, login }, limits: { loginSpacing: '0s' } },
  };
  const file = join(folder, 'selvedge.yaml');
  writeFileSync(file, stringify(written));
  const call = (...args: readonly string[]) => selvedge(['--config', file, ...args]);
  const start = async () => {
    const daemon = await startTestDaemon(reference, config);
    await until('the local API', () => existsSync(localFile(config.dataDir)) || undefined);
    return daemon;
  };
  return { reference, config, file, call, start };
}

type House = Awaited<ReturnType<typeof startHouse>>;

const orderOf = ({ reference }: House): number => reference.world.book.orders.all[0]?.orderId ?? 0;

function publishOrder(house: House): void {
  const salesOrder = { orderId: orderOf(house), status: 'pending', orderLineItems: [] };
  house.reference.relay.publish('sales_order.order_created', { salesOrder });
}

/** A link is printed, and its key stands nowhere else. */
async function openPortal(house: House): Promise<string> {
  const told = await house.call('portal', 'open', '--reason', 'new proxy');
  expect(told).toMatchObject({ code: 0 });
  expect(told.stdout).toMatch(new RegExp(`^${house.reference.relayUrl}/portal/\\S+#key=\\S+\n$`));
  expect(told.stderr).toContain('works once');
  expect(told.stderr).not.toContain('key=');
  return told.stdout;
}

describe('selvedge events', () => {
  it('are followed also before a daemon runs, which is told', async () => {
    const house = await startHouse();
    await (await house.start()).stop();
    const said = { stdout: '', stderr: '' };
    const sink = (name: keyof typeof said) => ({
      write: (text: string) => {
        said[name] += text;
      },
    });
    const args = ['--config', house.file, 'events', 'list', '--follow', '--count', '1', '--json'];
    const io = { stdout: sink('stdout'), stderr: sink('stderr'), env: {} };
    const tail = runCli(args, io);
    await until('the remark', () => said.stderr.includes('no daemon runs') || undefined);
    const daemon = await house.start();
    publishOrder(house);
    expect(await tail).toBe(0);
    expect(JSON.parse(said.stdout)).toMatchObject({ orderId: orderOf(house) });
    await daemon.stop();
  });

  it('shows a body that is nested without end as the text that it is', async () => {
    const house = await startHouse();
    const daemon = await house.start();
    const text = '['.repeat(50_000) + ']'.repeat(50_000);
    const row = { event_id: 'msg_deep', received_at: 0, sent_at: 0, secret_name: 'one' };
    const rest = { type: null, order_id: null, duplicates: 0, outcome: 'stored' as const };
    const body = Buffer.from(text);
    await daemon.store.db
      .insertInto('webhook_event')
      .values({ ...row, ...rest, last_duplicate_at: null, body })
      .execute();
    const shown = await house.call('events', 'show', 'msg_deep', '--json');
    expect(JSON.parse(shown.stdout)).toMatchObject({ form: 'text', body: text });
    expect((await house.call('events', 'show', 'msg_deep')).stdout).toContain(text);
  });

  it('lists, shows and replays what has come (R14), and prints links into the portal', async () => {
    const house = await startHouse();
    const daemon = await house.start();
    publishOrder(house);
    house.reference.relay.publish('stock.moved', { stock: 1 });
    const orderId = orderOf(house);
    await until('both events and the read', async () => {
      const events = await daemon.store.db.selectFrom('webhook_event').select('type').execute();
      const refresh = await daemon.store.db.selectFrom('refresh').select('order_id').execute();
      return (events.length === 2 && refresh.length === 0) || undefined;
    });
    const list = async (...args: readonly string[]) =>
      JSON.parse((await house.call('events', 'list', '--json', ...args)).stdout);
    expect(await list()).toHaveLength(2);
    expect(await list('--type', 'stock.moved')).toMatchObject([{ outcome: 'stored' }]);
    expect(await list('--since', '1h', '--order', String(orderId))).toHaveLength(1);
    expect(await list('--since', '2100-01-01')).toEqual([]);
    const [{ eventId }] = await list('--type', 'order_created');
    expect((await house.call('events', 'list')).stdout).toMatch(/RECEIVED .*\n.*msg_/);

    const shown = await house.call('events', 'show', eventId, '--json');
    expect(JSON.parse(shown.stdout)).toMatchObject({
      ...{ eventId, orderId, form: 'json', waiting: null },
      body: { type: 'sales_order.order_created', data: { salesOrder: { orderId } } },
    });
    expect((await house.call('events', 'show', eventId)).stdout).toMatch(/signed by {2}listener/);
    const absent = await house.call('events', 'show', 'msg_none');
    expect(absent.stderr).toContain('there is no event msg_none');

    const dry = await house.call('events', 'replay', '--since', '1h', '--dry-run');
    expect(dry.stdout).toBe('2 events: 1 orders would be read again, 1 name none\n');
    const reads = () => house.reference.edge.journal.list({ path: `*/orders/${orderId}` }).length;
    const before = reads();
    const replay = await house.call('events', 'replay', eventId, '--reason', 'trying', '--json');
    expect(JSON.parse(replay.stdout)).toMatchObject({ events: 1, orders: 1, withoutOrder: 0 });
    await until('one more read', () => reads() > before || undefined);
    const audit = await daemon.store.db.selectFrom('audit').selectAll().execute();
    expect(audit).toMatchObject([{ action: 'events.replay', reason: 'trying' }]);
    const wrong = await house.call('events', 'replay', eventId, 'msg_none');
    expect(wrong).toMatchObject({ code: 1 });
    expect((await house.call('events', 'replay')).stderr).toMatch(/which events\?/);

    const links = [await openPortal(house)];
    await daemon.stop();
    // Without a daemon the wish is written, and the next start reads.
    const alone = await house.call('events', 'replay', '--since', '1h');
    expect(alone.stdout).toMatch(/^2 events: 1 orders are read again/);
    links.push(await openPortal(house));
    expect(new Set(links).size).toBe(2);
    const again = await house.call('portal', 'open', '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ expiresAt: expect.stringMatching(/^20/) });
    const asked = await house.call('audit', 'list', '--action', 'portal.open', '--json');
    const reasons = JSON.parse(asked.stdout).map((row: { reason: string }) => row.reason);
    expect(reasons).toEqual(['', 'new proxy', 'new proxy']);
  });
});
