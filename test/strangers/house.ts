/** The stranger, the configuration that `selvedge init` writes for it, and a daemon with that. */
import { once } from 'node:events';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { inject, onTestFinished } from 'vitest';
import { z } from 'zod';
import { requireConfig } from '../../src/config/load.ts';
import type { Config } from '../../src/config/schema.ts';
import { openDaemon } from '../../src/daemon/daemon.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';
import { localFile } from '../../src/local-api/ask.ts';
import { exchangeFile } from '../../src/store/exchange/exchange.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { type CliRun, selvedge } from '../cli/support.ts';
import { testLogger, until, WEBHOOK_SECRET } from '../support/house.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';
import { type Stranger, type StrangerDelivery, startStranger } from './service.mjs';

const TOKEN = 'the-token-of-the-erp-0123456789';

/** Accepts what is small; the rest waits. */
const RULES = `
rules:
  - id: accept-small
    title: Small deliveries
    action: accept
    mode: live
    when:
      - delivery.quantity <= 20
      - delivery.currency == "DKK"

`;

export interface Initialized {
  /** Path of the written configuration. */
  readonly file: string;
  readonly run: CliRun;
  readonly v1: string;
  readonly v2: string;
}

export interface HouseOptions {
  /** Clock of both sides. */
  readonly clock?: Clock;
  readonly flags?: Readonly<Record<string, unknown>>;
  /** Changes the body of a new order on its way, as an account would that reads it otherwise. */
  readonly onOrder?: (body: string) => string;
}

/** The same account each time: its keys follow from the seed. */
const SEED = 11;

/** An address that passes everything on to the stranger, new orders changed. */
async function changing(v1: string, onOrder: (body: string) => string): Promise<string> {
  const { origin, pathname } = new URL(v1);
  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '', headers } = request;
    const sent = await text(request);
    const isOrder = method === 'POST' && url === `${pathname}/orders`;
    const body = isOrder ? onOrder(sent) : sent;
    const kept = ['authorization', 'content-type', 'x-service-authorization'];
    const answer = await fetch(origin + url, {
      method,
      headers: Object.fromEntries(kept.map((name) => [name, String(headers[name] ?? '')])),
      body: method === 'GET' ? null : body,
    });
    const type = answer.headers.get('content-type') ?? '';
    response.writeHead(answer.status, { 'content-type': type }).end(await answer.text());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return `http://127.0.0.1:${port}${pathname}`;
}

/** `selvedge init` with the address and the credentials of the stranger, and nothing else. */
export async function initialize(folder: string): Promise<Initialized> {
  const stranger = await startStranger({ seed: SEED, rate: 0 });
  const secret = (name: string, value: string): string => {
    writeFileSync(join(folder, name), value, { mode: 0o600 });
    return join(folder, name);
  };
  const { v1, v2 } = stranger.credentials;
  const file = join(folder, 'selvedge.yaml');
  const run = await selvedge([
    ...['init', '--url', stranger.v1, '--output', file, '--login-spacing', '0s'],
    ...['--client-id', v1.clientID, '--client-secret-file', secret('v1', v1.clientSecret)],
    ...['--v2-client-id', v2.clientId, '--v2-client-secret-file', secret('v2', v2.clientSecret)],
    ...['--webhook-secret-file', secret('hook', WEBHOOK_SECRET)],
  ]);
  await stranger.close();
  return { file, run, v1: stranger.v1, v2: stranger.v2 };
}

/** The account again at another port, and what init wrote with that in its addresses. */
async function moved({ file, v1, v2 }: Initialized, { clock, flags, onOrder }: HouseOptions) {
  const now = clock === undefined ? {} : { now: clock.now };
  const stranger = await startStranger({ seed: SEED, rate: 0, ...flags, ...now });
  onTestFinished(() => stranger.close());
  const url = onOrder ? await changing(stranger.v1, onOrder) : stranger.v1;
  const folder = temporaryFolder();
  cpSync(dirname(file), folder, { recursive: true });
  // The rules that init copies are of another shop.
  const rules = join(folder, 'rules');
  for (const name of readdirSync(rules)) rmSync(join(rules, name));
  writeFileSync(join(rules, 'rules.yaml'), RULES);
  const own = join(folder, 'selvedge.yaml');
  const text = readFileSync(own, 'utf8').replaceAll(v1, url).replaceAll(v2, stranger.v2);
  writeFileSync(own, text);
  return { stranger, file: own };
}

