/** Whatever was refused or is in doubt says what to do next. */
import { describe, expect, it } from 'vitest';
import { nextAction, type Situation } from '../../src/outbox/document-state.ts';
import { openDoors } from '../e2e/doors/house.ts';
import { filesBelow } from '../support/source.ts';

const KINDS = ['order', 'pending_refund', 'refund_status', 'style', 'delivery_status'];

const PLAIN: Situation = {
  ...{ outboxId: 17, kind: 'order', state: 'queued', blockedReason: null, lastError: null },
  ...{ pendingRefundId: null, orderRefundId: null, refusedWith: null, waiting: null },
  ...{ neverSent: false, lost: null, differs: false },
};

/** Codes by which a request can be refused, as the client gives them. */
function refusalCodes(): string[] {
  const [client] = filesBelow('src/client/http', ['answer.ts']);
  const codes = client?.text.matchAll(/'((?:service|transport)\.\w+)'/g) ?? [];
  return [...new Set([...codes].map(([, code = '']) => code))];
}

describe('the next step', () => {
  it('names something to do for every refusal, whoever refused and with which code', () => {
    const codes = refusalCodes();
    expect(codes).toContain('service.invalid');
    for (const kind of KINDS) {
      for (const refusedWith of [null, ...codes]) {
        const step = nextAction({ ...PLAIN, kind, state: 'refused', refusedWith });
        expect(step, `${kind} ${refusedWith}`).toMatch(
          /submit (?:it|the parts|what|another)|decided again|to its support/,
        );
      }
    }
  });

  it('of what waits because of an error is not nothing, whatever the error', () => {
    const lastError = 'a style that may have the number S-1 cannot be read: 7';
    expect(nextAction({ ...PLAIN, kind: 'style', lastError })).toContain('put right');
  });

  it('of a refusal that is no mistake in the document does not ask to correct it', () => {
    const step = (refusedWith: string) => nextAction({ ...PLAIN, state: 'refused', refusedWith });
    expect(step('service.invalid')).toContain('correct what its problems name');
    expect(step('service.forbidden')).toContain('have the key allowed');
    expect(step('service.unexpected_status')).toContain('selvedge outbox show 17');
  });

  it('of a doubt is to wait, or to decide with a command that can be typed', () => {
    for (const kind of KINDS) {
      const doubt = { ...PLAIN, kind, state: 'in_doubt' } as const;
      expect(nextAction(doubt)).toMatch(/^wait: .*do not submit it again/);
      expect(nextAction({ ...doubt, blockedReason: 'two have this reference' })).toMatch(
        /^decide: .*selvedge outbox show 17.*outbox resolve 17 --as confirmed\S* --reason "…"/,
      );
      expect(nextAction({ ...doubt, blockedReason: 'it could not be looked for' })).toMatch(
        /--as absent, which sends it again; .*selvedge outbox retry 17 --reason "…"$/,
      );
      const dead = nextAction({ ...PLAIN, kind, state: 'dead' });
      expect(dead).toMatch(/selvedge outbox retry 17 --reason "…".* cancel 17 --reason "…"$/);
    }
  });

  it('is a hint of everything that the outbox refuses a person', () => {
    const silent = filesBelow('src/outbox', ['.ts']).flatMap(({ path, text }) =>
      [...text.matchAll(/new RefusedError\(\s*'([\w.]+)'.*?\);/gs)]
        .filter(([statement]) => !/\bhint\b/.test(statement))
        .map(([, code]) => `${path}: ${code}`),
    );
    expect(silent).toEqual([]);
  });

  it('stands in every answer of the HTTP door that takes nothing', async () => {
    const house = await openDoors();
    const plain = { 'content-type': 'text/plain' };
    const nobody = await fetch(`${house.url}/api/documents/1`);
    const answers = [
      { status: nobody.status, body: await nobody.json() },
      await house.http('/api/documents/99'),
      await house.http('/api/documents?kind=order'),
      await house.post('/api/orders', '{'),
      await house.post('/api/orders', {}, { 'idempotency-key': ' ' }),
      await house.post('/api/orders', 'text', plain),
      await house.post('/api/orders', { reference: 'A', lines: [] }),
      await house.post('/api/documents', { kind: 'nothing' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 404, 400, 400, 400, 415, 422, 422]);
    for (const { status, body } of answers) {
      expect(body, String(status)).toMatchObject({ nextStep: expect.stringMatching(/\w+ \w+/) });
    }
  });
});
