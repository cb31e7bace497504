import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EVENT_TYPES } from '../../../src/reference/relay/event-types.ts';
import { repositoryRoot } from '../../support/source.ts';
import { type Rig, startRig } from '../support.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.reference.close());
beforeEach(() => {
  rig.reference.knobs.patch({ v1: null, dialect: null, deviations: null });
});

/** The description of V1 for an account with these knobs. */
// biome-ignore lint/suspicious/noExplicitAny: a description is probed freely
async function described(knobs: object, base = rig.reference.v1Url): Promise<any> {
  rig.reference.knobs.patch({ ...knobs });
  return (await fetch(`${base}/openapi.json`)).json();
}

describe('the description of V1', () => {
  it('bears the level, and tells the events as webhooks', async () => {
    const document = await described({});
    expect(document.info.version).toBe('1.4.14');
    expect(Object.keys(document.webhooks).sort()).toEqual(
      EVENT_TYPES.map(({ name }) => name).sort(),
    );
    const { schema } =
      document.webhooks['sales_order.delivery_created'].post.requestBody.content[
        'application/json'
      ];
    expect(schema.properties.data.properties.salesOrderDelivery).toEqual({
      $ref: '#/components/schemas/SalesOrderDelivery',
    });
    const references = document.components.schemas.EventReferences.properties;
    expect([references.systemKey.type, references.apiKeyId.type]).toEqual(['string', 'integer']);
  });

  it('has the paths, parameters and members of its level only', async () => {
    const document = await described({ v1: { level: '1.4.8' } });
    expect(document.info.version).toBe('1.4.8');
    expect(document.paths).not.toHaveProperty('/orders/{orderId}/pending-refunds');
    const names = document.paths['/variants/stock'].get.parameters.map(
      (one: { name: string }) => one.name,
    );
    expect(names).toContain('detailed');
    expect(names).not.toContain('includeVariantsOnOrder');
    expect(names).not.toContain('detailedPricing');
    const { schemas } = document.components;
    expect(schemas.Variant.properties).toHaveProperty('details');
    expect(schemas.Variant.properties).not.toHaveProperty('pricing');
    expect(schemas).not.toHaveProperty('Pricing');
    expect(schemas).not.toHaveProperty('PendingRefund');
    expect(schemas.SalesOrderRefund.properties).not.toHaveProperty('pendingRefundId');
    const created =
      document.paths['/orders'].post.responses['200'].content['application/json'].schema;
    expect(Object.keys(created.properties.data.properties)).toEqual([
      'orderId',
      'orderStatus',
      'salesOrder',
    ]);
  });

  it('of 1.3.0 has flat variants with a brand for each, and mandatory freight', async () => {
    const document = await described({ v1: { level: '1.3.0' } });
    const { Variant } = document.components.schemas;
    expect(Variant.properties).toHaveProperty('styleNo');
    expect(Variant.properties).not.toHaveProperty('details');
    for (const path of ['/variants', '/variants/{barcode}']) {
      const { get } = document.paths[path];
      const brand = get.parameters.find((one: { name: string }) => one.name === 'brandName');
      expect([brand.required, get.deprecated]).toEqual([true, undefined]);
    }
    const { schema } = document.paths['/orders'].post.requestBody.content['application/json'];
    expect(schema.required).toEqual(['reference', 'orderLineItems', 'freight']);
    expect(schema.properties).not.toHaveProperty('SeasonName');
  });

  it('names members and freight as the account does', async () => {
    const detailNames = { styleNo: 'style_number' };
    const document = await described({ dialect: { detailNames, freightSpelling: 'Freight' } });
    const { VariantDetails } = document.components.schemas;
    expect(VariantDetails.properties).toHaveProperty('style_number');
    expect(VariantDetails.required).toContain('style_number');
    const { schema } = document.paths['/orders'].post.requestBody.content['application/json'];
    expect(schema.properties).toHaveProperty('Freight');
    expect(schema.properties).not.toHaveProperty('freight');
  });

  it.each([
    [{}, { type: 'apiKey', in: 'header', name: 'X-Service-Authorization' }],
    [{ deviations: { tokenHeader: 'x-token' } }, { type: 'apiKey', in: 'header', name: 'x-token' }],
    [
      { deviations: { tokenHeader: 'authorization' }, dialect: { bearer: true } },
      { type: 'http', scheme: 'bearer' },
    ],
  ])(
    'names the header and the scheme of the token in force, as V2 does: %j',
    async (knobs, way) => {
      for (const base of [rig.reference.v1Url, rig.reference.v2Url]) {
        expect((await described(knobs, base)).components.securitySchemes.token).toMatchObject(way);
      }
    },
  );

  it('is valid for an independent linter at every level that changed something', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'levels-'));
    const levels = ['1.2.6', '1.2.14', '1.2.56', '1.3.0', '1.3.3', '1.4.0', '1.4.4', '1.4.11'];
    for (const level of levels) {
      const document = await described({ v1: { level } });
      await writeFile(join(folder, `${level}.json`), JSON.stringify(document));
    }
    const linter = join(repositoryRoot, 'node_modules/@redocly/cli/bin/cli.js');
    const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    const files = levels.map((level) => join(folder, `${level}.json`));
    const { stderr } = await promisify(execFile)(
      process.execPath,
      [linter, 'lint', '--extends=recommended', '--max-problems=20', ...files],
      { cwd: folder, env: { ...process.env, ...quiet } },
    );
    expect(stderr).toContain('Your API descriptions are valid');
    await rm(folder, { recursive: true });
  }, 30_000);
});
