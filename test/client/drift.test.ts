import { describe, expect, it } from 'vitest';
import { startRig } from '../reference/support.ts';
import { driftMeterOf, impatient } from './support.ts';
import { readAll, v1Client } from './v1-support.ts';

describe('drift', () => {
  it('counts unknown members at any depth and values that the contract does not list', () => {
    const meter = driftMeterOf('sales_order');
    const line = { barcode: 'B', quantity: 1, gift: true };
    const order = { orderId: 1, status: 'pending', orderLineItems: [line, line] };
    meter.note([order, { ...order, status: 'on_hold', shippingAddress: { planet: 'Mars' } }, 7]);
    expect(meter.report()).toEqual({
      unknownMembers: { 'orderLineItems.gift': 4, 'shippingAddress.planet': 1 },
      newValues: { 'status=on_hold': 1 },
      unreadable: {},
    });
  });

  it('counts amounts of more decimals than are exact, which cannot be read', () => {
    const meter = driftMeterOf('sales_order');
    const line = { barcode: 'B', quantity: 1, price: 4.44449 };
    meter.note([{ orderLineItems: [line, { ...line, price: 4.4449 }] }]);
    meter.note([{ freight: { freightAmount: 0.00001 } }, { freight: { freightAmount: 12.345 } }]);
    expect(meter.report().unreadable).toEqual({
      'orderLineItems.price': { rows: 1, example: '‹4.44449›' },
      'freight.freightAmount': { rows: 1, example: '‹0.00001›' },
    });
  });

  it('looks into resources of V2, and leaves unknown relationships apart', () => {
    const meter = driftMeterOf('style_color');
    const color = { data: { type: 'color', id: '1' } };
    const attributes = { active: true, noosType: 'sometimes', shine: 3 };
    meter.note([
      { type: 'styleColor', id: '7', attributes, relationships: { color, mood: color } },
    ]);
    expect(meter.report()).toEqual({
      unknownMembers: { 'attributes.shine': 1, 'relationships.mood': 1 },
      newValues: { 'attributes.noosType=sometimes': 1 },
      unreadable: {},
    });
  });

  it('stays bounded whatever the service invents', () => {
    const meter = driftMeterOf('brand');
    for (let index = 0; index < 1_000; index += 1) meter.note([{ [`new${index}`]: 1 }]);
    expect(Object.keys(meter.report().unknownMembers)).toHaveLength(200);
  });

  it('finds nothing in what the contract describes, and what a changed service adds', async () => {
    const rig = await startRig({ auth: { loginSpacing: '0s' } });
    const transport = impatient();
    try {
      const client = v1Client(rig, transport, { mode: 'stream' });
      const query = { detailed: true, detailedPricing: true };
      const calm = driftMeterOf('stock_variant');
      calm.note((await readAll(client.stock(query))).variants);
      expect(calm.report()).toEqual({ unknownMembers: {}, newValues: {}, unreadable: {} });
      rig.reference.knobs.patch({ faults: [{ kind: 'unknownMember' }] });
      const changed = driftMeterOf('stock_variant');
      changed.note((await readAll(client.stock(query))).variants);
      expect(Object.keys(changed.report().unknownMembers).length).toBeGreaterThan(0);
    } finally {
      await transport[Symbol.asyncDispose]();
      await rig.reference.close();
    }
  });
});
