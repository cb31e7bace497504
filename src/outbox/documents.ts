/**
 * Documents of the ERP: JSON in camelCase, strict, one schema per kind. A document is normalised
 * while it is checked: amounts become texts with two to four decimals, texts are trimmed. Checking
 * a normalised document again changes nothing, so the outbox stores exactly what was understood,
 * and equal documents have equal texts.
 *
 * An amount is a decimal text ("19.95") or a number with at most four decimals. Dates and times do
 * not occur. `reference` may stand in the document or beside it, and identifies it for ever.
 *
 * A new kind begins in `push.ts`, whose head names all its places.
 */

import { z } from 'zod';
import type { NewOrder } from '../client/v1/order-body.ts';
import type { NewPendingRefund } from '../client/v1/refunds.ts';
import { REFUND_TYPES } from '../client/v1/schemas.ts';
import type { PushKind } from '../config/words.ts';
import { canonicalJson, isJsonObject, type JsonObject, sha256 } from '../lib/json.ts';
import { amountUnits, formatAmount, splitsCoin } from '../lib/money.ts';
import { nearestName } from '../lib/nearest.ts';
import { caseKey, needsCity, needsPostalCode } from '../lib/strings.ts';
import { meantMember, type Section } from './member-words.ts';

/** A mistake in a document; `path` is empty for the whole document, else like `lines[2].price`. */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

const LINES_MAX = 5_000;
const QUANTITY_MAX = 1_000_000;
export const REFERENCE_CHARS_MAX = 200;

const AMOUNT = /^\d{1,9}(?:\.\d{1,4})?$/;
/** Control characters, which people at the service would see; `\p{Cc}` is not known everywhere. */
const CONTROLS = '\\x00-\\x1f\\x7f-\\x9f';
/**
 * Pattern of an e-mail address; it tries only the first "@", so that a long text of nothing else
 * costs no time.
 */
const EMAIL = new RegExp(`^[^\\s${CONTROLS}][^\\s@${CONTROLS}]*@[^\\s${CONTROLS}]+$`);
const AMOUNT_WANTED = 'must be an amount with at most four decimals, such as "19.95" or 19.95';

export function unitsOf(amount: string | number): number {
  return amountUnits(Number(amount)) ?? 0;
}

/** Amount as a text with two to four decimals, however it was written. */
const amount = z
  .union([z.string(), z.number()], { error: AMOUNT_WANTED })
  .refine((written) => AMOUNT.test(String(written)), { error: AMOUNT_WANTED })
  .meta({ description: 'An amount with at most four decimals, such as "19.95" or 19.95' })
  .transform((written) => formatAmount(unitsOf(written)));

// A text has one pattern, because programs that are made from the description take no second one.
const anyText = z.string().trim().max(1_000);
const text = anyText.regex(new RegExp(`^[^${CONTROLS}]*$`), 'must not hold control characters');
const needed = text.min(1, 'must not be empty');
const comment = z.string().trim().max(1_000).optional();
const quantity = z.int(`must be a whole number from 1 to ${QUANTITY_MAX}`).min(1).max(QUANTITY_MAX);
const id = z.int('must be a whole number from 1').min(1);
const reference = needed.max(REFERENCE_CHARS_MAX).normalize('NFC').optional();

/**
 * Confirmation of a price that is far from the list price. It belongs to no content: a document is
 * the same with and without it, and it is not sent.
 */
const priceConfirmed = z
  .boolean()
  .optional()
  .meta({ description: 'true: the price is meant, however far it is from the list price' });

function linesOf<T extends z.ZodType>(line: T) {
  return z.array(line).min(1, 'must have at least one line').max(LINES_MAX);
}

/** Part of an address that some countries do not have; an empty one is left out. */
const placePart = text.optional().transform((part) => part || undefined);

