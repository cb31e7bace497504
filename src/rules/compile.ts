/** Compiles one rule of a rule file: its conditions, its timing and its hash. */
import { invariant } from '../lib/errors.ts';
import { canonicalJson, hashWithTexts, sha256 } from '../lib/json.ts';
import { plural } from '../lib/strings.ts';
import { parseDuration, parseExactTime } from '../lib/units.ts';
import { type FindLines, linesBehind } from './cel/behind.ts';
import { NotKnown, shownText } from './cel/code.ts';
import { operandsOf } from './cel/operands.ts';
import { compileExpression, type Language, type Program } from './cel/program.ts';
import type { CelProblem } from './cel/shape.ts';
import { sourceOf } from './cel/tree.ts';
import type { Frame } from './facts/build.ts';
import { neverGiven } from './never-given.ts';
import type { Clause, HoldTiming, MessageTemplate, RejectTiming, Rule } from './rule.ts';
import { type LoadedSettings, textsOf } from './settings.ts';
import type { Problem } from './text/problem.ts';
import { HOLD_DEFAULT, type RawRule, REJECT_DEFAULT } from './text/schema.ts';
import type { Settings } from './text/settings-schema.ts';
import { parseSpan, parseUntil } from './text/timing.ts';
import {
  cutAt,
  expressionProblem,
  offsetInFile,
  type ProblemDetail,
  type YamlPath,
  type YamlSource,
} from './text/yaml.ts';

interface CompiledTemplate {
  readonly template: MessageTemplate;
  readonly problems: readonly CelProblem[];
}

/** Text that a message shows in the place of an unknown fact. */
const UNKNOWN = '?';

const NO_LINES = {
  message: 'no condition of this rule picks out lines that the message could name',
  hint: 'leave it out, or ask for them: delivery.lines.exists(line, …)',
};

/** Values of a message about the lines that made its rule match. */
const LINES = { lines: 'words', 'lines.size()': 'count' } as const;

type Part = string | Program | ((frame: Frame) => string);

function linesPart(find: FindLines, name: 'words' | 'count'): Part {
  return (frame) => String(find(frame)?.[name] ?? UNKNOWN);
}

function compileTemplate(
  text: string,
  language: Language,
  find: FindLines | undefined,
): CompiledTemplate {
  const problems: CelProblem[] = [];
  const parts: Part[] = [];
  let done = 0;
  for (const match of text.matchAll(/\{\{(.*?)\}\}/g)) {
    parts.push(text.slice(done, match.index));
    done = match.index + match[0].length;
    const inner = match[1] ?? '';
    const start = match.index + 2;
    const asked = Object.entries(LINES).find(([name]) => name === inner.trim());
    if (asked && find) {
      parts.push(linesPart(find, asked[1]));
      continue;
    }
    if (asked) {
      problems.push({ start, end: start + inner.length, ...NO_LINES });
      continue;
    }
    const compiled = compileExpression(inner, language, 'any');
    if ('program' in compiled) parts.push(compiled.program);
    else {
      for (const problem of compiled.problems) {
        problems.push({ ...problem, start: start + problem.start, end: start + problem.end });
      }
    }
  }
  const rest = text.slice(done);
  const open = rest.search(/\{\{|\}\}/);
  if (open >= 0) {
    const at = done + open;
    problems.push({ start: at, end: at + 2, message: '{{ and }} must come in pairs' });
  }
  parts.push(rest);
  function render(part: Part, frame: Frame): string {
    if (typeof part === 'string') return part;
    if (typeof part === 'function') return part(frame);
    const shown = part.show(frame);
    return shown instanceof NotKnown ? UNKNOWN : shownText(shown.value);
  }
  return { template: (frame) => parts.map((part) => render(part, frame)).join(''), problems };
}

export interface RuleSource {
  readonly raw: RawRule;
  readonly source: YamlSource;
  readonly path: YamlPath;
}

export interface CompiledRule {
  readonly rule: Rule | undefined;
  readonly problems: readonly Problem[];
}

