/**
 * Replaces a row that is too long to be held by a short one with its length, digest and beginning,
 * so that its neighbours are read normally.
 */
import { createHash } from 'node:crypto';
import { isJsonObject, tryParseJson } from '../json.ts';

/** Bytes that are kept of the beginning of a row that is too long. */
const HEAD_BYTES = 1_000;

const MEMBER = 'rowTooLong';

/** Matches the first member of a row if its value is a text; it usually is the key. */
const FIRST_TEXT = /^\{\s*"(?:[^"\\]|\\.)*"\s*:\s*"(?:[^"\\]|\\.)*"/;

function firstMember(head: string): Record<string, unknown> {
  const found = tryParseJson(`${FIRST_TEXT.exec(head)?.[0] ?? '{'}}`);
  return isJsonObject(found) ? found : {};
}

/** Collects the bytes of a row that is too long, part by part. */
export class LongRow {
  readonly #hash = createHash('sha256');
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #size = 0;

  add(part: Uint8Array): void {
    this.#hash.update(part);
    if (this.#size < HEAD_BYTES)
      this.#head.set(part.subarray(0, HEAD_BYTES - this.#size), this.#size);
    this.#size += part.length;
  }

  /** Gives the short row in place of the long one, as JSON. */
  end(): Buffer {
    const begins = this.#head.toString('utf8', 0, Math.min(this.#size, HEAD_BYTES));
    const summary = { size: this.#size, sha256: this.#hash.digest('hex'), begins };
    return Buffer.from(JSON.stringify({ ...firstMember(begins), [MEMBER]: summary }));
  }
}

/**
 * Size in bytes of the long row that a short one replaces; undefined: the row is an ordinary one.
 */
export function sizeOfLongRow(row: unknown): number | undefined {
  const summary = isJsonObject(row) ? row[MEMBER] : undefined;
  return isJsonObject(summary) && typeof summary.size === 'number' ? summary.size : undefined;
}