const addressSchema = z
  .strictObject({
    firstName: needed,
    lastName: needed,
    address: needed,
    city: placePart,
    zip: placePart,
    countryCode: anyText.regex(/^[A-Z]{2}$/, 'must be two capital letters'),
    phone: needed,
    email: anyText.regex(EMAIL, 'must be an e-mail address'),
    address2: text.optional(),
    company: text.optional(),
    provinceCode: text.optional(),
    accountNo: text.optional(),
  })
  .superRefine(({ city, zip, countryCode }, ctx) => {
    const missing = [
      ...(city === undefined && needsCity(countryCode) ? ['city'] : []),
      ...(zip === undefined && needsPostalCode(countryCode) ? ['zip'] : []),
    ];
    for (const part of missing) {
      ctx.addIssue({ code: 'custom', path: [part], message: 'must not be empty' });
    }
  });

/** Message for an amount with a fraction in a currency without decimals, such as JPY. */
export function wholeWanted(currency: string): string {
  return `must be a whole amount: ${currency} has no decimals`;
}

interface Priced {
  readonly currency?: string | undefined;
  readonly lines: readonly { readonly price: string }[];
  readonly freight?: { readonly amount: string } | undefined;
}

/** Lists the paths of amounts that the currency's smallest coin cannot express. */
export function splitCoins({ currency, lines, freight }: Priced): (string | number)[][] {
  const isSplit = (written: string): boolean => splitsCoin(unitsOf(written), currency);
  const paths = lines.flatMap(({ price }, at) => (isSplit(price) ? [['lines', at, 'price']] : []));
  return freight && isSplit(freight.amount) ? [...paths, ['freight', 'amount']] : paths;
}

const orderSchema = z
  .strictObject({
    reference,
    lines: linesOf(
      z.strictObject({
        barcode: needed,
        quantity,
        price: amount,
        deliveryName: needed.optional(),
        priceConfirmed,
      }),
    ),
    comment,
    /**
     * Currency of the prices; it is not sent, but compared with the currency of the mirrored
     * prices.
     */
    currency: anyText.regex(/^[A-Z]{3}$/, 'must be three capital letters').optional(),
    shippingAddress: addressSchema.optional(),
    freight: z
      .strictObject({
        amount,
        type: needed.optional(),
        parcelShopId: needed.optional(),
        warehouseCode: needed.optional(),
      })
      .optional(),
    seasonName: needed.optional(),
  })
  .superRefine((order, ctx) => {
    for (const path of splitCoins(order)) {
      ctx.addIssue({ code: 'custom', path, message: wholeWanted(order.currency ?? '') });
    }
  });

const pendingRefundSchema = z
  .strictObject({
    reference,
    orderId: id.optional(),
    /**
     * Reference of an order that was submitted to Selvedge; it may stand in the place of the
     * order's id.
     */
    orderReference: needed.normalize('NFC').optional(),
    comment,
    lines: linesOf(
      z.strictObject({
        barcode: needed,
        quantity,
        price: amount.optional(),
        refundType: z.enum(REFUND_TYPES).optional(),
        restock: z.boolean().optional(),
        priceConfirmed,
      }),
    ),
  })
  .refine(({ orderId, orderReference }) => (orderId === undefined) !== !orderReference, {
    error: 'needs either orderId or orderReference',
    path: ['orderId'],
  });

const refundStatusSchema = z.strictObject({
  reference,
  orderId: id,
  orderRefundId: id,
  status: z.enum(['pending', 'accepted', 'rejected']),
  /** Status that the change was decided on; default: the mirrored status at submission. */
  expectedStatus: z.enum(['pending', 'accepted']).optional(),
});

const styleSchema = z
  .strictObject({
    reference,
    /** Id of an existing style to change; without it a new style is made. */
    styleId: needed.optional(),
    styleNo: needed.optional(),
    styleName: needed.optional(),
    brandId: needed.optional(),
    description: text.optional(),
    designer: text.optional(),
    active: z.boolean().optional(),
    typeId: needed.optional(),
    genderId: needed.optional(),
    countryId: needed.optional(),
  })
  .superRefine((style, ctx) => {
    if (style.styleId !== undefined) return;
    for (const name of ['styleNo', 'styleName', 'brandId'] as const) {
      if (style[name] !== undefined) continue;
      const message = 'is missing; a new style needs it (an existing one is named by styleId)';
      ctx.addIssue({ code: 'custom', path: [name], message });
    }
  });