/** Collects the problems of one rule, with their places in the rule file. */
interface Reporter {
  readonly problems: Problem[];
  /** Adds a problem of the scalar at a path below the rule; `range` counts in the scalar's text. */
  at(path: YamlPath, detail: ProblemDetail, range?: { start: number; end: number }): void;
  node(path: YamlPath): ReturnType<YamlSource['nodeAt']>;
  line(path: YamlPath): number;
}

function createReporter({ raw, source, path: rulePath }: RuleSource): Reporter {
  const problems: Problem[] = [];
  const node = (path: YamlPath) => source.nodeAt([...rulePath, ...path]);
  function place(path: YamlPath, range?: { start: number; end: number }): [number, number] {
    const found = node(path);
    const [start = 0, end = 0] = found?.range ?? [];
    if (!found || !range) return [start, end];
    const text = source.file.text;
    return [offsetInFile(found, text, range.start), offsetInFile(found, text, range.end)];
  }
  return {
    problems,
    node,
    at(path, detail, range) {
      problems.push(source.problem(...place(path, range), { ruleId: raw.id, ...detail }));
    },
    line: (path) => source.problem(...place(path), { message: '' }).line,
  };
}

function cutHint(sign: string): string {
  return `YAML cut the text at "${sign}": put the whole condition in single quotes`;
}

function compileAt(
  from: RuleSource,
  reporter: Reporter,
  path: YamlPath,
  text: string,
  language: Language,
  expected: 'bool' | 'any',
): Program | undefined {
  const node = reporter.node(path);
  const fileText = from.source.file.text;
  const unusable = node && expressionProblem(node, fileText);
  if (unusable) {
    reporter.at(path, unusable);
    return undefined;
  }
  const compiled = compileExpression(text, language, expected);
  if ('program' in compiled) return compiled.program;
  const cut = node && cutAt(node, fileText);
  for (const { start, end, message, hint } of compiled.problems) {
    reporter.at(path, { message, hint: cut ? cutHint(cut) : hint }, { start, end });
  }
  return undefined;
}

function alternativesOf(program: Program): readonly Program[] {
  const sides = (node: Program['ast']): readonly Program['ast'][] =>
    node.op === '||' ? node.args.flatMap(sides) : [node];
  const { ast } = program;
  if (ast.op !== '||') return [];
  return sides(ast).flatMap((side) => program.variant(sourceOf(side)) ?? []);
}

function compileClauses(
  from: RuleSource,
  reporter: Reporter,
  language: Language,
): readonly Clause[] {
  return (['when', 'unless'] as const).flatMap((key) =>
    from.raw[key].flatMap((text, index) => {
      const path = [key, index];
      const program = compileAt(from, reporter, path, text, language, 'bool');
      if (!program) return [];
      const operands = operandsOf(program, language);
      const alternatives = alternativesOf(program);
      const line = reporter.line(path);
      const negated = key === 'unless';
      return [{ text: text.trim(), line, negated, program, operands, alternatives }];
    }),
  );
}

const CURRENCY_HINTS = {
  order: 'add the condition: order.currency == "DKK"',
  credit: 'add the condition: customer.credit.currency == "DKK"',
} as const;

function checkCurrencies(clauses: readonly Clause[], reporter: Reporter): void {
  const pins = new Set(clauses.flatMap(({ negated, program }) => (negated ? [] : program.pins)));
  const index = { when: 0, unless: 0 };
  for (const { negated, program } of clauses) {
    const key = negated ? 'unless' : 'when';
    const path = [key, index[key]];
    index[key] += 1;
    for (const { owner, start, end } of program.bareAmounts) {
      if (pins.has(owner)) continue;
      const message = 'an amount is compared with a number, but in which currency?';
      reporter.at(path, { message, hint: CURRENCY_HINTS[owner] }, { start, end });
    }
  }
}

