/** Configuration values that remember where each was written, and the overlaying of such trees. */

/** Place of a written value. Lines and columns count from 1. */
export interface Place {
  readonly source: 'default' | 'file';
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
}

/** Places of a setting: `nameAt` of its name, `at` of its value. */
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
        /**
         * Whether a quote that was not closed, or a lost line break, may have drawn other settings
         * into the value, so that it is not shown.
         */
        readonly isUnclear?: boolean;
      }
  );

export type Path = readonly (string | number)[];

/**
 * Matches possible names of settings. In a damaged file anything may end up as a name, even a key.
 */
const PLAIN_NAME = /^[A-Za-z_]{1,40}\d{0,2}$/;

/** Shows a path as `listener.secrets[0].secret`; a step that cannot be a name is left out. */
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
 * Lays `over` over `base`: maps member by member, anything else replaced whole. The default has no
 * references to secrets, so two of them are never mixed.
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

/** Gives the value of a tree without places. */
export function plainValue(tree: Tree): unknown {
  if (tree.kind === 'leaf') return tree.value;
  if (tree.kind === 'list') return tree.items.map(plainValue);
  return Object.fromEntries([...tree.members].map(([name, member]) => [name, plainValue(member)]));
}
