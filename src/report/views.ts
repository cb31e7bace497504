/**
 * The views that people build reports on, and those that the ERP reads: a public contract. From
 * these tables come `docs/views.md` and the descriptions in Datasette; a test holds them against
 * the databases.
 */

import { TIME, type ViewSpec } from './views/columns.ts';
import { GOODS_VIEWS } from './views/goods.ts';
import { OPERATION_VIEWS } from './views/operation.ts';
import { TRADE_VIEWS } from './views/trade.ts';

/** All views of the mirror, in the order of how often people use them. */
export const VIEWS: readonly ViewSpec[] = [...TRADE_VIEWS, ...GOODS_VIEWS, ...OPERATION_VIEWS];

const RECEIPT = {
  kind: 'order, pending_refund, refund_status or style',
  reference: "reference that the ERP gave; letters' case makes no difference",
  state: 'see [erp-integration.md](erp-integration.md#what-becomes-of-a-document)',
  final: '1: the state does not change any more by itself',
  order_id: 'id of the order in the service, once known',
  order_no: 'its number, once known',
  deliveries: 'JSON array of {orderDeliveryId, deliveryNo, status}, as the service answered',
  pending_refund_id: 'what the service made of a pending refund',
  refund_id: 'the refund that followed, once the service confirmed it',
  problems:
    'JSON array of {path, message}; warnings have "severity": "warning"; for a reference that is ' +
    'taken, `conflict` has both documents',
  next_step: 'what to do next',
} as const;

const RECEIPT_STYLE = { style_id: 'style that the document made or changed, once known' } as const;

const RECEIPT_TIMES = {
  handed_in_at: `when (${TIME})`,
  changed_at: `when it last changed (${TIME})`,
  ended_at: `when it reached its end (${TIME})`,
} as const;

/** A view and two tables of exchange.db, which the ERP reads. */
export const EXCHANGE_VIEWS: readonly ViewSpec[] = [
  {
    name: 'v_document',
    about:
      'In `exchange.db`, for the ERP: each document once, by kind and reference, with the ' +
      'receipt that counts: one that waits, else that of the document under way or at the ' +
      'service, else the last.',
    columns: {
      ...RECEIPT,
      document_id: 'number of the document; null while it waits, or when it was refused at once',
      intake_id: 'row of `intake`; null for a document of another channel',
      receipts: 'receipts that this reference has',
      ...RECEIPT_TIMES,
      ...RECEIPT_STYLE,
    },
    example: "SELECT state, final, order_no, next_step FROM v_document WHERE reference = 'SO-1001'",
  },
  {
    name: 'receipt',
    about: 'In `exchange.db`: one row for each row of `intake`, or document of another channel.',
    columns: {
      receipt_id: 'number',
      intake_id: 'row of `intake`; null for a document of another channel',
      document_id: 'number of the document; null while it waits, or when it was refused at once',
      ...RECEIPT,
      ...RECEIPT_TIMES,
      ...RECEIPT_STYLE,
    },
    example: 'SELECT state, problems FROM receipt WHERE intake_id = 1',
  },
  {
    name: 'outcome',
    about:
      'In `exchange.db`: what was decided about packed deliveries and is so at the service, or ' +
      'was refused there. Not what was only tried (observe, shadow), planned or called off.',
    columns: {
      outcome_id: 'number, growing',
      decision_id: 'number of the decision in the journal',
      order_delivery_id: 'id of the delivery in the service',
      delivery_no: 'number that people see',
      order_id: 'id of its order',
      order_no: 'number of its order',
      reference: 'reference of its order',
      outcome: 'accept, hold, reject, or release (left to the rules again)',
      state: 'confirmed; refused: it was not carried out',
      reason: 'why, in words',
      rules: 'JSON array of the rules that decided',
      decided_by: 'daemon (the rules), external (somebody in the service), or who',
      problem: 'why it was not carried out',
      decided_at: `when (${TIME})`,
      ended_at: `when it was so at the service (${TIME})`,
    },
    example: 'SELECT * FROM outcome WHERE outcome_id > 0 ORDER BY outcome_id',
  },
];

const HEAD = `# Views

What reports are built on. These names and columns are a public contract: a change to them stands in
the CHANGELOG. Amounts are decimals, booleans are 0 and 1; a name that the service left empty (of a
season, a brand, a country) is null, a number (of an account, an order, a style) is as it came. How
to read the mirror by SQL, and what lies below the views, is said in [reporting.md](reporting.md).
The copy in PostgreSQL ([plane](operating/plane.md)) has the same views, with \`account\` first.
`;

/** Text of `docs/views.md`. */
export function viewsMarkdown(): string {
  const parts = [...VIEWS, ...EXCHANGE_VIEWS].map(({ name, about, columns, example }) => {
    const rows = Object.entries(columns).map(([column, says]) => `| \`${column}\` | ${says} |`);
    return [
      `\n## ${name}\n`,
      about,
      '\n| column | |\n|---|---|',
      ...rows,
      `\n\`\`\`sql\n${example};\n\`\`\`\n`,
    ].join('\n');
  });
  return `${HEAD}${parts.join('')}`;
}
