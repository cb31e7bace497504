/**
 * Reads a YAML file as a tree of values with places. YAML 1.2, one document, no anchors, aliases or
 * tags: a configuration that reads the same for people and for programs.
 *
 * Nothing of the file's text enters a message: a broken line may hold a secret.
 */
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  visit,
} from 'yaml';
import type { ParsedYaml } from '../../lib/yaml.ts';
import type { Place, Tree } from './tree.ts';

export interface DocumentProblem {
  readonly at: Place;
  readonly message: string;
  readonly hint: string;
}

type Advice = readonly [message: string, hint: string];

const ADVICE: Readonly<Record<string, Advice>> = {
  DUPLICATE_KEY: ['this setting is written twice', 'keep one of the two'],
  TAB_AS_INDENT: ['a tab stands where spaces must be', 'indent with two spaces'],
  BAD_INDENT: [
    'the indentation does not fit, or a bracket above is not closed',
    'settings of one section start in one column',
  ],
  MULTIPLE_DOCS: ['the file holds more than one document', 'remove the line ---'],
  MISSING_CHAR: ['a colon, a bracket or a space is missing', 'write name: value, with the space'],
};
const OPEN_QUOTE: Advice = ['a closing quote is missing', 'close what is opened here'];
const NO_ALIAS: Advice = [
  'anchors and aliases are not supported',
  'a text that begins with * or & stands in quotes: "*/15 * * * *"',
];
const NO_ADVICE: Advice = ['this is not valid YAML', 'look at quotes, colons and indentation'];

function adviceFor(code: string): Advice {
  return code === 'BAD_ALIAS' ? NO_ALIAS : (ADVICE[code] ?? NO_ADVICE);
}

/** Matches a value that is certainly a single one, even in a file whose quotes do not match. */
const PLAIN_VALUE = /^[\w./:-]{0,60}$/;

/**
 * Matches a value into which a lost line break or colon may have drawn the setting of a secret; a
 * name alone, such as that of a header, is none.
 */
const DRAWN_SECRET =
  /(?:apiKey|clientSecret|password).|\s.*\b(?:secret|token)|\b(?:secret|token).*\s/s;

interface Reading {
  readonly placeAt: ParsedYaml['placeAt'];
  readonly place: Pick<Place, 'source' | 'file'>;
  readonly problems: DocumentProblem[];
}

function placeOf(offset: number, reading: Reading): Place {
  return { ...reading.place, ...reading.placeAt(offset) };
}

function refuse(reading: Reading, offset: number, [message, hint]: Advice): void {
  reading.problems.push({ at: placeOf(offset, reading), message, hint });
}

function memberOf(
  { key, value }: Pair<unknown, unknown>,
  offset: number,
  reading: Reading,
): [string, Tree][] {
  if (!isScalar(key) || typeof key.value !== 'string') {
    const at = isScalar(key) || isCollection(key) ? key.range?.[0] : undefined;
    refuse(reading, at ?? offset, ['a setting must have a name', 'write name: value']);
    return [];
  }
  return [[key.value, treeOf(value, key.range?.[0] ?? offset, reading)]];
}

function treeOf(node: unknown, nameOffset: number, reading: Reading): Tree {
  const isNode = isScalar(node) || isCollection(node) || isAlias(node);
  const offset = (isNode ? node.range?.[0] : undefined) ?? nameOffset;
  const placed = { at: placeOf(offset, reading), nameAt: placeOf(nameOffset, reading) };
  if (isAlias(node) || (isNode && node.anchor !== undefined)) {
    refuse(reading, offset, NO_ALIAS);
    return { ...placed, kind: 'leaf', value: null };
  }
  if (isMap(node)) {
    const members = node.items.flatMap((pair) => memberOf(pair, offset, reading));
    return { ...placed, kind: 'map', members: new Map(members) };
  }
  if (isSeq(node)) {
    const items = node.items.map((item) => treeOf(item, offset, reading));
    return { ...placed, kind: 'list', items };
  }
  if (!isScalar(node)) return { ...placed, kind: 'leaf', value: null };
  const end = placeOf(node.range?.[1] ?? offset, reading);
  const text = String(node.value);
  const isUnclear =
    end.line !== placed.at.line ||
    (reading.problems.length > 0 && !PLAIN_VALUE.test(text)) ||
    DRAWN_SECRET.test(text);
  return { ...placed, kind: 'leaf', value: node.value, isUnclear };
}

/** Finds the opening quote of a text that ends at `end` without a closing quote. */
function openQuote(document: Document, text: string, end: number): number | undefined {
  let opened: number | undefined;
  visit(document, {
    Scalar: (_, { range }) => {
      const [start, until] = range ?? [0, 0];
      const isQuoted = text[start] === '"' || text[start] === "'";
      const isClosed = until - start > 1 && text[until - 1] === text[start];
      if (isQuoted && !isClosed && until === end) opened = start;
    },
  });
  return opened;
}

function refuseErrors(document: Document, text: string, reading: Reading): void {
  // Only the first of several unexpected words is reported, because the parser reports each.
  let unfitEnd: number | undefined;
  for (const { code, pos } of [...document.errors, ...document.warnings]) {
    const quote = code === 'MISSING_CHAR' ? openQuote(document, text, pos[0]) : undefined;
    const isUnfit = code === 'UNEXPECTED_TOKEN';
    const follows = isUnfit && unfitEnd !== undefined && text.slice(unfitEnd, pos[0]).trim() === '';
    if (isUnfit) unfitEnd = pos[1];
    if (quote !== undefined) refuse(reading, quote, OPEN_QUOTE);
    else if (!follows) refuse(reading, pos[0], adviceFor(code));
  }
}

/**
 * Reads the tree of a parsed file; an empty file is an empty map. Collects all problems, not only
 * the first.
 */
export function treeOfFile(
  { document, placeAt }: ParsedYaml,
  text: string,
  place: Pick<Place, 'source' | 'file'>,
): { readonly tree: Tree; readonly problems: readonly DocumentProblem[] } {
  const reading: Reading = { placeAt, place, problems: [] };
  refuseErrors(document, text, reading);
  const root: unknown = document.contents;
  const start = placeOf(0, reading);
  const nothing: Tree = { kind: 'map', members: new Map(), at: start, nameAt: start };
  const isEmpty = root === null || (isScalar(root) && root.value === null);
  return { tree: isEmpty ? nothing : treeOf(root, 0, reading), problems: reading.problems };
}
