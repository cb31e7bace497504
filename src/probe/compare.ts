/**
 * Compares what the daemon asks, sends and reads with a published description: endpoints that are
 * missing, parameters that are required and not sent, members of other names or types. The members
 * that are read come from the client's own schemas, and those that are sent from its own bodies, so
 * that nothing is stated twice.
 */
import { z } from 'zod';
import { orderBody } from '../client/v1/order-body.ts';
import { pendingRefundBody } from '../client/v1/refunds.ts';
import {
  createdOrderSchema,
  deliverySchema,
  pendingRefundSchema,
  refundSchema,
  salesOrderSchema,
  variantSchema,
} from '../client/v1/schemas.ts';
import { SHORT_LISTS } from '../client/v1/short-lists.ts';
import { modelledFields, RESOURCE_PATHS, type ResourceType } from '../client/v2/resources.ts';
import type { Config } from '../config/schema.ts';
import { isJsonObject } from '../lib/json.ts';
import {
  answerSchemaOf,
  bodySchemaOf,
  type Description,
  operationOf,
  propertiesOf,
  queryOf,
  requiredOf,
  resolved,
} from './description.ts';
import { ourNameFor } from './members.ts';

type Members = Readonly<Record<string, unknown>>;

export interface Difference {
  /** Method and path of the request: `GET /variants/stock`. */
  readonly where: string;
  readonly what: string;
  /** Advice for the operator; undefined: nothing is needed, or nothing can be done here. */
  readonly hint: string | undefined;
}

interface Use {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Names of the query parameters that are sent with these settings. */
  readonly query?: readonly string[];
  /**
   * Schema of the parts of the answer that are read; `rows`: member of `data` with the list or the
   * object.
   */
  readonly answer?: z.ZodType;
  readonly rows?: string;
  /** Body with every member that may be sent (`most`), and with those that always are (`least`). */
  readonly body?: { readonly most: unknown; readonly least: unknown };
  /** Behaviour of the daemon at an account without this endpoint. */
  readonly without?: string;
}

function orderBodies(freight: 'freight' | 'Freight') {
  const text = 'x';
  const line = { barcode: text, quantity: 1, priceUnits: 1, deliveryName: text };
  const place = { address: text, city: text, zip: text, countryCode: 'DK', address2: text };
  const person = { firstName: text, lastName: text, phone: text, email: text, company: text };
  const most = {
    reference: text,
    comment: text,
    seasonName: text,
    lines: [line],
    shippingAddress: { ...place, ...person, provinceCode: text, accountNo: text },
    freight: {
      freightAmountUnits: 1,
      freightType: text,
      parcelShopId: text,
      warehouseCode: text,
    },
  };
  const least = { reference: text, lines: [{ barcode: text, quantity: 1, priceUnits: 1 }] };
  return { most: orderBody(most, freight), least: orderBody(least, freight) };
}

function refundBodies() {
  const least = { barcode: 'x', quantity: 1 };
  const most = { ...least, priceUnits: 1, refundType: 'return/credit', restock: true };
  return {
    most: pendingRefundBody({ reference: 'x', comment: 'x', lines: [most] }),
    least: pendingRefundBody({ reference: 'x', lines: [least] }),
  };
}

