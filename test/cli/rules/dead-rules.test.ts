import { copyFileSync, cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { repositoryRoot } from '../../support/source.ts';
import { temporaryFolder } from '../../support/store.ts';
import { selvedge } from '../support.ts';

const SETTINGS = 'version: 1\ndefaults: { mode: live }\nlists: { closed: [] }\n';

/** Ten rules; what is wrong stands behind its line. */
const RULES = `rules:
  - id: hold-never
    title: A number that is never so small
    action: hold
    when:
      - order.other_pending < 0 # never true: order.other_pending is never below 0
      - delivery.lines.exists(line, line.missing > 0)
  - id: hold-all # matches every delivery, and would hold all of them
    title: Every delivery
    action: hold
    mode: shadow
    when: ['delivery.age >= days(0)'] # true for every delivery where it is known
  - id: hold-closed
    title: A list with nothing in it, and the code of no country
    action: hold
    when:
      - order.country in lists.closed # never true: lists.closed is empty
      - order.country != "UK" # "UK" is no country
  - id: hold-both
    title: Many and few at once
    action: hold
    when:
      - delivery.quantity > 10
      - delivery.quantity < 5 # contradicts itself: no delivery.quantity fits
  - id: hold-large
    title: Large, and priced otherwise by a part of a percent
    action: hold
    when:
      - delivery.quantity >= 100
      - order.country != "DK"
      - delivery.lines.exists(line, line.price_diff_pct > 0.05) # 0.05 means 0.05 %
  - id: hold-larger # adds nothing: wherever it matches, hold-large does
    title: The same, but larger
    action: hold
    when:
      - delivery.quantity > 200
      - order.country != "DK"
      - delivery.lines.exists(line, line.price_diff_pct > 0.05) # 0.05 means 0.05 %
  - id: hold-swedish
    title: Swedish deliveries
    action: hold
    when: ['order.country == "SE"']
  - id: accept-swedish # never accepts: wherever it matches, hold-swedish holds
    title: Swedish deliveries of which most is there
    action: accept
    when:
      - order.country == "SE"
      - delivery.quantity / order.quantity >= 0.8 # whole numbers divide to a whole number
  - id: accept-windows
    title: Nothing of the second window, in a currency that is none
    action: accept
    when:
      - order.delivery_names.all(name, name != "2nd") # all(…) is also true where order.delivery
      - order.currency in ["DKK", "EUX"] # "EUX" is no currency
  - id: reject-old # the rule ended on 2020-01-01
    title: An old rule about texts in the order of the alphabet, and a state it is not asked in
    action: reject
    effective_until: 2020-01-01
    when:
      - order.status > "pending" # compared by the alphabet
      - delivery.status == "accepted" # never true: delivery.status is one of pending here
`;

function expected(): readonly string[] {
  return RULES.split('\n').flatMap((line, index) => {
    const [, message] = line.split(' # ');
    return message === undefined ? [] : [`rules.yaml:${index + 1} ${message}`];
  });
}

interface Found {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

async function check(folder: string): Promise<readonly string[]> {
  const { stdout } = await selvedge(['rules', 'check', folder, '--json']);
  const { ok, problems }: { ok: boolean; problems: readonly Found[] } = JSON.parse(stdout);
  expect(ok).toBe(true);
  return problems.map(({ file, line, message }) => `${file}:${line} ${message}`);
}

it('rules check finds each of ten rules that are dead or wrong, and names its line', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'settings.yaml'), SETTINGS);
  writeFileSync(join(folder, 'rules.yaml'), RULES);
  const found = await check(folder);
  const wanted = expected();
  expect(RULES.match(/- id: /g)).toHaveLength(10);
  const place = (text: string) => text.slice(0, text.indexOf(' '));
  const missed = wanted.filter((one) => {
    const [where, what] = [place(one), one.slice(place(one).length + 1)];
    return !found.some((other) => place(other) === where && other.includes(what));
  });
  expect(missed, found.join('\n')).toEqual([]);
  const unarmed = found.filter((one) => one.includes('while it is not armed it holds'));
  expect(unarmed.map(place)).toEqual([place(wanted.find((one) => one.includes('ended on')) ?? '')]);
  expect(found).toHaveLength(wanted.length + 1);
});

it('rules check warns of no shipped rule, policy or example', { timeout: 60_000 }, async () => {
  const shipped = join(repositoryRoot, 'config/rules');
  const cookbook = join(shipped, 'cookbook');
  const names = readdirSync(cookbook);
  const policies = names.filter((name) => name.endsWith('.yaml') && name !== 'settings.yaml');
  expect(policies).toHaveLength(27);
  const alone = policies.map((policy) => {
    const folder = temporaryFolder();
    const shared = names.filter((name) => name.endsWith('.csv') || name === 'settings.yaml');
    for (const name of [policy, ...shared]) copyFileSync(join(cookbook, name), join(folder, name));
    return folder;
  });
  const page = readFileSync(join(repositoryRoot, 'docs/rules.md'), 'utf8');
  const blocks = [...page.matchAll(/```yaml\n(.*?)```/gs)].map((match) => match[1] ?? '');
  const rules = blocks.filter((block) => /- id: /.test(block));
  expect(rules).toHaveLength(2);
  const manual = temporaryFolder();
  const settings = blocks.find((block) => block.startsWith('version: 1')) ?? '';
  const tables = 'tables:\n  office_hours_above: { DKK: 5000 }\n';
  writeFileSync(join(manual, 'settings.yaml'), settings.replace('tables:\n', tables));
  const texts = rules.map((block) => block.replace(/^rules:\n/, ''));
  writeFileSync(join(manual, 'rules.yaml'), `rules:\n${texts.join('')}`);
  const both = temporaryFolder();
  cpSync(cookbook, both, { recursive: true });
  for (const folder of [...alone, both, shipped, manual]) expect(await check(folder)).toEqual([]);
});
