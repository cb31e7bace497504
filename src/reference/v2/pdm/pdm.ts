/**
 * Product data of V2: finds, lists, filters, adds and changes resources, without knowing HTTP.
 * Lists are kept until the next write, so that the pages of a collection need not filter it again.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { Json } from '../../../lib/json.ts';
import type { Catalog } from '../../world/catalog/catalog.ts';
import { COLOR_NAMES, GENDERS, ORIGINS, STYLE_TYPES } from '../../world/catalog/words.ts';
import { ProblemError } from '../problem.ts';
import type { Relationship, Resource, ResourceType } from './resources.ts';
import {
  createStyles,
  idsUpTo,
  positionOf,
  type StyleRecord,
  type Styles,
  type StylesState,
  styleResource,
} from './styles.ts';

/** Id and name of each row, and the next id: a removed id is never used again. */
interface NamesState {
  readonly rows: readonly (readonly [id: string, name: string])[];
  readonly nextId: number;
}

interface Names {
  ids(): string[];
  get(id: string): string | undefined;
  add(name: string): string;
  change(id: string, name: string): void;
  remove(id: string): void;
  state(): NamesState;
  restore(state: NamesState): void;
}

function createNames(first: readonly string[]): Names {
  let rows = new Map(first.map((name, index) => [String(index + 1), name]));
  let nextId = first.length + 1;
  return {
    ids: () => [...rows.keys()],
    get: (id) => rows.get(id),
    add(name) {
      const id = String(nextId);
      nextId += 1;
      rows.set(id, name);
      return id;
    },
    change(id, name) {
      rows.set(id, name);
    },
    remove(id) {
      rows.delete(id);
    },
    state: () => ({ rows: [...rows], nextId }),
    restore(state) {
      rows = new Map(state.rows);
      nextId = state.nextId;
    },
  };
}

export interface PdmState {
  readonly styles: StylesState;
  readonly brands: NamesState;
  readonly types: NamesState;
}

export type StyleInput = Omit<StyleRecord, 'updatedAt'>;
export type NamedType = 'brand' | 'type';
/** Filters of a list of resources: name and wanted value of each. */
type Filters = readonly (readonly [name: string, value: string])[];

export interface Pdm {
  get(type: ResourceType, id: string): Resource | undefined;
  /** Ids of resources that pass every filter, in the order of the collection; not to be changed. */
  list(type: ResourceType, filters: Filters): readonly string[];
  style(id: string): StyleRecord | undefined;
  /**
   * Adds a style and returns its id. Throws a {@link ProblemError} when the style number is taken.
   */
  addStyle(input: StyleInput): string;
  changeStyle(id: string, input: Partial<StyleInput>): void;
  addName(type: NamedType, name: string): string;
  changeName(type: NamedType, id: string, name: string): void;
  /** Removes a brand or type. Throws a {@link ProblemError} while a style refers to it. */
  removeName(type: NamedType, id: string): void;
  state(): PdmState;
  restore(state: PdmState): void;
}

const COLOR_CODE_FIRST = 1_000;
/** Number of palette colors of which one is inactive, so that new styles no longer use it. */
const INACTIVE_COLOR_EVERY = 16;

/** Maximum number of lists that are kept between writes. */
const LISTS_MAX = 50;

function leaf(type: ResourceType, id: string, attributes: Resource['attributes']): Resource {
  return { type, id, attributes, relationships: {} };
}

function colorAt(id: string): Resource | undefined {
  const position = positionOf(id, COLOR_NAMES.length);
  if (position === undefined) return undefined;
  return leaf('color', id, {
    active: (position + 1) % INACTIVE_COLOR_EVERY !== 0,
    name: COLOR_NAMES[position] ?? '',
    code: String(COLOR_CODE_FIRST + position),
  });
}

function genderAt(id: string): Resource | undefined {
  const position = positionOf(id, GENDERS.length);
  const name = position === undefined ? undefined : GENDERS[position];
  return name === undefined ? undefined : leaf('gender', id, { name });
}

function countryAt(id: string): Resource | undefined {
  if (!ORIGINS.some((code) => code === id)) return undefined;
  const name = new Intl.DisplayNames('en', { type: 'region' }).of(id) ?? id;
  return leaf('country', id, { name, code: id });
}

function textOf(value: Json | undefined): string | undefined {
  return value === undefined || value === null ? undefined : String(value);
}

function targetOf(relationship: Relationship | undefined): string | undefined {
  const data = relationship?.data;
  return data && 'id' in data ? data.id : undefined;
}

