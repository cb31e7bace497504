/** The body of an answer that is wanted as a whole, in memory that it shares with nobody. */

export interface Gathered {
  /**
   * Copied at once: chunks that wait for the last one grow old, and what is old the collector
   * frees only with everything else.
   */
  add(chunk: Buffer): void;
  /** More has come than was asked for. */
  isOver(): boolean;
  end(): Buffer;
}

/** Where an answer does not say how long its body is. */
const BYTES_FIRST = 65_536;

/** `told` is what the answer says of its length. */
export function createGathered(told: string | undefined, bytesMax: number): Gathered {
  const bytesTold = Number(told ?? BYTES_FIRST);
  let whole = Buffer.allocUnsafeSlow(Math.min(bytesTold, bytesMax) || 0);
  let length = 0;
  return {
    add(chunk) {
      const needed = length + chunk.length;
      if (needed > whole.length) whole = Buffer.from(whole.buffer.transfer(needed * 2));
      length += chunk.copy(whole, length);
    },
    isOver: () => length > bytesMax,
    end: () => (length === whole.length ? whole : Buffer.from(whole.buffer.transfer(length))),
  };
}
