/**
 * The loader: turns the texts of rule files into a rule set, or into all of their problems.
 *
 * Takes `{ path, text }` of every file of one rules directory; the caller reads them:
 * `settings.yaml` (optional), `scenarios.yaml` (optional), and rule files. Loading is atomic: one
 * error anywhere and there is no set, so the caller keeps the old one. Nothing that could make a
 * rule silently never match may pass: names, enum values, types and literals are all checked here,
 * because at the first delivery it is too late.
 */
import type { Node } from 'yaml';
import { z } from 'zod';
import { hashWithTexts, isJsonObject } from '../lib/json.ts';
import { nearestName } from '../lib/nearest.ts';
import { type Finding, findingsOf } from './analysis/findings.ts';
import { createEnvironment, type SetTypes } from './cel/environment.ts';
import { type CompiledRule, compileRule, type RuleSource } from './compile.ts';
import { RECORDS } from './facts/table.ts';
import { neverGiven } from './never-given.ts';
import type { Clause, Rule, RuleSet } from './rule.ts';
import {
  emptySettings,
  type ListsRead,
  type LoadedSettings,
  type LoadedTables,
  loadSettings,
  refillSettings,
  textsOf,
} from './settings.ts';
import { DEFAULT_KEY } from './table-tree.ts';
import { firstProblems } from './tables.ts';
import { checkShape } from './text/check.ts';
import { type Problem, sortProblems } from './text/problem.ts';
import { type RawScenario, RULE_FILE, SALVAGED_RULE, SCENARIO_FILE } from './text/schema.ts';
import type { Settings } from './text/settings-schema.ts';
import { offsetInFile, type RuleFile, readYaml, type YamlSource } from './text/yaml.ts';

// Turns findings about rules into problems at their places in the rule files.

/** Path of a condition in its rule: `when` or `unless`, and its index there. */
function clausePath(rule: Rule, clause: Clause): readonly (string | number)[] {
  const alike = rule.clauses.filter(({ negated }) => negated === clause.negated);
  return [clause.negated ? 'unless' : 'when', alike.indexOf(clause)];
}

function problemOf(finding: Finding, { source, path }: RuleSource): Problem {
  const { rule, clause, start, end, message, hint, isNote: note = false } = finding;
  const inRule = clause ? clausePath(rule, clause) : ['id'];
  const node = source.nodeAt([...path, ...inRule]);
  const [from = 0, to = 0] = node?.range ?? [];
  const range =
    node && start !== undefined && end !== undefined
      ? [start, end].map((offset) => offsetInFile(node, source.file.text, offset))
      : [from, to];
  const detail = { message, hint, ruleId: rule.id, warning: !note, note };
  return source.problem(range[0] ?? from, range[1] ?? to, detail);
}

/**
 * Findings about a rule set as warnings and notes, never as errors: a set with a rule that does
 * nothing can still be used.
 */
function analysisProblems(
  rules: readonly { readonly from: RuleSource; readonly rule: Rule }[],
  { settings, types }: LoadedSettings,
): readonly Problem[] {
  const sources = new Map(rules.map(({ from, rule }) => [rule, from] as const));
  const written = Object.entries(settings.lists).filter(
    ([name]) => !Object.hasOwn(settings.list_sources, name),
  );
  const context = { types, lists: new Map(written) };
  const findings = findingsOf([...sources.keys()], context);
  return findings.flatMap((finding) => {
    const from = sources.get(finding.rule);
    return from ? [problemOf(finding, from)] : [];
  });
}

interface Cell {
  readonly value: unknown;
  /**
   * List or table in which facts are looked up, such as `lists.nordic`; undefined for a table's
   * values.
   */
  readonly data: string | undefined;
  node(): Node | undefined;
}

/**
 * Values of lists and tables written in `settings.yaml`; those from the database are the ERP's
 * matter.
 */
