/**
 * The plane against its goals; needs Debian's PostgreSQL.
 *
 * `node bench/plane.ts [--only follow|pull|compare|reports]... [--variants 1000000]
 *   [--pulled 100000] [--changes 1] [--accounts 10] [--plans]`
 *
 * - `follow`: rebuild, following, catching up, lag, snapshots (support/plane-follow.ts)
 * - `pull`: pulls with the plane and without, and the log (support/plane-pull.ts)
 * - `compare`: every view and report against SQLite, row by row (support/plane-large.ts)
 * - `reports`: how long each report takes with many accounts (support/plane-large.ts)
 *
 * `--changes` are those of the history, for each variant; `--plans` shows how PostgreSQL runs each
 * report that takes too long.
 */
import { parseArgs } from 'node:util';
import { postgresPrograms } from '../test/support/postgres.ts';
import { measureFollowing } from './support/plane-follow.ts';
import { createJudge } from './support/plane-goals.ts';
import { measureLarge } from './support/plane-large.ts';
import { measurePulls } from './support/plane-pull.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: ['follow', 'pull', 'compare', 'reports'] },
    variants: { type: 'string', default: '1000000' },
    pulled: { type: 'string', default: '100000' },
    changes: { type: 'string', default: '1' },
    accounts: { type: 'string', default: '10' },
    plans: { type: 'boolean', default: false },
  },
});
if (postgresPrograms() === undefined) {
  console.log('no PostgreSQL is installed: nothing measured');
  process.exit();
}
const { say, held } = createJudge();
const variants = Number(values.variants);
if (values.only.includes('follow')) await measureFollowing(variants, say);
if (values.only.includes('pull')) await measurePulls(Number(values.pulled), say);
const parts = (['compare', 'reports'] as const).filter((part) => values.only.includes(part));
if (parts.length > 0) {
  const size = { variants, changes: Number(values.changes), accounts: Number(values.accounts) };
  await measureLarge({ ...size, parts, hasPlans: values.plans }, say);
}
process.exitCode = held() ? 0 : 1;
