/** A small table of names: brands and types, of which some may be added, renamed and removed. */

/** Id and name of each row, and the id that comes next: a removed id is never given again. */
export interface NamesState {
  readonly rows: readonly (readonly [id: string, name: string])[];
  readonly nextId: number;
}

export interface Names {
  ids(): string[];
  get(id: string): string | undefined;
  add(name: string): string;
  change(id: string, name: string): void;
  remove(id: string): void;
  state(): NamesState;
  restore(state: NamesState): void;
}

export function createNames(first: readonly string[]): Names {
  let rows = new Map(first.map((name, index) => [String(index + 1), name]));
  let nextId = first.length + 1;
  return {
    ids: () => [...rows.keys()],
    get: (id) => rows.get(id),
    add(name) {
      const id = String(nextId);
      nextId += 1;
      rows.set(id, name);
      return id;
    },
    change(id, name) {
      rows.set(id, name);
    },
    remove(id) {
      rows.delete(id);
    },
    state: () => ({ rows: [...rows], nextId }),
    restore(state) {
      rows = new Map(state.rows);
      nextId = state.nextId;
    },
  };
}
