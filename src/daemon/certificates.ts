/**
 * Worker that reads the certificates of `service` again: when one of their files changes, and at
 * each reload. New connections use them; those that are open end with the requests on them. Files
 * that do not fit yet, because the key or the certificate is still to be written, change nothing.
 */
import { readFileSync } from 'node:fs';
import type { Transport } from '../client/transport.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import { toError } from '../lib/errors.ts';
import { canonicalJson, sha256 } from '../lib/json.ts';
import type { Logger } from '../lib/log.ts';
import { routeOf } from './service.ts';
import type { Worker } from './supervisor.ts';

export interface CertificatesDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly transport: Pick<Transport, 'renew'>;
  /** Reads the configuration again; throws the ConfigError that names every mistake. */
  readonly readConfig?: (() => Config) | undefined;
}

export interface Certificates extends Worker {
  /** Takes the certificates of a configuration that was read again. */
  take(fresh: Config): Promise<void>;
}

const LOOK_MS = 60_000;

function textOf(file: string | null | undefined): string {
  try {
    return typeof file === 'string' ? readFileSync(file, 'utf8') : '';
  } catch (thrown) {
    return toError(thrown).message;
  }
}

/** Digest of the certificates' files, readable or not. */
function filesOf({ service }: Config): string {
  const { caFile, clientCertificate } = service;
  return sha256(canonicalJson([textOf(caFile), textOf(clientCertificate?.certificates)]));
}

/** Digest of all that connections are made with. */
function digestOf({ caText = '', client }: ReturnType<typeof routeOf>): string {
  return sha256(canonicalJson([caText, client?.certText ?? '', client?.key.reveal() ?? '']));
}

export function createCertificates(config: Config, deps: CertificatesDeps): Certificates {
  const { clock, log, transport, readConfig } = deps;
  let current = config;
  let files = filesOf(config);
  let inUse = digestOf(routeOf(config.service));
  const take = async (fresh: Config): Promise<void> => {
    const route = routeOf(fresh.service);
    current = fresh;
    files = filesOf(fresh);
    if (digestOf(route) === inUse) return;
    inUse = digestOf(route);
    transport.renew(route);
    log.info({}, 'certificates were read again; new connections use them');
  };
  return {
    name: 'certificates',
    take,
    async run(signal) {
      let refused = '';
      while (!signal.aborted) {
        const now = filesOf(current);
        if (readConfig && now !== files) {
          try {
            await take(readConfig());
          } catch (thrown) {
            const { message } = toError(thrown);
            if (now !== refused) log.warn({ error: message }, 'new certificates do not fit yet');
            refused = now;
          }
        }
        await clock.sleep(LOOK_MS, signal).catch(() => undefined);
      }
    },
  };
}
