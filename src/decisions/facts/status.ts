/** A status outside the known ones cannot be decided on. */
export class UnknownStatus extends Error {
  override readonly name = 'UnknownStatus';
}

export function knownStatus<S extends string>(known: readonly S[], status: string): S {
  const found = known.find((candidate) => candidate === status);
  if (found === undefined) throw new UnknownStatus(`unknown status "${status}"`);
  return found;
}
