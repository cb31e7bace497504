/** Reads the API description that a service publishes (OpenAPI, as JSON or YAML). */

import { parse } from 'yaml';
import type { ProbeClient } from '../client/probe-client.ts';
import { isJsonObject, membersOf } from '../lib/json.ts';
import type { TokenWay } from './access.ts';
import { isShut } from './answers.ts';

type Members = Readonly<Record<string, unknown>>;

export interface Description {
  /** Address or file from which the description was read. */
  readonly source: string;
  readonly document: Members;
}

/** Usual paths of a published description below the address of an interface. */
const PLACES = ['/openapi.json', '/openapi.yaml', '/docs/openapi.json', '/swagger.json'];

/**
 * Parses an API description; undefined: the text is none. Every document with `paths` counts, also
 * one of an older format (`swagger: 2.0`).
 */
export function parseDescription(text: string): Members | undefined {
  try {
    // A document in JSON is left to JSON.parse, although the YAML parser would read it as well.
    const document: unknown = text.trimStart().startsWith('{') ? JSON.parse(text) : parse(text);
    return isJsonObject(document) && isJsonObject(document.paths) ? document : undefined;
  } catch {
    return undefined;
  }
}

/** Looks for a description at the usual places; undefined: none is published there. */
export async function findDescription(
  asker: ProbeClient,
  baseUrl: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Description | undefined | 'shut'> {
  let shut: 'shut' | undefined;
  for (const place of PLACES) {
    const url = baseUrl + place;
    const answer = await asker.ask({ method: 'GET', url, headers });
    if (isShut(answer)) shut = 'shut';
    const document = answer.status === 200 ? parseDescription(answer.text) : undefined;
    if (document) return { source: `GET ${place}`, document };
  }
  return shut;
}

/** Follows references (`$ref`) to the schema or parameter that they name. */
export function resolved(document: Members, value: unknown): Members {
  let at = membersOf(value);
  for (let depth = 0; depth < 10 && typeof at.$ref === 'string'; depth += 1) {
    let found: unknown = document;
    for (const step of at.$ref.split('/').slice(1)) {
      found = membersOf(found)[step.replaceAll('~1', '/').replaceAll('~0', '~')];
    }
    at = membersOf(found);
  }
  return at;
}

/**
 * Members of a schema, with those of its parts (`allOf`) and alternatives; of equal names the first
 * counts.
 */
export function propertiesOf(document: Members, value: unknown, depth = 0): Members {
  const schema = resolved(document, value);
  if (depth > 6) return {};
  const choices = [schema.anyOf, schema.oneOf].map((one) => (Array.isArray(one) ? one : []));
  const parts = [...(Array.isArray(schema.allOf) ? schema.allOf : []), ...choices.flat()];
  const below = parts.map((part) => propertiesOf(document, part, depth + 1));
  return Object.assign({}, ...below.reverse(), membersOf(schema.properties));
}

/** Names of the members that a schema requires, with those of all its parts (`allOf`). */
export function requiredOf(document: Members, value: unknown, depth = 0): readonly string[] {
  const { required, allOf } = resolved(document, value);
  const parts = Array.isArray(allOf) && depth <= 6 ? allOf : [];
  const below = parts.flatMap((part) => requiredOf(document, part, depth + 1));
  return [...(Array.isArray(required) ? required.map(String) : []), ...below];
}

/** Form of a path for comparisons (`/orders/{}`), whatever its parameters are called. */
function pathShape(path: string): string {
  return path.replaceAll(/\{[^}]*\}|:\w+/g, '{}').replace(/\/$/, '');
}

export function operationOf(
  { document }: Description,
  method: string,
  path: string,
): Members | undefined {
  const wanted = pathShape(path);
  for (const [name, item] of Object.entries(membersOf(document.paths))) {
    // Some descriptions write the base address into each path.
    const shape = pathShape(name);
    if (shape !== wanted && !shape.replace(/^\/api\/v\d/, '').startsWith(wanted)) continue;
    if (shape !== wanted && shape.replace(/^\/api\/v\d/, '') !== wanted) continue;
    const operation = membersOf(item)[method.toLowerCase()];
    if (isJsonObject(operation)) return { ...operation, shared: membersOf(item).parameters };
  }
  return undefined;
}

