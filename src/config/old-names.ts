/**
 * Gives settings of an earlier version their present names, in the parsed file itself: a start
 * reads the result, and `selvedge config migrate` writes it. Nodes keep their places, so that
 * messages name the lines of the file. A setting that is there under both names keeps the old one,
 * which nothing knows, so that the file is refused.
 */
import { type Document, isMap, isScalar, type Pair, YAMLMap, YAMLSeq } from 'yaml';
import { type Renamed, renamedSettings } from '../lib/reading/renamed.ts';
import type { Tree } from './source/tree.ts';

/** Setting of the file that has another name now, or is not used any more. */
export interface OldName {
  readonly path: string;
  /** Offset of the name in the file. */
  readonly offset: number;
  readonly message: string;
}

interface Reading {
  readonly document: Document;
  readonly text: string;
  readonly renamed: Renamed;
  readonly found: OldName[];
  /** Whether the file lists the streams that are off; `enabled` of one contradicts that. */
  readonly isListed: boolean;
  /** List of the streams whose `enabled` is false. */
  readonly off: YAMLSeq;
}

/** Section that is looked through; `defaults`: the same in the shipped configuration. */
interface Section {
  readonly map: YAMLMap;
  readonly path: string;
  readonly defaults: Tree | undefined;
}

/** Takes a setting out of its section if it is an old one; returns whether it did. */
type Take = (section: Section, pair: Pair, path: string, reading: Reading) => boolean;

const OFF = 'streams.off';

function nameOf({ key }: Pair): string {
  return isScalar(key) && typeof key.value === 'string' ? key.value : '';
}

function below({ path, defaults }: Omit<Section, 'map'>, name: string) {
  return {
    path: path === '' ? name : `${path}.${name}`,
    defaults: defaults?.kind === 'map' ? defaults.members.get(name) : undefined,
  };
}

/** Whether the section has settings that the shipped configuration does not have there. */
function hasOthers(map: YAMLMap, defaults: Tree): boolean {
  return map.items.some((pair) => {
    const { defaults: known } = below({ path: '', defaults }, nameOf(pair));
    if (known === undefined || !isMap(pair.value)) return known === undefined;
    return known.kind === 'leaf' ? known.value !== null : hasOthers(pair.value, known);
  });
}

function joined(...comments: readonly (string | null | undefined)[]): string {
  return comments.filter((one) => one).join('\n');
}

/**
 * Takes a setting out of its section and returns its comment. The comment of the first setting is
 * that of the section: the lines after the last empty one, without what stands behind its name.
 */
