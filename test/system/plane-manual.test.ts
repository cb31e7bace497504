/**
 * The page docs/operating/plane.md, typed as it stands into a shell, block after block, on a
 * PostgreSQL of Debian. Only what a machine of its own would have is stood in for: apt, sudo, the
 * service manager and the place of the configuration.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { readPlaneStatus } from '../../src/plane/status-file.ts';
import { startCliHouse } from '../cli/house.ts';
import { documentBlocks } from '../support/documents.ts';
import { startTestReference, until, WITH_STOCK } from '../support/house.ts';
import { LAUNCHER, launcherEnv } from '../support/launcher.ts';
import { postgresPrograms, startPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/store.ts';

const PAGE = 'docs/operating/plane.md';
const PLACE = '/etc/selvedge/acme';

const blocksOf = (language: string) =>
  documentBlocks(language)
    .filter(({ place }) => place.startsWith(`${PAGE}:`))
    .map(({ text }) => text);

/** Programs that stand in for those of a machine; others fail, so that nothing is passed over. */
function standIns(folder: string, file: string): string {
  const unit = 'selvedge-plane@acme';
  const pid = join(folder, 'pid');
  const programs = {
    apt: 'test "$*" = "install postgresql"',
    runuser: 'test "$1" = -u && test "$3" = -- && shift 3 && exec "$@"',
    selvedge: `exec "${process.execPath}" "${LAUNCHER}" "$@"`,
    systemctl: `case "$*" in
      "restart selvedge@acme") ;;
      "enable --now ${unit}")
        "${process.execPath}" "${LAUNCHER}" --config "${file}" plane run </dev/null \\
          >"${folder}/log" 2>&1 & echo $! >"${pid}" ;;
      "disable --now ${unit}") kill "$(cat "${pid}")" && rm "${pid}" ;;
      *) exit 1 ;;
    esac`,
  };
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }
  return folder;
}

it('leads from a PostgreSQL with nothing in it to a copy, and away again', async () => {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.remove());
  const reference = await startTestReference({ world: { styles: 5, orders: 5 } });
  const { file, daemon } = await startCliHouse(reference, { overrides: WITH_STOCK });
  const folder = dirname(file);
  const [settings = ''] = blocksOf('yaml');
  expect(settings).toContain(`# ${PLACE}/selvedge.yaml`);
  const written: unknown = parse(readFileSync(file, 'utf8'));
  writeFileSync(file, stringify(Object.assign({}, written, parse(settings))));
  const programs = standIns(temporaryFolder(), file);
  const env = {
    ...launcherEnv(),
    PATH: [programs, postgresPrograms(), process.env.PATH].join(delimiter),
    ...{ PGHOST: '127.0.0.1', PGPORT: String(postgres.port), PGUSER: 'postgres' },
  };
  const type = async (block: string): Promise<string> => {
    const typed = block
      .replaceAll(PLACE, folder)
      .replaceAll(/ --pwprompt| -[og] selvedge/g, '')
      .replaceAll('PASSWORD@127.0.0.1', `secret@127.0.0.1:${postgres.port}`);
    const { stdout } = await promisify(execFile)('bash', ['-euc', typed], { env });
    return stdout;
  };
  const dataDir = dirname(daemon.store.path);
  const said: string[] = [];
  for (const block of blocksOf('sh')) {
    said.push(await type(block));
    if (!block.includes('enable --now')) continue;
    await until('the whole copy, with stock', async () => {
      const stock = await daemon.store.db.selectFrom('stock_variant').select('barcode').execute();
      const told = readPlaneStatus(dataDir);
      return (stock.length > 0 && told?.state === 'following' && told.lagMs === 0) || undefined;
    });
    await until('an equal copy', async () => {
      const [, deep = ''] = /^(.*--deep)$/m.exec(blocksOf('sh').join('')) ?? [];
      return (await type(deep).catch(() => undefined))?.includes('acme: equal') || undefined;
    });
  }
  const all = said.join('');
  for (const told of [
    /^feed +begun$/m,
    /^acme +(?:ok|look|stale) /m,
    /^ acme +\| +[1-9]\d*$/m,
    /^bi may read schema selvedge/m,
    /^acme: equal \(/m,
    /^acme: \d+ rows copied$/m,
    /^feed +removed$/m,
  ]) {
    expect(all).toMatch(told);
  }
  expect(postgres.sql("select pg_has_role('bi', 'selvedge_plane', 'member')", 'plane')).toBe('f\n');
});
