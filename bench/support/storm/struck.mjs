/**
 * Loaded into the daemon before itself (`--import`): steps its wall clock and lets its databases
 * not grow, as the file says that the environment names. Neither needs a right on the machine.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const LOOK_MS = 100;
/** SQLite takes less than the present size for the present size. */
const FULL = 1;
const ROOMY = 4_294_967_294;
const path = process.env.STORM_STRIKES ?? '';
const realNow = Date.now.bind(Date);
const opened = new Set();
let strikes = { aheadMs: 0, isFull: false };

Date.now = () => realNow() + strikes.aheadMs;

const { prototype } = createRequire(process.argv[1])('better-sqlite3');
const pragma = prototype.pragma;

/** Gives whether the connection has heard it; one in the middle of a query has not. */
function tell(connection, pages) {
  try {
    pragma.call(connection, `max_page_count = ${pages}`);
    return true;
  } catch {
    return false;
  }
}

for (const name of ['prepare', 'exec', 'pragma']) {
  const real = prototype[name];
  prototype[name] = function (...given) {
    if (!opened.has(this)) {
      opened.add(this);
      this.isToldFull = false;
    }
    return real.apply(this, given);
  };
}

function look() {
  try {
    strikes = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    // The next look finds it whole.
  }
  for (const connection of opened) {
    if (!connection.open) opened.delete(connection);
    else if (connection.isToldFull !== strikes.isFull) {
      if (tell(connection, strikes.isFull ? FULL : ROOMY)) connection.isToldFull = strikes.isFull;
    }
  }
}

look();
setInterval(look, LOOK_MS).unref();