export const DOCUMENT_SCHEMAS = {
  order: orderSchema,
  pending_refund: pendingRefundSchema,
  refund_status: refundStatusSchema,
  style: styleSchema,
} as const satisfies Readonly<Partial<Record<PushKind, z.ZodType>>>;

export type DocumentKind = keyof typeof DOCUMENT_SCHEMAS;

export type OrderDocument = z.output<typeof orderSchema>;
export type PendingRefundDocument = z.output<typeof pendingRefundSchema>;
export type RefundStatusDocument = z.output<typeof refundStatusSchema>;
export type StyleDocument = z.output<typeof styleSchema>;

export function isDocumentKind(kind: string): kind is DocumentKind {
  return Object.hasOwn(DOCUMENT_SCHEMAS, kind);
}

export const DOCUMENT_KINDS = Object.keys(DOCUMENT_SCHEMAS).filter(isDocumentKind);

export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '');
}

function memberNames(schema: unknown): readonly string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  if (schema instanceof z.ZodOptional) return memberNames(schema.unwrap());
  return schema instanceof z.ZodArray ? memberNames(schema.element) : [];
}

/** Objects of a document with their members: the document, and each object or list in it. */
function sectionsOf(kind: DocumentKind): readonly Section[] {
  const { shape } = DOCUMENT_SCHEMAS[kind];
  const inside = Object.entries(shape).map(([section, schema]) => {
    return { section, names: memberNames(schema) };
  });
  return [{ section: '', names: [...Object.keys(shape), 'payload'] }, ...inside];
}

/** Hint on what an unknown member of a document at `path` was meant to be. */
function meantIn(kind: DocumentKind, path: readonly PropertyKey[], word: string): string {
  const [sections, own] = [sectionsOf(kind), String(path[0] ?? '')];
  const here = sections.filter(({ section }) => section === own).flatMap(({ names }) => names);
  return meantMember(
    word,
    here,
    sections.filter(({ section }) => section !== own),
  );
}

const TYPES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  object: 'a JSON object',
  string: 'a text',
};

/** Error message for a mistake whose schema has no message of its own. */
export function wording(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    if (issue.input === undefined) return 'is missing';
    const type = TYPES[issue.expected];
    return type && `must be ${type}`;
  }
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
  if (issue.code !== 'too_big') return undefined;
  const unit = issue.origin === 'string' ? 'characters' : 'lines';
  return `must have at most ${issue.maximum} ${unit}`;
}

const FOUND_CHARS_MAX = 60;

/** Paths of personal data, which problems do not repeat: they are stored with receipts. */
const PERSONAL = /^shippingAddress\.(?!countryCode$)/;

/** Text that shows the wrong value, if it is short enough and no personal data. */
function foundText({ code, input, path }: z.core.$ZodIssue): string {
  if (input === undefined || input === '' || PERSONAL.test(pathText(path))) return '';
  if (typeof input === 'object' && input !== null) {
    if (code !== 'invalid_type') return '';
    return Array.isArray(input) ? '; found a list' : '; found a JSON object';
  }
  const json = JSON.stringify(input) ?? '';
  return json.length > FOUND_CHARS_MAX ? '' : `; found ${json}`;
}

function isAbsent({ code, input }: z.core.$ZodIssue): boolean {
  const isOfType = ['invalid_type', 'invalid_union', 'invalid_value'].includes(code);
  return isOfType && input === undefined;
}

function nearText(word: unknown, known: Iterable<string>): string {
  const near = typeof word === 'string' ? nearestName(word, known) : undefined;
  return near === undefined ? '' : `; did you mean ${near}?`;
}

