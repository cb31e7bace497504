import { round2 } from './php.mjs';
import { generator } from './random.mjs';

// The catalogue and the customers, made up from the seed. Plain objects only, so that a test
// can look at `state` or change it without knowing any class.

const BRANDS = ['Nordlys', 'Havn & Co', 'Birk Ærø'];
const TYPES = ['T-shirt', 'Shirt', 'Knit', 'Trousers', 'Jacket', 'Dress'];
const COLORS = [
  ['001', 'Black', true],
  ['010', 'Off White', true],
  ['220', 'Navy', true],
  ['315', 'Forest Green', true],
  ['470', 'Rosé', true],
  ['512', 'Sand', true],
  ['640', 'Mustard', false],
  ['777', 'Neon Lime', false],
];
const NAMES = ['Alma', 'Bo', 'Clara', 'Dagny', 'Esben', 'Freja', 'Gro', 'Holger', 'Ida', 'Jens'];
const SIZES = ['S', 'M', 'L', 'XL'];
export const SEASONS = [
  season('AW26', [
    ['Drop 1', '2026-07-15', '2026-08-15'],
    ['Drop 2', '2026-09-01', '2026-09-30'],
  ]),
  season('SS27', [
    ['January Delivery', '2027-01-10', '2027-02-10'],
    ['March Delivery', '2027-03-01', '2027-03-31'],
  ]),
];

function season(seasonName, drops) {
  const deliveries = drops.map(([deliveryName, from, to]) => ({ deliveryName, from, to }));
  return { seasonName, deliveries };
}

export function emptyState() {
  return {
    brands: [],
    types: [],
    colors: [],
    styles: [],
    styleColors: [],
    variants: [],
    seasons: structuredClone(SEASONS),
    freights: [],
    customers: [],
    clients: [],
    orders: [],
    deliveries: [],
    refunds: [],
    pendingRefunds: [],
    tokens: {},
    pageTokens: {},
    portalLinks: {},
    counters: {
      token: 0,
      order: 48200,
      orderNo: 10480,
      delivery: 91300,
      refund: 7100,
      refundNo: 5010,
      pendingRefund: 300,
      style: 1000,
      styleColor: 20000,
    },
  };
}

export function makeWorld(opts) {
  const state = emptyState();
  const random = generator(opts.seed);
  BRANDS.forEach((brandName, i) => {
    state.brands.push({ id: i + 11, brandName });
  });
  TYPES.forEach((typeName, i) => {
    state.types.push({ id: i + 1, typeName });
  });
  COLORS.forEach(([colorCode, colorName, active], i) => {
    state.colors.push({ id: i + 101, colorCode, colorName, active });
  });
  state.freights.push(
    { freightType: 'GLS Business', freightAmount: 75, warehouseCode: 'MAIN' },
    { freightType: 'DHL Express', freightAmount: 195.5, warehouseCode: 'MAIN' },
    { freightType: 'Pick up', freightAmount: 0, warehouseCode: 'SHOWROOM' },
  );
  for (let i = 0; i < opts.styles; i += 1) addStyle(state, random, i, opts.now());
  addCustomers(state, random, opts);
  return { state, random };
}

function addStyle(state, random, index, at) {
  state.counters.style += random.int(1, 3);
  const noos = index % 5 === 0;
  const style = {
    id: state.counters.style,
    styleNo: `${200100 + index}`,
    styleName: `${NAMES[index % NAMES.length]} ${TYPES[index % TYPES.length]}`,
    description: index % 4 === 0 ? null : 'Regular fit in a soft quality. 100% "Øko" cotton/wool.',
    brandId: state.brands[index % state.brands.length].id,
    typeId: state.types[index % TYPES.length].id,
    seasonName: index % 2 === 0 ? 'AW26' : 'SS27',
    noos,
    designer: index % 3 === 0 ? 'Æ. Lund' : null,
    gender: ['Women', 'Men', 'Unisex'][index % 3],
    category: 'Ready to wear',
    quality: ['Jersey', 'Poplin', 'Wool'][index % 3],
    wash: index % 4 === 0 ? 'Stone' : null,
    tags: index % 3 === 0 ? ['organic', 'new'] : [],
    customsTariffNo: '61091000',
    countryOfOrigin: ['PT', 'TR', 'IT'][index % 3],
    weight: random.int(150, 900),
    b2bHidden: index % 17 === 16,
    createdAt: at - 86400000 * (400 - index),
    updatedAt: at - 86400000 * 7,
  };
  state.styles.push(style);
  const start = random.int(0, COLORS.length - 1);
  for (let c = 0; c < 2; c += 1) {
    addStyleColor(state, random, style, state.colors[(start + c) % COLORS.length]);
  }
}

