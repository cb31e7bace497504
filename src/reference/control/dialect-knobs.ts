/**
 * Dialects: each knob is one way in which a real account may differ from the plain reading of the
 * wire contract, without being broken. With all of them off, the service answers as the contract
 * says.
 */
import { z } from 'zod';
import { isLevel, LEVEL_FIRST, LEVEL_LAST } from '../dialect/levels.ts';
import { duration, share } from './knob-types.ts';

const off = z.boolean().default(false);
const on = z.boolean().default(true);
const names = z.record(z.string().min(1), z.string().min(1)).default({});

/**
 * Schema of a knob with a choice of words; the first is the default, and what the contract says.
 */
function oneOf<const Words extends readonly [string, ...string[]]>(...words: Words) {
  return z.enum(words).prefault(words[0]);
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

const timeZone = z.string().refine(isTimeZone, 'no IANA time zone, e.g. Europe/Copenhagen');

/** Knobs for the types of values, and for how empty and absent values are written. */
const valueKnobs = {
  numbers: oneOf('number', 'text', 'comma'),
  ids: oneOf('number', 'text'),
  flags: oneOf('boolean', 'number', 'text', 'letter'),
  /** `lostZeros`: lists of variants have a zero before, all else is a number without it. */
  barcodes: oneOf('text', 'number', 'lostZeros'),
  v2Ids: oneOf('text', 'number'),
  emptyObject: oneOf('object', 'array'),
  /**
   * Form of an empty list; `notFound` and `noContent` replace the whole answer of a list below an
   * order.
   */
  emptyList: oneOf('array', 'object', 'null', 'absent', 'notFound', 'noContent'),
  lists: oneOf('array', 'indexed', 'keyed', 'single'),
  absent: oneOf('omit', 'null', 'emptyText'),
  repeatedMember: off,
  nulCharacters: off,
};

/** Knobs for answers: the envelope around the data, errors, headers. */
const answerKnobs = {
  envelope: oneOf('number', 'text', 'none'),
  errorBody: oneOf('envelope', 'plain', 'html', 'empty'),
  errorData: oneOf('object', 'array'),
  invalidDataAsObject: off,
  retryAfter: oneOf('seconds', 'date', 'none'),
  contentEncoding: oneOf('none', 'gzip', 'br', 'utf8', 'empty', 'identity'),
  charset: oneOf('utf-8', 'iso-8859-1', 'windows-1252'),
  /** Age of lists that are answered from a cache; null: no cache answers. */
  cacheAge: duration('0s').nullable().default(null),
  /** Whether the cache ignores `Cache-Control: no-cache`. */
  cacheStubborn: off,
};

/** Knobs for what the account demands of requests. */
const requestKnobs = {
  bearer: off,
  brandRequired: off,
  unknownParameters: oneOf('ignore', 'refuse'),
  freightSpelling: oneOf('both', 'freight', 'Freight'),
};

/** Knobs for orders, deliveries and refunds. */
const tradeKnobs = {
  orderCurrency: on,
  createdAt: on,
  orderSeason: on,
  times: oneOf('zoned', 'local'),
  timeZone: timeZone.default('UTC'),
  timeFormat: oneOf('iso', 'sql'),
  references: oneOf(
    'kept',
    'cut20',
    'upper',
    'lower',
    'spaces',
    'noHash',
    'prefix',
    'suffix',
    'empty',
    'punctuation',
    'digits',
  ),
  orderLines: oneOf('kept', 'joined', 'split', 'sorted'),
  preOrderNames: oneOf('heed', 'ignore', 'small'),
  statusCase: oneOf('lower', 'capital', 'upper'),
  /** Names that the account has for statuses of deliveries, by the contract's name. */
  statusNames: names,
  deliveryNumbers: oneOf('global', 'perOrder'),
  /** Where deliveries have an alias for their id: in answers about one, or in its list as well. */
  deliveryAliases: oneOf('none', 'answers', 'lists'),
  /** Ids of a delivery with an alias under which its status is set; it is read under both. */
  deliveryTakenAs: oneOf('both', 'own', 'alias'),
  /** Whether an order and its deliveries name it otherwise at its address than lists and events. */
  orderAliases: off,
  refundNumbers: oneOf('global', 'perOrder'),
  pendingRefundReference: oneOf('own', 'order'),
  deliveriesInAnswer: off,
  readLag: duration('0s'),
  foreignEvents: share(0),
};

/** Knobs for variants, seasons, freight and brands. */
const catalogKnobs = {
  priceDecimals: z.number().int().min(2).max(4).default(2),
  /** Currency of all accounts; EUR leaves each account its own currency. */
  currency: oneOf('EUR', 'DKK', 'SEK', 'NOK', 'GBP', 'USD', 'JPY', 'KWD'),
  names: oneOf('plain', 'trailingSpace', 'nfd'),
  countExtra: z.number().int().min(0).max(1_000_000).default(0),
  stockRows: oneOf('once', 'perSeason'),
  seasonRows: oneOf('once', 'perBrand'),
  soldOut: oneOf('omitted', 'listed'),
  /** Names that the account has for members of `details`, by the contract's name. */
  detailNames: names,
  detailsFlat: off,
  freightEmptyName: off,
  quantities: oneOf('real', 'zero'),
  prices: oneOf('real', 'null', 'hundredfold'),
  detailsGone: off,
  /**
   * Share of a variant list's rows, from its beginning, that is missing, from the count as well.
   */
  hiddenShare: share(0),
};

export const dialectSchema = z.strictObject({
  ...valueKnobs,
  ...answerKnobs,
  ...requestKnobs,
  ...tradeKnobs,
  ...catalogKnobs,
});

export type Dialect = z.output<typeof dialectSchema>;

export const v1Schema = z.strictObject({
  /** Version of V1 that the account has. */
  level: z
    .string()
    .refine(isLevel, `no level from ${LEVEL_FIRST} to ${LEVEL_LAST}`)
    .default(LEVEL_LAST),
});
