// All knobs in one table: the program reads them as flags, startStranger() as an options object.
// A default is what the vendor is believed to do, never what is most convenient for a client.
export const FLAGS = {
  port: ['number', 0, 'port of V1 (and of V2 unless --v2-port is given); 0 = free port'],
  v2Port: ['number', null, 'own port for V2; without it V2 shares the V1 listener'],
  relayPort: ['number', 0, 'port of the relay (portal pages and /control); 0 = free port'],
  seed: ['number', 1, 'seed of the generated world, ids and tokens'],
  rate: ['number', 10, 'requests per second per key and interface; 0 = no limit'],
  php: ['onoff', true, 'PHP habits: {} as [], money as text, flags 0/1, escaped slashes'],
  perBrand: ['onoff', false, 'brandName is required on /variants/stock and /variants/season too'],
  lag: ['number', 0, 'ms between an event and its record being readable'],
  zone: ['string', 'Europe/Copenhagen', 'time zone of the V1 local date-times'],
  currency: ['string', 'DKK', 'currency of the customer'],
  styles: ['number', 60, 'number of generated styles'],
  ordersPage: ['number', 50, 'default page length of GET /orders'],
  tokenTtl: ['number', 3600, 'seconds a V1 token lives'],
  v2TokenTtl: ['number', 900, 'seconds a V2 token lives'],
  pageTokenTtl: ['number', 600, 'seconds a V2 page token lives'],
  packAfter: ['number', null, 'ms after which an order packs itself; unset = by call only'],
  shipAfter: ['number', null, 'ms after which an accepted delivery ships; unset = by call only'],
  refundAfter: ['number', null, 'ms after which a pending refund is confirmed; unset = by call'],
  syncDelivery: ['onoff', false, 'stock orders get their delivery while they are created'],
  freightRequired: ['onoff', false, 'the system configuration still asks for Freight on orders'],
  freightPath: ['string', 'freight', 'path of the freight list'],
  oversell: ['onoff', false, 'orders may ask for more than the stock'],
  detailedPricing: ['onoff', true, 'detailed pricing is enabled on the main V1 key'],
  webhooksEnabled: ['onoff', true, 'the customer has access to the webhook model'],
  webhook: ['string', null, 'endpoint URL subscribed from the start'],
  webhookSecret: ['string', null, 'whsec_... of that endpoint; made up when missing'],
  retryScale: ['number', 1, 'factor on the relay retry waits (5 s, 5 min, 30 min, ...)'],
  lastLink: ['onoff', true, 'V2 collections know their last page'],
  v1Auth: ['string', 'both', 'where V1 takes the token: header, bearer or both'],
  v2Login: ['string', 'data', 'V2 login answer: data ({data:{token}}), flat or jsonapi'],
};

export function defaults(given = {}) {
  const options = {};
  for (const [name, [, value]] of Object.entries(FLAGS)) options[name] = given[name] ?? value;
  options.now = given.now ?? Date.now; // a test may give its own clock
  for (const name of Object.keys(given)) {
    if (!(name in options)) throw new Error(`unknown option ${name}`);
  }
  return options;
}

const camel = (text) => text.replace(/-([a-z0-9])/g, (_, letter) => letter.toUpperCase());
const kebab = (text) => text.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

export function parseFlags(argv) {
  const given = {};
  for (let i = 0; i < argv.length; i += 1) {
    if (!argv[i].startsWith('--')) throw new Error(`unexpected argument ${argv[i]}`);
    const [raw, inline] = argv[i].slice(2).split(/=(.*)/s);
    const name = camel(raw);
    if (!FLAGS[name]) throw new Error(`unknown flag --${raw}`);
    const next = argv[i + 1];
    const bare = inline === undefined && (next === undefined || next.startsWith('--'));
    const takesNext = inline === undefined && !bare;
    const text = inline ?? (bare ? 'on' : next);
    if (takesNext) i += 1;
    given[name] = read(FLAGS[name][0], text, raw);
  }
  return given;
}

function read(kind, text, raw) {
  if (kind === 'string') return text;
  if (kind === 'onoff') {
    if (['on', 'true', '1'].includes(text)) return true;
    if (['off', 'false', '0'].includes(text)) return false;
    throw new Error(`--${raw} takes on or off`);
  }
  const value = Number(text);
  if (text === '' || !Number.isFinite(value)) throw new Error(`--${raw} takes a number`);
  return value;
}

export function usage() {
  return Object.entries(FLAGS)
    .map(([name, [kind, value, why]]) => `--${kebab(name)} <${kind}> (${shown(value)}): ${why}`)
    .join('\n');
}

function shown(value) {
  if (value === true) return 'on';
  if (value === false) return 'off';
  return value ?? 'unset';
}
