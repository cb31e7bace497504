/** Requests and reads of the daemon against descriptions that are published. */
import { describe, expect, it } from 'vitest';
import { compareDescription, type Difference } from '../../src/probe/compare.ts';
import { parseDescription } from '../../src/probe/description.ts';
import { configOf, type Setting } from '../config/config-of.ts';
import { setting, startAccount } from './support.ts';

const LOGIN = [
  setting('service.v1.baseUrl', 'https://key.example.com/api/v1'),
  setting('service.v1.login.clientId', 'erp'),
  setting('service.v1.login.clientSecret', { file: 'x' }),
];

function differences(text: string, settings: readonly Setting[] = []): readonly Difference[] {
  const document = parseDescription(text);
  if (!document) throw new Error('no description');
  return compareDescription({ source: 'x', document }, configOf([...LOGIN, ...settings]));
}

const told = (all: readonly Difference[], where: string): readonly string[] =>
  all.filter((one) => one.where === where).map(({ what }) => what);

/** A description as a person wrote it: YAML, with references, and paths that have their base. */
const WRITTEN = `
openapi: 3.0.3
info: { title: V1, version: 1.3.0 }
paths:
  /api/v1/brands:
    get:
      responses:
        '200':
          description: ok
          content:
            application/json:
              schema:
                properties:
                  data:
                    properties:
                      brands: { type: array, items: { $ref: '#/components/schemas/Brand' } }
  /api/v1/variants/stock:
    parameters:
      - { $ref: '#/components/parameters/Brand' }
      - { name: warehouse, in: query, required: true, schema: { type: string } }
    get:
      responses:
        '200':
          description: ok
          content:
            application/json:
              schema:
                properties:
                  data: { type: array, items: { $ref: '#/components/schemas/Variant' } }
  /api/v1/orders:
    post:
      requestBody:
        content:
          application/json:
            schema:
              allOf:
                - { $ref: '#/components/schemas/NewOrder' }
                - required: [channel]
                  properties: { Freight: { type: object }, channel: { type: string } }
components:
  parameters:
    Brand: { name: brandName, in: query, required: true, schema: { type: string } }
  schemas:
    Brand: { properties: { brandName: { type: object } } }
    Variant:
      properties:
        ean: { type: string }
        quantity: { type: string }
        details: { type: object, properties: { style_no: { type: string } } }
    NewOrder:
      required: [reference]
      properties:
        reference: { type: string }
        comment: { type: string }
        orderLineItems:
          type: array
          items: { properties: { barcode: { type: string }, quantity: {}, price: {} } }
`;

describe('a published description', () => {
  it('of the reference differs in nothing that decides', async () => {
    const { v1Url, v2Url } = await startAccount();
    const text = async (url: string) => (await fetch(`${url}/openapi.json`)).text();
    const all = differences(await text(v1Url));
    expect(all.filter(({ what }) => !what.includes("the answer's createdAt"))).toEqual([]);
    expect(differences(await text(v2Url))).toEqual([]);
  });

  it('names what is missing, required, and of another name or type', () => {
    const all = differences(WRITTEN);
    expect(told(all, 'GET /brands').join()).toMatch(
      /^the answer's brandName is object, where string/,
    );
    expect(told(all, 'GET /variants/stock').slice(0, 2)).toEqual([
      'the parameter brandName is required, and is not sent',
      'the parameter warehouse is required, and is not sent',
    ]);
    const barcode = all.find(({ what }) => what.includes("the answer's barcode"));
    expect(barcode).toMatchObject({
      what: "the answer's barcode is not described, and is needed",
      hint: expect.stringContaining('theirs may be ean'),
    });
    expect(told(all, 'GET /variants/stock').join()).not.toContain("the answer's quantity");
    const style = all.find(({ what }) => what.includes('details.styleNo'));
    expect(style?.hint).toContain('style_no');
    const sent = told(all, 'POST /orders');
    expect(sent).toContain("the body's freight is sent, and is not described");
    expect(sent).toContain("the body's orderLineItems.DeliveryName is sent, and is not described");
    expect(sent).toContain("the body's channel is required");
    expect(told(all, 'GET /seasons')).toEqual(['is not described']);
  });

  it('is held against what the settings make of it', () => {
    const settings = [
      setting('service.dialect.v1.perBrand', 'always'),
      setting('service.dialect.v1.freightSpelling', 'Freight'),
    ];
    const all = differences(WRITTEN, settings);
    expect(told(all, 'GET /variants/stock').join()).not.toContain('parameter brandName');
    expect(told(all, 'POST /orders').join()).not.toContain('reight');
  });

  it('is none where a text has no paths', () => {
    expect(parseDescription('<html>')).toBeUndefined();
    expect(parseDescription('{"swagger": "2.0"}')).toBeUndefined();
    expect(parseDescription('{"paths": ')).toBeUndefined();
  });
});
