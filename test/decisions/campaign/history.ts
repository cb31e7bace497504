/** A value over time, as it was set. */
export class History<T> {
  readonly #spells: { readonly from: number; readonly value: T }[];

  constructor(first: T) {
    this.#spells = [{ from: 0, value: first }];
  }

  get now(): T {
    const last = this.#spells.at(-1);
    if (!last) throw new Error('a history without a beginning');
    return last.value;
  }

  /** Nothing was ever set. */
  get isNew(): boolean {
    return this.#spells.length === 1;
  }

  set(at: number, value: T): void {
    this.#spells.push({ from: at, value });
  }

  /** Every value that it had at any moment of this time. */
  within(from: number, until: number): readonly T[] {
    return this.#spells
      .filter((spell, at) => {
        const endedAt = this.#spells[at + 1]?.from ?? Number.POSITIVE_INFINITY;
        return spell.from <= until && endedAt >= from;
      })
      .map(({ value }) => value);
  }
}

export function historyIn<K, T>(map: Map<K, History<T>>, key: K, first: T): History<T> {
  const history = map.get(key) ?? new History(first);
  map.set(key, history);
  return history;
}
