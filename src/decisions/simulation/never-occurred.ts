/**
 * Finds texts in rules that no row of the mirror ever had, such as misspelled countries, and names
 * the nearest text that one had.
 */
import { sql } from 'kysely';
import { nearestName } from '../../lib/nearest.ts';
import { countryOf, currencyOf, nameOf } from '../../lib/strings.ts';
import { comparedTexts } from '../../rules/analysis/texts.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Problem } from '../../rules/text/problem.ts';
import type { Db } from '../../store/store.ts';

type Column = readonly [table: string, column: string];

interface Mirrored {
  readonly columns: readonly Column[];
  /** Converts a column's text to the fact's form; null: the fact would have no value. */
  readonly read: (text: string) => string | null;
}

const VARIANTS = ['stock_variant', 'season_variant'] as const;

function asIs(text: string): string {
  return text;
}

function mirrored(read: Mirrored['read'], ...columns: readonly Column[]): Mirrored {
  return { read, columns };
}

function ofVariants(
  read: Mirrored['read'],
  column: 'brand_name' | 'style_no' | 'style_name' | 'color_name' | 'size',
): Mirrored {
  return mirrored(read, ...VARIANTS.map((table) => [table, column] as const));
}

const CURRENCIES = mirrored(currencyOf, ['order_currency', 'currency']);
const SEASONS: readonly Column[] = [
  ['sales_order', 'season_name'],
  ['sales_order_line', 'season_name'],
];

/**
 * Facts whose texts come from columns of the mirror; a fact that is missing here is not checked.
 */
const MIRRORED: Readonly<Record<string, Mirrored>> = {
  'order.country': mirrored(countryOf, ['sales_order', 'country_code']),
  'order.currency': CURRENCIES,
  'delivery.currency': CURRENCIES,
  'order.season': mirrored(nameOf, ...SEASONS),
  'order.account_no': mirrored(asIs, ['sales_order', 'account_no']),
  'order.company': mirrored(asIs, ['sales_order', 'company']),
  'order.freight_type': mirrored(asIs, ['sales_order', 'freight_type']),
  'customer.account_no': mirrored(asIs, ['erp_customer', 'account_no']),
  'customer.credit.currency': mirrored(currencyOf, ['erp_customer', 'currency']),
  'delivery.lines.brand': ofVariants(asIs, 'brand_name'),
  'delivery.lines.style_no': ofVariants(asIs, 'style_no'),
  'delivery.lines.style_name': ofVariants(nameOf, 'style_name'),
  'delivery.lines.color_name': ofVariants(nameOf, 'color_name'),
  'delivery.lines.size_name': ofVariants(nameOf, 'size'),
  'delivery.lines.season': mirrored(
    nameOf,
    ['delivery_line', 'season_name'],
    ...VARIANTS.map((table) => [table, 'season_name'] as const),
  ),
  'delivery.lines.delivery_name': mirrored(
    nameOf,
    ['delivery_line', 'delivery_name'],
    ['sales_order_line', 'delivery_name'],
  ),
};

async function textsOf(db: Db, { columns, read }: Mirrored): Promise<ReadonlySet<string>> {
  const texts = new Set<string>();
  for (const [table, column] of columns) {
    const query = sql<{ text: string | null }>`select distinct ${sql.ref(column)} as text
      from ${sql.table(table)}`;
    for (const { text } of (await query.execute(db)).rows) {
      const seen = text === null ? null : read(text);
      if (seen !== null && seen !== '') texts.add(seen);
    }
  }
  return texts;
}

/**
 * Warns of texts that never occurred. A fact without any value in the mirror is not checked: its
 * rows may not have been pulled yet.
 */
export async function neverOccurred(db: Db, ruleSet: RuleSet): Promise<readonly Problem[]> {
  const known = new Map<string, ReadonlySet<string>>();
  const problems: Problem[] = [];
  for (const { rule, line, path, text, within, folded } of comparedTexts(ruleSet)) {
    const source = MIRRORED[path];
    if (!source) continue;
    const texts = known.get(path) ?? (await textsOf(db, source));
    known.set(path, texts);
    const seen = folded ? new Set([...texts].map((one) => one.toLowerCase())) : texts;
    if (seen.size === 0 || seen.has(text)) continue;
    const near = nearestName(text, seen);
    const place = { file: rule.file, line, column: 1, source: '', length: 1 };
    const of = within === undefined ? '' : ` of ${within}`;
    const message = `"${text}"${of} never occurred as ${path}`;
    const hint = near === undefined ? undefined : `the nearest that did: ${near}`;
    problems.push({ severity: 'warning', ...place, ruleId: rule.id, message, hint });
  }
  return problems;
}