/** Lists the requests that the daemon makes at V1 with these settings. */
function usesOf({ service, streams }: Pick<Config, 'service' | 'streams'>): readonly Use[] {
  const { v1 } = service.dialect;
  const { stock, season } = streams;
  const brand = v1.perBrand === 'always' ? ['brandName'] : [];
  const pages = v1.paging === 'pages' ? ['page', 'limit'] : [];
  const wanted = (names: Readonly<Record<string, boolean>>): string[] =>
    Object.keys(names).filter((name) => names[name]);
  const { detailed, detailedPricing, includeVariantsOnOrder } = stock;
  const ofStock = wanted({ detailed, detailedPricing, includeVariantsOnOrder });
  const ofSeason = wanted({ detailed: season.detailed, detailedPricing: season.detailedPricing });
  const orders = { method: 'GET', path: '/orders/{}' } as const;
  const pending = `/orders/{}/${v1.paths.pendingRefunds}`;
  const deliveries = '/orders/{}/deliveries';
  const refund = { answer: refundSchema } as const;
  const status = { most: { status: 'x' }, least: { status: 'x' } };
  const noRefunds = 'streams.orders.pendingRefunds: false';
  return [
    ...Object.entries(SHORT_LISTS).map(([name, { path, member: rows, schema: answer }]) => {
      const query = name === 'seasons' ? brand : [];
      return { method: 'GET', path, query, answer, rows } as const;
    }),
    {
      method: 'GET',
      path: '/variants/stock',
      query: [...brand, ...pages, ...ofStock],
      answer: variantSchema,
      rows: 'variants',
    },
    { method: 'GET', path: '/variants/stock/{}', answer: variantSchema, rows: 'variant' },
    {
      method: 'GET',
      path: '/variants/season',
      answer: variantSchema,
      rows: 'variants',
      query: [...brand, ...pages, ...ofSeason, v1.seasonParameter],
    },
    {
      method: 'GET',
      path: '/orders',
      query: ['beforeOrderId'],
      answer: salesOrderSchema,
      rows: 'orders',
    },
    {
      method: 'POST',
      path: '/orders',
      answer: createdOrderSchema,
      body: orderBodies(v1.freightSpelling),
    },
    { ...orders, answer: salesOrderSchema },
    { method: 'GET', path: deliveries, answer: deliverySchema, rows: 'deliveries' },
    { method: 'POST', path: `${deliveries}/{}`, answer: deliverySchema, body: status },
    { method: 'GET', path: '/orders/{}/refunds', ...refund, rows: 'refunds' },
    { method: 'POST', path: '/orders/{}/refunds/{}', ...refund, body: status },
    {
      method: 'GET',
      path: pending,
      answer: pendingRefundSchema,
      rows: 'pendingRefunds',
      without: noRefunds,
    },
    {
      method: 'POST',
      path: pending,
      answer: pendingRefundSchema,
      body: refundBodies(),
      without: noRefunds,
    },
    { method: 'POST', path: '/webhook-portal' },
  ];
}

const isObject = (schema: Members): boolean => isJsonObject(schema.properties);

/**
 * Finds the schema of the row or object in an answer: below `data`, below its name, and of a list
 * its items.
 */
function innermost(document: Members, schema: unknown, rows: string | undefined): unknown {
  const whole = propertiesOf(document, schema);
  const data = 'data' in whole ? whole.data : schema;
  const inside = rows === undefined ? {} : propertiesOf(document, data);
  const found = rows !== undefined && rows in inside ? inside[rows] : data;
  const { items } = resolved(document, found);
  return items ?? found;
}

function typesOf(document: Members, value: unknown, depth = 0): readonly string[] {
  const schema = resolved(document, value);
  const choices = [schema.anyOf, schema.oneOf].flatMap((one) => (Array.isArray(one) ? one : []));
  if (choices.length > 0 && depth < 4) {
    return choices.flatMap((one) => typesOf(document, one, depth + 1));
  }
  const { type } = schema;
  const all = Array.isArray(type) ? type : [type ?? (isObject(schema) ? 'object' : undefined)];
  return all.filter((one) => typeof one === 'string' && one !== 'null').map(String);
}

const isScalar = (type: string): boolean =>
  ['string', 'number', 'integer', 'boolean'].includes(type);

/** Whether a member has a type that the daemon cannot read; a number may be written as text. */
function otherType(ours: readonly string[], theirs: readonly string[]): boolean {
  if (ours.length === 0 || theirs.length === 0) return false;
  return !theirs.some((type) => ours.includes(type) || (isScalar(type) && ours.some(isScalar)));
}

interface Compared {
  readonly where: string;
  readonly theirs: Members;
  readonly ours: Members;
}

