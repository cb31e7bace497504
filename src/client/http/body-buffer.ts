/** Buffer for a whole body, in memory of its own. */

export interface BodyBuffer {
  /**
   * Copies at once, because chunks that wait become old, and the collector frees old ones only in
   * full collections.
   */
  add(chunk: Buffer): void;
  /** More bytes arrived than wanted. */
  isOver(): boolean;
  end(): Buffer;
}

/** Initial size when the answer has no length. */
const BYTES_FIRST = 65_536;

/** `contentLength` is the answer's header. */
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