/** Lists each mistake with its path; `meant` returns a hint on an unknown member there. */
export function problemsOf(
  error: z.core.$ZodError,
  meant: (path: readonly PropertyKey[], word: string) => string,
): Problem[] {
  return error.issues.flatMap((issue): Problem[] => {
    if (issue.code !== 'unrecognized_keys') {
      const known = issue.code === 'invalid_value' ? issue.values.map(String) : [];
      const near = nearText(issue.input, known);
      const said = isAbsent(issue) ? 'is missing' : issue.message + foundText(issue) + near;
      return [{ path: pathText(issue.path), message: said }];
    }
    return issue.keys.map((key) => {
      const hint = meant(issue.path, key);
      return { path: pathText([...issue.path, key]), message: `is not known here${hint}` };
    });
  });
}

export type ParsedDocument =
  | {
      readonly ok: true;
      readonly document: JsonObject;
      readonly reference: string | undefined;
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Checks a payload (parsed JSON) and returns the normalised document, or every mistake. */
export function parseDocument(kind: DocumentKind, payload: unknown): ParsedDocument {
  if (!isJsonObject(payload)) {
    return { ok: false, problems: [{ path: '', message: 'must be a JSON object' }] };
  }
  const parsed = DOCUMENT_SCHEMAS[kind].safeParse(payload, { error: wording, reportInput: true });
  if (!parsed.success) {
    return { ok: false, problems: problemsOf(parsed.error, (...at) => meantIn(kind, ...at)) };
  }
  const { reference: own, ...document } = parsed.data;
  return { ok: true, document, reference: own };
}

/**
 * Digest of a document's content, which its confirmations are no part of: equal ones are the same
 * document.
 */
export function contentHash(document: JsonObject): string {
  const { lines } = document;
  if (!Array.isArray(lines)) return sha256(canonicalJson(document));
  const unconfirmed = lines.map((line) => {
    if (!isJsonObject(line)) return line;
    const { priceConfirmed: _confirmed, ...content } = line;
    return content;
  });
  return sha256(canonicalJson({ ...document, lines: unconfirmed }));
}

/** Form of a reference in which references are compared: equal forms mean equal references. */
export function referenceKey(written: string): string {
  return caseKey(written);
}

/** Parsers of stored document bodies, by kind; each throws for another content, which is a bug. */
export const readBody = {
  order: (body: JsonObject): OrderDocument => orderSchema.parse(body),
  pendingRefund: (body: JsonObject): PendingRefundDocument => pendingRefundSchema.parse(body),
  refundStatus: (body: JsonObject): RefundStatusDocument => refundStatusSchema.parse(body),
  style: (body: JsonObject): StyleDocument => styleSchema.parse(body),
} as const;

type OwnThing = Exclude<DocumentKind, 'order' | 'pending_refund'>;

/** Things that documents are about which belong to no order; the pushes about one leave in turn. */
export const thingOf: Readonly<Record<OwnThing, (body: JsonObject) => string>> = {
  refund_status: (body) => `refund/${readBody.refundStatus(body).orderRefundId}`,
  style(body) {
    const { styleId, styleNo } = readBody.style(body);
    return styleId === undefined ? `style/no/${styleNo}` : `style/${styleId}`;
  },
};

export function newOrderOf(ownReference: string, document: OrderDocument): NewOrder {
  const { lines, comment: note, shippingAddress, freight, seasonName } = document;
  return {
    reference: ownReference,
    lines: lines.map(({ barcode, quantity: pieces, price, deliveryName }) => {
      return { barcode, quantity: pieces, deliveryName, priceUnits: unitsOf(price) };
    }),
    comment: note,
    shippingAddress,
    freight: freight && {
      freightAmountUnits: unitsOf(freight.amount),
      freightType: freight.type,
      parcelShopId: freight.parcelShopId,
      warehouseCode: freight.warehouseCode,
    },
    seasonName,
  };
}

export function newPendingRefundOf(
  ownReference: string,
  document: PendingRefundDocument,
): NewPendingRefund {
  return {
    reference: ownReference,
    comment: document.comment,
    lines: document.lines.map(({ price, priceConfirmed: _confirmed, ...line }) => ({
      ...line,
      priceUnits: price === undefined ? undefined : unitsOf(price),
    })),
  };
}
