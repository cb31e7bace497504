/** Rows and prepared statements of the exchange database; each call may find it locked. */
import type Database from 'better-sqlite3';
import { addCaseKey } from '../connection.ts';

export interface Submitted {
  readonly receiptId: number;
  /**
   * Number of the row as decimal text: the ERP may choose numbers that are larger than a double
   * holds.
   */
  readonly intakeId: string;
  readonly kind: string;
  readonly reference: string;
  readonly payload: string;
  readonly handedInAt: string;
}

/** Row of `receipt` as the ERP reads it; times are ISO texts. */
export interface ReceiptRow {
  /**
   * Number of the `intake` row; null for a document of another intake channel, which then has a
   * document id.
   */
  readonly intakeId: string | null;
  readonly documentId: number | null;
  readonly kind: string;
  readonly reference: string;
  readonly state: string;
  readonly final: boolean;
  readonly orderId: number | null;
  readonly orderNo: string | null;
  /** Deliveries of the document as JSON text. */
  readonly deliveries: string;
  readonly pendingRefundId: number | null;
  readonly refundId: number | null;
  readonly styleId: string | null;
  /** Problems of the document as JSON text. */
  readonly problems: string;
  readonly nextStep: string;
  readonly handedInAt: string;
  readonly changedAt: string;
  readonly endedAt: string | null;
}

/** Row of `outcome` as the ERP reads it; times are ISO texts. */
export interface OutcomeRow {
  readonly outcomeId: number;
  readonly decisionId: number;
  readonly orderDeliveryId: number;
  readonly deliveryNo: string | null;
  readonly orderId: number;
  readonly orderNo: string | null;
  readonly reference: string | null;
  readonly outcome: string;
  readonly state: string;
  readonly reason: string;
  /** Rules that led to the decision, as JSON text. */
  readonly rules: string;
  readonly decidedBy: string;
  readonly problem: string | null;
  readonly decidedAt: string;
  readonly endedAt: string;
}

type CustomerRow = Readonly<Record<string, unknown>>;

/** Change of a customer: its row as the ERP wrote it, or null when the ERP deleted it. */
export interface CustomerChange {
  readonly seq: number;
  readonly accountNo: string;
  readonly row: CustomerRow | null;
  /** Other rows of this account, whose numbers differ from it only by the spaces around them. */
  readonly others: readonly CustomerRow[];
}

export interface CustomerProblem {
  readonly path: string;
  readonly message: string;
}

/** Change of a customer that was read; `problem`: why the row was not taken. */
export interface DoneCustomer {
  readonly change: Pick<CustomerChange, 'seq' | 'accountNo'>;
  readonly problem: CustomerProblem | null;
}

const UNKNOWN =
  'The daemon works on a restored database that does not know this document: look for it at the ' +
  'service, and submit it again only if it is not there.';

const RECEIPT_UPDATE = `
  document_id = @documentId, state = @state, final = @final, order_id = @orderId,
  order_no = @orderNo, deliveries = @deliveries, pending_refund_id = @pendingRefundId,
  refund_id = @refundId, style_id = @styleId, problems = @problems, next_step = @nextStep,
  changed_at = @changedAt, ended_at = @endedAt`;

export function receiptWriter(
  database: Database.Database,
): (receipts: readonly ReceiptRow[]) => void {
  const byRow = database.prepare(
    `update receipt set ${RECEIPT_UPDATE} where intake_id = cast(@intakeId as integer)`,
  );
  const byDocument = database.prepare(
    `update receipt set ${RECEIPT_UPDATE} where document_id = @documentId`,
  );
  const insert = database.prepare(
    `insert into receipt (intake_id, document_id, kind, reference, state, final, order_id, order_no,
       deliveries, pending_refund_id, refund_id, style_id, problems, next_step, handed_in_at,
       changed_at, ended_at)
     values (null, @documentId, @kind, @reference, @state, @final, @orderId, @orderNo,
       @deliveries, @pendingRefundId, @refundId, @styleId, @problems, @nextStep, @handedInAt,
       @changedAt, @endedAt)`,
  );
  const writeAll = database.transaction((receipts: readonly ReceiptRow[]) => {
    for (const { final, ...receipt } of receipts) {
      const values = { ...receipt, final: final ? 1 : 0 };
      if (receipt.intakeId !== null) byRow.run(values);
      else if (byDocument.run(values).changes === 0) insert.run(values);
    }
  });
  return (receipts) => writeAll.immediate(receipts);
}

