/** An ERP that submits orders through the SQL door and the drop folder while all this happens. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Clock } from '../../../src/lib/clock.ts';

const BUSY_MS = 200;
const TRIES = 300;

export interface Erp {
  /** References that a door has taken: the COMMIT succeeded, or the file has its name. */
  readonly taken: readonly string[];
  submit(count: number): Promise<void>;
}

interface Line {
  readonly barcode: string;
  readonly price: number;
}

export function openErp(folder: string, line: Line, clock: Clock): Erp {
  const inbox = join(folder, 'in');
  mkdirSync(inbox, { recursive: true });
  const taken: string[] = [];
  const { barcode, price } = line;
  const payload = { lines: [{ barcode, quantity: 3, price }] };
  let last = 0;
  const nextReference = (): string => {
    last += 1;
    return `ERP-${String(last).padStart(5, '0')}`;
  };
  const insert = (references: readonly string[]): void => {
    const exchange = new Database(join(folder, 'data', 'exchange.db'), { timeout: BUSY_MS });
    try {
      const into = exchange.prepare(
        "insert into intake (kind, reference, payload) values ('order', ?, ?)",
      );
      exchange
        .transaction(() => {
          for (const reference of references) into.run(reference, JSON.stringify(payload));
        })
        .immediate();
    } finally {
      exchange.close();
    }
  };
  const bySql = async (references: readonly string[]): Promise<void> => {
    for (let left = TRIES; ; left -= 1) {
      try {
        insert(references);
        taken.push(...references);
        return;
      } catch (error) {
        // Without a COMMIT nothing was submitted: the same comes again.
        if (left === 0) throw error;
        await clock.sleep(BUSY_MS);
      }
    }
  };
  const byFile = (references: readonly string[]): void => {
    const name = `${references[0]}.json`;
    const lines = references.map((reference) =>
      JSON.stringify({ kind: 'order', reference, ...payload }),
    );
    writeFileSync(join(inbox, `.${name}.tmp`), lines.join('\n'));
    renameSync(join(inbox, `.${name}.tmp`), join(inbox, name));
    taken.push(...references);
  };
  return {
    taken,
    async submit(count) {
      const references = Array.from({ length: count }, nextReference);
      const half = Math.ceil(count / 2);
      if (count > 1) byFile(references.slice(half));
      await bySql(references.slice(0, half));
    },
  };
}
