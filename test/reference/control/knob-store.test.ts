import { describe, expect, it } from 'vitest';
import { createKnobStore, parseKnobs } from '../../../src/reference/control/knob-store.ts';

describe('knobs', () => {
  it('have a default each and take durations with a unit', () => {
    const knobs = parseKnobs({ auth: { tokenLifetime: '90s' } });
    expect(knobs.auth).toEqual({ tokenLifetime: 90_000, loginSpacing: 6_000 });
    expect(knobs.rates.perSecond).toBe(20);
  });

  it('name each mistake with its path and the nearest knob', () => {
    expect(() => parseKnobs({ life: { packAftr: '2s' } })).toThrow(
      'life.packAftr: no such knob, did you mean packAfter?',
    );
    expect(() => parseKnobs({ auth: { tokenLifetime: 'soon' } })).toThrow(/auth\.tokenLifetime/);
    expect(() => parseKnobs({ faults: [{ kind: 'gremlin' }] })).toThrow(/faults\.0\.kind/);
  });

  it('are patched at run time, wholly or not at all, and null takes a value back', () => {
    const store = createKnobStore({ rates: { perSecond: 5 } });
    store.patch({ strict: true, life: { packAfter: '1s' } });
    expect(store.current()).toMatchObject({ strict: true, rates: { perSecond: 5 } });
    expect(() => store.patch({ strict: false, rates: { perSecond: -1 } })).toThrow(/perSecond/);
    expect(store.current().strict).toBe(true);
    store.patch({ rates: null, life: { packAfter: null } });
    expect(store.current()).toEqual(parseKnobs({ strict: true }));
  });
});