function addStyleColor(state, random, style, color) {
  state.counters.styleColor += 1;
  const row = {
    id: state.counters.styleColor,
    styleId: style.id,
    colorId: color.id,
    active: color.active,
    noosType: style.noos ? 'noos' : 'none',
  };
  state.styleColors.push(row);
  const price = random.int(15, 120) * 10 - 0.05;
  const wspPrice = round2(price / 2.5);
  const shared = { styleColorId: row.id, price, wspPrice, preorderWsp: round2(wspPrice * 0.94) };
  const sale = style.seasonName === 'AW26' && !style.noos ? round2(price * 0.7) : null;
  for (const size of SIZES) {
    state.variants.push({
      ...shared,
      size,
      sale,
      barcode: barcode(state.variants.length),
      pieces: 1,
      variantType: 'single',
      stock: random.int(0, 9) < 2 ? 0 : random.int(3, 40),
      preorder: random.int(20, 200),
    });
  }
  // Fashion wholesalers sell fixed size runs under one barcode; sizeQuantity counts the pieces.
  state.variants.push({
    ...shared,
    size: 'S-XL',
    sale: null,
    barcode: barcode(state.variants.length),
    pieces: 6,
    price: round2(price * 6),
    wspPrice: round2(wspPrice * 6),
    preorderWsp: round2(wspPrice * 6 * 0.94),
    variantType: 'assortment',
    stock: random.int(0, 4),
    preorder: random.int(5, 20),
  });
}

// EAN-13 under the Danish prefix with a real check digit.
export function barcode(index) {
  const body = `5712${String(30000000 + index)}`;
  const sum = [...body].reduce((n, d, i) => n + Number(d) * (i % 2 === 0 ? 1 : 3), 0);
  return body + String((10 - (sum % 10)) % 10);
}

function addCustomers(state, random, opts) {
  const address = {
    address: 'Nørregade 12',
    address2: null,
    city: 'Aarhus C',
    company: 'Butik Ø ApS',
    countryCode: 'DK',
    name: 'Kaja Østergård',
    phone: '+4586000000',
    email: 'indkoeb@butik-oe.example',
    provinceCode: null,
    zip: '8000',
    accountNo: 'D10042',
  };
  const [first, second] = state.brands;
  state.customers.push(
    { id: 1, currency: opts.currency, address, discounts: { [first.id]: 10, [second.id]: 7.5 } },
    {
      id: 2,
      currency: opts.currency,
      discounts: {},
      address: { ...address, company: 'Anden Butik A/S', accountNo: 'D10077' },
    },
  );
  const secret = () => random.text(40);
  state.clients.push(
    v1Client(1, `b2b-${random.text(12)}`, secret(), opts.detailedPricing),
    v1Client(2, `b2b-${random.text(12)}`, secret(), false),
    { kind: 'v2', customerId: 1, id: `pdm-${random.text(12)}`, secret: secret() },
  );
}

function v1Client(customerId, id, secret, detailedPricing) {
  return { kind: 'v1', customerId, id, secret, b2b: true, detailedPricing };
}

// --- look-ups used by every interface

export function byId(list, id) {
  return list.find((row) => String(row.id) === String(id)) ?? null;
}

export function variantBy(state, code) {
  return state.variants.find((v) => v.barcode === String(code)) ?? null;
}

export function styleColorOf(state, variant) {
  return byId(state.styleColors, variant.styleColorId);
}

export function styleOf(state, variant) {
  return byId(state.styles, styleColorOf(state, variant).styleId);
}

// Never-out-of-stock styles are in every season.
export function inSeason(state, variant, seasonName) {
  const style = styleOf(state, variant);
  return style.noos || style.seasonName === seasonName;
}

export function priceFor(state, customer, variant, preorder) {
  const original = preorder ? variant.preorderWsp : variant.wspPrice;
  const percentage = customer.discounts[styleOf(state, variant).brandId] ?? 0;
  const discounted = round2(original * (1 - percentage / 100));
  return { original, percentage, discounted };
}
