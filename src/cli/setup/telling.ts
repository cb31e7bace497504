/** Helpers of `init` and `probe`: printing findings, spacing log-ins, reading descriptions. */
import { readFileSync } from 'node:fs';
import type { Route } from '../../client/http/tunnel.ts';
import { createProbeClient } from '../../client/probe-client.ts';
import { TRANSPORT_DEFAULTS } from '../../client/transport.ts';
import type { Clock } from '../../lib/clock.ts';
import { RefusedError, toError } from '../../lib/errors.ts';
import { type Description, parseDescription } from '../../probe/description.ts';
import type { Finding } from '../../probe/findings.ts';
import { textWidth, wrap } from '../demo/layout.ts';
import type { Output } from '../output.ts';

const VALUE_CHARS_MAX = 60;
/** Indent of text that does not fit after a setting. */
const INDENT = ' '.repeat(6);

export function tellFinding(output: Output, { setting, value, seen, doubt, isOff }: Finding): void {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const shown = text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX - 1)}…` : text;
  const off = isOff === true ? ' (not set)' : '';
  const note = (line: string): void => {
    // Only a terminal gets broken lines; programs and log files get whole ones.
    const lines = output.isTerminal ? wrap(line, textWidth(output.columns()), INDENT) : [line];
    for (const one of lines) output.note(one);
  };
  note(`${(setting ?? '').padEnd(34)} ${shown}${off}  (${seen})`);
  if (doubt !== undefined) note(`${INDENT}? ${doubt}`);
}

/** Spaces log-ins in memory, for a command that has no database yet to remember the last one. */
export function spacedLogIns(clock: Clock, spacingMs: number): () => Promise<void> {
  let last: number | undefined;
  return async () => {
    if (last !== undefined) await clock.sleep(Math.max(0, last + spacingMs - clock.monotonic()));
    last = clock.monotonic();
  };
}

const DESCRIPTION_BYTES_MAX = 33_554_432;

async function fetched(url: string, way: Route, clock: Clock): Promise<string> {
  const { deadlines } = TRANSPORT_DEFAULTS;
  const options = { ...way, deadlines, gapMs: 0, bodyBytesMax: DESCRIPTION_BYTES_MAX };
  await using asker = createProbeClient(options, clock);
  const { status, text } = await asker.ask({ method: 'GET', url });
  if (status === 200) return text;
  throw new RefusedError('probe.no_description', `GET ${url}: HTTP ${status}`, {
    hint: 'save the description, and name the file',
  });
}

export async function readDescription(
  source: string,
  way: Route,
  clock: Clock,
): Promise<Description> {
  const isAddress = /^https?:\/\//.test(source);
  let text: string;
  try {
    text = isAddress ? await fetched(source, way, clock) : readFileSync(source, 'utf8');
  } catch (error) {
    if (isAddress) throw error;
    throw new RefusedError('probe.no_description', toError(error).message, {
      hint: 'name a file or an address of an OpenAPI description (JSON or YAML)',
    });
  }
  const document = parseDescription(text);
  if (document) return { source, document };
  throw new RefusedError('probe.no_description', `${source} is no OpenAPI description`, {
    hint: 'it must be JSON or YAML, and have paths',
  });
}