function checkBlocks({ action, hold, reject, otherwise }: RawRule, reporter: Reporter): void {
  if (hold && action !== 'hold') {
    reporter.at(['hold'], { message: `hold: belongs to hold rules, this one is ${action}` });
  }
  if (reject && action !== 'reject') {
    reporter.at(['reject'], { message: `reject: belongs to reject rules, this one is ${action}` });
  }
  if (otherwise && action !== 'reject') {
    const message = `otherwise: belongs to reject rules, this one is ${action}`;
    reporter.at(['otherwise'], { message });
  }
}

/**
 * Warns if a rule reads amounts in the base currency and the settings have none: they are never
 * known.
 */
function checkBase(reads: readonly string[], settings: Settings, reporter: Reporter): void {
  const asked = reads.find(
    (path) => path.endsWith('.amount_base') || path.startsWith('order.base_'),
  );
  if (asked === undefined || settings.base_currency !== undefined) return;
  const hint = 'add base_currency and rates to settings.yaml';
  const message = `${asked} is never known without a base currency`;
  reporter.at(['when'], { message, hint, warning: true });
}

/**
 * Refuses a rule that applies to no delivery at any time: it would look enforced and enforce
 * nothing.
 */
function checkReach(raw: RawRule, reporter: Reporter): void {
  const [from, until] = [timeOf(raw.effective_from), timeOf(raw.effective_until)];
  if (from !== undefined && until !== undefined && from >= until) {
    const message = 'the rule ends before it begins: effective_until must be after effective_from';
    reporter.at(['effective_until'], { message });
  }
  if (raw.action === 'hold' || raw.applies_to.includes('pending')) return;
  const message = `only hold rules look at accepted deliveries, this one is ${raw.action}`;
  reporter.at(['applies_to'], { message, hint: 'leave it out, or add pending' });
}

function holdTiming({ action, hold = HOLD_DEFAULT }: RawRule): HoldTiming | undefined {
  if (action !== 'hold') return undefined;
  const { until, at_most: longest, then: afterwards } = hold;
  const atMost = parseSpan(longest);
  invariant(atMost !== undefined, 'what a hold lasts was checked with its shape');
  return { until: until === undefined ? undefined : parseUntil(until), atMost, afterwards };
}

function rejectTiming({ action, reject = REJECT_DEFAULT }: RawRule): RejectTiming | undefined {
  if (action !== 'reject') return undefined;
  const graceMs = parseDuration(reject.grace);
  invariant(graceMs !== undefined, 'the grace of a reject was checked with its shape');
  return {
    graceMs,
    maxPerHour: reject.max_per_hour,
    maxPerDay: reject.max_per_day,
    maxPerCustomerPerDay: reject.max_per_customer_per_day,
    maxAmountPerDay: reject.max_amount_per_day,
  };
}

/**
 * Contents of the lists and tables that the rule reads: they are part of its hash, so that editing
 * one of them counts as editing the rule.
 */
function dataRead(reads: readonly string[], settings: Settings): Record<string, unknown> {
  const data: Record<string, unknown> = {};
  for (const path of reads) {
    const [kind, name = ''] = path.split('.');
    if (kind === 'lists') data[path] = settings.lists[name];
    if (kind === 'tables') data[path] = settings.tables[name] ?? settings.table_files[name];
  }
  return data;
}

/**
 * Settings that change the meaning of facts which the rule reads: the same condition means
 * something else with other opening hours, another time zone or another field type.
 */
function settingsRead(reads: readonly string[], settings: Settings): object {
  const { timezone, calendar, customer_fields: fields, season_windows: windows } = settings;
  const base = { currency: settings.base_currency, rates: settings.rates };
  const made: Record<string, unknown> = {
    'clock.weekday': timezone,
    'delivery.weekday': timezone,
    'clock.business_hours': { timezone, calendar },
    'delivery.lines.window_from': { timezone, windows },
    'delivery.lines.window_to': { timezone, windows },
    'delivery.amount_base': base,
    'order.amount_base': base,
    'order.base_rate': base,
    'order.base_currency': base,
    'today.amount_base': base,
  };
  for (const [name, kind] of Object.entries(fields)) made[`customer.extra.${name}`] = kind;
  return Object.fromEntries(Object.entries(made).filter(([path]) => reads.includes(path)));
}

