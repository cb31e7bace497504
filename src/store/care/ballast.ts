/**
 * Room that is kept for the worst moment: a file that holds nothing. When the disk is full it is
 * removed, so that the outcome of what is on its way can still be written down; when there is room
 * again it is made anew.
 */
import { rmSync, statSync, writeFileSync } from 'node:fs';

export interface Ballast {
  /** Whether there was anything to give up. */
  release(): boolean;
  /** Makes it, if it is not there. */
  restore(): void;
}

const CHUNK_BYTES = 1_048_576;

export function createBallast(path: string, bytes: number): Ballast {
  const size = (): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return {
    release() {
      const held = size() > 0;
      rmSync(path, { force: true });
      return held;
    },
    restore() {
      if (bytes === 0 || size() >= bytes) return;
      rmSync(path, { force: true });
      // Written out: a file with a hole would take no room.
      const chunk = Buffer.alloc(CHUNK_BYTES);
      for (let left = bytes; left > 0; left -= CHUNK_BYTES) {
        writeFileSync(path, chunk.subarray(0, Math.min(left, CHUNK_BYTES)), {
          flag: 'a',
          mode: 0o600,
        });
      }
    },
  };
}