export function outcomeWriter(
  database: Database.Database,
): (outcomes: readonly OutcomeRow[]) => void {
  const write = database.prepare(
    `insert or replace into outcome (outcome_id, decision_id, order_delivery_id, delivery_no,
       order_id, order_no, reference, outcome, state, reason, rules, decided_by, problem,
       decided_at, ended_at)
     values (@outcomeId, @decisionId, @orderDeliveryId, @deliveryNo, @orderId, @orderNo, @reference,
       @outcome, @state, @reason, @rules, @decidedBy, @problem, @decidedAt, @endedAt)`,
  );
  const writeAll = database.transaction((outcomes: readonly OutcomeRow[]) => {
    for (const outcome of outcomes) write.run(outcome);
  });
  return (outcomes) => writeAll.immediate(outcomes);
}

export function waitingReader(
  database: Database.Database,
): (after: number, rows: number, chars: number) => Submitted[] {
  const select = database.prepare<[number, number], Submitted>(
    `select r.receipt_id as receiptId, cast(i.intake_id as text) as intakeId, i.kind, i.reference,
       i.payload, i.handed_in_at as handedInAt
     from receipt r join intake i on i.intake_id = r.intake_id
     where r.state = 'waiting' and r.receipt_id > ? order by r.receipt_id limit ?`,
  );
  return (after, rows, chars) => {
    const found: Submitted[] = [];
    let left = chars;
    for (const row of select.iterate(after, rows)) {
      found.push(row);
      left -= row.payload.length;
      if (left <= 0) break;
    }
    return found;
  };
}

/** Maximum length of an account number in `erp_customer`. */
const ACCOUNT_CHARS_MAX = 100;

/**
 * Reads the other rows of an account: with the bare number, and with spaces after it, which sort
 * before "!". If there are none, and the row has spaces before the number or is gone, it reads rows
 * with spaces before the number, which count last.
 */
function namesakesOf(
  database: Database.Database,
): (accountNo: string, isGone: boolean) => CustomerRow[] {
  const near = database.prepare<[string, string], CustomerRow>(
    'select * from erp_customer where account_no >= ? and account_no < ? order by account_no',
  );
  const among = database.prepare<[string], CustomerRow>(
    'select * from erp_customer where account_no in (select value from json_each(?))',
  );
  return (accountNo, isGone) => {
    const own = accountNo.trim();
    if (own === '') return [];
    const found = near.all(own, `${own}!`).filter((row) => {
      return row.account_no !== accountNo && String(row.account_no).trim() === own;
    });
    if (found.length > 0 || !(isGone || accountNo.startsWith(' '))) return found;
    const widths = Math.max(0, ACCOUNT_CHARS_MAX - own.length);
    const padded = Array.from({ length: widths }, (_, more) => ' '.repeat(more + 1) + own);
    return among.all(JSON.stringify(padded.filter((one) => one !== accountNo)));
  };
}

export function customerPart(database: Database.Database) {
  const changes = database.prepare<[number, number], { seq: number; accountNo: string }>(
    'select seq, account_no accountNo from erp_customer_change where seq > ? order by seq limit ?',
  );
  // The row is joined by the bytes that the ERP wrote, because text that is not UTF-8 changes when
  // it is read.
  const customer = database.prepare<[number], CustomerRow>(
    `select e.* from erp_customer_change c join erp_customer e on e.account_no = c.account_no
     where c.seq = ?`,
  );
  const tickOff = database.prepare('delete from erp_customer_change where seq = ?');
  const praise = database.prepare('delete from erp_customer_problem where account_no = ?');
  const blame = database.prepare(
    `insert into erp_customer_problem (account_no, path, message, found_at) values (?, ?, ?, ?)
     on conflict (account_no) do update set path = excluded.path, message = excluded.message,
       found_at = excluded.found_at`,
  );
  const namesakes = namesakesOf(database);
  const read = database.transaction((rows: number, after: number): CustomerChange[] =>
    changes.all(after, rows).map(({ seq, accountNo }) => {
      const row = customer.get(seq) ?? null;
      return { seq, accountNo, row, others: namesakes(accountNo, row === null) };
    }),
  );
  const finish = database.transaction((done: readonly DoneCustomer[], at: string) => {
    for (const { change, problem } of done) {
      tickOff.run(change.seq);
      if (problem === null) praise.run(change.accountNo);
      else blame.run(change.accountNo, problem.path, problem.message, at);
    }
  });
  return {
    changedCustomers: (rows = -1, after = 0) => read.deferred(rows, after),
    customersDone: (done: readonly DoneCustomer[], at: string) => finish.immediate(done, at),
  };
}

