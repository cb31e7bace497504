/** Settings that are accepted, but that an operator should hear about. */
import type { ConfigProblem } from './problems.ts';
import { parseReference } from './source/secrets.ts';
import { nearestTree, type Path, plainValue, showPath, type Tree } from './source/tree.ts';

function secretsFromEnvironment(tree: Tree, path: Path): ConfigProblem[] {
  if (parseReference(plainValue(tree))?.kind === 'env') {
    const message = 'is a secret in an environment variable';
    const hint = 'other programs may see it in /proc; prefer { credential: … } or { file: … }';
    return [{ at: tree.at, path: showPath(path), value: undefined, message, hint }];
  }
  if (tree.kind === 'list') {
    return tree.items.flatMap((item, index) => secretsFromEnvironment(item, [...path, index]));
  }
  if (tree.kind === 'leaf') return [];
  return [...tree.members].flatMap(([name, member]) =>
    secretsFromEnvironment(member, [...path, name]),
  );
}

function listenerWithoutSecret(tree: Tree): ConfigProblem[] {
  const { tree: secrets } = nearestTree(tree, ['listener', 'secrets']);
  if (secrets.kind !== 'list' || secrets.items.length > 0) return [];
  const message = 'is empty: every event will be refused';
  const hint = 'set the signing secret that the portal shows for the endpoint';
  return [{ at: secrets.at, path: 'listener.secrets', value: undefined, message, hint }];
}

/** The warnings of a configuration that is right. */
export function warningsOf(tree: Tree): ConfigProblem[] {
  return [...secretsFromEnvironment(tree, []), ...listenerWithoutSecret(tree)];
}
