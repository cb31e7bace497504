/**
 * Loads the configuration: the shipped default, and the user's file laid over it.
 *
 * Reads: the two files, the secret files that they name, the environment. Writes nothing. What can
 * go wrong: a file that cannot be read, text that is not YAML, settings that are unknown, missing,
 * of the wrong kind or contradictory, secrets that cannot be read or stand in the file itself. All
 * problems are reported at once, each with its place; an invalid value is never taken for "not
 * set", and nothing is corrected silently.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigError, errorCode } from '../lib/errors.ts';
import type { Scrubber, Secret } from '../lib/secret.ts';
import { decodedPart, notUtf8At } from '../lib/strings.ts';
import { parseYaml } from '../lib/yaml.ts';
import { replaceOldNames } from './old-names.ts';
import { byPlace, type ConfigProblem, problemsOf, showProblem } from './problems.ts';
import { type Config, createSchema } from './schema.ts';
import { treeOfFile } from './source/document.ts';
import { readSecret } from './source/secrets.ts';
import { layOver, type Place, plainValue, type Tree } from './source/tree.ts';
import { warningsOf } from './warnings.ts';

export interface LoadOptions {
  /** Path of the user's configuration file. */
  readonly file: string;
  /** Text that the file is to have; left out: what it has. */
  readonly text?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Receives every secret that is read, so that none appears in a log. */
  readonly scrubber?: Scrubber;
  /**
   * Secrets that may be missing until their value is used: none; credentials, which only a service
   * manager hands out; or any. Default: none.
   */
  readonly absent?: 'none' | 'credentials' | 'any';
}

export interface LoadedConfig {
  readonly config: Config;
  /** Settings that are valid, but that an operator should know of. */
  readonly warnings: readonly ConfigProblem[];
}

export type LoadResult = LoadedConfig | { readonly problems: readonly ConfigProblem[] };

export interface WrittenConfig {
  readonly tree: Tree;
  readonly defaults: Tree;
  readonly schema: ReturnType<typeof createSchema>;
  readonly problems: readonly ConfigProblem[];
  /** Settings of the user's file that have another name now. */
  readonly oldNames: readonly ConfigProblem[];
  /** Whether the user's file could not be read at all; missing settings then say nothing. */
  readonly isLost: boolean;
}

/** Maximum characters of a configuration file; a larger file is something else. */
const FILE_CHARS_MAX = 1_048_576;

const WEBHOOK_SECRET_PREFIX = 'whsec_';

/** Path of the shipped configuration file, which holds every default. */
export const DEFAULT_FILE = fileURLToPath(new URL('../../config/selvedge.yaml', import.meta.url));

function fileProblem(at: Place, message: string, hint: string): ConfigProblem {
  return { at, path: '', value: undefined, message, hint };
}

/** Reports a file that is not UTF-8: decoded as UTF-8, its text would name other files. */
function encodingProblems(bytes: Buffer, place: Place): readonly ConfigProblem[] {
  const at = notUtf8At(bytes);
  if (!at) return [];
  return [fileProblem({ ...place, ...at }, 'is not UTF-8 text', 'save it in this encoding')];
}

/** Reads a file; `defaults`: the shipped configuration, which knows the present names. */
function readTree(
  place: Pick<Place, 'source' | 'file'>,
  defaults?: Tree,
  future?: string,
): Omit<WrittenConfig, 'defaults' | 'schema'> {
  const nothing: Tree = { kind: 'map', members: new Map(), at: place, nameAt: place };
  let bytes: Buffer;
  try {
    bytes = future === undefined ? readFileSync(place.file) : Buffer.from(future);
  } catch (thrown) {
    const hint = 'is the name right, and may this user read it?';
    const problem = fileProblem(place, `cannot be read (${errorCode(thrown)})`, hint);
    return { tree: nothing, problems: [problem], oldNames: [], isLost: true };
  }
  const text = bytes.toString('utf8');
  if (text.length > FILE_CHARS_MAX) {
    const problem = fileProblem(place, 'is too large for a configuration', 'limit: 1 MiB');
    return { tree: nothing, problems: [problem], oldNames: [], isLost: true };
  }
  const parsed = parseYaml(text);
  const old = defaults === undefined ? [] : replaceOldNames(parsed.document, text, defaults);
  const { tree, problems } = treeOfFile(parsed, text, place);
  const encoding = encodingProblems(bytes, place);
  if (tree.kind !== 'map') {
    const problem = fileProblem(tree.at, 'must hold settings', 'write name: value');
    return { tree: nothing, problems: [...encoding, problem], oldNames: [], isLost: true };
  }
  return {
    tree,
    problems: [...encoding, ...problems.map((p) => ({ ...p, path: '', value: undefined }))],
    oldNames: old.map(({ offset, ...one }) => ({
      ...one,
      at: { ...place, ...parsed.placeAt(offset) },
      value: undefined,
      hint: one === old.at(-1) ? 'selvedge config migrate writes the present names' : undefined,
    })),
    isLost: false,
  };
}

