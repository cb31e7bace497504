/** Vocabulary of the world: plain tables, all text within Latin-1 (which keeps strings compact). */

export const BRAND_NAMES = [
  'Søholm Atelier',
  'Nordlys',
  'Bjerg & Sønner',
  'Maison Verte',
  'Tindra',
  'Hafen 7',
  'Kindred Loom',
  'Fjord Denim',
  'Lille Bro',
  'Ögonblick',
  'Casa Oliva',
  'Strandgade',
  'Windward Supply',
  'Atelier Brun',
  'Mønster',
  'Kaj Outdoor',
] as const;

export const STYLE_WORDS = [
  'Aster',
  'Birk',
  'Clara',
  'Dagny',
  'Elm',
  'Freja',
  'Gale',
  'Holger',
  'Iris',
  'Jens',
  'Kit',
  'Liv',
  'Mads',
  'Nora',
  'Odin',
  'Petra',
  'Quinn',
  'Rune',
  'Saga',
  'Thor',
  'Una',
  'Vera',
  'Wille',
  'Ylva',
] as const;

/**
 * Types of styles: `scale` names the sizes, `tariff` the customs heading, `gramsMin` the lowest
 * weight.
 */
export const STYLE_TYPES = [
  { name: 'Shirt', category: 'Tops', scale: 'letter', tariff: '62052000', gramsMin: 180 },
  { name: 'T-shirt', category: 'Tops', scale: 'letter', tariff: '61091000', gramsMin: 120 },
  { name: 'Knit', category: 'Knitwear', scale: 'letter', tariff: '61101130', gramsMin: 320 },
  { name: 'Jacket', category: 'Outerwear', scale: 'letter', tariff: '62014010', gramsMin: 700 },
  { name: 'Coat', category: 'Outerwear', scale: 'letter', tariff: '62011100', gramsMin: 1100 },
  { name: 'Trousers', category: 'Bottoms', scale: 'waist', tariff: '62034231', gramsMin: 380 },
  { name: 'Jeans', category: 'Bottoms', scale: 'waist', tariff: '62034231', gramsMin: 520 },
  { name: 'Dress', category: 'Dresses', scale: 'letter', tariff: '62044200', gramsMin: 260 },
  { name: 'Sneaker', category: 'Shoes', scale: 'shoe', tariff: '64041990', gramsMin: 640 },
  { name: 'Scarf', category: 'Accessories', scale: 'letter', tariff: '61171000', gramsMin: 90 },
] as const;

export const SIZE_SCALES = {
  letter: ['XXS', 'XS', 'S', 'M', 'L', 'XL', 'XXL', '3XL', '4XL', '5XL'],
  waist: ['26', '27', '28', '29', '30', '31', '32', '33', '34', '36'],
  shoe: ['36', '37', '38', '39', '40', '41', '42', '43', '44', '45'],
} as const;

export const GENDERS = ['Women', 'Men', 'Unisex', 'Kids'] as const;
export const QUALITIES = [
  '100% organic cotton',
  '98% cotton, 2% elastane',
  '100% merino wool',
  '70% wool, 30% recycled polyamide',
  '100% linen',
  '55% linen, 45% viscose',
  '100% recycled polyester',
] as const;
export const DESIGNERS = [
  'A. Søgaard',
  'M. Lindqvist',
  'J. Moreau',
  'T. Haas',
  'R. Okafor',
] as const;
export const CARE = [
  {
    text: 'Machine wash at 30°, inside out',
    wash: '30',
    iron: 'low',
    dry: 'no',
    dryClean: 'no',
    bleach: 'no',
  },
  {
    text: 'Machine wash at 40°',
    wash: '40',
    iron: 'medium',
    dry: 'low',
    dryClean: 'no',
    bleach: 'no',
  },
  {
    text: 'Hand wash, dry flat',
    wash: 'hand',
    iron: 'low',
    dry: 'flat',
    dryClean: 'yes',
    bleach: 'no',
  },
  { text: 'Dry clean only', wash: 'no', iron: 'low', dry: 'no', dryClean: 'yes', bleach: 'no' },
] as const;

/** Countries of origin. */
export const ORIGINS = ['PT', 'TR', 'IT', 'LT', 'IN', 'CN', 'RO'] as const;

const TONES = ['', 'Dark ', 'Light ', 'Washed '] as const;
const HUES = [
  'Black',
  'White',
  'Navy',
  'Olive',
  'Sand',
  'Rust',
  'Rosé',
  'Grey',
  'Sky',
  'Bordeaux',
  'Forest',
  'Ochre',
] as const;

/**
 * Names of the 48 colors. {@link COLOR_STEPS} share no factor with 48, so they give a style its
 * colors without repetition.
 */
export const COLOR_NAMES: readonly string[] = TONES.flatMap((tone) =>
  HUES.map((hue) => tone + hue),
);
export const COLOR_STEPS = [1, 5, 7, 11, 13] as const;

export const FREIGHT_TYPES = ['GLS Business', 'PostNord Parcel Shop', 'DHL Express', 'Pick-up'];

/** Units of each currency for one euro. */
export const CURRENCY_RATES = {
  EUR: 1,
  DKK: 7.46,
  SEK: 11.2,
  NOK: 11.6,
  GBP: 0.86,
  USD: 1.08,
  JPY: 162,
  KWD: 0.33,
} as const;
export type Currency = keyof typeof CURRENCY_RATES;

export const COUNTRIES = [
  {
    code: 'DK',
    currency: 'DKK',
    phone: '+45',
    cities: ['København', 'Aarhus', 'Odense'],
    streets: ['Strandvejen', 'Østergade'],
  },
  {
    code: 'SE',
    currency: 'SEK',
    phone: '+46',
    cities: ['Stockholm', 'Malmö', 'Göteborg'],
    streets: ['Kungsgatan', 'Storgatan'],
  },
  {
    code: 'NO',
    currency: 'NOK',
    phone: '+47',
    cities: ['Oslo', 'Bergen', 'Tromsø'],
    streets: ['Karl Johans gate', 'Bryggen'],
  },
  {
    code: 'DE',
    currency: 'EUR',
    phone: '+49',
    cities: ['Hamburg', 'Köln', 'München'],
    streets: ['Hafenstraße', 'Lindenallee'],
  },
  {
    code: 'NL',
    currency: 'EUR',
    phone: '+31',
    cities: ['Amsterdam', 'Utrecht', 'Haarlem'],
    streets: ['Herengracht', 'Kerkstraat'],
  },
  {
    code: 'FR',
    currency: 'EUR',
    phone: '+33',
    cities: ['Paris', 'Lyon', 'Nîmes'],
    streets: ['Rue du Bac', 'Rue de la République'],
  },
  {
    code: 'GB',
    currency: 'GBP',
    phone: '+44',
    cities: ['London', 'Leeds', 'Bath'],
    streets: ['High Street', 'Mill Lane'],
  },
] as const;

export const SHOP_WORDS = ['Nord', 'Torvet', 'Havn', 'Linden', 'Corner', 'Blå', 'Petit', 'Union'];
export const SHOP_KINDS = ['Concept Store', 'Tøjhus', 'Boutique', 'Outfitters', 'Mode'] as const;
export const FIRST_NAMES = ['Anna', 'Lars', 'Mette', 'Jörg', 'Élise', 'Tom', 'Ingrid', 'Sven'];
export const LAST_NAMES = ['Holm', 'Lindgren', 'Schäfer', 'Dubois', 'Hansen', 'Baker', 'Visser'];
