import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { combine, type Obstacle, type RuleResult } from '../../src/rules/evaluate.ts';

const EMPTY: Obstacle = { code: 'empty_delivery', reason: 'the delivery has no lines' };

function result(id: string, action: RuleResult['action'], value: RuleResult['value']): RuleResult {
  const missing = value === 'unknown' ? [`fact.${id}`] : [];
  return { id, title: `is ${id}`, action, hash: id, mode: 'live', value, missing, clauses: [] };
}

const [accept, hold, reject] = [
  result('acc', 'accept', true),
  result('hol', 'hold', true),
  result('rej', 'reject', true),
];

describe('the combination of rules', () => {
  it('follows the table', () => {
    expect(combine([accept, hold, reject], undefined)).toEqual({
      kind: 'hold',
      code: 'hold_rule',
      rules: ['hol'],
      reason: 'is hol',
      missing: [],
    });
    expect(combine([accept, reject], undefined)).toMatchObject({
      kind: 'hold',
      code: 'rules_disagree',
      rules: ['acc', 'rej'],
      reason: 'rules disagree: acc says accept, rej says reject',
    });
    expect(combine([reject], undefined)).toMatchObject({ kind: 'reject', rules: ['rej'] });
    expect(combine([accept], undefined)).toMatchObject({ kind: 'accept', rules: ['acc'] });
    expect(combine([], undefined)).toMatchObject({ kind: 'no_rule', code: 'no_rule', rules: [] });
    const no = [result('a', 'hold', false), result('b', 'accept', false)];
    expect(combine(no, undefined).kind).toBe('no_rule');
  });

  it('holds when a hold or reject rule could not be evaluated, and names the fact', () => {
    for (const action of ['hold', 'reject'] as const) {
      expect(combine([accept, result('x', action, 'unknown')], undefined)).toEqual({
        kind: 'hold',
        code: 'could_not_evaluate',
        rules: ['x'],
        reason: 'could not evaluate: fact.x',
        missing: ['fact.x'],
      });
    }
    expect(combine([reject, result('x', 'hold', 'unknown')], undefined).kind).toBe('hold');
  });

  it('holds what a live reject rule matches that is not armed, whatever accepts it', () => {
    const unarmed = { ...reject, armed: false };
    const held = { kind: 'hold', code: 'not_armed', rules: ['rej'], missing: [] };
    const reason =
      'rej would reject this but may not now (not armed, or rejects are stopped): is rej; ' +
      'arm it, or decide by hand';
    expect(combine([accept, unarmed], undefined)).toEqual({ ...held, reason });
    expect(combine([unarmed], undefined)).toMatchObject(held);
    expect(combine([unarmed, { ...reject, id: 'other' }], undefined)).toMatchObject(held);
    expect(combine([unarmed, result('x', 'hold', 'unknown')], undefined)).toMatchObject(held);
    expect(combine([unarmed, hold], undefined)).toMatchObject({ code: 'hold_rule' });
    const unsure = { ...result('rej', 'reject', 'unknown'), armed: false };
    expect(combine([accept, unsure], undefined)).toMatchObject({ code: 'could_not_evaluate' });
    expect(
      combine([accept, { ...result('rej', 'reject', false), armed: false }], undefined),
    ).toEqual(combine([accept], undefined));
    expect(combine([accept, unarmed], undefined, 'shadow').code).toBe('rules_disagree');
  });

  it('takes an unknown accept rule for no accept', () => {
    expect(combine([result('x', 'accept', 'unknown')], undefined).kind).toBe('no_rule');
    expect(combine([result('x', 'accept', 'unknown'), reject], undefined).kind).toBe('reject');
    expect(combine([result('x', 'accept', 'unknown'), accept], undefined).rules).toEqual(['acc']);
  });

  it('holds a delivery without lines', () => {
    expect(combine([accept], EMPTY)).toMatchObject({ kind: 'hold', code: 'empty_delivery' });
    expect(combine([], EMPTY).kind).toBe('hold');
    expect(combine([hold], EMPTY).code).toBe('hold_rule');
  });
});

const results = fc.uniqueArray(
  fc.record({
    id: fc.string({ minLength: 1, maxLength: 3 }),
    action: fc.constantFrom<RuleResult['action']>('accept', 'hold', 'reject'),
    value: fc.constantFrom<RuleResult['value']>(true, false, 'unknown'),
  }),
  { selector: ({ id }) => id, maxLength: 8 },
);

/** The table once more, read from the strongest row down. */
function tableKind(all: readonly Pick<RuleResult, 'action' | 'value'>[]): string {
  const has = (action: string, value: unknown): boolean =>
    all.some((one) => one.action === action && one.value === value);
  if (has('hold', true) || has('hold', 'unknown') || has('reject', 'unknown')) return 'hold';
  if (has('reject', true)) return has('accept', true) ? 'hold' : 'reject';
  return has('accept', true) ? 'accept' : 'no_rule';
}

describe('any combination', () => {
  it('agrees with the table', () => {
    fc.assert(
      fc.property(results, (drawn) => {
        const all = drawn.map(({ id, action, value }) => result(id, action, value));
        expect(combine(all, undefined).kind).toBe(tableKind(all));
      }),
    );
  });

  it('does not depend on the order of the rules', () => {
    const shuffled = results.chain((drawn) =>
      fc.tuple(
        fc.constant(drawn),
        fc.shuffledSubarray(drawn, { minLength: drawn.length, maxLength: drawn.length }),
      ),
    );
    fc.assert(
      fc.property(shuffled, ([drawn, other]) => {
        const of = (list: typeof drawn) =>
          combine(
            list.map(({ id, action, value }) => result(id, action, value)),
            undefined,
          );
        expect(of(other)).toEqual(of(drawn));
      }),
    );
  });

  it('never becomes milder by a rule more, but for an accept where nothing applied', () => {
    const safety: Readonly<Record<string, number>> = { nothing: 1, accept: 0, reject: 0, hold: 2 };
    const extra = fc.constantFrom<RuleResult['action']>('hold', 'reject');
    fc.assert(
      fc.property(results, extra, (drawn, action) => {
        const all = drawn.map(({ id, action: a, value }) => result(id, a, value));
        const before = combine(all, undefined).kind;
        const after = combine([...all, result('more', action, 'unknown')], undefined).kind;
        expect(safety[after]).toBeGreaterThanOrEqual(safety[before] ?? 0);
        expect(after).toBe('hold');
      }),
    );
  });
});