interface Parameter {
  readonly name: string;
  readonly isRequired: boolean;
}

export function queryOf({ document }: Description, operation: Members): readonly Parameter[] {
  const own = Array.isArray(operation.parameters) ? operation.parameters : [];
  const shared = Array.isArray(operation.shared) ? operation.shared : [];
  return [...shared, ...own]
    .map((one) => resolved(document, one))
    .filter((one) => one.in === 'query')
    .map((one) => ({ name: String(one.name), isRequired: one.required === true }));
}

function contentSchema(content: unknown): unknown {
  const [first] = Object.values(membersOf(content));
  return membersOf(first).schema;
}

export function bodySchemaOf({ document }: Description, operation: Members): unknown {
  return contentSchema(resolved(document, operation.requestBody).content);
}

/** Schema of an operation's answer when it succeeds. */
export function answerSchemaOf({ document }: Description, operation: Members): unknown {
  const responses = membersOf(operation.responses);
  const [status] = ['200', '201', '2XX'].filter((one) => one in responses);
  return contentSchema(resolved(document, responses[status ?? 'default']).content);
}

/** Level of the account, if the description's version has the form of one. */
export function versionOf({ document }: Description): string | undefined {
  const { version } = membersOf(document.info);
  const text = typeof version === 'string' ? version.replace(/^v/i, '') : '';
  return /^\d+\.\d+\.\d+$/.test(text) ? text : undefined;
}

/** Headers and schemes for tokens that the description's `securitySchemes` name. */
export function waysOf({ document }: Description): readonly TokenWay[] {
  const schemes = membersOf(membersOf(document.components).securitySchemes);
  return Object.values(schemes).flatMap((value): readonly TokenWay[] => {
    const { type, in: where, name, scheme, description } = resolved(document, value);
    const isBearer = /\bbearer\b/i.test(String(description ?? ''));
    if (type === 'http' && /^bearer$/i.test(String(scheme))) {
      return [{ header: 'Authorization', scheme: 'bearer' }];
    }
    if (type !== 'apiKey' || where !== 'header' || typeof name !== 'string') return [];
    return [{ header: name, scheme: isBearer ? 'bearer' : 'plain' }];
  });
}

/** Names of the id and the secret in the log-in's body, as described. */
export function loginNamesOf(description: Description): readonly [string, string] | undefined {
  const operation = operationOf(description, 'POST', '/auth/login');
  if (!operation) return undefined;
  const schema = bodySchemaOf(description, operation);
  const names = Object.keys(propertiesOf(description.document, schema));
  const secret = names.find((name) => /secret|password/i.test(name));
  const id = names.find((name) => name !== secret && /id$|user|client|key/i.test(name));
  return id !== undefined && secret !== undefined ? [id, secret] : undefined;
}

/** Spelling of the freight member in a new order; undefined: the description has none, or both. */
export function freightSpellingOf(description: Description): string | undefined {
  const operation = operationOf(description, 'POST', '/orders');
  if (!operation) return undefined;
  const schema = bodySchemaOf(description, operation);
  const names = Object.keys(propertiesOf(description.document, schema));
  const spellings = ['freight', 'Freight'].filter((name) => names.includes(name));
  return spellings.length === 1 ? spellings[0] : undefined;
}

/** Query parameters of the season list that may name the season. */
export function seasonParametersOf(description: Description): readonly string[] {
  const operation = operationOf(description, 'GET', '/variants/season');
  if (!operation) return [];
  const names = queryOf(description, operation).map(({ name }) => name);
  return names.filter((name) => /season/i.test(name));
}

/** Last part of the path of an order's pending refunds, as described. */
export function pendingRefundsOf({ document }: Description): string | undefined {
  const shapes = Object.keys(membersOf(document.paths)).map(pathShape);
  const found = shapes.map((shape) =>
    /\/orders\/\{\}\/(.*pend.*refund[^{]*|.*refund[^{]*pend.*)$/i.exec(shape),
  );
  return found.find((one) => one && !one[1]?.includes('{'))?.[1];
}