function hasCredentials({ env }: LoadOptions): boolean {
  return (env.CREDENTIALS_DIRECTORY ?? '') !== '';
}

function schemaFor(options: LoadOptions): ReturnType<typeof createSchema> {
  const base = dirname(options.file);
  const resolvePath = (written: string): string => resolve(base, written);
  return createSchema({
    resolvePath,
    mayBeAbsent: ({ kind }) => {
      if (options.absent !== 'credentials') return options.absent === 'any';
      return kind === 'credential' && !hasCredentials(options);
    },
    readSecret: (reference) => readSecret(reference, options.env, resolvePath),
    secretLoaded: (secret) => registerSecret(secret, options.scrubber),
  });
}

function registerSecret(secret: Secret, scrubber: Scrubber | undefined): void {
  const value = secret.reveal();
  scrubber?.register(value, secret.name);
  if (value.startsWith(WEBHOOK_SECRET_PREFIX)) {
    scrubber?.register(value.slice(WEBHOOK_SECRET_PREFIX.length), secret.name);
  }
  // Database drivers may show the password of an address by itself, so it is registered apart.
  const url = URL.parse(value);
  const password = decodedPart(url?.password ?? '') ?? url?.password;
  for (const one of [password, url?.searchParams.get('password')]) {
    if (one) scrubber?.register(one, secret.name);
  }
}

/** Reads the user's file and lays it over the default; only the YAML itself is checked so far. */
export function readConfig(options: LoadOptions): WrittenConfig {
  const schema = schemaFor(options);
  const base = readTree({ source: 'default', file: DEFAULT_FILE });
  const own = readTree({ source: 'file', file: options.file }, base.tree, options.text);
  const tree = layOver(base.tree, own.tree);
  const problems = [...base.problems, ...own.problems];
  return { ...own, tree, defaults: base.tree, schema, problems };
}

/** Loads the configuration ready for use, or lists everything that is wrong with it. */
export function loadConfig(options: LoadOptions): LoadResult {
  const written = readConfig(options);
  const { tree, schema, problems } = written;
  // The schema is used only once, so compiling its checks would take longer than interpreting them.
  const parsed = schema.safeParse(plainValue(tree), { jitless: true });
  if (parsed.success && problems.length === 0) {
    const config = parsed.data;
    const warnings = warningsOf(tree, config, hasCredentials(options));
    return { config, warnings: [...written.oldNames, ...warnings] };
  }
  const issues = written.isLost ? [] : (parsed.error?.issues ?? []);
  const found = issues.flatMap((issue) => problemsOf(written, issue));
  const all = [...problems, ...found].sort(byPlace);
  return { problems: [...new Map(all.map((problem) => [showProblem(problem), problem])).values()] };
}

/** Loads the configuration for callers that cannot go on without; throws a ConfigError. */
export function requireConfig(options: LoadOptions): LoadedConfig {
  const loaded = loadConfig(options);
  if (!('problems' in loaded)) return loaded;
  const count = loaded.problems.length;
  const list = loaded.problems.map((problem) => `\n  ${showProblem(problem)}`).join('');
  throw new ConfigError(
    'config.invalid',
    `the configuration has ${count === 1 ? 'a mistake' : `${count} mistakes`}:${list}`,
  );
}