function cellsOf(source: YamlSource, settings: Settings): readonly Cell[] {
  const lists = Object.entries(settings.lists).flatMap(([name, read]) => {
    const from = settings.list_sources[name];
    const path = ['lists', name, ...(from ? ['sample'] : [])];
    return (from?.sample ?? read).map((value, index) => {
      return { value, data: `lists.${name}`, node: () => source.nodeAt([...path, index]) };
    });
  });
  const tables = Object.entries(settings.tables).flatMap(([name, rows]) => {
    const path = ['tables', name];
    return Object.entries(rows).flatMap(([key, value]) => [
      { value: key, data: `tables.${name}`, node: () => source.keyAt(path, key) },
      { value, data: undefined, node: () => source.nodeAt([...path, key]) },
    ]);
  });
  return [...lists, ...tables];
}

/**
 * Warns of list values and table keys that no fact can equal; no error, because a future rule may
 * use them.
 */
function impossibleValues(
  source: YamlSource,
  settings: Settings,
  rules: readonly CompiledRule[],
): readonly Problem[] {
  const all = rules.flatMap(
    ({ rule }) => rule?.clauses.flatMap((one) => one.program.lookups) ?? [],
  );
  // Hundreds of rules may look the same fact up in a table of thousands of rows.
  const distinctLookups = new Map(all.map((one) => [`${one.data} ${one.path}`, one])).values();
  const lookups = Map.groupBy(distinctLookups, ({ data }) => data);
  const ofFiles = Object.entries(settings.table_files).flatMap(([name, { spec, rows }]) => {
    const [first, further] = [`tables.${name}`, `tables.${name}[]`].map((data) =>
      lookups.get(data),
    );
    const found = rows.flatMap(({ keys, line }) =>
      keys.flatMap((key, at): Problem[] => {
        const asked = (at === 0 ? first : further) ?? [];
        const reasons = key === DEFAULT_KEY ? [] : asked.map((lookup) => lookup.never(key));
        const [never] = reasons;
        if (never === undefined || reasons.includes(undefined)) return [];
        const place = { file: spec.file, line, column: 1, source: '', length: 1 };
        return [{ severity: 'warning', ...place, ...never }];
      }),
    );
    return firstProblems(found);
  });
  const written = cellsOf(source, settings).flatMap(({ value, data, node }): Problem[] => {
    if (typeof value !== 'string') return [];
    const plain = value.trim();
    const spaces = `"${value}" has a space at its beginning or end, which counts`;
    const reasons = (lookups.get(data ?? '') ?? []).map((lookup) => lookup.never(value));
    const never =
      value === plain
        ? reasons.every((one) => one !== undefined) && reasons[0]
        : { message: spaces, hint: `write "${plain}"` };
    if (!never) return [];
    const [start = 0, end = 0] = node()?.range ?? [];
    return [source.problem(start, end, { ...never, warning: true })];
  });
  return [...written, ...ofFiles];
}

/**
 * Version of the engine, part of every rule set's hash: two engines may disagree on a condition.
 */
const ENGINE_VERSION = 'cel-js 8.0.0, rules 1';

/** Maximum of files, and of characters in one file; a larger rule set is a mistake. */
const FILES_MAX = 100;
const FILE_CHARS_MAX = 1_000_000;

export type Loaded =
  | { readonly ruleSet: RuleSet }
  /** Errors and warnings, sorted by their places. */
  | { readonly problems: readonly Problem[] };

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function wholeFile(file: RuleFile, message: string): Problem {
  const place = { file: file.path, line: 1, column: 1, source: '', length: 1 };
  return { severity: 'error', ...place, message };
}

/** Keeps one error and one warning per place; on lines with broken YAML only the YAML error. */
function distinct(problems: readonly Problem[], yaml: readonly Problem[]): readonly Problem[] {
  const broken = new Set(
    yaml.flatMap(({ severity, file, line }) => (severity === 'error' ? [`${file}:${line}`] : [])),
  );
  const seen = new Set<string>();
  const later = problems.filter(({ severity, file, line, column }) => {
    const place = `${severity} ${file}:${line}:${column}`;
    return !broken.has(`${file}:${line}`) && !seen.has(place) && seen.add(place);
  });
  return sortProblems([...yaml, ...later]);
}

