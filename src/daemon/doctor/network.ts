/** Checks of the network: our own listeners, and the service, called in the daemon's way. */
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { proxyFor } from '../../client/http/pools.ts';
import { openTunnel, type Route, tlsOf } from '../../client/http/tunnel.ts';
import type { RawCall } from '../../client/raw-call.ts';
import { hasAtLevel } from '../../config/level.ts';
import type { Config } from '../../config/schema.ts';
import { PROBE_PATH } from '../../inbox/access.ts';
import type { Clock } from '../../lib/clock.ts';
import { RetryLaterError, toError } from '../../lib/errors.ts';
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import { formatDuration } from '../../lib/units.ts';
import { askHere, localFile } from '../../local-api/ask.ts';
import type { Answered } from '../commands/call.ts';
import { bad, type Finding, fine, odd, skipped } from './finding.ts';

interface Deadline {
  readonly clock: Pick<Clock, 'after'>;
  readonly limitMs: number;
  /** Work that is limited, in words, for the message when the time is up. */
  readonly what: string;
  readonly hint: string;
}

/** Runs the work with a time limit; the work must end when its signal aborts. */
async function within<T>(
  { clock, limitMs, what, hint }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const timer = clock.after(limitMs, () => {
    const message = `${what} came to no end within ${formatDuration(limitMs)}`;
    limit.abort(new RetryLaterError('doctor.timeout', message, { hint }));
  });
  try {
    return await work(limit.signal);
  } catch (error) {
    throw limit.signal.aborted ? limit.signal.reason : error;
  } finally {
    timer.cancel();
  }
}

export interface Network {
  readonly ask: Ask;
  readonly clock: Pick<Clock, 'after'>;
}

/** Function that calls the service until the signal aborts, through the daemon when one runs. */
export type Ask = (
  call: RawCall,
  signal: AbortSignal,
) => Promise<Pick<Answered, 'tookMs' | 'clockOffsetMs'> & { readonly json?: unknown }>;

const CONNECT_MS = 5_000;
const OFFSET_MS_MAX = 30_000;
const CERTIFICATE_MS_MIN = 21 * 86_400_000;

/** Checks that both listeners answer; the event listener may refuse, as a GET is no event. */
export async function checkListeners(
  { listener, local }: Config,
  { clock }: Pick<Network, 'clock'>,
): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const [name, { host, port }] of Object.entries({ listener, local })) {
    const at = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    if (port === 0) {
      found.push(skipped(name, 'has another port at each start'));
      continue;
    }
    const advice = 'does the daemon run? ss -ltn shows who listens';
    const deadline = { clock, limitMs: CONNECT_MS, what: 'its answer', hint: advice };
    try {
      const url = `http://${at}${name === 'listener' ? PROBE_PATH : '/readyz'}`;
      const { statusCode: status } = await within(deadline, (signal) =>
        askHere(url, { headersTimeout: CONNECT_MS, signal }),
      );
      const isReady = name === 'listener' || status === 200;
      found.push(
        isReady
          ? fine(name, `answers at ${at}`)
          : odd(name, `is not ready (${status})`, `curl http://${at}/readyz says why`),
      );
    } catch (error) {
      const text = `nobody answers at ${at}: ${toError(error).message}`;
      found.push(bad(name, text, advice));
    }
  }
  return found;
}

const REFUSED = /^selvedge_events_refused_total\{reason="(\w+)"\} ([1-9]\d*)$/gm;
const ADVICE = {
  forged:
    'is the secret in listener.secrets that of the endpoint (selvedge portal open)? Or does a ' +
    'proxy rebuild the body? It must pass on each byte',
  retired: 'the endpoint signs with an old secret: name the new one in listener.secrets',
  stale: 'timedatectl set-ntp true: the clock of the relay or ours is off by five minutes',
} as const;

/**
 * Finds events that the running daemon refused. Reported only while it has taken none: with others
 * taken, anybody may have forged the refused ones.
 */
export async function checkRefused(
  { dataDir }: Pick<Config, 'dataDir'>,
  { clock }: Pick<Network, 'clock'>,
): Promise<readonly Finding[]> {
  const file = localFile(dataDir);
  if (!existsSync(file)) return [];
  const published = tryParseJson(readFileSync(file, 'utf8'));
  const url = isJsonObject(published) ? published.url : undefined;
  if (typeof url !== 'string') return [];
  const hint = 'does the daemon run?';
  const deadline = { clock, limitMs: CONNECT_MS, what: 'its figures', hint };
  const { text } = await within(deadline, (signal) =>
    askHere(`${url}/metrics`, { headersTimeout: CONNECT_MS, signal }),
  );
  if (!/^selvedge_events_received_total 0$/m.test(text)) return [];
  const reasons = new Map([...text.matchAll(REFUSED)].map(([, why = '', times]) => [why, times]));
  return Object.entries(ADVICE)
    .filter(([why]) => reasons.has(why))
    .map(([why, advice]) => {
      const times = reasons.get(why);
      const events = times === '1' ? '1 event was' : `${times} events were`;
      return odd('signatures', `${events} refused as ${why}, none was taken`, advice);
    });
}

