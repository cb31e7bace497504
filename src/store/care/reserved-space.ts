/**
 * Reserved space: a file without meaning (`store.ballast`). On a full disk it is removed, so that
 * the outcomes of pushes in progress can still be written; when there is room again, it is made
 * again.
 */
import { rmSync, statSync, truncateSync } from 'node:fs';
import { open } from 'node:fs/promises';

export interface ReservedSpace {
  readonly bytes: number;
  /** Frees the reserved space at once; false: there was none. */
  release(): boolean;
  /** Makes the file if it does not exist, until `signal` aborts. Nobody has to wait for it. */
  restore(signal?: AbortSignal): Promise<void>;
}

const CHUNK_BYTES = 1_048_576;

export function createReservedSpace(path: string, bytes: number): ReservedSpace {
  const size = (): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  let isWanted = true;
  let making: Promise<void> | undefined;
  const release = (): boolean => {
    const held = size() > 0;
    isWanted = false;
    // While the file is being made, its space would stay taken until it is closed, so it is cut
    // first.
    if (held) truncateSync(path);
    rmSync(path, { force: true });
    return held;
  };
  const make = async (signal: AbortSignal | undefined): Promise<void> => {
    isWanted = true;
    await using file = await open(path, 'w', 0o600);
    try {
      // The bytes are really written, because a file with a hole would take no room.
      const chunk = Buffer.alloc(CHUNK_BYTES);
      for (let left = bytes; left > 0 && isWanted && !signal?.aborted; ) {
        const { bytesWritten } = await file.write(chunk, 0, Math.min(left, CHUNK_BYTES));
        left -= bytesWritten;
      }
    } catch (error) {
      // A half file helps nobody and would hold the last free bytes.
      release();
      throw error;
    }
  };
  return {
    bytes,
    release,
    async restore(signal) {
      if (!making && (bytes === 0 || size() >= bytes)) return;
      making ??= make(signal).finally(() => {
        making = undefined;
      });
      await making;
    },
  };
}