function ruleSources(source: YamlSource, problems: Problem[]): readonly RuleSource[] {
  const checked = checkShape(source, RULE_FILE);
  if ('value' in checked) {
    return checked.value.rules.map((raw, index) => ({ raw, source, path: ['rules', index] }));
  }
  problems.push(...checked.problems);
  const written = isJsonObject(source.value) ? source.value.rules : undefined;
  return (Array.isArray(written) ? written : []).flatMap((value, index) => {
    const salvaged = SALVAGED_RULE.strip().safeParse(value);
    return salvaged.success ? [{ raw: salvaged.data, source, path: ['rules', index] }] : [];
  });
}

function duplicateIds(rules: readonly RuleSource[]): readonly Problem[] {
  const seen = new Map<string, RuleSource>();
  const problems: Problem[] = [];
  for (const rule of rules) {
    const first = seen.get(rule.raw.id);
    if (!first) {
      seen.set(rule.raw.id, rule);
      continue;
    }
    const [start = 0, end = 0] = rule.source.nodeAt([...rule.path, 'id'])?.range ?? [];
    const message = `the id "${rule.raw.id}" is used twice, also in ${first.source.file.path}`;
    problems.push(rule.source.problem(start, end, { message, ruleId: rule.raw.id }));
  }
  return problems;
}

/** Warns of two rules with the same effect: one may be a copy that was to be edited. */
function duplicateRules(
  rules: readonly RuleSource[],
  compiled: readonly CompiledRule[],
): readonly Problem[] {
  const firsts = new Map<string, string>();
  return rules.flatMap(({ source, path }, index) => {
    const rule = compiled[index]?.rule;
    if (!rule) return [];
    const first = firsts.get(rule.hash) ?? rule.id;
    firsts.set(rule.hash, first);
    if (first === rule.id) return [];
    const [start = 0, end = 0] = source.nodeAt([...path, 'id'])?.range ?? [];
    const message = `it says exactly what ${first} says`;
    const detail = { message, hint: 'edit one of them, or remove it', ruleId: rule.id };
    return [source.problem(start, end, { ...detail, warning: true })];
  });
}

function readFiles(files: readonly RuleFile[], problems: Problem[]): readonly YamlSource[] {
  if (files.length > FILES_MAX) {
    const last = files.at(-1) ?? { path: '', text: '' };
    problems.push(wholeFile(last, `more than ${FILES_MAX} rule files`));
    return [];
  }
  return files.flatMap((file) => {
    if (file.text.length > FILE_CHARS_MAX) {
      problems.push(wholeFile(file, `the file has more than ${FILE_CHARS_MAX} characters`));
      return [];
    }
    const { source, problems: found, readable } = readYaml(file);
    problems.push(...found);
    return readable ? [source] : [];
  });
}

function readScenarios(
  sources: readonly YamlSource[],
  ids: readonly string[],
  types: SetTypes,
  problems: Problem[],
): RawScenario[] {
  return sources.flatMap((source) => {
    const checked = checkShape(source, SCENARIO_FILE);
    if ('problems' in checked) {
      problems.push(...checked.problems);
      return [];
    }
    for (const [index, scenario] of checked.value.scenarios.entries()) {
      for (const { path, detail } of neverGiven(scenario.given, types)) {
        const node = source.nodeAt(['scenarios', index, 'given', ...path]);
        const [start = 0, end = 0] = node?.range ?? [];
        problems.push(source.problem(start, end, detail));
      }
      for (const key of ['armed', 'rules'] as const) {
        for (const [at, id] of (scenario[key] ?? []).entries()) {
          if (ids.includes(id)) continue;
          const [start = 0, end = 0] = source.nodeAt(['scenarios', index, key, at])?.range ?? [];
          const nearest = nearestName(id, ids);
          const hint = nearest ? `did you mean: ${nearest}?` : `known: ${ids.join(', ')}`;
          problems.push(source.problem(start, end, { message: `there is no rule "${id}"`, hint }));
        }
      }
    }
    return checked.value.scenarios;
  });
}

