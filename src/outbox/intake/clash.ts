/** Two documents that want one reference: both, and where they differ. */

import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { DocumentOnFile } from '../corrections.ts';

export interface Clash {
  /** The document that has the reference; it stays as it is. */
  readonly existing: {
    readonly documentId: number;
    readonly state: string;
    readonly document: JsonObject;
  };
  readonly given: { readonly document: JsonObject };
  /** Such as `lines[0].quantity: 3 there, 4 here`; the first few. */
  readonly differences: readonly string[];
}

const DIFFERENCES_MAX = 20;

/** Every text, number and truth value with its place and as JSON. */
export function leavesOf(value: unknown, path: string, into: Map<string, string>): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) leavesOf(item, `${path}[${index}]`, into);
  } else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      leavesOf(member, path === '' ? name : `${path}.${name}`, into);
    }
  } else if (value !== undefined) {
    into.set(path, JSON.stringify(value));
  }
}

function differencesOf(there: JsonObject, here: JsonObject): string[] {
  const [old, given] = [new Map<string, string>(), new Map<string, string>()];
  leavesOf(there, '', old);
  leavesOf(here, '', given);
  const paths = [...new Set([...old.keys(), ...given.keys()])];
  const different = paths.filter((path) => old.get(path) !== given.get(path));
  const shown = different.slice(0, DIFFERENCES_MAX).map((path) => {
    const [was, is] = [old.get(path) ?? 'nothing', given.get(path) ?? 'nothing'];
    return `${path}: ${was} there, ${is} here`;
  });
  const more = different.length - shown.length;
  return more > 0 ? [...shown, `and ${more} more`] : shown;
}

export function clashOf(existing: DocumentOnFile, given: JsonObject): Clash {
  const { outboxId: documentId, state, document } = existing;
  return {
    existing: { documentId, state, document },
    given: { document: given },
    differences: differencesOf(document, given),
  };
}
