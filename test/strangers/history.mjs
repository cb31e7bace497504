import { createOrder, packOrder, setDeliveryStatus, shipDelivery } from './life.mjs';

// A system that has been in use for a while: some finished orders and one that is still running
// and holds the last pieces of a variant. All of it happened before anybody subscribed.
export function makeHistory(app) {
  const [customer, other] = app.state.customers;
  const stocked = app.state.variants.filter((v) => v.stock >= 5 && v.variantType === 'single');
  const order = (who, reference, lines) =>
    createOrder(app, who, {
      reference,
      comment: null,
      seasonName: null,
      freight: null,
      shippingAddress: null,
      lines,
    });
  const line = (index, quantity) => ({ barcode: stocked[index].barcode, quantity });
  for (let i = 0; i < 4; i += 1) {
    const done = order(customer, `OLD-${i + 1}`, [line(i, 2), line(i + 6, 1)]);
    const delivery = packOrder(app, done.orderId);
    setDeliveryStatus(app, delivery, 'accepted');
    shipDelivery(app, delivery.orderDeliveryId);
    if (i === 0) done.shippingAddress = {}; // from the days before addresses were kept
  }
  order(other, 'ANDEN-1', [line(12, 1)]);
  order(customer, 'OLD-5', [line(13, stocked[13].stock)]);
}
