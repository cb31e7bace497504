/** The exchange database as the program sees it: its rows, and what may be done with them. */

export interface HandedIn {
  readonly receiptId: number;
  /** Decimal: the ERP may give rows numbers of its own, larger than a double holds. */
  readonly intakeId: string;
  readonly kind: string;
  readonly reference: string;
  readonly payload: string;
  readonly handedInAt: string;
}

/** A row of `receipt` as the ERP reads it; times are ISO texts. */
export interface ReceiptRow {
  /** Null for a document of another door, which then needs a document id. */
  readonly intakeId: string | null;
  readonly documentId: number | null;
  readonly kind: string;
  readonly reference: string;
  readonly state: string;
  readonly final: boolean;
  readonly orderId: number | null;
  readonly orderNo: string | null;
  /** JSON. */
  readonly deliveries: string;
  readonly pendingRefundId: number | null;
  readonly refundId: number | null;
  /** JSON. */
  readonly problems: string;
  readonly nextStep: string;
  readonly handedInAt: string;
  readonly changedAt: string;
  readonly endedAt: string | null;
}

export type CustomerRow = Readonly<Record<string, unknown>>;

/** A changed customer: its row as the ERP wrote it, or null when the ERP deleted it. */
export interface CustomerChange {
  readonly seq: number;
  readonly accountNo: string;
  readonly row: CustomerRow | null;
  /** The other rows of this account, which differ from it by the space around the number only. */
  readonly others: readonly CustomerRow[];
}

export interface CustomerProblem {
  readonly path: string;
  readonly message: string;
}

export interface Exchange extends Disposable {
  readonly path: string;
  /** Whether somebody else has written since the last call; true at the first one. */
  hasNews(): boolean;
  /**
   * Documents that wait behind the receipt `after`, oldest first: at most `rows`, and no more once
   * they hold `chars`.
   */
  waiting(after: number, rows: number, chars: number): HandedIn[];
  /** Writes the receipts, all or none. */
  writeReceipts(receipts: readonly ReceiptRow[]): void;
  /** Documents whose receipts are not final. */
  openDocuments(): number[];
  /**
   * Cuts receipts off from documents above this number, which the mirror does not know (any more);
   * gives how many there were.
   */
  cutOff(documentsAbove: number): number;
  changedCustomers(rows: number): CustomerChange[];
  /** Ticks changes off; a later change of the same customer stays. */
  customersDone(
    done: readonly { readonly change: CustomerChange; readonly problem: CustomerProblem | null }[],
    at: string,
  ): void;
  /** Deletes at most `rows` documents whose receipts were final before `endedBefore` (ISO). */
  forget(endedBefore: string, rows: number): number;
}
