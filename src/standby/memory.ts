/**
 * File `standby.json` in the data folder: the highest timeline that was seen, and the takings of
 * this data folder. It is durable before what it says is used, so that a process that died in the
 * midst of a taking knows it for its own.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errorCode, StoreError, toError } from '../lib/errors.ts';
import { tryParseJson } from '../lib/json.ts';
import type { StandbySettings } from './settings.ts';

const PROOF = z.object({
  taking: z.string(),
  /** Whether the machine before had stopped sending, and all is recorded. */
  isHandedOver: z.boolean(),
  /** Whether the record is proven to have all that was acknowledged. */
  isProven: z.boolean(),
  /** Whether a taking before it was cut off, too. */
  isAgain: z.boolean(),
});

const MEMORY = z.object({
  /** Machine and data folder that wrote it. */
  machine: z.string().optional(),
  timeline: z.int().default(0),
  /** The last first; the one that was asked for may never have come true. */
  takings: z.array(z.string()).default([]),
  /** Proof of the last take-over. What cannot be read is not proven. */
  proof: PROOF.optional().catch(undefined),
});

/** Proof of the record when a take-over took the lease. */
export type Proof = Omit<z.output<typeof PROOF>, 'taking'>;

export interface Memory {
  highest(): number;
  saw(timeline: number): void;
  /** Whether this data folder drew the taking. */
  isOwn(taking: string): boolean;
  /** The last takings of this data folder. */
  takings(): readonly string[];
  /** Whether this data folder ever held the lease, or asked for it. */
  hasHeld(): boolean;
  /** Notes a taking before it is asked for; of a take-over, with what was proven. */
  note(taking: string, proof?: Proof): void;
  /** Proof when a take-over by this taking began; undefined: nothing is known of that. */
  proofOf(taking: string): Proof | undefined;
}

const FILE = 'standby.json';
/** Takings that may be asked for while PostgreSQL leaves each answer unknown. */
const TAKINGS_MAX = 16;

function read(path: string): z.output<typeof MEMORY> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return MEMORY.parse({});
    throw thrown;
  }
  const { data } = MEMORY.safeParse(tryParseJson(text));
  if (data) return data;
  throw new StoreError('standby.memory', `${path} cannot be understood`, {
    hint: 'remove it: this machine then waits until the lease has run out',
  });
}

function write(path: string, memory: z.output<typeof MEMORY>): void {
  const handle = openSync(`${path}.partial`, 'w', 0o600);
  try {
    writeSync(handle, JSON.stringify(memory));
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(`${path}.partial`, path);
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** The memory of this machine: of a copied data folder only the timeline is believed. */
export function openMemory({
  dataDir,
  machine,
}: Pick<StandbySettings, 'dataDir' | 'machine'>): Memory {
  const path = join(dataDir, FILE);
  const found = read(path);
  const isOurs = found.machine === undefined || found.machine === machine;
  let memory = isOurs ? found : MEMORY.parse({ timeline: found.timeline });
  const keep = (change: Partial<typeof memory>): void => {
    const next = { ...memory, ...change, machine };
    try {
      write(path, next);
      syncFolder(dataDir);
    } catch (cause) {
      const message = `${path} cannot be written: ${toError(cause).message}`;
      throw new StoreError('standby.memory', message, { hint: 'make room on the disk', cause });
    }
    memory = next;
  };
  return {
    highest: () => memory.timeline,
    saw: (timeline) => keep({ timeline }),
    isOwn: (taking) => memory.takings.includes(taking),
    takings: () => memory.takings,
    hasHeld: () => memory.takings.length > 0,
    note: (taking, proof) =>
      keep({
        takings: [taking, ...memory.takings].slice(0, TAKINGS_MAX),
        proof: proof && { ...proof, taking },
      }),
    proofOf: (taking) => (memory.proof?.taking === taking ? memory.proof : undefined),
  };
}