function passes(resource: Resource, filters: Filters): boolean {
  return filters.every(([name, wanted]) => {
    const attribute = textOf(resource.attributes[name]);
    if (attribute !== undefined) return attribute === wanted;
    return targetOf(resource.relationships[name.replace(/Id$/, '')]) === wanted;
  });
}

/** Styles, the tables of names, and the lists that were made from them. */
interface Parts {
  readonly styles: Styles;
  readonly names: Readonly<Record<NamedType, Names>>;
  readonly lists: Map<string, readonly string[]>;
}

function find({ styles, names }: Parts, type: ResourceType, id: string): Resource | undefined {
  if (type === 'brand' || type === 'type') {
    const name = names[type].get(id);
    return name === undefined ? undefined : leaf(type, id, { name });
  }
  if (type === 'color') return colorAt(id);
  if (type === 'gender') return genderAt(id);
  if (type === 'country') return countryAt(id);
  if (type === 'styleColor') return styles.styleColor(id);
  const record = styles.record(id);
  return record && styleResource(id, record, styles.colorIds(id));
}

function idsOf({ styles, names }: Parts, type: ResourceType): readonly string[] {
  if (type === 'brand' || type === 'type') return names[type].ids();
  if (type === 'color') return idsUpTo(COLOR_NAMES.length);
  if (type === 'gender') return idsUpTo(GENDERS.length);
  if (type === 'country') return ORIGINS;
  return type === 'style' ? styles.ids() : styles.styleColorIds();
}

function list(parts: Parts, type: ResourceType, filters: Filters): readonly string[] {
  const key = JSON.stringify([type, filters]);
  const known = parts.lists.get(key);
  if (known) return known;
  const found = idsOf(parts, type).filter((id) => {
    const resource = filters.length === 0 ? undefined : find(parts, type, id);
    return resource === undefined || passes(resource, filters);
  });
  if (parts.lists.size >= LISTS_MAX) parts.lists.clear();
  parts.lists.set(key, found);
  return found;
}

function refuseTaken(styles: Styles, styleNo: string): void {
  const taken = styles.ids().find((id) => styles.record(id)?.styleNo === styleNo);
  if (taken === undefined) return;
  const source = { pointer: '/data/attributes/styleNo' };
  const detail = `${styleNo}: style ${taken} has this number`;
  throw new ProblemError({ status: 409, code: 'style_no_taken', detail, source });
}

function refuseUsed(styles: Styles, type: NamedType, id: string): void {
  const used = styles.ids().find((style) => styles.record(style)?.[type] === id);
  if (used === undefined) return;
  const detail = `${type} ${id}: style ${used} refers to it`;
  throw new ProblemError({ status: 409, code: 'in_use', detail });
}

export function createPdm(catalog: Catalog, clock: Pick<Clock, 'now'>): Pdm {
  const styles = createStyles(catalog);
  const brands = idsUpTo(catalog.size.brands).map((id) => catalog.brandName(Number(id) - 1));
  const types = STYLE_TYPES.map(({ name }) => name);
  const names = { brand: createNames(brands), type: createNames(types) };
  const parts: Parts = { styles, names, lists: new Map() };
  const { lists } = parts;
  /** Copies the brands' names to the catalog, because V1 shows brands by name. */
  const tellBrands = (): void => {
    for (const [index] of brands.entries()) {
      const name = names.brand.get(String(index + 1));
      if (name !== undefined) catalog.renameBrand(index, name);
    }
  };
  return {
    get: (type, id) => find(parts, type, id),
    list: (type, filters) => list(parts, type, filters),
    style: styles.record,
    addStyle(input) {
      refuseTaken(styles, input.styleNo);
      lists.clear();
      return styles.add({ ...input, updatedAt: clock.now() });
    },
    changeStyle(id, input) {
      const record = styles.record(id);
      if (!record) return;
      const { styleNo = record.styleNo } = input;
      if (styleNo !== record.styleNo) refuseTaken(styles, styleNo);
      lists.clear();
      styles.change(id, { ...record, ...input, updatedAt: clock.now() });
    },
    addName(type, name) {
      lists.clear();
      return names[type].add(name);
    },
    changeName(type, id, name) {
      lists.clear();
      names[type].change(id, name);
      if (type === 'brand') tellBrands();
    },
    removeName(type, id) {
      refuseUsed(styles, type, id);
      lists.clear();
      names[type].remove(id);
    },
    state: () => ({
      styles: styles.state(),
      brands: names.brand.state(),
      types: names.type.state(),
    }),
    restore(state) {
      lists.clear();
      styles.restore(state.styles);
      names.brand.restore(state.brands);
      tellBrands();
      names.type.restore(state.types);
    },
  };
}
