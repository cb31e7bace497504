/**
 * Routes of the control API by which an operator changes the world at once, instead of waiting for
 * its clock.
 */
import { z } from 'zod';
import { deliveryShape, orderShape, refundShape } from '../world/trade/shapes.ts';
import type { World } from '../world/world.ts';
import { type ControlCall, ControlError, type ControlRoute, found, idOf, read } from './route.ts';

const NOTHING = z.strictObject({});
const UNITS_MAX = 1_000_000;
const AMOUNT_MAX = 100_000_000;

const stockBody = z.strictObject({ quantity: z.number().int().min(0).max(UNITS_MAX) });
const amount = z.number().int().min(0).max(AMOUNT_MAX).optional();
/** Prices of a style in hundredths of a euro. */
const pricesBody = z.strictObject({
  retail: amount,
  sale: amount,
  wholesale: amount,
  preOrder: amount,
});
const day = z.iso.date();
const seasonBody = z.strictObject({
  name: z.string().trim().min(1).max(40),
  deliveries: z
    .array(z.strictObject({ name: z.string().trim().min(1).max(80), from: day, to: day }))
    .min(1)
    .max(12),
});

function refuse(condition: boolean, why: string): void {
  if (condition) throw new ControlError(409, why);
}

function orderRoutes({ book, trade }: World): ControlRoute[] {
  const delivery = (call: ControlCall) => {
    read(NOTHING, call.body);
    return found(book.deliveries.get(idOf(call)), 'Delivery');
  };
  const shown = (id: number) => {
    const one = found(book.deliveries.get(id), 'Delivery');
    return deliveryShape(found(book.orders.get(one.orderId), 'Order'), one);
  };
  return [
    {
      method: 'POST',
      path: '/orders/:id/pack',
      summary: 'Pack what is left of this order now, in one delivery',
      run(call) {
        read(NOTHING, call.body);
        const packed = trade.packAll(found(book.orders.get(idOf(call)), 'Order'));
        if (!packed) throw new ControlError(409, 'Nothing of this order is left to pack');
        return shown(packed.orderDeliveryId);
      },
    },
    {
      method: 'POST',
      path: '/deliveries/:id/ship',
      summary: 'Ship this accepted delivery now',
      run(call) {
        const one = delivery(call);
        refuse(!trade.ship(one), `The delivery is ${one.shippedAt ? 'shipped' : one.status}`);
        return shown(one.orderDeliveryId);
      },
    },
    {
      method: 'POST',
      path: '/deliveries/:id/cancel',
      summary: 'Cancel this delivery, as the service itself does',
      run(call) {
        const one = delivery(call);
        const moved = trade.moveDelivery(one, 'canceled');
        refuse(moved !== 'moved', `The delivery is ${one.shippedAt ? 'shipped' : one.status}`);
        return shown(one.orderDeliveryId);
      },
    },
  ];
}

function refundRoutes({ book, trade }: World): ControlRoute[] {
  return [
    {
      method: 'POST',
      path: '/pending-refunds/:id/confirm',
      summary: 'Confirm this pending refund now: its refund appears',
      run(call) {
        read(NOTHING, call.body);
        const pending = found(book.pendingRefunds.get(idOf(call)), 'Pending refund');
        const refund = trade.confirmRefund(pending);
        if (!refund) throw new ControlError(409, `The pending refund is ${pending.status}`);
        return refundShape(found(book.orders.get(refund.orderId), 'Order'), refund);
      },
    },
    {
      method: 'POST',
      path: '/refunds/:id/cancel',
      summary: 'Cancel this refund, as the service itself does',
      run(call) {
        read(NOTHING, call.body);
        const refund = found(book.refunds.get(idOf(call)), 'Refund');
        const moved = trade.moveRefund(refund, 'canceled');
        refuse(moved !== 'moved', `The refund is ${refund.status}`);
        return refundShape(found(book.orders.get(refund.orderId), 'Order'), refund);
      },
    },
  ];
}

function catalogRoutes({ catalog, stock }: World): ControlRoute[] {
  const styleIndex = (styleNo: string): number | undefined => {
    for (let index = 0; index < catalog.size.styles; index += 1) {
      if (catalog.style(index).styleNo === styleNo) return index;
    }
    return undefined;
  };
  return [
    {
      method: 'PUT',
      path: '/variants/:barcode/stock',
      summary: 'Set the stock of one variant: {quantity}',
      run({ params, body }) {
        const { barcode = '' } = params;
        const { quantity } = read(stockBody, body);
        stock.set(found(catalog.variantOf(barcode), `Barcode ${barcode}`), quantity);
        return { barcode, quantity };
      },
    },
    {
      method: 'PATCH',
      path: '/styles/:styleNo/prices',
      summary: 'Set prices of one style, cents of a euro: {retail, sale, wholesale, preOrder}',
      run({ params, body }) {
        const { styleNo = '' } = params;
        const index = found(styleIndex(styleNo), `Style ${styleNo}`);
        const given = Object.entries(read(pricesBody, body)).filter(([, v]) => v !== undefined);
        const prices = { ...catalog.style(index).prices, ...Object.fromEntries(given) };
        return { styleNo, prices: catalog.change(index, { prices }).prices };
      },
    },
    {
      method: 'POST',
      path: '/seasons',
      summary: 'Add a season, which has the NOOS styles: {name, deliveries: [{name, from, to}]}',
      run({ body }) {
        const season = read(seasonBody, body);
        const exists = catalog.seasons.some(({ name }) => name === season.name);
        refuse(exists, `Season ${season.name} exists`);
        catalog.replaceSeasons([...catalog.seasons, season]);
        return season;
      },
    },
  ];
}

function stateRoute({ book, catalog, stock, agenda }: World): ControlRoute {
  return {
    method: 'GET',
    path: '/state',
    summary: 'How much there is of everything, and the newest order',
    run() {
      const newest = book.orders.all.at(-1);
      return {
        variants: catalog.variantCount,
        stocked: stock.stockedIn(0, catalog.variantCount),
        styles: catalog.size.styles,
        seasons: catalog.seasons.map(({ name }) => name),
        orders: book.orders.all.length,
        deliveries: book.deliveries.all.length,
        refunds: book.refunds.all.length,
        pendingRefunds: book.pendingRefunds.all.length,
        waiting: agenda.entries().length,
        newestOrder: newest === undefined ? null : orderShape(newest),
      };
    },
  };
}

export function worldRoutes(world: World): ControlRoute[] {
  return [
    stateRoute(world),
    ...orderRoutes(world),
    ...refundRoutes(world),
    ...catalogRoutes(world),
  ];
}
