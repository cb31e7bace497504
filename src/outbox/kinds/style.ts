/**
 * The kind `style` sends base data of a style in V2. With a `styleId` an existing style is changed,
 * which may be repeated without harm; without one a new style is created, which is found again by
 * its number. Off by default. A confirmed style enters the mirror at once.
 */
import type { V2Client } from '../../client/v2/client.ts';
import { modelledFields, type ResourceOf } from '../../client/v2/resources.ts';
import type { Clock } from '../../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../../lib/errors.ts';
import { isJsonObject } from '../../lib/json.ts';
import { asItCame } from '../../lib/reading/as-it-came.ts';
import { writeStyle } from '../../mirror/catalog/pdm.ts';
import type { ReadSequence } from '../../store/state.ts';
import type { Store } from '../../store/store.ts';
import { readBody, type StyleDocument } from '../documents.ts';
import type { Clearance, LookupResult, OutboxItem, OutboxKind } from '../item.ts';
import { unlessGone } from '../service.ts';

export interface StyleKindDeps {
  readonly v2: Pick<V2Client, 'collection' | 'resource' | 'create' | 'update'> | undefined;
  readonly enabled: boolean;
  readonly store: Store;
  readonly clock: Clock;
  readonly sequence: ReadSequence;
}

type Style = ResourceOf<'style'>;

const ATTRIBUTES = ['styleNo', 'styleName', 'description', 'designer', 'active'] as const;
const RELATIONS = [
  ['brandId', 'brand', 'brand'],
  ['typeId', 'type', 'type'],
  ['genderId', 'gender', 'gender'],
  ['countryId', 'countryOfOrigin', 'country'],
] as const;

function inputOf(document: StyleDocument) {
  const attributes = Object.fromEntries(
    ATTRIBUTES.flatMap((name) => (document[name] === undefined ? [] : [[name, document[name]]])),
  );
  const relationships = Object.fromEntries(
    RELATIONS.flatMap(([member, name, type]) => {
      const id = document[member];
      return id === undefined ? [] : [[name, { data: { type, id } }]];
    }),
  );
  const hasRelations = Object.keys(relationships).length > 0;
  return { attributes, ...(hasRelations ? { relationships } : {}) };
}

/** Returns the id in a to-one relationship: null for none, undefined for an unknown form. */
function idIn(relationship: unknown): string | null | undefined {
  const data = isJsonObject(relationship) ? relationship.data : relationship;
  if (data === undefined || data === null) return null;
  return isJsonObject(data) && typeof data.id === 'string' ? data.id : undefined;
}

/**
 * Lists members of the document that the service shows otherwise, and those that it shows
 * unreadably.
 */
function differences(document: StyleDocument, shown: Style) {
  const attributes = ATTRIBUTES.filter(
    (name) => document[name] !== undefined && document[name] !== shown.attributes[name],
  );
  const relations = RELATIONS.flatMap(([member, name]) => {
    const [given, id] = [document[member], idIn(shown.relationships[name])];
    return given === undefined || given === id ? [] : [{ member, isUnknown: id === undefined }];
  });
  const membersOf = (isUnknown: boolean): string[] =>
    relations.filter((one) => one.isUnknown === isUnknown).map(({ member }) => member);
  return { different: [...attributes, ...membersOf(false)], unknown: membersOf(true) };
}

/**
 * Members that the style's pull asks for: with others the mirrored row would change its content.
 */
const FIELDS = { style: modelledFields('style') };

function judge(item: OutboxItem, document: StyleDocument, shown: Style): LookupResult {
  const { different, unknown } = differences(document, shown);
  const detail = { styleId: shown.id, differences: [...different, ...unknown] };
  if (detail.differences.length === 0) {
    return { outcome: 'matched', detail, result: { styleId: shown.id } };
  }
  const mayDiffer = document.styleId !== undefined;
  const isOther = different.length > 0;
  if (mayDiffer && (isOther || item.state === 'queued')) return { outcome: 'not_found', detail };
  const reason = isOther
    ? `style ${shown.id} has this number, but is not like this document`
    : `style ${shown.id} shows ${unknown.join(', ')} in a form that cannot be compared`;
  return { outcome: 'ambiguous', reason, detail };
}

/** Maximum of unreadable styles that are reported; more would not help a person. */
const SHOWN_MAX = 5;

function mayHaveNumber(raw: unknown, styleNo: string): boolean {
  const attributes = isJsonObject(raw) ? raw.attributes : undefined;
  if (!isJsonObject(attributes)) return true;
  const { styleNo: given } = attributes;
  return typeof given === 'object' ? given !== null : String(given) === styleNo;
}

/** Whether a style has this attribute in a form that cannot be read. */
function isOdd({ attributes }: Style, name: (typeof ATTRIBUTES)[number]): boolean {
  return (attributes[name] ?? null) === null && asItCame(attributes)?.[name] !== undefined;
}

interface Search {
  readonly styles: readonly Style[];
  readonly unreadable: readonly string[];
}

/**
 * Lists styles with this number; walks the whole collection if the service does not know the
 * filter.
 */
