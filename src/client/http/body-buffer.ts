/** Collects a whole answer body in memory of its own. */

export interface BodyBuffer {
  /**
   * Adds the bytes of a chunk by copying them at once: chunks that wait become old, and the garbage
   * collector frees old ones only in full collections.
   */
  add(chunk: Buffer): void;
  /** Whether more bytes arrived than `bytesMax`. */
  isOver(): boolean;
  end(): Buffer;
}

/** Initial bytes of the buffer when the answer states no length. */
const BYTES_FIRST = 65_536;

/** `contentLength` is the answer's header, from which the buffer gets its size. */
export function createBodyBuffer(contentLength: string | undefined, bytesMax: number): BodyBuffer {
  const bytesExpected = Number(contentLength ?? BYTES_FIRST);
  let whole = Buffer.allocUnsafeSlow(Math.min(bytesExpected, bytesMax) || 0);
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
