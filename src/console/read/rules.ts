/** Reads the rules in force for pages: texts and figures, and whether rejects are armed. */
import { sql } from 'kysely';
import { z } from 'zod';
import {
  lookedAt,
  lookedSchema,
  matchSchema,
  readMatches,
  ruleRow,
  ruleSchema,
  waitingSchema,
} from '../../decisions/reject/lists.ts';
import { difference } from '../../decisions/reject/surface.ts';
import { rejectOverview } from '../../decisions/review/overview.ts';
import { readStoredFiles, readTexts } from '../../decisions/rule-texts.ts';
import { diffRuleSets } from '../../decisions/simulation/diff.ts';
import { storedRuleSet } from '../../decisions/simulation/rule-sets.ts';
import { textOfRule } from '../../decisions/simulation/trial-files.ts';
import { SelvedgeError } from '../../lib/errors.ts';
import type { Rule, RuleSet } from '../../rules/rule.ts';
import type { IdPage } from '../../store/pages.ts';
import type { Db } from '../../store/store.ts';
import { time } from '../../surface/members.ts';
import type { RuleFigures } from '../../surface/reading.ts';

const OUTCOMES = ['accept', 'hold', 'reject', 'no_rule', 'release'] as const;
const textOrNull = z.string().nullable();
const lines = z.array(z.string()).readonly();

/** Decision that a rule took part in, with its delivery. */
const decided = z.strictObject({
  decisionId: z.int().min(1),
  orderDeliveryId: z.int().min(1),
  deliveryNo: textOrNull,
  at: time('Decided'),
  outcome: z.enum(OUTCOMES),
  status: textOrNull,
});

/** Text that the rule had since a time; the hash is that of the first rule set with it. */
const version = z.strictObject({ hash: z.string(), since: time('Since'), lines });
export type RuleVersion = z.output<typeof version>;

const comparison = z.strictObject({
  version,
  differences: z.array(difference).readonly().meta({ description: 'In effect; empty: none' }),
  problem: textOrNull.meta({ description: 'Why the texts cannot be compared' }),
});
export type Comparison = z.output<typeof comparison>;

const test = z.strictObject({
  name: z.string(),
  expected: z.string(),
  actual: z.string(),
  ok: z.boolean(),
});

export const detailSchema = z
  .strictObject({
    row: ruleSchema,
    text: z.strictObject({ file: z.string(), line: z.int(), lines }).nullable(),
    decided: z.array(decided),
    matches: lookedSchema.extend({ unseen: z.array(matchSchema) }).nullable(),
    versions: z.array(version),
    comparison: comparison.nullable(),
    waiting: z.array(waitingSchema),
    tests: z.array(test),
  })
  .meta({ id: 'RuleDetail' });

/** A rule for its page; its tests are run apart. */
export type RuleView = Omit<z.output<typeof detailSchema>, 'tests'>;

const MONTH_MS = 30 * 86_400_000;
const DECIDED_MAX = 10;

/** Latest decisions of the last 30 days that this rule took part in. */
async function decidedBy(db: Db, id: string, now: number) {
  const { rows } = await sql<z.output<typeof decided>>`select n.decision_id "decisionId",
      n.order_delivery_id "orderDeliveryId",
      d.delivery_no "deliveryNo", n.at, n.outcome, d.status
    from (select decision_id from decision indexed by decision_day
      where at >= ${now - MONTH_MS} and instr(rules, ${JSON.stringify(id)}) > 0
      order by at desc limit ${DECIDED_MAX}) f
    cross join decision n using (decision_id)
    left join delivery d on d.order_delivery_id = n.order_delivery_id
    order by n.decision_id desc`.execute(db);
  return rows;
}

/** Maximum of rule sets with other texts of rules, and of all sets, that are looked at. */
const SETS_MAX = 40;
const LOOKS_MAX = 1_000;
const VERSIONS_MAX = 12;

/** Texts that the rule had in the latest rule sets, the newest first. */
async function versionsOf(db: Db, id: string): Promise<RuleVersion[]> {
  const sets = await db
    .selectFrom('rule_set')
    .select(['hash', 'first_used_at'])
    .orderBy('first_used_at', 'desc')
    .limit(LOOKS_MAX)
    .execute();
  const versions: RuleVersion[] = [];
  let last: { readonly files: string; readonly lines?: readonly string[] | undefined } = {
    files: '',
  };
  let looked = 0;
  for (const { hash, first_used_at: since } of sets) {
    const stored = (await readStoredFiles(db, hash)) ?? [];
    const written = stored.filter(({ path }) => path.endsWith('.yaml'));
    const files = JSON.stringify(written);
    // Most sets differ in their lists alone, and the texts of their rules are not read again.
    if (files !== last.files) {
      looked += 1;
      if (looked > SETS_MAX) break;
      last = { files, lines: textOfRule(await readTexts(db, written), id)?.lines };
    }
    const { lines } = last;
    if (!lines) continue;
    const isSame = lines.join('\n') === versions.at(-1)?.lines.join('\n');
    if (isSame) versions.pop();
    if (versions.length === VERSIONS_MAX) break;
    versions.push({ hash, since, lines });
  }
  return versions;
}

async function compare(
  db: Db,
  { id }: Rule,
  version: RuleVersion,
  now: RuleSet,
): Promise<Comparison> {
  try {
    const diff = diffRuleSets(await storedRuleSet(db, version.hash), now);
    const differences = diff.changed.find((one) => one.id === id)?.differences ?? [];
    return { version, differences, problem: null };
  } catch (thrown) {
    // The stored rules may be of another version of the program.
    if (!(thrown instanceof SelvedgeError)) throw thrown;
    return { version, differences: [], problem: thrown.message };
  }
}

/** Matches of exactly the present text of a reject rule: those not looked at, and how many are. */
export async function matchesOf(db: Db, rule: Rule, ruleSet: RuleSet, page: IdPage) {
  return { unseen: await readMatches(db, rule, page), ...(await lookedAt(db, rule, ruleSet)) };
}

export type MatchesView = Awaited<ReturnType<typeof matchesOf>>;

const SHOWN: IdPage = { limit: 10 };

/** Reads a rule for its page. @param about.wanted hash of the rule set to compare with */
export async function readRule(
  db: Db,
  {
    ruleSet,
    files,
  }: { readonly ruleSet: RuleSet; readonly files: Parameters<typeof textOfRule>[0] },
  rule: Rule,
  about: {
    readonly figures: readonly RuleFigures[] | undefined;
    readonly wanted: string | undefined;
    readonly now: number;
  },
): Promise<RuleView> {
  const rejects = await rejectOverview(db, about.now, ruleSet);
  const row = ruleRow(rule, ruleSet, rejects, about.figures);
  const versions = await versionsOf(db, rule.id);
  const version = versions.find(({ hash }) => hash === about.wanted);
  return {
    row,
    text: textOfRule(files, rule.id) ?? null,
    decided: await decidedBy(db, rule.id, about.now),
    matches: rule.action === 'reject' ? await matchesOf(db, rule, ruleSet, SHOWN) : null,
    versions,
    comparison: version ? await compare(db, rule, version, ruleSet) : null,
    waiting: rejects.waiting.filter(({ ruleId }) => ruleId === rule.id),
  };
}
