/** A drop folder over a real store, without a daemon. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { createFolderChannel } from '../../../src/outbox/intake/folder-channel.ts';
import type { Intake } from '../../../src/outbox/intake/intake.ts';
import type { SqliteStore } from '../../../src/store/store.ts';
import { until } from '../../support/house.ts';
import { temporaryFolder, temporaryStore } from '../../support/store.ts';
import { DAY_MS, hastyClock, intakeOf, order, runWorker } from './support.ts';

export interface Dropped {
  readonly store: SqliteStore;
  readonly intake: Intake;
  readonly folder: string;
  readonly start: () => ReturnType<typeof runWorker>;
  /** Renames a file in, as the documentation says. */
  drop(name: string, content: string): void;
  receipt(path: string): Promise<z.output<typeof receiptSchema>>;
}

const receiptSchema = z.object({
  file: z.string(),
  sha256: z.string(),
  final: z.boolean(),
  documents: z.array(
    z.looseObject({
      line: z.int(),
      documentId: z.int().nullable(),
      state: z.string(),
      problems: z.array(z.object({ path: z.string(), message: z.string() })),
    }),
  ),
});

export async function openFolder(
  fileBytesMax = 100_000,
  beforeTaking: () => void = () => undefined,
  log = silentLogger(),
  clock = hastyClock(),
): Promise<Dropped> {
  const store = await temporaryStore(systemClock());
  const folder = temporaryFolder();
  const intake = intakeOf(store);
  const submit: Intake['submit'] = (delivered) => {
    beforeTaking();
    return intake.submit(delivered);
  };
  const deps = { store, intake: { submit }, clock, log, folder };
  const start = () =>
    runWorker(createFolderChannel({ ...deps, settleMs: 0, fileBytesMax, keepMs: DAY_MS }));
  return {
    ...{ store, intake, folder, start },
    drop(name, content) {
      writeFileSync(join(folder, `.${name}.tmp`), content);
      renameSync(join(folder, `.${name}.tmp`), join(folder, name));
    },
    async receipt(path) {
      const whole = join(folder, `${path}.receipt.json`);
      await until(path, () => existsSync(join(folder, path)) || undefined);
      return receiptSchema.parse(JSON.parse(readFileSync(whole, 'utf8')));
    },
  };
}

export function envelope(reference: string, quantity = 1, kind = 'order'): string {
  return JSON.stringify({ kind, reference, payload: order(quantity) });
}
