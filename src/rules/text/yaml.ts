/**
 * Reads YAML 1.2 in a strict subset: no anchors, aliases, tags, merge keys or duplicate keys, and
 * every warning of the parser is an error. Words that a YAML 1.1 tool would read as true or false
 * get a warning.
 */
import {
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Node,
  Scalar,
  visit,
  type YAMLError,
  type YAMLMap,
} from 'yaml';
import { type ParsedYaml, parseYaml } from '../../lib/yaml.ts';
import type { Problem } from './problem.ts';

export interface RuleFile {
  readonly path: string;
  readonly text: string;
}

export type YamlPath = readonly (string | number)[];

export interface YamlSource {
  readonly file: RuleFile;
  readonly value: unknown;
  /** Node at a path; if there is none, the nearest node above it. */
  nodeAt(path: YamlPath): Node | undefined;
  /** Node of the key `key` in the map at a path. */
  keyAt(path: YamlPath, key: string): Node | undefined;
  problem(start: number, end: number, detail: ProblemDetail): Problem;
}

export interface ProblemDetail {
  readonly message: string;
  readonly hint?: string | undefined;
  readonly ruleId?: string | undefined;
  readonly warning?: boolean | undefined;
  /** A note is weaker than a warning: the state may change, and may be meant so. */
  readonly note?: boolean | undefined;
}

const QUOTE_HINT = 'put the whole condition in single quotes';
const INDENT_HINT = 'indent the lines alike';
const BOOLEAN_WORDS = /^(?:no|yes|on|off)$/i;

/** Whether a document can be converted to values: it has no errors, and no aliases to follow. */
function isReadable(doc: Document.Parsed): boolean {
  let aliases = 0;
  visit(doc, {
    Alias: () => {
      aliases += 1;
    },
  });
  return doc.errors.length === 0 && aliases === 0;
}

function createSource(
  file: RuleFile,
  { document: doc, placeAt }: ParsedYaml,
  readable: boolean,
): YamlSource {
  const rows = file.text.split('\n');
  const indexes = new Map<unknown, ReadonlyMap<unknown, unknown>>();
  /** Values of a map by their keys; the library goes through the map for each. */
  function indexOf(map: YAMLMap): ReadonlyMap<unknown, unknown> {
    const known = indexes.get(map);
    if (known) return known;
    const pairs = map.items.toReversed();
    const made = new Map(pairs.map(({ key, value }) => [isScalar(key) ? key.value : key, value]));
    indexes.set(map, made);
    return made;
  }
  function childOf(node: Node, step: YamlPath[number]): unknown {
    if (isMap(node)) return indexOf(node).get(step);
    return isSeq(node) ? node.get(step, true) : undefined;
  }
  function nodeAt(path: YamlPath): Node | undefined {
    let node: Node | undefined = doc.contents ?? undefined;
    for (const step of path) {
      const child = node && childOf(node, step);
      if (!isNode(child)) break;
      node = child;
    }
    return node;
  }
  return {
    file,
    value: readable ? doc.toJS() : undefined,
    nodeAt,
    keyAt(path, key) {
      const map = nodeAt(path);
      if (!map || !('items' in map)) return undefined;
      for (const item of map.items) {
        if (isPair(item) && isScalar(item.key) && String(item.key.value) === key) return item.key;
      }
      return undefined;
    },
    problem(start, end, { message, hint, ruleId, warning, note }) {
      const { line, column } = placeAt(start);
      const source = (rows[line - 1] ?? '').replace(/\r$/, '');
      const weak = note ? 'note' : 'warning';
      const severity = warning || note ? weak : 'error';
      const length = Math.max(1, end - start);
      const place = { file: file.path, line, column, source, length };
      return { severity, ...place, ruleId, message, hint };
    },
  };
}

/** Error codes of the parser that arise when a condition is not quoted. */
const SCALAR_CODES: ReadonlySet<string> = new Set([
  'UNEXPECTED_TOKEN',
  'BLOCK_AS_IMPLICIT_KEY',
  'BAD_SCALAR_START',
]);

