/** A reference service that speaks a dialect, and its answers as they came. */
import { type Rig, startRig } from '../support.ts';

export interface Heard {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers in a dialect have no one shape
  readonly json: any;
}

export interface Speaker {
  readonly rig: Rig;
  get(path: string, headers?: Record<string, string>): Promise<Heard>;
  post(path: string, body: unknown): Promise<Heard>;
  /** A barcode of the world, in no dialect. */
  barcode(variant?: number): string;
  /** Creates an order with one line of the first variant; gives its number. */
  order(reference?: string, more?: object): Promise<number>;
  /** Sets knobs of the group `dialect`; a null takes one back. */
  speak(dialect: Record<string, unknown>): void;
}

async function heard(response: Response): Promise<Heard> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  const { status, headers } = response;
  return { status, headers, text, json: isJson ? JSON.parse(text) : undefined };
}

export async function startSpeaker(knobs: Record<string, unknown> = {}): Promise<Speaker> {
  const rig = await startRig({ strict: false, ...knobs });
  const { reference } = rig;
  const keyed = (): Record<string, string> => ({ ...rig.headersOf('plain'), connection: 'close' });
  const barcode = (variant = 0): string => reference.world.catalog.barcodeOf(variant);
  const post: Speaker['post'] = async (path, body) =>
    heard(
      await fetch(reference.v1Url + path, {
        method: 'POST',
        headers: { ...keyed(), 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    );
  return {
    rig,
    post,
    barcode,
    get: async (path, headers = {}) =>
      heard(await fetch(reference.v1Url + path, { headers: { ...keyed(), ...headers } })),
    async order(reference = 'R-1', more = {}) {
      const line = { barcode: barcode(), quantity: 2, price: 19.95 };
      const answer = await post('/orders', { reference, orderLineItems: [line], ...more });
      if (answer.status !== 200) throw new Error(answer.text);
      return rig.reference.world.book.orders.all.at(-1)?.orderId ?? 0;
    },
    speak: (dialect) => {
      reference.knobs.patch({ dialect });
    },
  };
}

/** A V2 request with the token of a fresh log-in. */
export async function v2Of({ rig }: Speaker) {
  const { clientId, clientSecret } = rig.reference.credentials.plain ?? {};
  const login = await fetch(`${rig.reference.v2Url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ clientId, clientSecret }),
  });
  const text = await login.text();
  const [, token = ''] = /"token":"([^"]+)"/.exec(text) ?? [];
  return async (path: string): Promise<Heard> =>
    heard(
      await fetch(rig.reference.v2Url + path, { headers: { 'x-service-authorization': token } }),
    );
}
