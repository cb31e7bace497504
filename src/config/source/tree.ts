/** Configuration values that remember where each was written, and how such trees are laid over. */
/** Place of a written value. Lines and columns count from 1. */
export interface Place {
  readonly source: 'default' | 'file';
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
}

/** `nameAt` is where the name of the setting stands, `at` where its value does. */
interface Placed {
  readonly at: Place;
  readonly nameAt: Place;
}

export type Tree = Placed &
  (
    | { readonly kind: 'map'; readonly members: ReadonlyMap<string, Tree> }
    | { readonly kind: 'list'; readonly items: readonly Tree[] }
    | {
        readonly kind: 'leaf';
        readonly value: unknown;
        /** A quote that was not closed may have swallowed other settings: better not shown. */
        readonly isUnclear?: boolean;
      }
  );

export type Path = readonly (string | number)[];

/** Possible name of a setting. In a damaged file anything may end up as a name, even a key. */
const PLAIN_NAME = /^[A-Za-z_]{1,40}\d{0,2}$/;

/** `listener.secrets[0].secret`; a name that is none is left out. */
export function showPath(path: Path): string {
  return path
    .map((step) => {
      if (typeof step === 'number') return `[${step}]`;
      return PLAIN_NAME.test(step) ? `.${step}` : '.(…)';
    })
    .join('')
    .replace(/^\./, '');
}

/**
 * `over` laid over `base`: maps member by member, anything else replaced whole. No reference to a
 * secret stands in the default: two would be mixed.
 */
export function layOver(base: Tree, over: Tree): Tree {
  if (base.kind !== 'map' || over.kind !== 'map') return over;
  const members = new Map(base.members);
  for (const [name, member] of over.members) {
    const below = base.members.get(name);
    const merged = below && layOver(below, member);
    members.set(name, merged ?? member);
  }
  return { kind: 'map', members, at: over.at, nameAt: over.nameAt };
}

function memberOf(tree: Tree, step: string | number): Tree | undefined {
  if (tree.kind === 'map') return tree.members.get(String(step));
  return tree.kind === 'list' && typeof step === 'number' ? tree.items[step] : undefined;
}

/** Finds the tree at `path`, or the nearest one above it. */
export function nearestTree(
  tree: Tree,
  path: Path,
): { readonly tree: Tree; readonly exact: boolean } {
  let current = tree;
  for (const step of path) {
    const next = memberOf(current, step);
    if (next === undefined) return { tree: current, exact: false };
    current = next;
  }
  return { tree: current, exact: true };
}

/** The plain value, without places. */
export function plainValue(tree: Tree): unknown {
  if (tree.kind === 'leaf') return tree.value;
  if (tree.kind === 'list') return tree.items.map(plainValue);
  return Object.fromEntries([...tree.members].map(([name, member]) => [name, plainValue(member)]));
}
