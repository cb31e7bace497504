/**
 * Room that is kept for the worst moment: a file that holds nothing. When the disk is full it is
 * removed, so that the outcome of what is on its way can still be written down; when there is room
 * again it is made anew.
 */
import { rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';

export interface Ballast {
  /** Whether there was anything to give up. */
  release(): boolean;
  /** Makes it, if it is not there. Nothing else has to wait meanwhile. */
  restore(): Promise<void>;
}

const CHUNK_BYTES = 1_048_576;

export function createBallast(path: string, bytes: number): Ballast {
  const size = (): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  let making: AbortController | undefined;
  const make = async ({ signal }: AbortController): Promise<void> => {
    await using file = await open(path, 'w', 0o600);
    // Written out: a file with a hole would take no room.
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let left = bytes; left > 0 && !signal.aborted; left -= CHUNK_BYTES) {
      await file.write(chunk, 0, Math.min(left, CHUNK_BYTES));
    }
  };
  return {
    release() {
      const held = size() > 0;
      making?.abort();
      rmSync(path, { force: true });
      return held;
    },
    async restore() {
      if (making || bytes === 0 || size() >= bytes) return;
      making = new AbortController();
      await make(making).finally(() => {
        making = undefined;
      });
    },
  };
}
