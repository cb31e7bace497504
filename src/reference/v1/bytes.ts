/**
 * A growing piece of output. Long lists are put together as bytes: what rows have in common is
 * encoded once and copied, which is several times faster than encoding the text of every row.
 */

const GROWTH = 2;

export interface ByteSink {
  /** Text of ASCII characters only. */
  ascii(text: string): void;
  bytes(piece: Uint8Array): void;
  length(): number;
  /** What was collected; the sink is empty afterwards. */
  take(): Buffer;
}

export function createByteSink(capacity: number): ByteSink {
  let buffer = Buffer.allocUnsafe(capacity);
  let length = 0;
  const make = (room: number): void => {
    if (length + room <= buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(buffer.length * GROWTH, length + room));
    buffer.copy(larger, 0, 0, length);
    buffer = larger;
  };
  return {
    ascii(text) {
      make(text.length);
      length += buffer.write(text, length, 'latin1');
    },
    bytes(piece) {
      make(piece.length);
      buffer.set(piece, length);
      length += piece.length;
    },
    length: () => length,
    take() {
      const taken = buffer.subarray(0, length);
      buffer = Buffer.allocUnsafe(capacity);
      length = 0;
      return taken;
    },
  };
}
