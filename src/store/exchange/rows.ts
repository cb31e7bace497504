/** Rows of the exchange database as the program sees them. */

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
