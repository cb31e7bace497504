import { HttpError } from './http.mjs';
import { openQuantity } from './life.mjs';
import { intOf, says, truthy } from './php.mjs';
import { renderDetails } from './render.mjs';
import { inSeason, priceFor, styleOf, variantBy } from './world.mjs';

const PAGE = 100;
const MOST = 500;

export const variantRoutes = [
  ['GET', '/variants/stock', stockList],
  ['GET', '/variants/stock/:barcode', stockOne],
  ['GET', '/variants/season', seasonList],
  ['GET', '/variants/season/:barcode', seasonOne],
  ['GET', '/variants', oldList],
  ['GET', '/variants/:barcode', oldOne],
];

const notFound = () => new HttpError(404, 'Variant not found');

// Too large a limit is cut, not refused: the old code says min($limit, 500).
function paged(query, rows) {
  const invalid = [];
  const read = (name, otherwise) => {
    const text = query.get(name);
    if (text === null || text === '') return otherwise;
    const value = intOf(text);
    if (Number.isNaN(value)) invalid.push(says.integer(name));
    else if (value < 1) invalid.push(says.min(name, 1));
    return value;
  };
  const page = read('page', 1);
  const limit = Math.min(read('limit', PAGE), MOST);
  if (invalid.length > 0) throw new HttpError(422, 'Invalid data', { invalid });
  return rows.slice((page - 1) * limit, page * limit);
}

function brandFilter({ app, query }, required) {
  const name = query.get('brandName');
  if (!name) {
    if (!required) return () => true;
    throw new HttpError(422, 'Invalid data', { invalid: [says.required('brandName')] });
  }
  const brand = app.state.brands.find((b) => b.brandName === name);
  if (!brand) throw new HttpError(422, 'Invalid data', { invalid: [says.selected('brandName')] });
  return (variant) => styleOf(app.state, variant).brandId === brand.id;
}

// Hidden styles are not sold by this channel, so no list shows them.
const sold = (app) => (variant) => !styleOf(app.state, variant).b2bHidden;

function show(ctx, variant, quantity, preorder, detailed = truthy(ctx.query.get('detailed'))) {
  const { app, client, customer, query } = ctx;
  const shown = { barcode: variant.barcode, quantity };
  if (detailed) shown.details = renderDetails(app, variant, customer);
  if (client.b2b && client.detailedPricing && truthy(query.get('detailedPricing'))) {
    const price = priceFor(app.state, customer, variant, preorder);
    shown.pricing = {
      currency: customer.currency,
      wspPriceOriginal: price.original,
      discountPercentage: price.percentage,
      wspPriceWithDiscount: price.discounted,
    };
  }
  return shown;
}

function onOrder({ app, customer, query }) {
  const codes = new Set();
  if (!truthy(query.get('includeVariantsOnOrder'))) return codes;
  for (const order of app.state.orders) {
    if (order.customerId !== customer.id || order.completed) continue;
    for (const line of order.lines) {
      if (line.fulfilled < line.quantity || openQuantity(app, order, line) > 0) {
        codes.add(line.barcode);
      }
    }
  }
  return codes;
}

// The stock list is what can be ordered now; a sold out variant is simply not in it.
function stockList(ctx) {
  const { app, query } = ctx;
  const ofBrand = brandFilter(ctx, app.opts.perBrand);
  const running = onOrder(ctx);
  const rows = app.state.variants
    .filter(sold(app))
    .filter(ofBrand)
    .filter((v) => v.stock > 0 || running.has(v.barcode));
  return { data: paged(query, rows).map((v) => show(ctx, v, Math.max(0, v.stock), false)) };
}

function stockOne(ctx) {
  const variant = variantBy(ctx.app.state, ctx.params.barcode);
  if (!variant || !sold(ctx.app)(variant)) throw notFound();
  if (variant.stock <= 0 && !onOrder(ctx).has(variant.barcode)) throw notFound();
  return { data: show(ctx, variant, Math.max(0, variant.stock), false) };
}

function seasonName({ app, query }) {
  const name = query.get('seasonName');
  const fail = (text) => new HttpError(422, 'Invalid data', { invalid: [text] });
  if (!name) throw fail(says.required('seasonName'));
  const known = app.state.seasons.some((s) => s.seasonName === name);
  if (!known) throw fail(says.selected('seasonName'));
  return name;
}

function seasonList(ctx) {
  const { app, query } = ctx;
  const name = seasonName(ctx);
  const ofBrand = brandFilter(ctx, app.opts.perBrand);
  const rows = app.state.variants
    .filter(sold(app))
    .filter(ofBrand)
    .filter((v) => inSeason(app.state, v, name));
  return { data: paged(query, rows).map((v) => show(ctx, v, v.preorder, true)) };
}

function seasonOne(ctx) {
  const name = seasonName(ctx);
  const variant = variantBy(ctx.app.state, ctx.params.barcode);
  const there = variant && sold(ctx.app)(variant) && inSeason(ctx.app.state, variant, name);
  if (!there) throw notFound();
  return { data: show(ctx, variant, variant.preorder, true) };
}

// The deprecated pair knows none of the newer switches: always detailed, sold out ones included.
const oldQuery = (ctx) => ({ ...ctx, query: new URLSearchParams() });
const headers = { deprecation: 'true' };

function oldList(ctx) {
  const ofBrand = brandFilter(ctx, true);
  const rows = ctx.app.state.variants.filter(sold(ctx.app)).filter(ofBrand);
  const data = paged(ctx.query, rows).map((v) =>
    show(oldQuery(ctx), v, Math.max(0, v.stock), false, true),
  );
  return { data, headers };
}

function oldOne(ctx) {
  const variant = variantBy(ctx.app.state, ctx.params.barcode);
  if (!variant || !sold(ctx.app)(variant)) throw notFound();
  return { data: show(oldQuery(ctx), variant, Math.max(0, variant.stock), false, true), headers };
}
