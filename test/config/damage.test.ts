import fc from 'fast-check';
import { expect, it } from 'vitest';
import { describeConfig } from '../../src/config/describe.ts';
import { loadConfig } from '../../src/config/load.ts';
import { showProblem } from '../../src/config/problems.ts';
import { ENV, MINIMAL, writeConfig } from './support.ts';

const CANARY = 'canary-9c41f0';
const SOUND = `# My account.
service:
  v1:
    baseUrl: https://key.example.com/api/v1
    apiKey: ${CANARY}
    login: { clientId: null, idMember: clientID }
listener:
  port: 8790
  secrets: [{ secret: ${CANARY} }]
streams:
  stock: { schedule: "*/15 * * * *", deletionGuard: { share: 0.1 } }
`;

/** The file with some places overwritten: what a slip of the hand or a bad merge leaves. */
const damaged = fc
  .array(
    fc.record({
      at: fc.nat(SOUND.length),
      length: fc.nat(12),
      text: fc.constantFrom(
        '',
        ' ',
        '\n',
        ':',
        '- ',
        '{',
        '}',
        '[',
        '"',
        "'",
        '\t',
        '&a ',
        '*a',
        '!',
      ),
    }),
    { minLength: 1, maxLength: 6 },
  )
  .map((slips) =>
    slips.reduce(
      (text, { at, length, text: put }) => text.slice(0, at) + put + text.slice(at + length),
      SOUND,
    ),
  )
  // A secret moved out of its place is beyond us; one that still stands there is not.
  .filter((text) => text.split(/(?:apiKey|secret).{0,4}canary-9c41f0/).length === 3);

function expectSafe(text: string): void {
  const file = writeConfig(text);
  const loaded = loadConfig({ file, env: ENV });
  const problems = 'problems' in loaded ? loaded.problems : [];
  expect(problems.length).toBeGreaterThan(0);
  const said = problems.map(showProblem).join('\n');
  const shown = describeConfig({ file, env: ENV });
  expect(`${said}\n${JSON.stringify(shown)}`).not.toContain(CANARY);
}

it('reports a damaged file with places, and never repeats a secret in it', () => {
  fc.assert(fc.property(damaged, expectSafe), { numRuns: 40 });
});

it.each([
  ['a line break and a colon', 'm/api/v1\n    apiKey: ', '    apiKey '],
  ['a line break with its spaces, and a colon', '/v1\n    apiKey: ', '/v1apiKey'],
  ['two line breaks', '8790\n  secrets: [{ secret: ', '8790 secrets secret '],
])('repeats no secret that %s, once lost, draws into the value before it', (_what, from, to) => {
  const text = SOUND.replace(from, to);
  expect(text).not.toBe(SOUND);
  expectSafe(text);
});

it('shows the name of a header that is called like a secret', () => {
  const file = writeConfig(`${MINIMAL}\n    tokenHeader: apiKey\n`);
  expect(JSON.stringify(describeConfig({ file, env: ENV }))).toContain('"value":"apiKey"');
});

it('needs no more than what it says', () => {
  expect('problems' in loadConfig({ file: writeConfig(MINIMAL), env: ENV })).toBe(false);
});
