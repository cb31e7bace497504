import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NotKnown } from '../../src/rules/cel/code.ts';
import { createEnvironment } from '../../src/rules/cel/environment.ts';
import { compileExpression, type Truth } from '../../src/rules/cel/program.ts';
import { truthOfClauses } from '../../src/rules/evaluate.ts';
import { frameOf, viewOf } from '../../src/rules/facts/build.ts';
import { factsOfTest } from '../../src/rules/facts/typical.ts';

const types = { lists: {}, tables: {}, extra: {} };
const language = { env: createEnvironment(types), types };

/** The value of a condition by the engine. */
function engine(text: string, given: Readonly<Record<string, unknown>>): Truth {
  const compiled = compileExpression(text, language, 'bool');
  if ('problems' in compiled) throw new Error(compiled.problems[0]?.message);
  const value = compiled.program.test(frameOf(viewOf(factsOfTest(given), {}), {}));
  return value instanceof NotKnown ? 'unknown' : value;
}

function not(value: Truth): Truth {
  return value === 'unknown' ? value : !value;
}

function and(values: readonly Truth[]): Truth {
  if (values.includes(false)) return false;
  return values.includes('unknown') ? 'unknown' : true;
}

function or(values: readonly Truth[]): Truth {
  return not(and(values.map(not)));
}

interface Case {
  readonly text: string;
  readonly value: Truth;
}

const truth = fc.constantFrom<Truth>(true, false, 'unknown');

/** `customer.blocked` is absent here, so it is unknown; the others are what they are. */
const ATOMS: Readonly<Record<string, Case>> = {
  true: { text: 'order.quantity == 10', value: true },
  false: { text: 'order.preorder', value: false },
  unknown: { text: 'customer.blocked', value: 'unknown' },
};
const atom = truth.map((value): Case => ATOMS[String(value)] ?? { text: 'true', value: true });

const formula: fc.Arbitrary<Case> = fc.letrec<{ node: Case }>((tie) => {
  const node = tie('node');
  return {
    node: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      atom,
      node.map(({ text, value }): Case => ({ text: `!(${text})`, value: not(value) })),
      fc.tuple(node, node).map(
        ([a, b]): Case => ({
          text: `(${a.text}) && (${b.text})`,
          value: and([a.value, b.value]),
        }),
      ),
      fc
        .tuple(node, node)
        .map(
          ([a, b]): Case => ({ text: `(${a.text}) || (${b.text})`, value: or([a.value, b.value]) }),
        ),
      fc.tuple(node, node, node).map(([c, a, b]): Case => {
        const chosen = c.value ? a.value : b.value;
        const value = c.value === 'unknown' ? 'unknown' : chosen;
        return { text: `(${c.text}) ? (${a.text}) : (${b.text})`, value };
      }),
    ),
  };
}).node;

describe('the three-valued logic', () => {
  it('agrees with Kleene on any formula', () => {
    fc.assert(
      fc.property(formula, ({ text, value }) => {
        expect(engine(text, { customer: { blocked: null } })).toBe(value);
      }),
      { numRuns: 300 },
    );
  });

  it('agrees with Kleene on any lines', () => {
    const lines = fc.array(truth, { maxLength: 6 });
    fc.assert(
      fc.property(lines, (values) => {
        const noos = values.map((value) => ({ noos: value === 'unknown' ? null : value }));
        const given = { delivery: { lines: noos } };
        expect(engine('delivery.lines.all(line, line.noos)', given)).toBe(and(values));
        expect(engine('delivery.lines.exists(line, line.noos)', given)).toBe(or(values));
        expect(engine('!delivery.lines.exists(line, !line.noos)', given)).toBe(and(values));
      }),
    );
  });

  it('combines when and unless as one and', () => {
    const clauses = fc.array(fc.record({ value: truth, negated: fc.boolean() }), { maxLength: 6 });
    fc.assert(
      fc.property(clauses, (drawn) => {
        const effective = drawn.map(({ value, negated }) => (negated ? not(value) : value));
        expect(truthOfClauses(drawn)).toBe(and(effective));
      }),
    );
  });

  it('takes any comparison with missing data for unknown, also the negated one', () => {
    for (const operator of ['==', '!=']) {
      expect(engine(`order.season ${operator} "AW24"`, {})).toBe('unknown');
      expect(engine(`!(order.season ${operator} "AW24")`, {})).toBe('unknown');
    }
  });
});
