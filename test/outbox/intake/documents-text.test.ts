import { describe, expect, it } from 'vitest';
import { checkEnvelope } from '../../../src/outbox/intake/envelope.ts';
import { readEntries } from '../../../src/outbox/intake/folder-scan.ts';
import { order } from './support.ts';

function line(reference: string): string {
  return JSON.stringify({ kind: 'order', reference, payload: order() });
}

function told(text: string) {
  return readEntries(text).map(({ line: at, reference, problems }) => {
    return `${at} ${reference ?? problems.map(({ message }) => message).join()}`;
  });
}

describe('a text with many documents', () => {
  it('keeps those behind a first line that is cut off or mistyped', () => {
    const [cutOff] = line('SO-1').split('"payload"');
    const [first, ...others] = told(`${cutOff}\n${line('SO-2')}\r\n\n${line('SO-3')}\n`);
    expect(first).toMatch(/^1 is no JSON: /);
    expect(others).toEqual(['2 SO-2', '4 SO-3']);
  });

  it('keeps those behind a first line whose beginning is cut off, or that is a title', () => {
    for (const begin of [line('SO-1').slice(30), '# orders of today']) {
      const [first, ...others] = told(`${begin}\n${line('SO-2')}\n${line('SO-3')}\n`);
      expect(first).toMatch(/^1 is no JSON: /);
      expect(others).toEqual(['2 SO-2', '3 SO-3']);
    }
  });

  it('is one document when its lines are none by themselves', () => {
    const pretty = JSON.stringify({ kind: 'order', payload: order() }, null, 2);
    expect(told(pretty.replace('[', ''))).toMatchObject([expect.stringMatching(/^1 is no JSON/)]);
  });

  it('names the column in the line, and not line 1 of it', () => {
    const [, second] = told(`${line('SO-1')}\n{kind: "order"}`);
    expect(second).toMatch(/^2 is no JSON: .* at column 2$/);
    const [whole] = told('{"kind": "order",\n"payload": {,}}');
    expect(whole).toMatch(/^1 is no JSON: .*\(line 2 column 13\)$/);
  });

  it('names a member that stands there twice, and takes the other documents', () => {
    const twice = line('SO-1').replace('"kind"', '"kind":"order","kind"');
    const pretty = JSON.stringify({ kind: 'order', payload: order() }, null, 2);
    const paths = (text: string) =>
      readEntries(text).map(({ line: at, problems }) => `${at} ${problems[0]?.path ?? 'fit'}`);
    expect(paths(`${twice}\n${line('SO-2')}`)).toEqual(['1 kind', '2 fit']);
    expect(paths(pretty.replace('"quantity"', '"price": 1, "quantity"'))).toEqual([
      '1 payload.lines[0].price',
    ]);
  });

  it('says of a list that it is no document', () => {
    expect(told(`[${line('SO-1')}]`)).toEqual(['1 must be a JSON object; found a list']);
  });

  it('names each member that has no place beside the payload', () => {
    const problemsOf = (value: unknown) => {
      const [entry] = readEntries(JSON.stringify(value));
      const checked = entry?.envelope && checkEnvelope(entry.envelope);
      return checked?.ok === false ? checked.problems : entry?.problems;
    };
    const document = { kind: 'order', reference: 'SO-1' };
    expect(problemsOf({ ...document, Payload: 1, ...order() })).toEqual([
      { path: 'Payload', message: 'is not known here; did you mean payload?' },
    ]);
    expect(problemsOf({ ...document, payload: order(), ...order(), refrence: 'x' })).toEqual([
      { path: 'lines', message: 'is not known here' },
      { path: 'refrence', message: 'is not known here; did you mean reference?' },
    ]);
    expect(problemsOf(order())).toEqual([{ path: 'kind', message: 'is missing' }]);
    expect(problemsOf({ ...order(), kind: 'ordr' })).toMatchObject([
      { path: 'kind', message: expect.stringMatching(/found "ordr"; did you mean order\?$/) },
    ]);
    expect(problemsOf({ ...order(), kind: 'Credit note' })).toMatchObject([
      { path: 'kind', message: expect.stringMatching(/did you mean pending_refund\?$/) },
    ]);
    expect(problemsOf({ ...order(), kind: 'customer' })).toMatchObject([
      { path: 'kind', message: expect.stringMatching(/mean the table erp_customer \(by SQL\)\?$/) },
    ]);
    expect(problemsOf({ ...order(), type: 'order' })).toEqual([
      { path: 'kind', message: 'is missing; did you mean kind by type?' },
    ]);
  });
});
