/** A cell: one brand with its own reference service and daemon, and its part of a plane. */
import { readFileSync, writeFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { loadConfig } from '../../src/config/load.ts';
import type { Config } from '../../src/config/schema.ts';
import { runPlane } from '../../src/daemon/plane.ts';
import { serviceManager } from '../../src/daemon/systemd/manager.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { isJsonObject, type JsonObject } from '../../src/lib/json.ts';
import { createLogger, type Logger } from '../../src/lib/log.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';
import type { Reference } from '../../src/reference/reference.ts';
import { type CliHouse, startCliHouse } from '../cli/house.ts';
import type { Setting } from '../config/config-of.ts';
import { type AtEnd, temporaryFolder } from './store.ts';

export interface Cell extends CliHouse {
  readonly account: string;
  readonly config: Config;
  /** Starts the process that keeps the copy, in this one; ends with the test, or by `stop`. */
  startSink(): { readonly log: readonly string[]; stop(): Promise<void> };
}

export interface CellParts {
  readonly account: string;
  /** Address of PostgreSQL. */
  readonly url: string;
  readonly settings?: readonly Setting[];
  /** Further sections of the file, which the commands and the copy's process read. */
  readonly written?: JsonObject;
  readonly atEnd?: AtEnd;
}

/** The configuration file of a house, with a plane. */
function addPlane(file: string, account: string, url: string, more: JsonObject): void {
  const secret = `${file}.plane-url`;
  writeFileSync(secret, url, { mode: 0o600 });
  const written: unknown = parse(readFileSync(file, 'utf8'));
  if (!isJsonObject(written)) throw new Error('the configuration is no map');
  const plane = { url: { file: secret }, every: '100ms' };
  writeFileSync(file, stringify({ ...written, ...more, instance: account, plane }));
}

function linesOf(): { readonly log: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const write = (line: string): number => lines.push(line);
  const scrubber = createScrubber();
  return { log: createLogger({ level: 'info', format: 'json', scrubber, write }), lines };
}

export async function startCell(
  reference: Reference,
  { account, url, settings = [], written = {}, atEnd = onTestFinished }: CellParts,
): Promise<Cell> {
  const folder = temporaryFolder(atEnd);
  const plane = [
    { path: 'instance', value: account },
    { path: 'plane.url', value: new Secret('plane.url', url) },
  ];
  const overrides = [...plane, ...settings];
  const house = await startCliHouse(reference, { folder, overrides }, atEnd);
  addPlane(house.file, account, url, written);
  const loaded = loadConfig({ file: house.file, env: {} });
  if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
  const { config } = loaded;
  const startSink: Cell['startSink'] = () => {
    const { log, lines } = linesOf();
    const stop = new AbortController();
    const deps = { clock: systemClock(), log, manager: serviceManager({}, process.pid, log) };
    const done = runPlane(config, deps, stop.signal);
    const close = async (): Promise<void> => {
      stop.abort();
      await done;
    };
    atEnd(close);
    return { log: lines, stop: close };
  };
  return { ...house, account, config, startSink };
}
