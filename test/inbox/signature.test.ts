import { createHmac, generateKeyPairSync, sign as signEd25519 } from 'node:crypto';
import fc from 'fast-check';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { describe, expect, it, vi } from 'vitest';
import { createVerifier, TOLERANCE_MS, type Verification } from '../../src/inbox/access.ts';
import { KEY, secret, sign } from './support.ts';

const NOW = Date.UTC(2026, 0, 5, 8);
const verifier = createVerifier([secret('current', KEY)]);
const body = Buffer.from('{"type":"ping"}');

function verify(
  headers: Record<string, string | string[]>,
  bytes: Uint8Array = body,
  now = NOW,
): Verification {
  return verifier.verify(headers, bytes, now);
}

describe('fixed vectors', () => {
  it('accepts the vector that Svix documents', () => {
    const svix = createVerifier([secret('doc', 'whsec_plJ3nmyCDGBKInavdOK15jsl')]);
    const payload = Buffer.from('{"event_type":"ping","data":{"success":true}}');
    const headers = {
      'svix-id': 'msg_loFOjxBNrRLzqYUf',
      'svix-timestamp': '1731705121',
      'svix-signature': 'v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=',
    };
    const at = 1_731_705_121_000;
    expect(svix.verify(headers, payload, at)).toEqual({
      ok: true,
      eventId: 'msg_loFOjxBNrRLzqYUf',
      sentAt: at,
      secretName: 'doc',
    });
    expect(svix.verify(headers, Buffer.from('{}'), at)).toMatchObject({ reason: 'forged' });
  });

  it('accepts the vector of the Standard Webhooks libraries', () => {
    const standard = createVerifier([secret('doc', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')]);
    const headers = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    };
    const payload = Buffer.from('{"test": 2432232314}');
    expect(standard.verify(headers, payload, 1_614_265_330_000)).toMatchObject({ ok: true });
  });
});

describe('one request', () => {
  it('is accepted with either header family, but not with both (L2)', () => {
    const svix = sign(body, { at: NOW });
    const webhook = sign(body, { at: NOW, family: 'webhook' });
    expect(verify(svix).ok).toBe(true);
    expect(verify(webhook).ok).toBe(true);
    expect(verify({ ...svix, ...webhook })).toMatchObject({ reason: 'malformed' });
    expect(verify({ ...svix, 'webhook-id': 'msg_1' })).toMatchObject({ reason: 'malformed' });
  });

  it.each([
    ['no header at all', {}],
    ['no id', { 'svix-id': undefined }],
    ['no signature', { 'svix-signature': undefined }],
    ['an id with a full stop', { 'svix-id': 'msg.1' }],
    ['an id sent twice', { 'svix-id': 'msg_1, msg_1' }],
    ['an id that is too long', { 'svix-id': 'm'.repeat(129) }],
    ['a list where a text belongs', { 'svix-id': ['msg_1'] }],
    ['a time stamp with a tail', { 'svix-timestamp': '1767600000junk' }],
    ['a time stamp in milliseconds', { 'svix-timestamp': '1767600000000' }],
    ['a fraction in the time stamp', { 'svix-timestamp': '1767600000.9' }],
    ['an empty signature', { 'svix-signature': '' }],
    ['a signature without version', { 'svix-signature': 'AAAA' }],
    ['a signature sent twice', { 'svix-signature': 'v1,AAAA, v1,AAAA' }],
    ['an endless signature', { 'svix-signature': `v1,${'A'.repeat(600)}` }],
    ['seventeen signatures', { 'svix-signature': Array(17).fill('v1,AAAA').join(' ') }],
  ])('with %s is malformed', (what, change) => {
    const good = what === 'no header at all' ? {} : sign(body, { at: NOW });
    const merged = Object.entries({ ...good, ...change }).filter(
      ([, value]) => value !== undefined,
    );
    const headers: Record<string, string> = Object.fromEntries(merged);
    expect(verify(headers)).toEqual({ ok: false, reason: 'malformed' });
  });

  it('is stale beyond five minutes on either side, and says when it was sent (R9)', () => {
    for (const distance of [-TOLERANCE_MS, TOLERANCE_MS]) {
      const at = NOW + distance;
      expect(verify(sign(body, { at })).ok).toBe(true);
      const further = at + Math.sign(distance) * 1_000;
      expect(verify(sign(body, { at: further }))).toEqual({
        ok: false,
        reason: 'stale',
        sentAt: further,
        secretName: 'current',
      });
    }
  });

  it('is stale sooner, or later, where the configuration says so', () => {
    const early = createVerifier([secret('current', KEY)], 60_000);
    expect(early.verify(sign(body, { at: NOW - 61_000 }), body, NOW).ok).toBe(false);
    const late = createVerifier([secret('current', KEY)], 3_600_000);
    expect(late.verify(sign(body, { at: NOW - 3_000_000 }), body, NOW).ok).toBe(true);
  });

  it('is forged rather than stale when it is both, so that nobody probes our clock', () => {
    const other = `whsec_${Buffer.alloc(24, 8).toString('base64')}`;
    const headers = sign(body, { at: 1_700_000_000_000, key: other });
    expect(verify(headers)).toEqual({ ok: false, reason: 'forged' });
  });
});

describe('several secrets', () => {
  const newKey = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;

  it('tell which one matched, and which has had its time (R8)', () => {
    const both = createVerifier([secret('new', newKey), secret('old', KEY, NOW + 1_000)]);
    expect(both.verify(sign(body, { at: NOW, key: newKey }), body, NOW)).toMatchObject({
      secretName: 'new',
    });
    const old = sign(body, { at: NOW });
    expect(both.verify(old, body, NOW + 999)).toMatchObject({ ok: true, secretName: 'old' });
    expect(both.verify(old, body, NOW + 1_000)).toMatchObject({
      ok: false,
      reason: 'retired',
      secretName: 'old',
    });
  });

  it('accept what the relay signs with the new and the old key at once', () => {
    const now = sign(body, { id: 'msg_1', at: NOW, key: newKey });
    const old = sign(body, { id: 'msg_1', at: NOW });
    const list = `${now['svix-signature']} ${old['svix-signature']}`;
    expect(verify({ ...old, 'svix-signature': list }).ok).toBe(true);
    // The first of the list is told, whichever stands first in the header.
    const both = createVerifier([secret('new', newKey), secret('old', KEY)]);
    const headers = { ...old, 'svix-signature': list.split(' ').reverse().join(' ') };
    expect(both.verify(headers, body, NOW)).toMatchObject({ ok: true, secretName: 'new' });
  });

  it('take an Ed25519 public key beside the symmetric ones', () => {
    const pair = generateKeyPairSync('ed25519');
    const { x = '' } = pair.publicKey.export({ format: 'jwk' });
    const whpk = `whpk_${Buffer.from(x, 'base64url').toString('base64')}`;
    const mixed = createVerifier([secret('hmac', KEY), secret('ed25519', whpk)]);
    const headers = sign(body, { id: 'msg_1', at: NOW });
    const signed = Buffer.concat([Buffer.from(`msg_1.${NOW / 1_000}.`), body]);
    const v1a = `v1a,${signEd25519(null, signed, pair.privateKey).toString('base64')}`;
    const other = 'v1,AAAA';
    const withEd = { ...headers, 'svix-signature': `${other} ${v1a}` };
    expect(mixed.verify(withEd, body, NOW)).toMatchObject({ ok: true, secretName: 'ed25519' });
    expect(mixed.verify(withEd, Buffer.from('{}'), NOW)).toMatchObject({ reason: 'forged' });
    // The version names the algorithm: an HMAC is not looked for behind v1a, nor the reverse.
    const confused = { ...headers, 'svix-signature': v1a.replace('v1a', 'v1') };
    expect(mixed.verify(confused, body, NOW)).toMatchObject({ reason: 'forged' });
  });
});

const anyBody = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));