/** Adapts what init writes: ports of its own for this machine, and rules that act. */
function inTest(config: Config): Config {
  return {
    ...config,
    listener: { ...config.listener, port: 0, keepAlive: 0 },
    local: { ...config.local, port: 0 },
    rules: { ...config.rules, mode: 'live' },
    decisions: { ...config.decisions, settle: 0 },
    intake: { ...config.intake, clients: [{ name: 'erp', token: new Secret('token', TOKEN) }] },
  };
}

const receiptSchema = z.looseObject({
  documentId: z.int().nullable(),
  state: z.string(),
  final: z.boolean(),
  orderId: z.int().nullable(),
  problems: z.array(z.looseObject({ path: z.string(), message: z.string() })),
  nextStep: z.string(),
});
type Receipt = z.output<typeof receiptSchema>;

export interface House {
  readonly stranger: Stranger;
  readonly file: string;
  readonly db: SqliteStore['db'];
  readonly dataDir: string;
  /** Submits a document, and waits for its end unless it is told what to wait for. */
  push(path: string, document: object, until?: (receipt: Receipt) => boolean): Promise<Receipt>;
  /** A delivery of the order, as the stranger has it. */
  delivery(orderDeliveryId: number): StrangerDelivery;
  call(...args: readonly string[]): Promise<CliRun>;
}

export async function startHouse(
  initialized: Initialized,
  options: HouseOptions = {},
): Promise<House> {
  const { clock = systemClock() } = options;
  const { stranger, file } = await moved(initialized, options);
  const config = inTest(requireConfig({ file, env: {} }).config);
  placeDatabase(join(config.dataDir, 'mirror.db'));
  placeDatabase(exchangeFile(config), inject('migratedExchange'));
  const daemon = await openDaemon(config, {
    ...{ clock, random: systemRandom() },
    ...{ log: testLogger(), scrubber: createScrubber() },
  });
  const stop = new AbortController();
  const done = daemon.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await done;
  });
  stranger.setEndpoint((await daemon.listenerUrl) ?? '', WEBHOOK_SECRET);
  const { db } = daemon.store;
  const { dataDir } = config;
  const local = await until('the local API', () => {
    try {
      return z
        .object({ url: z.string() })
        .parse(JSON.parse(readFileSync(localFile(dataDir), 'utf8')));
    } catch {
      return undefined;
    }
  });
  const http = async (path: string, init: RequestInit = {}): Promise<Receipt> => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const answer = await fetch(`${local.url}${path}`, { ...init, headers });
    return receiptSchema.parse(await answer.json());
  };
  return {
    ...{ stranger, file, db, dataDir },
    async push(path, document, isEnd = ({ final }) => final) {
      const receipt = await http(path, { method: 'POST', body: JSON.stringify(document) });
      if (receipt.documentId === null) return receipt;
      return until(`the end of ${path}`, async () => {
        const now = await http(`/api/documents/${receipt.documentId}`);
        return isEnd(now) ? now : undefined;
      });
    },
    delivery(orderDeliveryId) {
      const found = stranger.state.deliveries.find(
        (one) => one.orderDeliveryId === orderDeliveryId,
      );
      if (!found) throw new Error(`no delivery ${orderDeliveryId}`);
      return found;
    },
    call: (...args) => selvedge([...args, '--config', file]),
  };
}

/** Every stream has been read to its end. */
export async function untilComplete({ db }: House, streams: readonly string[]): Promise<void> {
  for (const stream of streams) {
    await until(`a complete run of ${stream}`, async () =>
      db
        .selectFrom('sync_run')
        .select('run_id')
        .where('stream', '=', stream)
        .where('outcome', '=', 'complete')
        .executeTakeFirst(),
    );
  }
}
