/**
 * Plausible accounts, one row each: how it differs (knobs of the reference, its manual is
 * docs/internals/reference-service.md) and, where nothing but a person can tell, what the
 * configuration must say. Without `settings` the daemon reads it by itself.
 */
import type { Account } from './walk.ts';

function dialect(knobs: Record<string, unknown>, more: Omit<Account, 'knobs'> = {}): Account {
  return { knobs: { dialect: knobs }, ...more };
}

const set = (settings: Record<string, unknown>) => ({ settings });

type Accounts = Readonly<Record<string, Account>>;

/** Differences in how bodies and values are written. */
export const WRITING: Accounts = {
  plain: {},
  'numbers as text': dialect({ numbers: 'text' }),
  'amounts with a decimal comma': dialect({ numbers: 'comma' }),
  'ids as text': dialect({ ids: 'text' }),
  'flags as numbers': dialect({ flags: 'number' }),
  'flags as text': dialect({ flags: 'text' }),
  'flags as letters': dialect({ flags: 'letter' }),
  'barcodes as numbers': dialect({ barcodes: 'number' }),
  'barcodes that lost their zeros': dialect({ barcodes: 'lostZeros' }),
  'empty objects as []': dialect({ emptyObject: 'array' }),
  'empty lists as {}': dialect({ emptyList: 'object' }),
  'empty lists as null': dialect({ emptyList: 'null' }),
  'empty lists left out': dialect({ emptyList: 'absent' }),
  'empty lists as 404': dialect({ emptyList: 'notFound' }),
  'empty lists as 404 without a body': dialect({ emptyList: 'notFound', errorBody: 'empty' }),
  'empty lists as 204': dialect({ emptyList: 'noContent' }),
  'lists by their index': dialect({ lists: 'indexed' }),
  'lists by a key': dialect({ lists: 'keyed' }),
  'a single row in place of its list': dialect({ lists: 'single' }),
  'null for what is absent': dialect({ absent: 'null' }),
  'empty texts for what is absent': dialect({ absent: 'emptyText' }),
  // Nobody knows which of both quantities is meant: a person decides what rests on it.
  'a member twice': dialect({ repeatedMember: true }, { waits: true }),
  'U+0000 in texts': dialect({ nulCharacters: true }),
  'envelope status as text': dialect({ envelope: 'text' }),
  'no envelope': dialect({ envelope: 'none' }),
  'plain text errors': dialect({ errorBody: 'plain' }),
  'errors as pages': dialect({ errorBody: 'html' }),
  'empty errors': dialect({ errorBody: 'empty' }),
  'error data as []': dialect({ errorData: 'array' }),
  'invalid_data by member': dialect({ invalidDataAsObject: true }),
  'Retry-After as a date': dialect({ retryAfter: 'date' }),
  gzip: dialect({ contentEncoding: 'gzip' }),
  br: dialect({ contentEncoding: 'br' }),
  'Content-Encoding: UTF-8': dialect({ contentEncoding: 'utf8' }),
  'Content-Encoding: empty': dialect({ contentEncoding: 'empty' }),
  'Content-Encoding: Identity': dialect({ contentEncoding: 'identity' }),
  'ISO-8859-1': dialect({ charset: 'iso-8859-1' }),
  'windows-1252': dialect({ charset: 'windows-1252' }),
};

