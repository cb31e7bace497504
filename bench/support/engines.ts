/** Engines of others under one question: what they say about a delivery, and why. */
import type { EngineCondition, EngineRule, LineTest } from './engine-rules.ts';

interface Line {
  readonly barcode: string;
  readonly quantity: number;
  readonly missing: number;
  readonly price_diff_pct: number;
}

/** A delivery as the engines get it. */
export interface Row {
  readonly delivery: Readonly<Record<string, unknown>> & { readonly lines: readonly Line[] };
  readonly order: Readonly<Record<string, unknown>>;
  readonly customer: Readonly<Record<string, unknown>>;
}

export interface Answer {
  readonly outcome: string;
  readonly matched: readonly string[];
  /** Values behind the rules, in whatever form the engine gives them. */
  readonly values: unknown;
}

export interface Engine {
  readonly name: string;
  /** Judges the row with this number. */
  judge(at: number): Promise<Answer> | Answer;
}

/** Any hold wins, as in our rules. */
function outcomeOf(rules: readonly EngineRule[], matched: ReadonlySet<string>): string {
  const hit = rules.filter(({ id }) => matched.has(id));
  if (hit.some(({ action }) => action === 'hold')) return 'hold';
  return hit.length > 0 ? 'accept' : 'no_rule';
}

function answerOf(rules: readonly EngineRule[], ids: readonly string[], values: unknown): Answer {
  return { outcome: outcomeOf(rules, new Set(ids)), matched: ids.toSorted(), values };
}

function rowAt(rows: readonly Row[], at: number): Row {
  const row = rows[at];
  if (!row) throw new Error(`there is no row ${at}`);
  return row;
}

function decides(line: Line, { field, sign, limit }: LineTest): boolean {
  return sign === '>' ? line[field] > limit : line[field] <= limit;
}

interface JsonRules {
  readonly Engine: new () => {
    addRule(rule: object): void;
    addOperator(name: string, test: (value: never, limit: never) => boolean): void;
    run(facts: object): Promise<{ results: JsonResult[]; failureResults: JsonResult[] }>;
  };
}
interface JsonResult {
  readonly name: string;
  readonly conditions: unknown;
}

/** Its facts are named by their paths, which is faster than its own paths into an object. */
function flat({ delivery, order, customer }: Row): object {
  const named = Object.entries({ delivery, order, customer }).flatMap(([record, members]) =>
    Object.entries(members).map(([name, value]) => [`${record}.${name}`, value] as const),
  );
  return Object.fromEntries(named);
}

export function jsonRulesEngine(
  { Engine }: JsonRules,
  rules: readonly EngineRule[],
  rows: readonly Row[],
): Engine {
  const engine = new Engine();
  engine.addOperator('anyLine', (lines: readonly Line[], test: LineTest) =>
    lines.some((line) => decides(line, test)),
  );
  engine.addOperator('noLine', (lines: readonly Line[], test: LineTest) =>
    lines.every((line) => !decides(line, test)),
  );
  engine.addOperator('begins', (text: string, part: string) => text.startsWith(part));
  for (const { id, action, when } of rules) {
    const all = when.map(({ json }) => json);
    engine.addRule({ name: id, conditions: { all }, event: { type: action, params: { id } } });
  }
  return {
    name: 'json-rules-engine 7.3.1',
    async judge(at) {
      const { results, failureResults } = await engine.run(flat(rowAt(rows, at)));
      const values = [...results, ...failureResults].map(({ conditions }) => conditions);
      return answerOf(
        rules,
        results.map(({ name }) => name),
        values,
      );
    },
  };
}

interface Zen {
  readonly ZenEngine: new () => {
    createDecision(content: object): {
      evaluate(row: object): Promise<{ result: Readonly<Record<string, { match: boolean }>> }>;
    };
  };
}

function counted({ field, sign, limit }: LineTest, item: string): string {
  return `${item}.${field} ${sign} ${limit}`;
}

export function zenEngine(
  { ZenEngine }: Zen,
  rules: readonly EngineRule[],
  rows: readonly Row[],
): Engine {
  const value = ({ lines, values }: EngineCondition): readonly string[] =>
    lines ? [`len(filter(delivery.lines, ${counted(lines, '#')}))`] : values;
  const expressions = rules.flatMap(({ id, when }) => [
    { id: `${id}m`, key: `${id}.match`, value: when.map(({ zen }) => `(${zen})`).join(' and ') },
    ...when
      .flatMap(value)
      .map((text, at) => ({ id: `${id}v${at}`, key: `${id}.v${at}`, value: text })),
  ]);
  const position = { x: 0, y: 0 };
  const decision = new ZenEngine().createDecision({
    nodes: [
      { id: 'in', type: 'inputNode', name: 'in', position },
      { id: 'rules', type: 'expressionNode', name: 'rules', position, content: { expressions } },
      { id: 'out', type: 'outputNode', name: 'out', position },
    ],
    edges: [
      { id: 'a', sourceId: 'in', targetId: 'rules', type: 'edge' },
      { id: 'b', sourceId: 'rules', targetId: 'out', type: 'edge' },
    ],
  });
  return {
    name: 'zen-engine 0.54.0',
    async judge(at) {
      const { result } = await decision.evaluate(rowAt(rows, at));
      const ids = rules.flatMap(({ id }) => (result[id]?.match === true ? [id] : []));
      return answerOf(rules, ids, result);
    },
  };
}

interface Bufbuild {
  celEnv(): object;
  parse(text: string): object;
  plan(env: object, expression: object): (row: object) => unknown;
}

export function bufbuildEngine(
  { celEnv, parse, plan }: Bufbuild,
  rules: readonly EngineRule[],
  rows: readonly Row[],
): Engine {
  const env = celEnv();
  const compiled = (text: string) => plan(env, parse(text));
  const value = ({ lines, values }: EngineCondition): readonly string[] =>
    lines ? [`delivery.lines.filter(line, ${counted(lines, 'line')}.0).size()`] : values;
  const programs = rules.map(({ id, when }) => ({
    id,
    match: compiled(when.map(({ cel }) => `(${cel})`).join(' && ')),
    values: when.flatMap(value).map(compiled),
  }));
  return {
    name: '@bufbuild/cel 0.6.1',
    judge(at) {
      const row = rowAt(rows, at);
      const ids: string[] = [];
      const values = programs.map((program) => {
        if (program.match(row) === true) ids.push(program.id);
        return program.values.map((run) => run(row));
      });
      return answerOf(rules, ids, values);
    },
  };
}
