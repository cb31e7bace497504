/** The stock at some time, held against a history that the test keeps by itself. */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { writeStockVariants } from '../../src/mirror/catalog/out-of-band.ts';
import { STOCK_VARIANT } from '../../src/mirror/catalog/variant.ts';
import { markDeleted } from '../../src/mirror/list.ts';
import { findReport } from '../../src/report/report-file.ts';
import type { Store } from '../../src/store/store.ts';
import { selvedge } from '../cli/support.ts';
import { temporaryStore } from '../support/store.ts';

const BARCODES = ['b-1', 'b-2', 'b-3'];
const STYLES = ['S-1', 'S-2', 'S-3'];

/** Result of a read of a variant. */
interface Found {
  readonly styleNo: string | null;
  readonly quantity: number;
}

interface Step {
  readonly barcode: string;
  /** Null: it is not listed. */
  readonly found: Found | null;
  /** Milliseconds since the step before. */
  readonly after: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  barcode: fc.constantFrom(...BARCODES),
  found: fc.option(
    fc.record({
      styleNo: fc.constantFrom(...STYLES, null),
      quantity: fc.integer({ min: -1, max: 3 }),
    }),
    { freq: 2 },
  ),
  after: fc.constantFrom(0, 1_000, 1_000),
});

const moved = (styleNo: string): Found => ({ styleNo, quantity: 2 });
const BEGIN = 1_000;
const FIRST: Step = { barcode: 'b-1', found: moved('S-1'), after: 0 };

/** Writes it all into an empty mirror; gives the times of the steps. */
async function live(store: Store, steps: readonly Step[]): Promise<readonly number[]> {
  await store.transaction(async (tx) => {
    await tx.deleteFrom('change').execute();
    await tx.deleteFrom('stock_variant_row').execute();
  });
  let at = BEGIN;
  const times: number[] = [];
  for (const [index, { barcode, found, after }] of steps.entries()) {
    at += after;
    times.push(at);
    const read = { source: 'test', readSeq: index + 1, at };
    await store.transaction(async (tx) => {
      if (!found) return void (await markDeleted(tx, STOCK_VARIANT, [barcode], read));
      const { styleNo, quantity } = found;
      await writeStockVariants(tx, [{ barcode, quantity, details: { styleNo } }], read);
    });
  }
  return times;
}

/** A row for each variant that is there, by its barcode. */
type Stock = ReadonlyMap<string, Found>;

function stockOf(steps: readonly Step[]): Stock {
  const last = new Map(steps.map(({ barcode, found }) => [barcode, found]));
  return new Map([...last].flatMap(([barcode, found]) => (found ? [[barcode, found]] : [])));
}

const stateSchema = z.array(
  z.object({
    barcode: z.string(),
    state: z.nullable(z.object({ style_no: z.nullable(z.string()), quantity: z.number() })),
  }),
);

/** The three ways to ask about a time. */
function askers(path: string) {
  const config = join(dirname(path), 'selvedge.yaml');
  writeFileSync(
    config,
    `dataDir: ${dirname(path)}
service: { v1: { baseUrl: http://127.0.0.1:9, apiKey: { env: K } } }`,
  );
  const database = new Database(path, { readonly: true });
  onTestFinished(() => void database.close());
  const page = readFileSync(new URL('../../docs/reporting.md', import.meta.url), 'utf8');
  const [manual = ''] = (page.split('```sql as-of\n')[1] ?? '').split('```');
  const report = database.prepare(findReport(dirname(path), 'stock-as-of').sql);
  const pairs = z.array(z.tuple([z.string(), z.unknown()]));
  const column = (name: string, at: number) =>
    new Map(pairs.parse(database.prepare(manual.replaceAll('quantity', name)).raw().all({ at })));
  return {
    async command(wanted: string, at: number): Promise<Stock> {
      const time = new Date(at).toISOString();
      const args = ['stock', wanted, '--as-of', time, '--json', '--config', config];
      const { code, stdout } = await selvedge(args, { K: 'key-4711' });
      const told = stateSchema.parse(code === 0 ? JSON.parse(stdout) : []);
      return new Map(
        told.flatMap(({ barcode, state }) =>
          state ? [[barcode, { styleNo: state.style_no, quantity: state.quantity }]] : [],
        ),
      );
    },
    report(style: string, at: number) {
      const row = z.object({ barcode: z.string(), quantity: z.number() });
      return new Map(
        z
          .array(row)
          .parse(report.all({ style, at }))
          .map((told) => [told.barcode, told.quantity]),
      );
    },
    manual: (at: number) => ({
      styles: column('style_no', at),
      quantities: column('quantity', at),
    }),
  };
}

const ofStyle = (stock: Stock, style: string) =>
  new Map([...stock].filter(([, { styleNo }]) => styleNo === style));
const quantities = (stock: Stock) =>
  new Map([...stock].map(([barcode, { quantity }]) => [barcode, quantity]));
const sorted = <T>(map: ReadonlyMap<string, T>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));

it('the stock of a style, and of a barcode, is what it was at any time', async () => {
  const store = await temporaryStore();
  const ask = askers(store.path);
  const history = fc.array(step, { minLength: 1, maxLength: 12 });
  const wanted = [fc.constantFrom(...STYLES), fc.constantFrom(...BARCODES)] as const;
  const which = fc.nat({ max: 12 });
  const property = fc.asyncProperty(history, which, ...wanted, async (rest, n, style, barcode) => {
    const steps = [FIRST, ...rest];
    const times = await live(store, steps);
    const at = times[n % times.length] ?? BEGIN;
    const then = stockOf(steps.filter((_, index) => (times[index] ?? 0) <= at));
    const own = new Map([...then].filter(([one]) => one === barcode));
    expect(sorted(await ask.command(style, at))).toEqual(sorted(ofStyle(then, style)));
    expect(sorted(await ask.command(barcode, at))).toEqual(sorted(own));
    for (const one of STYLES) {
      expect(sorted(ask.report(one, at)), one).toEqual(sorted(quantities(ofStyle(then, one))));
    }
    const told = ask.manual(at);
    expect(sorted(told.quantities)).toEqual(sorted(quantities(then)));
    const styles = new Map([...then].map(([key, { styleNo }]) => [key, styleNo]));
    expect(sorted(told.styles)).toEqual(sorted(styles));
  });
  const cameBack: Step[] = [
    { barcode: 'b-1', found: null, after: 1_000 },
    { barcode: 'b-1', found: moved('S-2'), after: 1_000 },
  ];
  await fc.assert(property, { numRuns: 12, examples: [[cameBack, 0, 'S-1', 'b-1']] });
});
