/** Every shell and SQL example of the manual for the ERP, one after the other, as they stand. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { DEFAULT_FILE, readConfig } from '../../src/config/load.ts';
import { schemaAt } from '../../src/config/schema/shape.ts';
import { isJsonObject } from '../../src/lib/json.ts';
import { openDoors, receiptSchema, TOKEN } from '../e2e/doors/house.ts';
import { until } from '../support/house.ts';
import { LAUNCHER, launcherEnv } from '../support/launcher.ts';
import { temporaryFolder } from '../support/store.ts';

const manual = readFileSync(
  fileURLToPath(new URL('../../docs/erp-integration.md', import.meta.url)),
  'utf8',
);

interface Block {
  readonly info: string;
  readonly text: string;
}

const blocks: Block[] = [...manual.matchAll(/^```([^\n]+)\n(.*?)^```$/gms)].map((match) => ({
  info: match[1] ?? '',
  text: match[2] ?? '',
}));

/** A block as a piece of one script. */
function script({ info, text }: Block): string[] {
  if (info === 'sh') return [text];
  return info === 'sql'
    ? [`sqlite3 "$EXCHANGE" <<'SQL_OF_THE_MANUAL'\n${text}SQL_OF_THE_MANUAL\n`]
    : [];
}

async function bash(text: string, folder: string): Promise<{ code: unknown; output: string }> {
  writeFileSync(join(folder, 'manual.sh'), text);
  const child = spawn('bash', ['-euo', 'pipefail', 'manual.sh'], {
    cwd: folder,
    env: launcherEnv(),
  });
  onTestFinished(() => {
    child.kill();
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const [code] = await once(child, 'close');
  return { code, output };
}

it('holds: its examples do what it says, in the order in which they stand', async () => {
  const house = await openDoors();
  const [barcode = ''] = house.reference.world.book.orders.all.flatMap(({ lines }) =>
    lines.map((line) => line.barcode),
  );
  const config = join(house.folder, 'selvedge.yaml');
  const settings = [
    `EXCHANGE=${join(house.folder, 'data', 'exchange.db')}`,
    `INBOX=${house.inbox}`,
    `URL=${house.url}`,
    `TOKEN=${TOKEN}`,
    `selvedge() { ${process.execPath} ${LAUNCHER} --config ${config} "$@"; }`,
  ];
  const named = blocks.find(({ info }) => info === 'sh settings')?.text ?? '';
  for (const line of settings.slice(0, 4)) expect(named).toContain(line.split('=')[0]);
  const text = [...settings, ...blocks.flatMap(script)].join('\n');
  const { code, output } = await bash(text.replaceAll('5701234567899', barcode), temporaryFolder());
  expect(code, output).toBe(0);
  const count = `SELECT count(*) FROM receipt WHERE kind = 'order' AND state = 'confirmed'`;
  await until('all orders', () => (house.sql(count) === '8' ? true : undefined));
  for (let number = 1001; number <= 1008; number += 1) {
    expect(house.ordersWith(`SO-${number}`)).toBe(1);
  }
  expect(output).toContain('SO-1004: ');
  expect(output).toMatch(/SO-1007: fit/);
  expect(output).toMatch(/SO-1007: confirmed, document \d+, order SO-\d+/);
  expect(output).toMatch(/"reference": "RMA-1",\s+"state": "confirmed"/);
  const customers = await until('both customers', async () => {
    const rows = await house.daemon.store.db.selectFrom('erp_customer').selectAll().execute();
    return rows.length === 2 ? rows : undefined;
  });
  expect(customers).toMatchObject([
    { account_no: 'C-1001', balance: 12_499_5000, extra: '{"price_group":"A"}' },
    { account_no: 'C-1002', blocked: 1, overdue_days: 45 },
  ]);
});

it('shows settings that exist, and a receipt with every member', () => {
  const { schema } = readConfig({ file: DEFAULT_FILE, env: {} });
  const unknown = (value: unknown, path: readonly string[]): string[] =>
    isJsonObject(value)
      ? Object.entries(value).flatMap(([name, member]) => {
          const here = [...path, name];
          return schemaAt(schema, here) ? unknown(member, here) : [here.join('.')];
        })
      : [];
  const settings = blocks.filter(({ info }) => info === 'yaml').map(({ text }) => text);
  expect(settings.length).toBeGreaterThan(3);
  expect(settings.flatMap((text) => unknown(parse(text), []))).toEqual([]);
  const [receipt = ''] = blocks.filter(({ info }) => info === 'json').map(({ text }) => text);
  expect(receiptSchema.parse(JSON.parse(receipt))).toMatchObject({ state: 'confirmed' });
});
