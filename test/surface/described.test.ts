/** The OpenAPI documents have only what generators of clients make working code of. */
import { expect, it } from 'vitest';
import { consoleDocument } from '../../src/console/openapi/document.ts';
import { isJsonObject } from '../../src/lib/json.ts';
import { localApiDocument } from '../../src/local-api/openapi/document.ts';
import { startTestReference } from '../support/house.ts';

interface Part {
  readonly at: string;
  readonly value: Readonly<Record<string, unknown>>;
}

function* partsOf(value: unknown, at: string): Generator<Part> {
  if (Array.isArray(value)) {
    for (const [index, one] of value.entries()) yield* partsOf(one, `${at}/${index}`);
  } else if (isJsonObject(value)) {
    yield { at, value };
    for (const [name, one] of Object.entries(value)) yield* partsOf(one, `${at}/${name}`);
  }
}

it('have one plain pattern a text, whole paths, positive ids and typed errors', async () => {
  const reference = await startTestReference();
  const served = async (base: string): Promise<unknown> =>
    (await fetch(`${base}/openapi.json`)).json();
  const documents = {
    erp: localApiDocument(),
    console: consoleDocument(),
    v1: await served(reference.v1Url),
    v2: await served(reference.v2Url),
  };
  const parts = Object.entries(documents).flatMap(([name, document]) => [
    ...partsOf(JSON.parse(JSON.stringify(document)), name),
  ]);
  const where = (is: (part: Part) => boolean) => parts.filter(is).map(({ at }) => at);
  expect(parts.filter(({ value }) => typeof value.pattern === 'string').length).toBeGreaterThan(99);
  expect(where(({ value }) => 'allOf' in value)).toEqual([]);
  // Python, Go and .NET know no such classes, or others.
  expect(where(({ value }) => /\\[pPu]/.test(String(value.pattern ?? '')))).toEqual([]);
  expect(where(({ value }) => value.in === 'path' && value.required !== true)).toEqual([]);
  // The latest decision, or pull, is 0 where there is none.
  const isLatest = ({ at }: Part) => /requestBody.*\/decisionId$|\/Changes\//.test(at);
  const isId = (part: Part) =>
    /(?:^|\/)(?:id|\w*Id)(?:\/anyOf\/0)?$/.test(part.at) && !isLatest(part);
  const isInteger = ({ value }: Part) => value.type === 'integer';
  expect(where((part) => isId(part) && isInteger(part) && Number(part.value.minimum) < 1)).toEqual(
    [],
  );
  const isError = ({ at }: Part) => /\/responses\/[45]\d\d$/.test(at);
  expect(where((part) => isError(part) && !('content' in part.value))).toEqual([]);
  const operations = parts.filter(({ value }) => 'operationId' in value);
  expect(operations.filter(({ value }) => !value.description).map(({ at }) => at)).toEqual([]);
});