function readDifferences(
  document: Members,
  { where, theirs, ours }: Compared,
  theirSchema: unknown,
  ourSchema: unknown,
  path = '',
  depth = 0,
): Difference[] {
  const their = propertiesOf(document, theirSchema);
  const own = propertiesOf(ours, ourSchema);
  if (Object.keys(their).length === 0 || depth > 4) return [];
  const needed = new Set(requiredOf(ours, ourSchema));
  return Object.entries(own).flatMap(([name, schema]): Difference[] => {
    const at = path === '' ? name : `${path}.${name}`;
    const theirMember = their[name];
    if (theirMember === undefined) {
      const alike = Object.keys(their).find((one) => !(one in own) && ourNameFor(one) === name);
      const hint =
        alike === undefined
          ? undefined
          : `theirs may be ${alike}: service.dialect.v1.members, if it is one of a variant`;
      const weight = needed.has(name) ? 'is not described, and is needed' : 'is not described';
      return [{ where, what: `the answer's ${at} ${weight}`, hint }];
    }
    const [mine, its] = [typesOf(ours, schema), typesOf(document, theirMember)];
    if (otherType(mine, its)) {
      const what = `the answer's ${at} is ${its.join(' or ')}, where ${mine.join(' or ')} is read`;
      return [{ where, what, hint: undefined }];
    }
    const inner = (root: Members, value: unknown) => resolved(root, value).items ?? value;
    const compared = { where, theirs, ours };
    const below = [inner(document, theirMember), inner(ours, schema)] as const;
    return readDifferences(document, compared, ...below, at, depth + 1);
  });
}

function membersIn(value: unknown, path = ''): readonly string[] {
  if (Array.isArray(value)) return value.slice(0, 1).flatMap((one) => membersIn(one, path));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, one]) => {
    const at = path === '' ? name : `${path}.${name}`;
    return [at, ...membersIn(one, at)];
  });
}

interface Described {
  readonly all: ReadonlySet<string>;
  readonly required: ReadonlySet<string>;
}

/** Lists the members of a body by their paths; one is required if all members around it are. */
function describedMembers(document: Members, schema: unknown, path = '', depth = 0): Described {
  const all = new Set<string>();
  const required = new Set<string>();
  const inner = resolved(document, resolved(document, schema).items ?? schema);
  const needed = requiredOf(document, inner);
  for (const [name, member] of depth > 4 ? [] : Object.entries(propertiesOf(document, inner))) {
    const at = path === '' ? name : `${path}.${name}`;
    all.add(at);
    const below = describedMembers(document, member, at, depth + 1);
    for (const one of below.all) all.add(one);
    if (!needed.includes(name)) continue;
    required.add(at);
    for (const one of below.required) required.add(one);
  }
  return { all, required };
}

function bodyDifferences(document: Members, where: string, schema: unknown, body: Use['body']) {
  if (!body) return [];
  const { all, required } = describedMembers(document, schema);
  if (all.size === 0) return [];
  const [most, least] = [new Set(membersIn(body.most)), new Set(membersIn(body.least))];
  const unknown = [...most].filter((one) => {
    const above = one.split('.').slice(0, -1).join('.');
    // A description of an object without its members allows no statement about them.
    const isTold = above === '' || [...all].some((name) => name.startsWith(`${above}.`));
    return !all.has(one) && isTold;
  });
  const missing = [...required].filter((one) => !least.has(one));
  return [
    ...unknown.map((one): Difference => {
      const bare = one.split('.').at(-1) ?? one;
      const other = [...all].find((name) => name.toLowerCase() === one.toLowerCase());
      const isFreight = /^freight$/i.test(bare) && other !== undefined;
      const hint = isFreight
        ? `service.dialect.v1.freightSpelling: ${other}`
        : `it may be passed over, or refused${other ? `: theirs is ${other}` : ''}`;
      return { where, what: `the body's ${one} is sent, and is not described`, hint };
    }),
    ...missing.map((one): Difference => {
      const hint = most.has(one)
        ? 'documents that leave it out will be refused'
        : 'it is never sent: such a request will be refused';
      return { where, what: `the body's ${one} is required`, hint };
    }),
  ];
}

