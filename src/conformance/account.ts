/** Turns the configuration into the account that the conformance cases try. */
import type { Config } from '../config/schema.ts';
import { ConfigError } from '../lib/errors.ts';
import { Secret } from '../lib/secret.ts';
import type { Account, Side } from './api.ts';

const revealed = (text: string | Secret): string => (text instanceof Secret ? text.reveal() : text);

type Login = Config['service']['v1']['login'];
type Way = Config['service']['dialect']['v1' | 'v2'];

function side(baseUrl: string, way: Way, login: Login, key: Secret | null): Side {
  return {
    baseUrl,
    header: way.tokenHeader,
    scheme: way.tokenScheme,
    key: key?.reveal(),
    clientId: login ? revealed(login.clientId) : '',
    clientSecret: login?.clientSecret.reveal() ?? '',
    idMember: way.idMember,
    secretMember: way.secretMember,
  };
}

export function accountOf({ v1, v2, dialect }: Config['service'], priced: boolean): Account {
  if (v1.login === null && v1.apiKey === null) {
    throw new ConfigError('config.no_credential', 'service.v1 has neither login nor apiKey');
  }
  const { enabled, baseUrl, login } = v2;
  return {
    v1: side(v1.baseUrl, dialect.v1, v1.login, v1.apiKey),
    v2: enabled && baseUrl !== null ? side(baseUrl, dialect.v2, login, null) : undefined,
    readToken: v1.readToken?.reveal(),
    readTokenHeader: dialect.v1.readTokenHeader,
    priced,
  };
}
