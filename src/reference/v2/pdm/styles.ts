/**
 * Styles as product data shows them: those of the catalog, computed when they are requested, with
 * their changes, and those that were added through V2 (which have no colors and no variants yet). A
 * change of members that V1 shows as well is made in the catalog, so that both show the same.
 */
import type { Catalog, Style } from '../../world/catalog/catalog.ts';
import { numberAt } from '../../world/catalog/hash.ts';
import { COLOR_NAMES, GENDERS, STYLE_TYPES } from '../../world/catalog/words.ts';
import type { Resource, ResourceId } from './resources.ts';

/** A style, with its references as ids. */
export interface StyleRecord {
  readonly styleNo: string;
  readonly styleName: string;
  readonly description: string;
  readonly designer: string;
  readonly active: boolean;
  readonly brand: string;
  readonly type: string;
  readonly gender: string;
  readonly countryOfOrigin: string;
  /** Time of the style's last change, epoch ms. */
  readonly updatedAt: number;
}

export interface StylesState {
  readonly added: readonly StyleRecord[];
  readonly changed: readonly (readonly [id: string, record: StyleRecord])[];
}

export interface Styles {
  ids(): string[];
  record(id: string): StyleRecord | undefined;
  add(record: StyleRecord): string;
  change(id: string, record: StyleRecord): void;
  /** Ids of a style's style colors; an added style has none. */
  colorIds(id: string): string[];
  styleColor(id: string): Resource | undefined;
  styleColorIds(): string[];
  state(): StylesState;
  restore(state: StylesState): void;
}

const SALT_UPDATED = 500;
const DAY_MS = 86_400_000;
/** Day before which generated styles were last changed, within half a year. */
const UPDATED_BEFORE = Date.UTC(2026, 0, 1);

/** Position that an id stands for, which counts from 1; undefined: the text is no such id. */
export function positionOf(id: string, count: number): number | undefined {
  const position = /^[1-9]\d{0,8}$/.test(id) ? Number(id) - 1 : -1;
  return position >= 0 && position < count ? position : undefined;
}

export function idsUpTo(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index + 1));
}

function generated(catalog: Catalog, style: Style): StyleRecord {
  const age = numberAt(catalog.size.seed, style.index, SALT_UPDATED, 180);
  return {
    styleNo: style.styleNo,
    styleName: style.styleName,
    description: style.description,
    designer: style.designer,
    active: !style.b2bHidden,
    brand: String(style.brand + 1),
    type: String(style.type + 1),
    gender: String(style.gender + 1),
    countryOfOrigin: style.origin,
    updatedAt: UPDATED_BEFORE - age * DAY_MS,
  };
}

/**
 * Members of a style that V1 shows as well. With a type that was added through V2, the style keeps
 * its former type there, because V1 has no variants of an added type.
 */
function shownByV1(record: StyleRecord): Partial<Style> {
  const { styleNo, styleName, description, designer, active, countryOfOrigin: origin } = record;
  const type = positionOf(record.type, STYLE_TYPES.length);
  const gender = positionOf(record.gender, GENDERS.length);
  return {
    styleNo,
    styleName,
    description,
    designer,
    origin,
    b2bHidden: !active,
    ...(type === undefined ? {} : { type }),
    ...(gender === undefined ? {} : { gender }),
  };
}

function styleColorAt(catalog: Catalog, position: number): Resource {
  const { colors } = catalog.size;
  const index = Math.floor(position / colors);
  const color = position % colors;
  const palette = catalog.colorOf(index, color) % COLOR_NAMES.length;
  return {
    type: 'styleColor',
    id: String(position + 1),
    attributes: {
      active: catalog.isColorActive(index, color),
      noosType: catalog.style(index).noos ? 'noos' : 'none',
    },
    relationships: { color: { data: { type: 'color', id: String(palette + 1) } } },
  };
}

export function createStyles(catalog: Catalog): Styles {
  const first = catalog.size.styles;
  const { colors } = catalog.size;
  let added: StyleRecord[] = [];
  const changed = new Map<string, StyleRecord>();
  return {
    ids: () => idsUpTo(first + added.length),
    record(id) {
      const position = positionOf(id, first + added.length);
      if (position === undefined) return undefined;
      if (position >= first) return added[position - first];
      return changed.get(id) ?? generated(catalog, catalog.style(position));
    },
    add: (record) => String(first + added.push(record)),
    change(id, record) {
      const position = positionOf(id, first + added.length);
      if (position === undefined) return;
      if (position >= first) {
        added[position - first] = record;
        return;
      }
      changed.set(id, record);
      catalog.change(position, shownByV1(record));
    },
    colorIds(id) {
      const position = positionOf(id, first);
      if (position === undefined) return [];
      return Array.from({ length: colors }, (_, color) => String(position * colors + color + 1));
    },
    styleColor(id) {
      const position = positionOf(id, first * colors);
      return position === undefined ? undefined : styleColorAt(catalog, position);
    },
    styleColorIds: () => idsUpTo(first * colors),
    state: () => ({ added: [...added], changed: [...changed] }),
    restore(state) {
      added = [...state.added];
      changed.clear();
      for (const [id, record] of state.changed) changed.set(id, record);
    },
  };
}

export function styleResource(id: string, record: StyleRecord, colorIds: string[]): Resource {
  const one = (type: ResourceId['type'], to: string) => ({ data: { type, id: to } });
  return {
    type: 'style',
    id,
    attributes: {
      styleNo: record.styleNo,
      styleName: record.styleName,
      description: record.description,
      designer: record.designer,
      active: record.active,
      updatedAt: new Date(record.updatedAt).toISOString(),
    },
    relationships: {
      brand: one('brand', record.brand),
      type: one('type', record.type),
      gender: one('gender', record.gender),
      countryOfOrigin: one('country', record.countryOfOrigin),
      styleColors: { data: colorIds.map((color) => ({ type: 'styleColor', id: color })) },
    },
  };
}