function setHash(rules: readonly Rule[], { settings, tables }: LoadedSettings): string {
  const effective = rules
    .map(({ id, hash, mode, effectiveFrom, effectiveUntil, otherwise }) => ({
      id,
      hash,
      mode,
      effectiveFrom,
      effectiveUntil,
      // Left out where it is the default, so that the hashes of earlier versions stay.
      otherwise: otherwise === 'nothing' ? otherwise : undefined,
    }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const all = { engine: ENGINE_VERSION, facts: RECORDS, settings, effective };
  return hashWithTexts(all, textsOf(tables));
}

/**
 * Name of the file with the contents of lists that were read from the database, as JSON by list
 * name. It is stored beside the written files, because only both together give the same rule set
 * again.
 */
export const LISTS_FILE = 'lists.json';

const LISTS = z.record(z.string(), z.array(z.string()));

/** Reads the contents of lists from the stored files of a rule set; undefined: there are none. */
export function readListsFile(files: readonly RuleFile[]): ListsRead | undefined {
  const file = files.find(({ path }) => baseName(path) === LISTS_FILE);
  return file && LISTS.parse(JSON.parse(file.text));
}

/**
 * Loads the rule set of these files, or gives every problem they have. A set that `wasInForce` is
 * spared the checks that earlier versions did not make, so that old decisions stay explainable.
 */
export function loadRules(
  all: readonly RuleFile[],
  wasInForce = false,
  before: LoadedTables = new Map(),
): Loaded {
  const files = all.filter(({ path }) => baseName(path) !== LISTS_FILE);
  const problems: Problem[] = [];
  const yaml: Problem[] = [];
  const sources = readFiles(
    files.filter(({ path }) => !path.endsWith('.csv')),
    yaml,
  );
  const named = (name: string): readonly YamlSource[] =>
    sources.filter((source) => baseName(source.file.path) === name);
  const [settingsSource] = named('settings.yaml');
  const settings = settingsSource
    ? loadSettings(settingsSource, problems, readListsFile(all), files, before)
    : emptySettings();
  const isBroken = !settingsSource && files.some(({ path }) => baseName(path) === 'settings.yaml');
  const isLacking = settings.isLacking === true || isBroken;
  const ruleFiles = sources.filter(
    (source) => !['settings.yaml', 'scenarios.yaml'].includes(baseName(source.file.path)),
  );
  const rawRules = ruleFiles.flatMap((source) => ruleSources(source, problems));
  problems.push(...duplicateIds(rawRules));
  const ids = rawRules.map(({ raw }) => raw.id);
  const scenarios = isLacking
    ? []
    : readScenarios(named('scenarios.yaml'), ids, settings.types, problems);
  const language = { env: createEnvironment(settings.types), types: settings.types };
  const compiled: readonly CompiledRule[] = (isLacking ? [] : rawRules).map((rule) =>
    compileRule(rule, language, settings, wasInForce),
  );
  for (const result of compiled) problems.push(...result.problems);
  problems.push(...duplicateRules(rawRules, compiled));
  if (!wasInForce) {
    const pairs = rawRules.flatMap((from, index) => {
      const rule = compiled[index]?.rule;
      return rule ? [{ from, rule }] : [];
    });
    problems.push(...analysisProblems(pairs, settings));
  }
  if (settingsSource)
    problems.push(...impossibleValues(settingsSource, settings.settings, compiled));
  const found = distinct(problems, yaml);
  if (found.some(({ severity }) => severity === 'error')) return { problems: found };
  const rules = compiled.flatMap(({ rule }) => (rule ? [rule] : []));
  return {
    ruleSet: {
      hash: setHash(rules, settings),
      rules,
      settings: settings.settings,
      tables: settings.tables,
      scenarios,
      variables: settings.variables,
      samples: settings.samples,
      types: settings.types,
      warnings: found,
    },
  };
}

/** The same rules with other contents of the lists that are read from the database. */
export function refillLists(before: RuleSet, lists: ListsRead): RuleSet {
  const loaded = refillSettings(before, lists);
  const { settings, variables, samples } = loaded;
  const names = Object.keys(lists).map((name) => `lists.${name}`);
  const rules = before.rules.map((rule) => {
    const isRead = rule.reads.some((path) => names.includes(path));
    return isRead ? { ...rule, hash: rule.hashWith(loaded) } : rule;
  });
  return { ...before, hash: setHash(rules, loaded), rules, settings, variables, samples };
}