function takeOut({ map }: Section, pair: Pair, { text }: Reading): string {
  const { key } = pair;
  const isFirst = map.items[0] === pair;
  map.items.splice(map.items.indexOf(pair), 1);
  if (!isScalar(key)) return '';
  const own = key.commentBefore;
  key.commentBefore = null;
  if (!isFirst || !map.commentBefore) return own ?? '';
  const lines = map.commentBefore.split('\n');
  const head = text
    .slice(0, key.range?.[0])
    .split('\n')
    .findLast((line) => !/^\s*(?:#|$)/.test(line));
  const start = Math.max(lines.lastIndexOf('') + 1, /\s#/.test(head ?? '') ? 1 : 0);
  map.commentBefore = lines.slice(0, start).join('\n') || null;
  return joined(lines.slice(start).join('\n'), own);
}

/** Leaves a comment where a setting was: before the next one, or at the end of the section. */
function leave({ map }: Section, index: number, comment: string): void {
  if (comment === '') return;
  const next = map.items[index]?.key;
  if (isScalar(next)) next.commentBefore = joined(comment, next.commentBefore);
  else map.comment = joined(comment, map.comment);
}

/** Drops a setting; if it has a comment, both stay as one. */
function drop(section: Section, pair: Pair, path: string, reading: Reading): void {
  const { value } = pair;
  const index = section.map.items.indexOf(pair);
  const before = takeOut(section, pair, reading);
  if (isMap(value)) leave(section, index, joined(before, value.commentBefore, value.comment));
  if (!isScalar(value) || !(before || value.comment)) return;
  const behind = value.comment ? ` #${value.comment}` : '';
  leave(section, index, joined(before, ` ${path}: ${String(value.value)}${behind}`));
}

function note({ found }: Reading, { key }: Pair, path: string, message: string): void {
  found.push({ path, offset: (isScalar(key) ? key.range?.[0] : undefined) ?? 0, message });
}

/** Finds a section, or makes it; undefined: something else stands there. */
function sectionAt({ document }: Reading, steps: readonly string[]): YAMLMap | undefined {
  let found: unknown = document.contents;
  for (const step of steps) {
    if (!isMap(found)) return undefined;
    let pair = found.items.find((one) => nameOf(one) === step);
    if (pair === undefined) {
      pair = document.createPair(step, null);
      found.items.push(pair);
    }
    if (isScalar(pair.value) && pair.value.value === null) pair.value = new YAMLMap();
    found = pair.value;
  }
  return isMap(found) ? found : undefined;
}

/** Takes what is not used any more, and `enabled` of a stream, which is in a list now. */
const takeUnused: Take = (section, pair, path, reading) => {
  const now = reading.renamed[path];
  if (now !== null && typeof now === 'object' && 'unused' in now) {
    note(reading, pair, path, `is not used any more: ${now.unused}`);
    drop(section, pair, path, reading);
    return true;
  }
  const isOn = isScalar(pair.value) ? pair.value.value : undefined;
  if (now !== OFF || typeof isOn !== 'boolean' || reading.isListed) return false;
  if (!isOn) {
    const item = reading.document.createNode(path.split('.').at(-2));
    if (isScalar(pair.key) && pair.key.range) item.range = pair.key.range;
    if (reading.off.items.push(item) === 1) {
      sectionAt(reading, ['streams'])?.items.push(reading.document.createPair('off', reading.off));
    }
  }
  note(reading, pair, path, `is now ${OFF}`);
  drop(section, pair, path, reading);
  return true;
};

/** Moves what has another name, with its comments. */
const takeMoved: Take = (section, pair, path, reading) => {
  const now = reading.renamed[path];
  if (typeof now !== 'string' || now === OFF || !isScalar(pair.key)) return false;
  const steps = now.split('.');
  const name = steps.at(-1) ?? '';
  const place = sectionAt(reading, steps.slice(0, -1));
  const there = place?.items.find((one) => nameOf(one) === name);
  // A setting may take the place of the section that it was in, if nothing else is there.
  const isOwn = there?.value === section.map && section.map.items.length === 1;
  if (place === undefined || (there !== undefined && !isOwn)) return false;
  note(reading, pair, path, `is now ${now}`);
  const before = takeOut(section, pair, reading);
  if (there === undefined) {
    pair.key.value = name;
    pair.key.commentBefore = before || null;
    place.items.push(pair);
    return true;
  }
  const all = joined(section.map.commentBefore, before, section.map.comment);
  if (isScalar(there.key)) there.key.commentBefore = joined(there.key.commentBefore, all);
  there.value = pair.value;
  return true;
};

/** Takes all that is old below a section; returns whether there was something. */
function takeAll(section: Section, take: Take, reading: Reading): boolean {
  let isChanged = false;
  for (const pair of [...section.map.items]) {
    const { path, defaults } = below(section, nameOf(pair));
    const { value } = pair;
    if (take(section, pair, path, reading)) isChanged = true;
    else if (isMap(value)) {
      const wasTaken = takeAll({ map: value, path, defaults }, take, reading);
      isChanged ||= wasTaken;
      const isOld = Object.keys(reading.renamed).some((name) => name.startsWith(`${path}.`));
      const isLeft = value.items.length === 0 && pair.value === value;
      if (!isLeft || !(wasTaken || (isOld && defaults?.kind !== 'map'))) continue;
      if (!wasTaken) note(reading, pair, path, 'is no section any more');
      drop(section, pair, path, reading);
    }
  }
  return isChanged;
}

/** Replaces the old names in a parsed file, and lists them in its order. */
export function replaceOldNames(document: Document, text: string, defaults: Tree): OldName[] {
  const { contents } = document;
  if (!isMap(contents) || !hasOthers(contents, defaults)) return [];
  const found: OldName[] = [];
  const off = new YAMLSeq();
  off.flow = true;
  const isListed = document.hasIn(OFF.split('.'));
  const reading = { document, text, renamed: renamedSettings(), found, isListed, off };
  for (const take of [takeUnused, takeMoved]) {
    takeAll({ map: contents, path: '', defaults }, take, reading);
  }
  return found.sort((a, b) => a.offset - b.offset);
}
