/** Words of refusals on pages: hints are written for the command line, pages have links. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { refusalPart } from '../../src/console/refusal.ts';
import { renderHtml } from '../../src/lib/html.ts';

const HINT = /\bhint(?::| =) (['`])((?:(?!\1).)+)\1/g;
/** Rooms whose refusals come to pages. */
const ROOMS = [
  'decisions',
  'outbox',
  'sync',
  'inbox',
  'mirror',
  'report',
  'console',
  'ops',
  'store',
];

function hintsOf(room: string): readonly string[] {
  const files = readdirSync(join('src', room), { recursive: true, encoding: 'utf8' });
  return files
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => [...readFileSync(join('src', room, name), 'utf8').matchAll(HINT)])
    .map(([, , hint = '']) => hint.replaceAll(/\$\{[^}]*\}/g, '500044'));
}

it('a page shows no command, whatever hint a refusal has, and leads to a page instead', () => {
  const hints = ROOMS.flatMap(hintsOf).filter((hint) => /selvedge |--\w/.test(hint));
  expect(hints.length).toBeGreaterThan(30);
  for (const hint of hints) {
    const text = renderHtml(refusalPart({ status: 409, code: 'outbox.x', message: 'no', hint }));
    expect([hint, text]).toEqual([hint, expect.not.stringMatching(/selvedge |--\w/)]);
    expect([hint, text]).toEqual([hint, expect.stringMatching(/<a href="\/[a-z]+/)]);
  }
});

it('a refusal of the console itself leads to the page that it was on, and nowhere else', () => {
  const refusal = { status: 409, code: 'console.changed', message: 'no', hint: 'look again' };
  const text = renderHtml(refusalPart(refusal, '/review?country=DK'));
  expect([...text.matchAll(/href="([^"]*)"/g)].map(([, to]) => to)).toEqual(['/review?country=DK']);
});

it.each([
  ['selvedge outbox show 17', '<p class="problem">no.</p>', '/outbox/17">Pushes<'],
  ['it is partial; see: selvedge sync show orders', 'no; it is partial.', '/pulls/orders">Pulls<'],
  ['selvedge deliveries list shows the ids', '<p class="problem">no.</p>', '/review?shown=all">'],
  ['look at it again, and then decide', 'no; look at it again, and then decide.', '/outbox">'],
])('a hint keeps what is not the command: %s', (hint, said, link) => {
  const text = renderHtml(refusalPart({ status: 409, code: 'outbox.x', message: 'no', hint }));
  expect([text.includes(said), text.includes(link)]).toEqual([true, true]);
});
