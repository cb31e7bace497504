/** A status outside the known ones cannot be decided on. */
export class UnknownStatus extends Error {
  override readonly name = 'UnknownStatus';
}

/** Null: it is another one, which nobody knows. */
export function statusAmong<S extends string>(known: readonly S[], status: string): S | null {
  return known.find((candidate) => candidate === status) ?? null;
}

export function knownStatus<S extends string>(known: readonly S[], status: string): S {
  const found = statusAmong(known, status);
  if (found === null) throw new UnknownStatus(`unknown status "${status}"`);
  return found;
}