async function withNumber(
  v2: NonNullable<StyleKindDeps['v2']>,
  styleNo: string,
  signal: AbortSignal,
): Promise<Search> {
  const search = async (filter: Readonly<Record<string, string>>): Promise<Search> => {
    const styles: Style[] = [];
    const unreadable: string[] = [];
    const pull = v2.collection('style', { filter, fields: FIELDS }, { priority: 'push', signal });
    for await (const { rows, rejects } of pull) {
      for (const row of rows) {
        const { styleNo: shown } = row.attributes;
        const odd = ATTRIBUTES.find((name) => isOdd(row, name));
        if (odd !== undefined && (shown ?? styleNo) === styleNo) {
          unreadable.push(`${row.id} (attributes.${odd})`);
        } else if (shown === styleNo) styles.push(row);
      }
      for (const { raw, path } of rejects) {
        if (!mayHaveNumber(raw, styleNo)) continue;
        const id = isJsonObject(raw) && typeof raw.id === 'string' ? raw.id : '(without id)';
        unreadable.push(path === '' ? id : `${id} (${path})`);
      }
    }
    return { styles, unreadable };
  };
  try {
    return await search({ styleNo });
  } catch (error) {
    if (error instanceof RefusedError && error.code === 'service.bad_request') return search({});
    throw error;
  }
}

interface Judged {
  readonly lookup: LookupResult;
  readonly style?: Style;
}

async function find(
  v2: NonNullable<StyleKindDeps['v2']>,
  item: OutboxItem,
  signal: AbortSignal,
): Promise<Judged> {
  const document = readBody.style(item.body);
  const { styleId, styleNo } = document;
  if (styleId !== undefined) {
    const call = { priority: 'push', signal } as const;
    const read = await unlessGone(v2.resource('style', styleId, { fields: FIELDS }, call));
    if (read) return { lookup: judge(item, document, read.value), style: read.value };
    const reason = `the service has no style ${styleId}`;
    return { lookup: { outcome: 'superseded', reason, detail: { styleId } } };
  }
  const { styles, unreadable } = await withNumber(v2, styleNo ?? '', signal);
  const [first] = styles;
  if (!first) {
    const detail = { styleNo: styleNo ?? null, unreadable: unreadable.slice(0, SHOWN_MAX) };
    return { lookup: { outcome: 'not_found', complete: unreadable.length === 0, detail } };
  }
  if (styles.length === 1) return { lookup: judge(item, document, first), style: first };
  const ids = styles.map(({ id }) => id);
  const reason = `${ids.length} styles have the number ${styleNo}: ${ids.join(', ')}`;
  return { lookup: { outcome: 'ambiguous', reason, detail: { styleIds: ids } } };
}

async function lookUp(
  { store, clock, sequence }: StyleKindDeps,
  v2: NonNullable<StyleKindDeps['v2']>,
  item: OutboxItem,
  signal: AbortSignal,
): Promise<LookupResult> {
  const readSeq = await sequence.next();
  const { lookup, style } = await find(v2, item, signal);
  if (lookup.outcome === 'matched' && style) {
    const provenance = { source: `refresh:outbox:${item.outboxId}`, readSeq, at: clock.now() };
    await store.transaction(async (tx) => {
      await writeStyle(tx, style, provenance);
    });
  }
  return lookup;
}

const OFF = 'styles are not taken here: set outbox.styles and service.v2.enabled';

export function createStyleKind(deps: StyleKindDeps): OutboxKind {
  const { v2, enabled } = deps;
  const needV2 = (): NonNullable<StyleKindDeps['v2']> => {
    if (v2) return v2;
    throw new RefusedError('outbox.no_v2', 'V2 is not enabled', {
      hint: 'set service.v2.enabled, or cancel it',
    });
  };
  return {
    kind: 'style',
    off: () => (enabled && v2 ? undefined : { path: 'kind', message: OFF }),
    creates: (item) => readBody.style(item.body).styleId === undefined,
    async clear(item, signal): Promise<Clearance> {
      // A document from before styles were turned off waits: refused, its reference would be lost
      // for good.
      if (!enabled || !v2) throw new RetryLaterError('outbox.styles_off', OFF);
      const lookup = await lookUp(deps, v2, item, signal);
      if (lookup.outcome === 'not_found' && lookup.complete === false) {
        const { styleNo, unreadable } = lookup.detail;
        const text = `a style that may have the number ${styleNo} cannot be read: ${unreadable}`;
        throw new RetryLaterError('outbox.style_unreadable', text);
      }
      if (lookup.outcome === 'not_found') return { send: true, baseline: {}, warnings: [] };
      return { send: false, lookup };
    },
    lookUp: async (item, signal) => lookUp(deps, needV2(), item, signal),
    async send(item, request) {
      const document = readBody.style(item.body);
      const call = { priority: 'push', ...request } as const;
      const input = inputOf(document);
      const { value } =
        document.styleId === undefined
          ? await needV2().create('style', input, call)
          : await needV2().update('style', document.styleId, input, call);
      return { styleId: value.id };
    },
  };
}
