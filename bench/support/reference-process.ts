/** A reference service in a process of its own; tells its address and keys to its parent. */
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { parseKnobs } from '../../src/reference/control/knob-store.ts';
import { startReference } from '../../src/reference/reference.ts';

const knobs: unknown = JSON.parse(process.argv[2] ?? '{}');
const reference = await startReference({
  host: '127.0.0.1',
  ports: { service: 0, relay: 0, control: 0 },
  knobs: parseKnobs(knobs),
  clock: systemClock(),
  log: silentLogger(),
});
const { v1Url, credentials, world } = reference;
const rows = world.stock.stockedIn(0, world.catalog.variantCount);
process.send?.({ v1Url, credentials: Object.values(credentials)[0], rows });
process.on('disconnect', () => process.exit(0));

/** Changes the quantity of this share of the stock, evenly spread. */
process.on('message', (message) => {
  const { share } = JSON.parse(JSON.stringify(message));
  const { stock, catalog } = world;
  let changed = 0;
  for (let at = 0; at < rows; at += Math.round(1 / share)) {
    const variant = stock.nth(0, catalog.variantCount, at);
    stock.set(variant, stock.of(variant) + 1);
    changed += 1;
  }
  process.send?.({ changed });
});