function queryDifferences(description: Description, operation: Members, use: Use, where: string) {
  const { query = [], method } = use;
  if (method !== 'GET') return [];
  const described = queryOf(description, operation);
  const missing = described.filter(({ name, isRequired }) => isRequired && !query.includes(name));
  const unknown = query.filter((name) => !described.some((one) => one.name === name));
  return [
    ...missing.map(({ name }): Difference => {
      const isBrand = /^brandName$/i.test(name);
      const isSeason = /season/i.test(name);
      const setting = isSeason ? `service.dialect.v1.seasonParameter: ${name}` : undefined;
      const hint = isBrand
        ? 'service.dialect.v1.perBrand: always (auto learns it from the refusal)'
        : setting;
      return { where, what: `the parameter ${name} is required, and is not sent`, hint };
    }),
    ...unknown.map((name): Difference => {
      const hint = 'it may be passed over, or refused';
      return { where, what: `the parameter ${name} is sent, and is not described`, hint };
    }),
  ];
}

/** Joins differences that only name a missing member into one line, because there may be dozens. */
function joined(where: string, all: readonly Difference[]): readonly Difference[] {
  const absent = /^the answer's (\S+) is not described$/;
  const isPlain = ({ what, hint }: Difference): boolean => hint === undefined && absent.test(what);
  const names = all.filter(isPlain).map(({ what }) => absent.exec(what)?.[1]);
  if (names.length < 2) return all;
  const what = `the answer's ${names.join(', ')} are not described`;
  return [...all.filter((one) => !isPlain(one)), { where, what, hint: undefined }];
}

function jsonSchemaOf(schema: z.ZodType): Members {
  return { ...z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) };
}

function useDifferences(description: Description, use: Use): readonly Difference[] {
  const { document } = description;
  const where = `${use.method} ${use.path}`;
  const operation = operationOf(description, use.method, use.path);
  if (!operation) {
    const hint = use.without ?? 'service.dialect.v1.level says which level the account has';
    return [{ where, what: 'is not described', hint }];
  }
  const asked = [
    ...queryDifferences(description, operation, use, where),
    ...bodyDifferences(document, where, bodySchemaOf(description, operation), use.body),
  ];
  if (!use.answer) return asked;
  const theirs = innermost(document, answerSchemaOf(description, operation), use.rows);
  const ours = jsonSchemaOf(use.answer);
  const compared = { where, theirs: resolved(document, theirs), ours };
  return [...asked, ...joined(where, readDifferences(document, compared, theirs, ours))];
}

/** Compares V2: its collections, and the attributes and relationships that are mirrored. */
function v2Differences(
  description: Description,
  { v2 }: Config['service']['dialect'],
): readonly Difference[] {
  const { document } = description;
  const paths: Readonly<Record<string, string>> = { ...RESOURCE_PATHS, ...v2.paths };
  const types: readonly ResourceType[] = ['style', 'styleColor', 'color', 'brand', 'type'];
  return types.flatMap((type): Difference[] => {
    const path = `/pdm/${paths[type]}`;
    const where = `GET ${path}`;
    const operation = operationOf(description, 'GET', path);
    if (!operation) {
      return [
        {
          where,
          what: 'is not described',
          hint: `service.dialect.v2.paths.${type}, or its stream`,
        },
      ];
    }
    const row = propertiesOf(
      document,
      innermost(document, answerSchemaOf(description, operation), undefined),
    );
    const members = [row.attributes, row.relationships].map((one) => propertiesOf(document, one));
    const names = members.flatMap((one) => Object.keys(one));
    if (names.length === 0) return [];
    return modelledFields(type)
      .filter((name) => !names.includes(name))
      .map((name) => ({ where, what: `the resource's ${name} is not described`, hint: undefined }));
  });
}

/** Whether a published description is that of V2. */
function isV2({ document }: Description): boolean {
  return Object.keys(isJsonObject(document.paths) ? document.paths : {}).some((path) =>
    path.includes('/pdm/'),
  );
}

export function compareDescription(
  description: Description,
  config: Pick<Config, 'service' | 'streams'>,
): readonly Difference[] {
  if (isV2(description)) return v2Differences(description, config.service.dialect);
  return usesOf(config).flatMap((use) => useDifferences(description, use));
}
