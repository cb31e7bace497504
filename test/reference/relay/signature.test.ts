import fc from 'fast-check';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../src/lib/random.ts';
import {
  createSecret,
  isSecret,
  signedHeaders,
} from '../../../src/reference/relay/delivery/signature.ts';

const now = Math.floor(Date.now() / 1_000);
const random = seededRandom(11);

function accepted(verify: () => unknown): boolean {
  try {
    verify();
    return true;
  } catch {
    return false;
  }
}

describe('a signature', () => {
  it('is the one of the documented example', () => {
    const secret = 'whsec_plJ3nmyCDGBKInavdOK15jsl';
    const body = Buffer.from('{"event_type":"ping","data":{"success":true}}');
    const headers = signedHeaders([secret], 'msg_loFOjxBNrRLzqYUf', 1_731_705_121, body);
    expect(headers).toEqual({
      'svix-id': 'msg_loFOjxBNrRLzqYUf',
      'svix-timestamp': '1731705121',
      'svix-signature': 'v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=',
    });
  });

  it('is accepted for any body and every live secret, and for nothing else', () => {
    const secrets = fc
      .integer({ min: 1, max: 4 })
      .map((count) => Array.from({ length: count }, () => createSecret(random)));
    fc.assert(
      fc.property(fc.json(), secrets, fc.nat(), (text, live, at) => {
        const body = Buffer.from(text);
        const svix = signedHeaders(live, 'msg_1', now, body);
        const standard = Object.fromEntries(
          Object.entries(svix).map(([name, value]) => [name.replace('svix', 'webhook'), value]),
        );
        const raw = { jsonParse: false };
        for (const secret of live) {
          expect(accepted(() => new SvixWebhook(secret).verify(body, svix))).toBe(true);
          expect(accepted(() => new StandardWebhook(secret).verify(body, standard, raw))).toBe(
            true,
          );
        }
        const [first = ''] = live;
        const flipped = Buffer.from(body);
        flipped[at % body.length] = (flipped[at % body.length] ?? 0) ^ 4;
        expect(accepted(() => new SvixWebhook(first).verify(flipped, svix))).toBe(false);
        const stranger = createSecret(random);
        expect(accepted(() => new SvixWebhook(stranger).verify(body, svix))).toBe(false);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a secret', () => {
  it('is made of 24 bytes, and an own one may have 24 to 75', () => {
    const own = (bytes: number) => `whsec_${Buffer.alloc(bytes, 1).toString('base64')}`;
    expect(Buffer.from(createSecret(random).slice(6), 'base64')).toHaveLength(24);
    expect([23, 24, 75, 76].map((bytes) => isSecret(own(bytes)))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    for (const text of ['', 'whsec_', 'whsec_!!!', own(24).slice(6)]) {
      expect(isSecret(text)).toBe(false);
    }
  });
});
