/** Configurations of machines that run as processes of their own. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { tryParseJson } from '../../src/lib/json.ts';
import type { Reference } from '../../src/reference/reference.ts';
import { SIMPLE_RULES, WEBHOOK_SECRET } from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';

const TOKEN = 'the-token-of-the-erp-0123456789';

/** Writes the configuration of a machine; its lease is two seconds unless another one is given. */
export function configure(
  reference: Reference,
  url: string,
  more: { readonly backups?: string; readonly lease?: string } = {},
): { readonly file: string; readonly dataDir: string } {
  const folder = temporaryFolder();
  const [key] = Object.values(reference.credentials);
  if (!key) throw new Error('the reference has no key');
  mkdirSync(join(folder, 'rules'));
  writeFileSync(join(folder, 'rules', 'rules.yaml'), SIMPLE_RULES);
  const secret = (name: string, value: string) => {
    writeFileSync(join(folder, name), value, { mode: 0o600 });
    return { file: name };
  };
  const dataDir = join(folder, 'data');
  const file = join(folder, 'selvedge.yaml');
  const clientSecret = secret('client', key.clientSecret);
  const written = {
    dataDir,
    rules: { directory: join(folder, 'rules'), mode: 'live' },
    service: {
      v1: { baseUrl: reference.v1Url, login: { clientId: key.clientId, clientSecret } },
      limits: { requestsPerSecond: 2_000, loginSpacing: '0s' },
    },
    listener: { port: 0, secrets: [{ secret: secret('webhook', WEBHOOK_SECRET) }] },
    local: { port: 0 },
    console: { port: 0 },
    intake: { clients: [{ name: 'erp', token: secret('token', TOKEN) }] },
    streams: { off: ['brands', 'freight', 'seasons', 'stock', 'season'] },
    outbox: { quietTime: '20m' },
    ...(more.backups !== undefined && { store: { backup: { directory: more.backups } } }),
    standby: { servers: [secret('server', url)], lease: more.lease ?? '2s' },
  };
  writeFileSync(file, stringify(written));
  return { file, dataDir };
}

/** Submits an order; gives the status of the answer. */
export async function submitTo(
  dataDir: string,
  barcode: string | undefined,
  own: string,
): Promise<number> {
  const written = tryParseJson(readFileSync(join(dataDir, 'local.json'), 'utf8'));
  const local = z.object({ url: z.string() }).safeParse(written);
  // The daemon, another process, has begun to write it: as good as not there yet.
  if (!local.success) return 503;
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  // Documents of equal content would be taken for each other while one of them is in doubt.
  const quantity = 1 + Number(own.replace(/\D/g, ''));
  const lines = [{ barcode, quantity, price: '12.50', priceConfirmed: true }];
  const body = JSON.stringify({ reference: own, lines });
  return (await fetch(`${local.data.url}/api/orders`, { method: 'POST', headers, body })).status;
}
