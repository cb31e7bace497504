/** Acts and lists are declared once: whatever goes around the declarations is named here. */
import { describe, expect, it } from 'vitest';
import { ACTS, hasPageByHand, LISTS } from '../../src/console/surface/registry.ts';
import { filesBelow } from '../support/source.ts';

const sources = filesBelow('src', ['.ts']).filter(({ path }) => !path.startsWith('src/reference/'));

/** Has a word for people for each act, and no other part of it. */
const TABLE_OF_WORDS = 'src/config/words.ts';

function filesWith(pattern: RegExp, among = /./): string[] {
  return sources
    .filter(({ path }) => path !== TABLE_OF_WORDS && among.test(path))
    .filter(({ text }) => pattern.test(text))
    .map(({ path }) => path.replace(/^src\//, ''))
    .sort();
}

/** Files that add routes beside the doors, each with the reason. */
const ROUTES: Readonly<Record<string, string>> = {
  'console/routes/acts.ts': 'signing out is of a session, and no act',
  'console/routes/delivery-parts.ts': 'raw rows and the rules now are shown, and no lists',
  'console/routes/events.ts': 'one event, and the page around the list',
  'console/routes/overview.ts': 'the overview',
  'console/routes/pages.ts':
    'the OpenAPI description, one push, one incident with those before it, the grid of a style',
  'console/routes/pulls.ts': 'one run, and the pages around the lists',
  'console/routes/reports.ts': 'a report is made by a process, in its own formats',
  'console/routes/review.ts': 'the page with the card, by which people decide',
  'console/routes/rules.ts': 'one rule, arming and the preview of a reload',
  'console/routes/signing.ts': 'signing in',
  'console/routes/suggest.ts': 'proposals take up to a minute, for which a page waits',
  'console/routes/system.ts': 'the host, and the pages around the lists',
  'console/routes/trial.ts': 'rules on trial come as files',
  'console/surface/http.ts': 'the door of acts',
  'console/surface/lists.ts': 'the door of lists',
  'daemon/standby/machine.ts': 'a drill asks its daemon to give the lease away',
  'inbox/listener.ts': 'events of the relay',
  'local-api/act-routes.ts': 'the door of acts',
  'local-api/console-routes.ts': 'links and tokens are secrets that give rights',
  'local-api/health-routes.ts': 'health and metrics',
  'local-api/intake-routes.ts': 'the channel of the ERP, with receipts of its own',
  'local-api/openapi/routes.ts': 'the OpenAPI description itself',
  'local-api/push-routes.ts': 'documents of the command line, with receipts',
  'local-api/service-routes.ts': 'raw calls of the service',
};

/** Commands that print tables by hand, each with the reason. */
const TABLES: Readonly<Record<string, string>> = {
  'cli/deliveries/show.ts': 'one delivery with its lines',
  'cli/fleet/status.ts': 'all brands of the plane, from PostgreSQL',
  'cli/ops/status.ts': 'the status of everything',
  'cli/outbox/show.ts': 'one push with its attempts',
  'cli/plane/status.ts': 'the copy in PostgreSQL',
  'cli/plane/verify.ts': 'a comparison with PostgreSQL',
  'cli/report/run.ts': 'columns of the report',
  'cli/rules/whatif.ts': 'outcomes of rules that are not in force',
  'cli/standby/status.ts': 'PostgreSQL is asked, which no daemon needs to',
  'cli/surface-lists.ts': 'the door of lists',
};

/** Lists with a page by hand around the declared table; more than these would be a second world. */
const PAGES_MAX = 9;

describe('an act', () => {
  // A name without a noun, such as `pause`, is a word of its own in other places.
  const names = ACTS.map(({ name }) => name).filter((name) => name.includes('.'));

  it.each(names)('%s is named in three files at the most', (name) => {
    const named = filesWith(new RegExp(`['"\`/]${name.replaceAll('.', '\\.')}['"\`]`));
    expect(named.length, named.join(', ')).toBeLessThanOrEqual(3);
  });
});

describe('what is made by hand', () => {
  it('are routes with a reason', () => {
    expect(filesWith(/\bapp\.(?:get|post)\(/)).toEqual(Object.keys(ROUTES).sort());
  });

  it('are tables of commands with a reason', () => {
    expect(filesWith(/\boutput\.table\(/, /^src\/cli\//)).toEqual(Object.keys(TABLES).sort());
  });

  it('are few pages around a list', () => {
    expect(LISTS.filter(hasPageByHand).length).toBeLessThanOrEqual(PAGES_MAX);
  });

  it('are no schemas of requests or rows of commands', () => {
    expect(filesWith(/\bz\.strictObject\(/, /^src\/cli\//)).toEqual([]);
  });
});