describe('any body', () => {
  it('verifies byte for byte: NUL, BOM and invalid UTF-8 included', () => {
    fc.assert(
      fc.property(anyBody, fc.constantFrom('svix', 'webhook'), (bytes, family) => {
        expect(verify(sign(bytes, { at: NOW, family }), bytes).ok).toBe(true);
      }),
    );
    const [first, second] = [Buffer.from([0xff]), Buffer.from([0xfe])];
    expect(verify(sign(first, { at: NOW }), second)).toMatchObject({ reason: 'forged' });
  });

  it('is refused when any bit of id, time stamp, signature or body is flipped (L2)', () => {
    const parts = fc.constantFrom('svix-id', 'svix-timestamp', 'svix-signature', 'body');
    fc.assert(
      fc.property(anyBody, parts, fc.nat(), (bytes, part, position) => {
        const headers = sign(bytes, { id: 'msg_1', at: NOW });
        const flipped = part === 'body' ? Buffer.from(bytes) : Buffer.from(headers[part] ?? '');
        fc.pre(flipped.length > 0);
        const index = position % (flipped.length * 8);
        const byte = flipped[index >> 3] ?? 0;
        flipped[index >> 3] = byte ^ (1 << (index & 7));
        if (part === 'body') expect(verify(headers, flipped).ok).toBe(false);
        else
          expect(verify({ ...headers, [part]: flipped.toString('latin1') }, bytes).ok).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is accepted with the right signature anywhere among others', () => {
    const other = fc.tuple(
      fc.constantFrom('v1', 'v1a', 'v2'),
      fc.uint8Array({ minLength: 1, maxLength: 64 }),
    );
    fc.assert(
      fc.property(anyBody, fc.array(other, { maxLength: 15 }), fc.nat(), (bytes, others, at) => {
        const headers = sign(bytes, { at: NOW });
        const list = others.map(
          ([version, raw]) => `${version},${Buffer.from(raw).toString('base64')}`,
        );
        list.splice(at % (list.length + 1), 0, headers['svix-signature'] ?? '');
        expect(verify({ ...headers, 'svix-signature': list.join(' ') }, bytes).ok).toBe(true);
      }),
    );
  });
});

/** Whether a library accepts it; the clock of both is the wall clock. */
function accepts(
  library: { verify(b: Buffer, h: Record<string, string>): unknown },
  bytes: Buffer,
  headers: Record<string, string>,
): boolean {
  try {
    library.verify(bytes, headers);
    return true;
  } catch {
    return false;
  }
}

describe('against the libraries', () => {
  const standard = new StandardWebhook(KEY);
  const svix = new SvixWebhook(KEY);
  const looseStandard = {
    verify: (bytes: Buffer, headers: Record<string, string>) =>
      standard.verify(bytes, headers, { jsonParse: false }),
  };
  const text = fc.string({ unit: 'binary', maxLength: 200 }).map((value) => Buffer.from(value));
  const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);

  it('accepts what they sign', () => {
    fc.assert(
      fc.property(text, id, (bytes, eventId) => {
        const date = new Date(NOW);
        for (const library of [standard, svix]) {
          const headers = {
            'webhook-id': eventId,
            'webhook-timestamp': String(NOW / 1_000),
            'webhook-signature': library.sign(eventId, date, bytes),
          };
          expect(verify(headers, bytes)).toMatchObject({ ok: true, eventId });
        }
      }),
    );
  });

  it('agrees with them on every request, but for the known stricter cases (L2)', () => {
    vi.useFakeTimers({ now: NOW, toFake: ['Date'] });
    const change = fc.constantFrom<(h: Record<string, string>) => void>(
      () => undefined,
      (h) => {
        h['webhook-timestamp'] = String(NOW / 1_000 - 300);
      },
      (h) => {
        h['webhook-timestamp'] = String(NOW / 1_000 - 301);
      },
      (h) => {
        h['webhook-timestamp'] = String(NOW / 1_000 + 301);
      },
      (h) => {
        h['webhook-id'] = `${h['webhook-id']}x`;
      },
      (h) => {
        h['webhook-signature'] = `v1,AAAA ${h['webhook-signature']}`;
      },
      (h) => {
        h['webhook-signature'] = `${h['webhook-signature']} v2,AAAA`;
      },
      (h) => {
        h['webhook-signature'] = (h['webhook-signature'] ?? '').replace('v1,', 'v2,');
      },
      (h) => {
        h['webhook-signature'] = (h['webhook-signature'] ?? '').slice(0, -1);
      },
      (h) => {
        delete h['webhook-signature'];
      },
      (h) => {
        h['webhook-timestamp'] = 'soon';
      },
    );
    const changes = fc.array(change, { minLength: 1, maxLength: 2 });
    const offset = fc.integer({ min: -310, max: 310 });
    try {
      fc.assert(
        fc.property(text, id, offset, changes, (bytes, eventId, seconds, list) => {
          const headers = sign(bytes, {
            id: eventId,
            at: NOW + seconds * 1_000,
            family: 'webhook',
          });
          for (const apply of list) apply(headers);
          const ours = verify(headers, bytes).ok;
          expect(ours).toBe(accepts(looseStandard, bytes, headers));
          expect(ours).toBe(accepts(svix, bytes, headers));
        }),
        { numRuns: 1_000 },
      );
    } finally {
      vi.useRealTimers();
    }
  });

  it('is stricter than both exactly where that is wanted', () => {
    vi.useFakeTimers({ now: NOW, toFake: ['Date'] });
    try {
      const seconds = NOW / 1_000;
      // They parse the time stamp to a number, then sign the number.
      const tail = {
        ...sign(body, { at: NOW, family: 'webhook' }),
        'webhook-timestamp': `${seconds}junk`,
      };
      const stop = sign(body, { id: 'a.b', at: NOW, family: 'webhook' });
      for (const headers of [tail, stop]) {
        expect(accepts(looseStandard, body, headers)).toBe(true);
        expect(accepts(svix, body, headers)).toBe(true);
        expect(verify(headers)).toMatchObject({ reason: 'malformed' });
      }
      // They decode the body first, so that different bytes look the same.
      const headers = {
        'webhook-id': 'msg_1',
        'webhook-timestamp': String(seconds),
        'webhook-signature': `v1,${createHmac('sha256', Buffer.alloc(24, 7))
          .update(`msg_1.${seconds}.\uFFFD`)
          .digest('base64')}`,
      };
      expect(accepts(looseStandard, Buffer.from([0xff]), headers)).toBe(true);
      expect(verify(headers, Buffer.from([0xff]))).toMatchObject({ reason: 'forged' });
    } finally {
      vi.useRealTimers();
    }
  });
});
