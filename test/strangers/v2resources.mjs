import { isoTime } from './php.mjs';

// The V2 resources as a table: how a row is shown, related, filtered and written.

const one = (type, name) => ({ type, many: false, ids: (row) => row[name] });
const many = (type, ids) => ({ type, many: true, ids });
const idsWhere = (list, name, id) => list.filter((row) => row[name] === id).map((r) => r.id);

export const RESOURCES = {
  style: {
    path: 'styles',
    rows: (state) => state.styles,
    attributes: (row) => ({
      styleNo: row.styleNo,
      styleName: row.styleName,
      description: row.description,
      designer: row.designer,
      gender: row.gender,
      weight: row.weight,
      customsTariffNo: row.customsTariffNo,
      countryOfOrigin: row.countryOfOrigin,
      createdAt: isoTime(row.createdAt),
      updatedAt: isoTime(row.updatedAt),
    }),
    relationships: {
      brand: one('brand', 'brandId'),
      type: one('type', 'typeId'),
      styleColors: many('styleColor', (row, state) => {
        return idsWhere(state.styleColors, 'styleId', row.id);
      }),
    },
    filters: {
      brandId: (row, value) => String(row.brandId) === value,
      typeId: (row, value) => String(row.typeId) === value,
      styleNo: (row, value) => row.styleNo === value,
    },
    creatable: true,
    required: ['styleNo', 'styleName', 'brand'],
    writable: {
      styleNo: 'text',
      styleName: 'text',
      description: 'text?',
      designer: 'text?',
      gender: 'text?',
      weight: 'number?',
      customsTariffNo: 'text?',
      countryOfOrigin: 'text?',
      brand: 'one',
      type: 'one?',
    },
  },
  styleColor: {
    path: 'style-colors',
    rows: (state) => state.styleColors,
    attributes: (row) => ({ active: row.active, noosType: row.noosType }),
    relationships: { color: one('color', 'colorId'), style: one('style', 'styleId') },
    filters: {
      active: 'boolean',
      noosType: (row, value) => row.noosType === value,
      styleId: (row, value) => String(row.styleId) === value,
    },
    writable: { active: 'boolean', noosType: ['none', 'noos'] },
  },
  color: {
    path: 'colors',
    rows: (state) => state.colors,
    attributes: (row) => ({
      colorCode: row.colorCode,
      colorName: row.colorName,
      active: row.active,
    }),
    relationships: {},
    filters: { active: 'boolean' },
    writable: { colorCode: 'text', colorName: 'text', active: 'boolean' },
  },
  brand: {
    path: 'brands',
    rows: (state) => state.brands,
    attributes: (row) => ({ brandName: row.brandName }),
    relationships: {},
    filters: {},
  },
  type: {
    path: 'types',
    rows: (state) => state.types,
    attributes: (row) => ({ typeName: row.typeName }),
    relationships: {},
    filters: {},
  },
};

const kebab = (text) => text.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

export function byPath(type, sub) {
  const hit = Object.entries(RESOURCES[type].relationships).find(([name]) => kebab(name) === sub);
  return hit ? hit[1] : null;
}
