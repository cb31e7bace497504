import { expect, it } from 'vitest';
import { changedSettings } from '../../src/config/changes.ts';
import { showProblem } from '../../src/config/problems.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import { configIn, MINIMAL, problemsIn, writeSecret } from './support.ts';

const OFF_HOST = 'postgresql://plane:canary-7d1@db.example.com/plane';

function withPlane(url: string, more = ''): string {
  return `${MINIMAL}plane:\n  url: { file: ${writeSecret(url)} }\n${more}`;
}

it('has no plane by default', () => {
  expect(configIn(MINIMAL).config.plane.url).toBeNull();
});

it('takes the address of the plane by reference, and shows neither it nor its password', () => {
  const scrubber = createScrubber();
  const { config } = configIn(withPlane(OFF_HOST), { scrubber });
  const { plane } = config;
  expect(plane.url?.reveal()).toBe(OFF_HOST);
  expect(plane).toMatchObject({
    account: null,
    schema: 'selvedge',
    content: ['mirror', 'changes', 'ledgers'],
    every: 1_000,
    lagWarning: 60_000,
  });
  expect(JSON.stringify(plane)).not.toContain('canary');
  expect(scrubber.scrub('password "canary-7d1" refused')).not.toContain('canary');
  configIn(withPlane('postgresql:///plane?host=/run&password=cana%72y-9'), { scrubber });
  expect(scrubber.scrub('password "canary-9" refused')).not.toContain('canary');
  const [literal] = problemsIn(`${MINIMAL}plane: { url: "${OFF_HOST}" }\n`);
  expect(literal?.path).toBe('plane.url');
  expect(literal && showProblem(literal)).toMatch(/literal secret/);
  expect(literal && showProblem(literal)).not.toContain('canary');
});

it.each([
  ['mysql://plane@db/plane', /plane\.url does not hold an address of PostgreSQL/],
  ['postgresql://plane@db', /plane\.url names no database/],
  ['postgresql://plane:canary@db1,db2/plane', /names several hosts: give it one, the primary/],
  ['postgresql://canary@db1:5432,db2:5433/plane', /names several hosts/],
  ['postgresql:///plane?host=db1,db2&user=canary', /names several hosts/],
  ['postgresql://plane:canary#7d1@db/plane', /does not hold[\s\S]*hint: [^:]*: %23 for #/],
  ['postgresql://plane:canary%7d1%@db/plane', /has a % that stands for nothing[\s\S]*%25 for %/],
])('refuses the address %s', (url, said) => {
  const [problem] = problemsIn(withPlane(url));
  expect(problem && showProblem(problem)).toMatch(said);
  expect(problem && showProblem(problem)).not.toContain('canary');
});

it.each([
  ['schema: pg_own', /plane\.schema must be a name in PostgreSQL/],
  ['account: Acme GmbH', /plane\.account must be a short name/],
  ['content: [ledgers]', /plane\.content lacks mirror/],
  ['content: [mirror, mirror]', /plane\.content has the same word twice/],
  ['content: [mirror, secrets]', /plane\.content\[1\] must be one of mirror, changes/],
  ['every: 5', /plane\.every must be a duration/],
  ['lagWarning: 1s', /plane\.lagWarning must be within/],
  ['urls: x', /plane\.urls is not a setting/],
])('refuses %s', (line, said) => {
  const [problem] = problemsIn(withPlane('postgresql://db/plane', `  ${line}\n`));
  expect(problem && showProblem(problem)).toMatch(said);
});

it('warns of an address on another host that does not prove who answers', () => {
  const warningsOf = (url: string) => configIn(withPlane(url)).warnings.map(showProblem);
  expect(warningsOf(OFF_HOST).join()).toMatch(
    /plane\.url goes to another host without sslmode=verify-full[\s\S]*add \?sslmode=verify-full/,
  );
  expect(warningsOf(`${OFF_HOST}?sslmode=require`).join()).toMatch(/plane\.url goes/);
  for (const url of [
    `${OFF_HOST}?sslmode=verify-full`,
    'postgresql://plane:x@127.0.0.1:5433/plane',
    'postgresql://plane@localhost/plane',
    'postgresql:///plane?host=/var/run/postgresql&user=plane',
    'postgresql://plane@%2Fvar%2Frun%2Fpostgresql/plane',
  ]) {
    expect(warningsOf(url).filter((one) => one.includes('plane.url'))).toEqual([]);
  }
});

it('warns of an address that cannot be read, because only the copy needs it', () => {
  const text = `${MINIMAL}plane: { url: { file: /nowhere/plane-url } }\n`;
  const { config, warnings } = configIn(text);
  expect(warnings.map(showProblem).join()).toMatch(/plane\.url cannot read the secret file/);
  expect(() => config.plane.url?.reveal()).toThrow(/cannot read the secret file/);
  expect(changedSettings(config, configIn(text).config)).not.toContain('plane.url');
  const readable = configIn(withPlane(OFF_HOST)).config;
  expect(changedSettings(config, readable)).toContain('plane.url');
});