function parserHint({ code, message }: YAMLError, text: string): string | undefined {
  if (code === 'TAG_RESOLVE_FAILED') return `${QUOTE_HINT}, or use unless:`;
  if (code === 'TAB_AS_INDENT') return 'indent with spaces';
  if (code === 'DUPLICATE_KEY') return 'remove or rename one of them';
  // A text such as `mode:off` in the place of a key lacks the space behind its colon.
  if (/^\s*[\w-]+:\S/.test(text)) return 'write a space behind the colon';
  if (code === 'MULTILINE_IMPLICIT_KEY') return `${INDENT_HINT}, or ${QUOTE_HINT}`;
  if (code === 'BLOCK_AS_IMPLICIT_KEY') return `${INDENT_HINT}, or put the text in single quotes`;
  if (message.startsWith('Sequence item without')) return INDENT_HINT;
  if (code === 'MISSING_CHAR' && message.includes('flow')) return QUOTE_HINT;
  return SCALAR_CODES.has(code) || /[?{}&*!|>%@`]/.test(text) ? QUOTE_HINT : undefined;
}

function parserProblems(source: YamlSource, doc: Document.Parsed): Problem[] {
  return [...doc.errors, ...doc.warnings].map((error) => {
    const [start, end] = error.pos;
    const hint = parserHint(error, source.file.text.slice(start, end));
    const message =
      error.code === 'TAG_RESOLVE_FAILED'
        ? 'YAML takes a leading ! for a tag and drops the text'
        : (error.message.split('\n')[0] ?? '').replace(/ at line \d+.*$/, '');
    return source.problem(start, end, { message, hint });
  });
}

function rangeOf(node: Node): readonly [number, number] {
  return [node.range?.[0] ?? 0, node.range?.[1] ?? 0];
}

/**
 * Whether the word is `off` in `mode: off`, as the manual writes it; there it cannot be misread.
 */
function isModeOff(pair: unknown, value: string): boolean {
  return isPair(pair) && isScalar(pair.key) && pair.key.value === 'mode' && value === 'off';
}

function subsetProblems(source: YamlSource, doc: Document.Parsed): Problem[] {
  const problems: Problem[] = [];
  const add = (node: Node, detail: ProblemDetail): void => {
    problems.push(source.problem(...rangeOf(node), detail));
  };
  visit(doc, {
    Alias: (_, node) => add(node, { message: 'aliases (*) cannot be used', hint: QUOTE_HINT }),
    Pair: (_, pair) => {
      if (!isScalar(pair.key)) return;
      const { value, source: written } = pair.key;
      if (value === '<<') add(pair.key, { message: 'merge keys (<<) cannot be used' });
      // An account number as a key would lose its leading zeros.
      if (typeof value !== 'number' || written === String(value)) return;
      const message = `YAML takes the key ${written} for the number ${value}`;
      add(pair.key, { message, hint: `write "${written}" in quotes`, warning: true });
    },
    Node: (role, node, above) => {
      if (node.anchor) add(node, { message: 'anchors (&) cannot be used', hint: QUOTE_HINT });
      if (node.tag && doc.warnings.length === 0 && doc.errors.length === 0) {
        add(node, { message: 'tags (!) cannot be used', hint: `${QUOTE_HINT}, or use unless:` });
      }
      if (!isScalar(node) || node.type !== Scalar.PLAIN) return;
      if (typeof node.value !== 'string' || !BOOLEAN_WORDS.test(node.value)) return;
      if (role === 'value' && isModeOff(above.at(-1), node.value)) return;
      const message = `${node.value} is true or false to older YAML tools`;
      add(node, { message, hint: `write "${node.value}" in quotes`, warning: true });
    },
  });
  return problems;
}

/** Parses a rule file; without `readable` its structure is not known and the file is left out. */
export function readYaml(file: RuleFile): {
  readonly source: YamlSource;
  readonly problems: readonly Problem[];
  readonly readable: boolean;
} {
  const parsed = parseYaml(file.text);
  const { document: doc } = parsed;
  const readable = isReadable(doc);
  const source = createSource(file, parsed, readable);
  const problems = [...parserProblems(source, doc), ...subsetProblems(source, doc)];
  return { source, problems, readable };
}

/** Says why a node cannot be a condition or another expression; undefined if it can. */
export function expressionProblem(node: Node, text: string): ProblemDetail | undefined {
  if (!isScalar(node) || typeof node.value !== 'string') {
    return { message: 'a condition must be a text', hint: QUOTE_HINT };
  }
  if (node.type === Scalar.BLOCK_FOLDED) {
    const hint = 'write it on one line, or use | instead of >';
    return { message: 'a folded block (>) loses the columns of a condition', hint };
  }
  const [start, end] = rangeOf(node);
  if (node.type !== Scalar.BLOCK_LITERAL && text.slice(start, end).includes('\n')) {
    const hint = 'write one condition per item, or use |';
    return { message: 'a condition must be on one line', hint };
  }
  return undefined;
}

/** Whether a text ends inside of an open quote or bracket. */
function isCutShort(condition: string): boolean {
  const code = condition.replaceAll(/"[^"]*"|'[^']*'/g, '');
  return /["']/.test(code) || code.split(/[([]/).length > code.split(/[)\]]/).length;
}

/** Finds the sign at which YAML cut a condition short: ` #`, or `,` in brackets. */
export function cutAt(node: Node, text: string): ' #' | ',' | undefined {
  if (!isScalar(node) || node.type !== Scalar.PLAIN) return undefined;
  if (!isCutShort(String(node.value))) return undefined;
  const rest = text.slice(rangeOf(node)[1]);
  if (/^[ \t]+#/.test(rest)) return ' #';
  return /^\s*,/.test(rest) ? ',' : undefined;
}

function literalOffset(source: string, value: string, offset: number): number {
  const before = value.slice(0, offset).split('\n');
  const rows = source.split('\n');
  const wanted = before.length;
  const valueRow = value.split('\n')[wanted - 1] ?? '';
  const indent = (rows[wanted] ?? '').length - valueRow.length;
  const start = rows.slice(0, wanted).reduce((sum, row) => sum + row.length + 1, 0);
  return start + Math.max(0, indent) + (before.at(-1)?.length ?? 0);
}

function quotedOffset(source: string, offset: number, quote: 'single' | 'double'): number {
  let at = 1;
  for (let seen = 0; seen < offset && at < source.length; seen += 1) {
    const rest = source.slice(at);
    const escaped = quote === 'single' ? /^''/.exec(rest) : /^\\(?:u[\da-f]{4}|.)/i.exec(rest);
    at += escaped ? escaped[0].length : 1;
  }
  return at;
}

/** Converts an offset in a scalar's text to an offset in the file. */
export function offsetInFile(node: Node, text: string, offset: number): number {
  const [start, end] = rangeOf(node);
  if (!isScalar(node) || typeof node.value !== 'string') return start;
  const source = text.slice(start, end);
  if (node.type === Scalar.BLOCK_LITERAL) return start + literalOffset(source, node.value, offset);
  if (node.type === Scalar.QUOTE_SINGLE) return start + quotedOffset(source, offset, 'single');
  if (node.type === Scalar.QUOTE_DOUBLE) return start + quotedOffset(source, offset, 'double');
  return start + offset;
}