function effectOf(raw: RawRule): object {
  const { action, when, unless, hold, reject, applies_to: appliesTo } = raw;
  const { effective_from: from, effective_until: until } = raw;
  return { action, when, unless, hold, reject, appliesTo, from, until };
}

function ruleHash(raw: RawRule, reads: readonly string[], loaded: LoadedSettings): string {
  const { settings, tables } = loaded;
  // Such settings are part of a reject rule's hash, because a person arms what the rule means; a
  // hold must go on when the opening hours change.
  const made = raw.action === 'reject' ? settingsRead(reads, settings) : {};
  const data = { ...dataRead(reads, settings), ...made };
  return hashWithTexts({ ...effectOf(raw), data }, textsOf(tables));
}

/** Title with the lines that the rule is about, for a rule without a message. */
function titleWithLines(title: string, find: FindLines): MessageTemplate {
  return (frame) => {
    const found = find(frame);
    if (!found) return title;
    return `${title} (${found.count} of ${plural(found.of, 'line')}: ${found.words})`;
  };
}

function compileMessage(
  from: RuleSource,
  reporter: Reporter,
  language: Language,
  clauses: readonly Clause[],
): MessageTemplate | undefined {
  const { message: text, title } = from.raw;
  const find = linesBehind(clauses, language);
  if (text === undefined) return find && titleWithLines(title, find);
  const { template, problems } = compileTemplate(text, language, find);
  for (const { start, end, message, hint } of problems) {
    reporter.at(['message'], { message, hint }, { start, end });
  }
  return template;
}

function timeOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseExactTime(text);
}

export function compileRule(
  from: RuleSource,
  language: Language,
  loaded: LoadedSettings,
  wasInForce: boolean,
): CompiledRule {
  const { settings } = loaded;
  const { raw, source } = from;
  const reporter = createReporter(from);
  const clauses = compileClauses(from, reporter, language);
  const complete = clauses.length === raw.when.length + raw.unless.length;
  if (complete && !wasInForce) checkCurrencies(clauses, reporter);
  if (!wasInForce) checkReach(raw, reporter);
  checkBlocks(raw, reporter);
  for (const [index, { given }] of raw.tests.entries()) {
    for (const { path, detail } of neverGiven(given, language.types)) {
      reporter.at(['tests', index, 'given', ...path], detail);
    }
  }
  const record: Record<string, Program> = {};
  for (const [name, text] of Object.entries(raw.record)) {
    const program = compileAt(from, reporter, ['record', name], text, language, 'any');
    if (program) record[name] = program;
  }
  const paths = clauses.flatMap(({ program }) => program.reads);
  const reads = [...new Set(paths.filter((read) => read.includes('.')))].sort();
  if (!wasInForce) checkBase(reads, settings, reporter);
  const rule: Rule = {
    id: raw.id,
    title: raw.title,
    action: raw.action,
    mode: raw.mode ?? settings.defaults.mode,
    owner: raw.owner,
    file: source.file.path,
    line: reporter.line([]),
    hash: ruleHash(raw, reads, loaded),
    hashWith: (other) => ruleHash(raw, reads, other),
    textHash: sha256(canonicalJson(effectOf(raw))),
    appliesTo: raw.applies_to,
    effectiveFrom: timeOf(raw.effective_from),
    effectiveUntil: timeOf(raw.effective_until),
    clauses,
    hold: holdTiming(raw),
    reject: rejectTiming(raw),
    otherwise: raw.action === 'reject' ? (raw.otherwise ?? 'hold') : undefined,
    message: compileMessage(from, reporter, language, clauses),
    record,
    reads,
    tests: raw.tests,
  };
  return { rule: complete ? rule : undefined, problems: reporter.problems };
}
