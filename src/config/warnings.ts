/** Warns of settings that are accepted, but that an operator should hear about. */
import { readdirSync } from 'node:fs';
import { errorCode } from '../lib/errors.ts';
import { AbsentSecret } from '../lib/secret.ts';
import { parseDuration } from '../lib/units.ts';
import type { ConfigProblem } from './problems.ts';
import { isUnprotected } from './schema/plane.ts';
import type { Config } from './schema.ts';
import { parseReference, type SecretReference } from './source/secrets.ts';
import { nearestTree, type Path, plainValue, showPath, type Tree } from './source/tree.ts';

interface SecretWarning {
  readonly kind: SecretReference['kind'];
  readonly message: string;
  readonly hint: string;
}

const IN_ENVIRONMENT: SecretWarning = {
  kind: 'env',
  message: 'is a secret in an environment variable',
  hint: 'other programs may see it in /proc; prefer { credential: … } or { file: … }',
};

const OUT_OF_SIGHT: SecretWarning = {
  kind: 'credential',
  message: 'cannot be checked here',
  hint: 'only the service has its credentials; look at its log after the start',
};

function secretsOfKind(tree: Tree, path: Path, warning: SecretWarning): ConfigProblem[] {
  const { kind, message, hint } = warning;
  if (parseReference(plainValue(tree))?.kind === kind) {
    return [{ at: tree.at, path: showPath(path), value: undefined, message, hint }];
  }
  if (tree.kind === 'list') {
    return tree.items.flatMap((item, index) => secretsOfKind(item, [...path, index], warning));
  }
  if (tree.kind === 'leaf') return [];
  return [...tree.members].flatMap(([name, member]) =>
    secretsOfKind(member, [...path, name], warning),
  );
}

function listenerWithoutSecret(tree: Tree): ConfigProblem[] {
  const { tree: secrets } = nearestTree(tree, ['listener', 'secrets']);
  if (secrets.kind !== 'list' || secrets.items.length > 0) return [];
  const message = 'is empty: every event will be refused';
  const hint = 'set the signing secret that the portal shows for the endpoint';
  return [{ at: secrets.at, path: 'listener.secrets', value: undefined, message, hint }];
}

/**
 * Warns of a `reviewAfter` that ends before `quietTime`: only after that is "not found" a proof.
 */
function reviewBeforeProof(tree: Tree): ConfigProblem[] {
  const settingAt = (name: string) => {
    const path = ['outbox', name];
    const { tree: written } = nearestTree(tree, path);
    return { at: written.at, path: showPath(path), ms: parseDuration(String(plainValue(written))) };
  };
  const [quiet, review] = [settingAt('quietTime'), settingAt('reviewAfter')];
  if (quiet.ms === undefined || review.ms === undefined || review.ms > quiet.ms) return [];
  const { at, path } = review.at.source === 'default' ? quiet : review;
  const message = 'lets reviewAfter end with quietTime or before: nothing is ever proved absent';
  const hint = 'every unknown outcome will need a person; set reviewAfter well above quietTime';
  return [{ at, path, value: undefined, message, hint }];
}

/** Whether two addresses overlap; "::" stands for all addresses, also those of IPv4. */
function doMeet(one: string, other: string): boolean {
  const isAny = [one, other].includes('0.0.0.0') && ![one, other].some((host) => /:/.test(host));
  return one === other || isAny || [one, other].includes('::');
}

/**
 * Warns of one port for two listeners. No error, because a service manager may open the listener's
 * socket elsewhere.
 */
function onePortForBoth(tree: Tree): ConfigProblem[] {
  const settingAt = (section: string, name: string) => {
    const { tree: written } = nearestTree(tree, [section, name]);
    return { at: written.at, value: plainValue(written) };
  };
  const [listener, local] = [settingAt('listener', 'port'), settingAt('local', 'port')];
  if (local.value === 0 || local.value !== listener.value) return [];
  const hostOf = (section: string) => String(settingAt(section, 'host').value);
  if (!doMeet(hostOf('listener'), hostOf('local'))) return [];
  const isOfListener = local.at.source === 'default';
  const [path, other] = isOfListener ? ['listener', 'local'] : ['local', 'listener'];
  const { at } = isOfListener ? listener : local;
  const message = `is the same as ${other}.port: only one of them can listen there`;
  const hint = 'give each a port of its own';
  return [{ at, path: `${path}.port`, value: undefined, message, hint }];
}

function rulesUnreadable(tree: Tree, directory: string): ConfigProblem[] {
  try {
    readdirSync(directory);
    return [];
  } catch (thrown) {
    const { tree: written } = nearestTree(tree, ['rules', 'directory']);
    const message = `cannot be read (${errorCode(thrown)}): a daemon that starts now only observes`;
    const hint = 'put the rules there for this user to read (docs/rules.md), or correct the path';
    return [{ at: written.at, path: 'rules.directory', value: directory, message, hint }];
  }
}

/**
 * Warns of a plane that is out of reach or unprotected. No error, because nothing else needs it.
 */
function planeOutOfReach(tree: Tree, { url }: Config['plane']): ConfigProblem[] {
  const { tree: written } = nearestTree(tree, ['plane', 'url']);
  const warning = (message: string, hint: string): ConfigProblem[] => [
    { at: written.at, path: 'plane.url', value: undefined, message, hint },
  ];
  if (url === null) return [];
  if (url instanceof AbsentSecret) {
    if (parseReference(plainValue(written))?.kind === 'credential') return [];
    return warning(url.problem, 'until then there is no copy: docs/operating/plane.md');
  }
  if (!isUnprotected(url.reveal())) return [];
  const message = 'goes to another host without sslmode=verify-full: others may read or answer it';
  return warning(message, 'add ?sslmode=verify-full to it (docs/operating/plane.md)');
}

/**
 * Collects the warnings of a valid configuration; `hasCredentials`: whether the service manager's
 * credentials can be read.
 */
export function warningsOf(
  tree: Tree,
  { rules, plane }: Pick<Config, 'rules' | 'plane'>,
  hasCredentials: boolean,
): ConfigProblem[] {
  return [
    ...secretsOfKind(tree, [], IN_ENVIRONMENT),
    ...(hasCredentials ? [] : secretsOfKind(tree, [], OUT_OF_SIGHT)),
    ...listenerWithoutSecret(tree),
    ...reviewBeforeProof(tree),
    ...onePortForBoth(tree),
    ...rulesUnreadable(tree, rules.directory),
    ...planeOutOfReach(tree, plane),
  ];
}