async function expiryOf(url: URL, way: Route): Promise<number | undefined> {
  const port = Number(url.port || 443);
  const proxy = proxyFor(url.origin, way);
  const target = `${url.hostname}:${port}`;
  const tunnel = proxy && (await openTunnel(proxy, target, way, CONNECT_MS));
  return new Promise((resolve, reject) => {
    const to = tunnel ? { socket: tunnel } : { host: url.hostname, port };
    const options = { ...tlsOf(way), ...to, servername: url.hostname, timeout: CONNECT_MS };
    // Reads the expiry date only; whether the certificate is trusted shows in a call.
    const socket = connect({ ...options, rejectUnauthorized: false }, () => {
      const { valid_to: end } = socket.getPeerCertificate();
      socket.destroy();
      resolve(end ? Date.parse(end) : undefined);
    });
    socket.once('error', reject);
    socket.once('timeout', () => socket.destroy(new Error('no answer')));
  });
}

function certificateEnds(name: string, of: string, end: number, now: number, who: string): Finding {
  if (end < now) {
    const text = `of ${of} ended ${formatDuration(now - end)} ago`;
    return bad(name, text, `${who} must renew it; is the time here right?`);
  }
  const text = `of ${of} ends in ${formatDuration(end - now)}`;
  if (end - now > CERTIFICATE_MS_MIN) return fine(name, text);
  return odd(name, text, `${who} must renew it`);
}

/** Checks the expiry of the client certificate that we present to the service. */
function checkOurs(client: NonNullable<Route['client']>, now: number): Finding {
  const certificate = new X509Certificate(client.certText);
  const of = certificate.subject.replaceAll('\n', ', ');
  const who = 'its issuer (service.clientCertificate)';
  return certificateEnds('certificate', of, Date.parse(certificate.validTo), now, who);
}

export async function checkCertificate(
  baseUrl: string,
  now: number,
  way: Route,
): Promise<Finding[]> {
  const url = new URL(baseUrl);
  if (url.protocol !== 'https:') return [skipped('certificate', `${url.host} is this machine`)];
  const ours = way.client ? [checkOurs(way.client, now)] : [];
  const end = await expiryOf(url, way);
  if (end === undefined) return [...ours, odd('certificate', 'has no end', 'ask the service')];
  return [...ours, certificateEnds('certificate', url.host, end, now, 'the service')];
}

/** Most milliseconds for a log-in and a call, each answered as late as the configuration allows. */
function askMsMax({ timeouts, limits }: Config['service']): number {
  return limits.loginSpacing + 2 * timeouts.firstByte;
}

/** Calls the service within a time limit; the client alone would repeat it for minutes. */
export async function asked({ service }: Config, { ask, clock }: Network, call: RawCall) {
  const { api, path } = call;
  const again = api === 'v2' ? `"selvedge api GET ${path} --v2"` : `"selvedge api GET ${path}"`;
  const hint =
    'is the service, or the proxy, up? Or does it ask to wait (Retry-After)? ' +
    `${again} waits longer, and shows what it says`;
  const what = `log-in and GET ${path}`;
  return within({ clock, limitMs: askMsMax(service), what, hint }, (signal) => ask(call, signal));
}

/** Path for a trial call that exists at the account's level. */
function pathThatIsThere({ service }: Config): string {
  return hasAtLevel(service.dialect.v1.level, 'brandsAndFreight') ? '/brands' : '/orders';
}

export async function checkV1(config: Config, network: Network): Promise<Finding[]> {
  const path = pathThatIsThere(config);
  const call = { api: 'v1', method: 'GET', path } as const;
  const { tookMs, clockOffsetMs } = await asked(config, network, call);
  const found = [fine('service V1', `log-in and GET ${path} work, ${tookMs} ms`)];
  if (clockOffsetMs === null) found.push(skipped('clock', 'the service does not tell its time'));
  else if (Math.abs(clockOffsetMs) <= OFFSET_MS_MAX) {
    found.push(fine('clock', `within ${formatDuration(Math.abs(clockOffsetMs))} of the service`));
  } else {
    const text = `${formatDuration(Math.abs(clockOffsetMs))} away from the service`;
    found.push(bad('clock', text, 'timedatectl set-ntp true; signatures end at 5 minutes'));
  }
  return found;
}

export async function checkV2(config: Config, network: Network): Promise<Finding[]> {
  if (!config.service.v2.enabled) return [skipped('service V2', 'is not enabled')];
  const call = { api: 'v2', method: 'GET', path: '/pdm/brands' } as const;
  const { tookMs } = await asked(config, network, call);
  return [fine('service V2', `log-in and GET /pdm/brands work, ${tookMs} ms`)];
}
