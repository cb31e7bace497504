/** A daemon with all doors open beside a reference service, used as an ERP would use it. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { Secret } from '../../../src/lib/secret.ts';
import type { Reference } from '../../../src/reference/reference.ts';
import { type CliHouse, startCliHouse } from '../../cli/house.ts';
import { foreignSql } from '../../support/foreign-sql.ts';
import { until } from '../../support/house.ts';
import { temporaryFolder } from '../../support/store.ts';
import { startFastReference } from '../support.ts';

export const TOKEN = 'the-token-of-the-erp-0123456789';

export const receiptSchema = z.looseObject({
  documentId: z.int().nullable(),
  reference: z.string().nullable(),
  state: z.string(),
  final: z.boolean(),
  orderId: z.int().nullable(),
  orderNo: z.string().nullable(),
  problems: z.array(z.looseObject({ path: z.string(), message: z.string() })),
  nextStep: z.string(),
});
type Receipt = z.output<typeof receiptSchema>;

interface HttpAnswer {
  readonly status: number;
  readonly location: string | null;
  readonly body: Record<string, unknown>;
}

export interface DoorHouse extends CliHouse {
  readonly reference: Reference;
  readonly inbox: string;
  readonly url: string;
  /** A payload that the service takes. */
  order(quantity?: number): { readonly lines: readonly Record<string, unknown>[] };
  sql(text: string): string;
  insert(reference: string, payload: unknown, kind?: string): number;
  drop(name: string, content: string): void;
  http(path: string, init?: RequestInit): Promise<HttpAnswer>;
  post(path: string, payload: unknown, headers?: Record<string, string>): Promise<HttpAnswer>;
  /** The receipt of the SQL door, once it is final. */
  sqlEnd(intakeId: number): Promise<Receipt>;
  fileEnd(path: string): Promise<readonly Receipt[]>;
  httpEnd(documentId: number): Promise<Receipt>;
  ordersWith(reference: string): number;
}

/** Nothing is pulled unless a test wants it: what is wrong is left to the service to say. */
export const STREAMS = [
  'brands',
  'freight',
  'seasons',
  'stock',
  'season',
  'orders',
  'ordersFull',
] as const;

const fileSchema = z.object({ final: z.boolean(), documents: z.array(receiptSchema) });

const SQL_RECEIPT = `SELECT json_object('documentId', document_id, 'reference', reference,
  'state', state, 'final', json(iif(final, 'true', 'false')), 'orderId', order_id,
  'orderNo', order_no, 'deliveries', json(deliveries), 'problems', json(problems),
  'nextStep', next_step) FROM receipt`;

export async function openDoors(
  overrides: Readonly<Record<string, unknown>> = {},
  knobs: Record<string, unknown> = {},
): Promise<DoorHouse> {
  const reference = await startFastReference({ world: { styles: 20, orders: 3 }, ...knobs });
  const inbox = join(temporaryFolder(), 'in');
  const settings: Record<string, unknown> = {
    'intake.folder.path': inbox,
    'intake.folder.settle': '0s',
    'intake.clients': [{ name: 'erp', token: new Secret('token', TOKEN) }],
    'service.limits.loginSpacing': '0s',
    'streams.off': STREAMS,
    ...overrides,
  };
  const house = await startCliHouse(reference, {
    overrides: Object.entries(settings).map(([path, value]) => ({ path, value })),
  });
  const data = join(house.folder, 'data');
  const local: unknown = JSON.parse(readFileSync(join(data, 'local.json'), 'utf8'));
  const { url } = z.object({ url: z.string() }).parse(local);
  const sql = (text: string): string => foreignSql(join(data, 'exchange.db'), text).trim();
  await until('the exchange database', () => {
    return existsSync(join(data, 'exchange.db')) && existsSync(join(inbox, 'done'))
      ? true
      : undefined;
  });
  const [barcode] = reference.world.book.orders.all.flatMap(({ lines }) =>
    lines.map((line) => line.barcode),
  );
  const http = async (path: string, init: RequestInit = {}): Promise<HttpAnswer> => {
    const headers = { authorization: `Bearer ${TOKEN}`, ...init.headers };
    const answer = await fetch(`${url}${path}`, { ...init, headers });
    const body = z.record(z.string(), z.unknown()).parse(await answer.json());
    return { status: answer.status, location: answer.headers.get('location'), body };
  };
  const ended = <T extends { final: boolean }>(what: string, look: () => T | undefined) =>
    until(what, () => {
      const found = look();
      return found?.final ? found : undefined;
    });
  return {
    ...{ ...house, reference, inbox, url, sql, http },
    order: (quantity = 1) => ({ lines: [{ barcode, quantity, price: '12.50' }] }),
    insert(own, payload, kind = 'order') {
      const text = JSON.stringify(payload).replaceAll("'", "''");
      const values = `'${kind}', '${own}', '${text}'`;
      const into = `INSERT INTO intake(kind, reference, payload) VALUES (${values})`;
      return Number(sql(`${into} RETURNING intake_id`));
    },
    drop(name, content) {
      writeFileSync(join(inbox, `.${name}.tmp`), content);
      renameSync(join(inbox, `.${name}.tmp`), join(inbox, name));
    },
    post: (path, payload, headers = {}) =>
      http(path, {
        method: 'POST',
        body: typeof payload === 'string' ? payload : JSON.stringify(payload),
        headers: { 'content-type': 'application/json', ...headers },
      }),
    sqlEnd: (intakeId) =>
      ended(`the end of row ${intakeId}`, () => {
        const text = sql(`${SQL_RECEIPT} WHERE intake_id = ${intakeId}`);
        return text === '' ? undefined : receiptSchema.parse(JSON.parse(text));
      }),
    fileEnd: async (path) => {
      const whole = join(inbox, `${path}.receipt.json`);
      const found = await ended(`the end of ${path}`, () =>
        existsSync(whole) ? fileSchema.parse(JSON.parse(readFileSync(whole, 'utf8'))) : undefined,
      );
      return found.documents;
    },
    httpEnd: (documentId) =>
      until(`the end of document ${documentId}`, async () => {
        const { body } = await http(`/api/documents/${documentId}`);
        const receipt = receiptSchema.parse(body);
        return receipt.final ? receipt : undefined;
      }),
    ordersWith: (own) =>
      reference.world.book.orders.all.filter((order) => order.reference === own).length,
  };
}