/** Differences in what is asked, listed, remembered or meant. */
export const MEANING: Accounts = {
  'a cache that heeds no-cache': dialect({ cacheAge: '1d' }),
  'Authorization: Bearer': {
    knobs: { dialect: { bearer: true }, deviations: { tokenHeader: 'authorization' } },
    ...set({
      'service.dialect.v1.tokenHeader': 'Authorization',
      'service.dialect.v1.tokenScheme': 'bearer',
    }),
  },
  'brandName required': dialect({ brandRequired: true }),
  'unknown parameters refused': dialect({ unknownParameters: 'refuse' }),
  'Freight in capitals': dialect(
    { freightSpelling: 'Freight', unknownParameters: 'refuse' },
    set({ 'service.dialect.v1.freightSpelling': 'Freight' }),
  ),
  'season of a new order in small letters': dialect({ preOrderNames: 'small' }),
  'orders without currency': dialect({ orderCurrency: false }),
  'no createdAt': dialect({ createdAt: false }),
  'orders without SeasonName': dialect({ orderSeason: false }),
  'local times': dialect(
    { times: 'local', timeZone: 'America/New_York' },
    set({ 'service.dialect.v1.timeZone': 'America/New_York' }),
  ),
  'times as SQL writes them': dialect({ timeFormat: 'sql' }),
  'references cut to 20': dialect({ references: 'cut20' }),
  'references in capitals': dialect({ references: 'upper' }),
  'references in small letters': dialect({ references: 'lower' }),
  'references with spaces collapsed': dialect({ references: 'spaces' }),
  'references without #': dialect({ references: 'noHash' }),
  'references with a prefix': dialect({ references: 'prefix' }),
  'references with a suffix': dialect({ references: 'suffix' }),
  'references left empty': dialect({ references: 'empty' }),
  'references without punctuation': dialect({ references: 'punctuation' }),
  'references of digits alone': dialect({ references: 'digits' }),
  'lines joined': dialect({ orderLines: 'joined' }),
  'lines split': dialect({ orderLines: 'split' }),
  'lines sorted': dialect({ orderLines: 'sorted' }),
  'Pending in capital letters': dialect({ statusCase: 'capital' }),
  'PENDING in capitals': dialect({ statusCase: 'upper' }),
  'awaiting_acceptance for pending': dialect(
    { statusNames: { pending: 'awaiting_acceptance' } },
    set({
      'service.dialect.v1.statuses': [
        { of: 'delivery', says: 'awaiting_acceptance', means: 'pending' },
      ],
    }),
  ),
  'deliveries that answer under an alias': dialect({ deliveryAliases: 'answers' }),
  'deliveries that are set under the alias of their answers': dialect({
    deliveryAliases: 'answers',
    deliveryTakenAs: 'alias',
  }),
  'deliveries listed under an alias': dialect({ deliveryAliases: 'lists' }),
  'deliveries listed under an alias, and set under the id of events': dialect({
    deliveryAliases: 'lists',
    deliveryTakenAs: 'own',
    deliveriesInAnswer: true,
  }),
  // Until the list has it: another order's answer would look the same.
  'orders that answer under an alias': dialect({ orderAliases: true }, { waits: true }),
  'deliveries in the answer': dialect({ deliveriesInAnswer: true }),
  // A busy machine adds to the lag; past the quiet time an incident would say so.
  'reads that lag behind': dialect({ readLag: '1500ms' }, set({ 'outbox.quietTime': '30s' })),
  "pending refunds under the order's reference": dialect({ pendingRefundReference: 'order' }),
  'three decimals': dialect({ priceDecimals: 3 }),
  'four decimals': dialect({ priceDecimals: 4 }),
  JPY: dialect({ currency: 'JPY' }),
  KWD: dialect({ currency: 'KWD' }),
  'names with a space behind': dialect({ names: 'trailingSpace' }),
  'names in the other Unicode form': dialect({ names: 'nfd' }),
  'stock by season': dialect({ stockRows: 'perSeason' }),
  'seasons by brand': dialect({ seasonRows: 'perBrand' }),
  'what is sold out is listed': dialect({ soldOut: 'listed' }),
  'other names of members': dialect(
    { detailNames: { styleNo: 'style_number', currency: 'priceCurrency' } },
    set({
      'service.dialect.v1.members': [
        { of: 'details', ours: 'styleNo', theirs: 'style_number' },
        { of: 'details', ours: 'currency', theirs: 'priceCurrency' },
      ],
    }),
  ),
  'flat variants': dialect({ detailsFlat: true }),
  'a freight option without a name': dialect({ freightEmptyName: true }),
  'events of another account': dialect({ foreignEvents: 0.5 }),
};

export const ACCOUNTS: Accounts = { ...WRITING, ...MEANING };
