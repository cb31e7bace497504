import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { problemOfAnswer } from '../../support/answers.ts';
import { lintOpenApi } from '../../support/openapi-lint.ts';
import { type Rig, startRig } from '../support.ts';

const documentSchema = z.looseObject({
  openapi: z.string(),
  info: z.looseObject({ version: z.string() }),
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ operationId: z.string() }))),
});

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ strict: true });
});
afterAll(() => rig.reference.close());

async function documentOf(base: string) {
  const answer = await fetch(`${base}/openapi.json`);
  expect(answer.status).toBe(200);
  return documentSchema.parse(await answer.json());
}

describe('descriptions', () => {
  it('name every request of the wire contract, and no other', async () => {
    const { v1Url, v2Url } = rig.reference;
    const requests = async (base: string) =>
      Object.entries((await documentOf(base)).paths).flatMap(([path, item]) =>
        Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
      );
    const v1 = await requests(v1Url);
    expect(v1).toContain('POST /orders/{orderId}/pending-refunds');
    expect(v1).toContain('GET /variants/{barcode}');
    expect(v1.length).toBeGreaterThanOrEqual(22);
    const v2 = await requests(v2Url);
    for (const path of ['styles', 'colors', 'style-colors', 'brands', 'types', 'genders']) {
      expect(v2).toContain(`GET /pdm/${path}`);
      expect(v2).toContain(`GET /pdm/${path}/{id}`);
    }
    expect(v2).toContain('PATCH /pdm/styles/{id}');
    expect(v2).not.toContain('DELETE /pdm/styles/{id}');
  });

  it('are OpenAPI 3.1.0, V2 in its document version', async () => {
    const v1 = await documentOf(rig.reference.v1Url);
    const v2 = await documentOf(rig.reference.v2Url);
    expect([v1.openapi, v2.openapi, v2.info.version]).toEqual(['3.1.0', '3.1.0', '2.1.3']);
  });

  it('are valid for an independent linter', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'descriptions-'));
    const files: string[] = [];
    for (const version of ['v1', 'v2'] as const) {
      const base = version === 'v1' ? rig.reference.v1Url : rig.reference.v2Url;
      const file = join(folder, `${version}.json`);
      await writeFile(file, JSON.stringify(await documentOf(base)));
      files.push(file);
    }
    const stderr = await lintOpenApi(folder, files);
    expect(stderr).toContain('Your API descriptions are valid');
    await rm(folder, { recursive: true });
  });

  it('are pages for people too, that load nothing and run nothing', async () => {
    for (const base of [rig.reference.v1Url, rig.reference.v2Url]) {
      const answer = await fetch(`${base}/docs`);
      const page = await answer.text();
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
      for (const item of Object.values((await documentOf(base)).paths)) {
        for (const { operationId } of Object.values(item)) {
          expect(page).toContain(`<section id="${operationId}">`);
        }
      }
      expect(page).not.toMatch(/<script|<link|src=|href="http/);
    }
  });
});

describe('the check of answers', () => {
  it('sees a wrong type, an unknown member and an answer that is not described', () => {
    const brands = 'http://x/api/v1/brands';
    const answer = (brand: object) => ({
      status: 200,
      message: 'OK',
      data: { count: 1, brands: [brand] },
    });
    expect(problemOfAnswer('GET', brands, 200, answer({ brandName: 'A' }))).toBeUndefined();
    expect(problemOfAnswer('GET', brands, 200, answer({ brandName: 1 }))).toContain('brandName');
    expect(problemOfAnswer('GET', brands, 200, answer({ brandName: 'A', x: 1 }))).toContain('"x"');
    expect(problemOfAnswer('PUT', brands, 200, {})).toContain('not described');
    expect(problemOfAnswer('GET', brands, 500, { oops: true })).toContain('status');
  });
});