export function forgetter(
  database: Database.Database,
): (endedBefore: string, rows: number) => number {
  const old = database
    .prepare<[string, number], number>(
      'select receipt_id from receipt where final = 1 and ended_at < ? limit ?',
    )
    .pluck();
  const dropRow = database.prepare(
    'delete from intake where intake_id = (select intake_id from receipt where receipt_id = ?)',
  );
  const dropReceipt = database.prepare('delete from receipt where receipt_id = ?');
  const dropOutcomes = database.prepare(
    `delete from outcome where outcome_id in (
       select outcome_id from outcome where ended_at < ? order by ended_at limit ?)`,
  );
  const forget = database.transaction((endedBefore: string, rows: number): number => {
    const found = old.all(endedBefore, rows);
    for (const receiptId of found) {
      dropRow.run(receiptId);
      dropReceipt.run(receiptId);
    }
    return Math.max(found.length, dropOutcomes.run(endedBefore, rows).changes);
  });
  return (endedBefore, rows) => forget.immediate(endedBefore, rows);
}

export function documentPart(database: Database.Database) {
  const cutOff = database.prepare(
    `update receipt set document_id = null, final = 1, ended_at = coalesce(ended_at, changed_at),
       state = case final when 1 then state else 'in_doubt' end,
       next_step = case final when 1 then next_step else ? end,
       problems = case final when 1 then problems
         else json_array(json_object('path', '', 'message', ?)) end
     where document_id > ?`,
  );
  const open = database
    .prepare<[], number>(
      'select distinct document_id from receipt where final = 0 and document_id is not null',
    )
    .pluck();
  return {
    cutOff: (above: number) => cutOff.run(UNKNOWN, UNKNOWN, above).changes,
    openDocuments: () => open.all(),
  };
}

/**
 * Documents of one order: those with these numbers, and those under its reference that became no
 * order.
 */
export interface OwnDocuments {
  readonly documentIds: readonly number[];
  readonly reference: string | null;
  /** Id of the order at the service; null: the service has no such order. */
  readonly orderId: number | null;
}

/** Receipts of an order: the states of those that are open, and the number of the others. */
export interface OwnStates {
  readonly open: readonly string[];
  readonly final: number;
}

const OWN = `(document_id in (select value from json_each(@ids))
  or (kind = 'order' and case_key(reference) = case_key(@reference)))`;

export function forgetPart(database: Database.Database) {
  addCaseKey(database);
  const states = database.prepare<[object], { state: string; final: number }>(
    `select state, final from receipt where ${OWN}`,
  );
  const dropRows = database.prepare(`delete from intake where intake_id in (
    select intake_id from receipt where final = 1 and intake_id is not null and ${OWN})`);
  const blank = database.prepare(`update receipt set problems = '[]' where final = 1 and ${OWN}`);
  // A rule's sentence about a delivery may contain personal data.
  const blankOutcomes = database.prepare(`update outcome set reason = 'forgotten', problem = null
    where order_id = @orderId and decided_by = 'daemon'`);
  const named = ({ documentIds, reference, orderId }: OwnDocuments) => ({
    orderId,
    ids: JSON.stringify(documentIds),
    reference,
  });
  const forget = database.transaction((own: OwnDocuments): number => {
    const { changes } = dropRows.run(named(own));
    blankOutcomes.run(named(own));
    return changes + blank.run(named(own)).changes;
  });
  return {
    statesOf(own: OwnDocuments): OwnStates {
      const { open = [], final = [] } = Object.groupBy(states.all(named(own)), (row) =>
        row.final === 0 ? 'open' : 'final',
      );
      return { open: open.map(({ state }) => state), final: final.length };
    },
    forgetDocuments: (own: OwnDocuments): number => forget.immediate(own),
  };
}
