/**
 * Kysely's view of the mirrored tables, with data of the service and, about customers, of the ERP.
 * Amounts and percentages are integers of ten-thousandths (lib/money.ts).
 */

/** Columns that every mirrored row has besides its own. */
export interface MirroredColumns {
  extra: string;
  content_hash: string;
  first_seen_at: number;
  changed_at: number;
  deleted_at: number | null;
  read_seq: number;
  source: string;
}

interface BrandTable extends MirroredColumns {
  brand_name: string;
}

/** Columns that the lists of stock and of seasons share. */
interface VariantColumns extends MirroredColumns {
  barcode: string;
  quantity: number | null;
  variant_type: string | null;
  style_no: string | null;
  style_name: string | null;
  brand_name: string | null;
  color_code: string | null;
  color_name: string | null;
  size: string | null;
  currency: string | null;
  price: number | null;
  wsp_price: number | null;
  price_original: number | null;
  b2c_sale_price: number | null;
  net_price: number | null;
  net_currency: string | null;
  price_before_discount: number | null;
  discount_percent: number | null;
  category: string | null;
  gender: string | null;
  b2b_hidden: number | null;
  color_active: number | null;
}

/** View of the table of stock variants; each row has its unmodelled members (`extra`). */
interface StockVariantTable extends VariantColumns {
  season_name: string | null;
}

/**
 * Table of stock variants. A row's own `extra` is empty when `extra_id` refers to an entry that it
 * shares with others.
 */
interface StockVariantRowTable extends StockVariantTable {
  extra_id: number | null;
  unread: string | null;
}

interface VariantExtraTable {
  extra_id: number;
  extra: string;
  /** Number of rows that refer to the entry. */
  uses: number;
}

interface SalesOrderTable extends MirroredColumns {
  order_id: number;
  reference: string | null;
  order_no: string | null;
  status: string;
  completed: number;
  comment: string | null;
  created_at: number | null;
  currency: string | null;
  season_name: string | null;
  country_code: string | null;
  company: string | null;
  account_no: string | null;
  shipping_address: string;
  freight_type: string | null;
  freight_amount: number | null;
  /** Start of the last look at the order: at its deliveries at least; epoch ms. Null: never. */
  details_read_at: number | null;
  /** Start of the last look at the whole order, epoch ms; null: never. */
  whole_read_at: number | null;
  /** Paths of the order's decisive members that could not be read, as a JSON list; null: none. */
  unread: string | null;
  /** Time at which the order's personal data was removed, epoch ms; null: never. */
  forgotten_at: number | null;
}

/** View of the currency that decisions use for an order: its own or a derived one. */
interface OrderCurrencyTable {
  order_id: number;
  currency: string | null;
}

/** Number of a delivery or a refund that two orders share. */
interface SharedNumberTable {
  entity: string;
  number: number;
  /** Order whose row with this number the mirror does not have. */
  order_id: number;
  seen_at: number;
}

interface SalesOrderLineTable {
  order_id: number;
  line_no: number;
  barcode: string | null;
  quantity: number | null;
  fulfilled_quantity: number | null;
  size_quantity: number | null;
  fulfilled_size_quantity: number | null;
  price: number | null;
  season_name: string | null;
  delivery_name: string | null;
  extra: string;
}

interface DeliveryTable extends MirroredColumns {
  order_delivery_id: number;
  delivery_no: string | null;
  order_id: number;
  reference: string | null;
  order_no: string | null;
  status: string;
  created_at: number | null;
  tracking_numbers: string;
  tracking_links: string;
  unread: string | null;
}

interface DeliveryLineTable {
  order_delivery_id: number;
  line_no: number;
  barcode: string | null;
  fulfilled_quantity: number | null;
  fulfilled_size_quantity: number | null;
  price: number | null;
  season_name: string | null;
  delivery_name: string | null;
  extra: string;
}

interface FreightOptionTable extends MirroredColumns {
  freight_type: string;
}

interface SeasonTable extends MirroredColumns {
  season_name: string;
  unread: string | null;
}

/** View of the table of season variants; each row has its unmodelled members (`extra`). */
interface SeasonVariantTable extends VariantColumns {
  season_barcode: string;
  season_name: string;
}

interface SeasonVariantRowTable extends SeasonVariantTable {
  extra_id: number | null;
  unread: string | null;
}

interface StyleTable extends MirroredColumns {
  style_id: string;
  style_no: string | null;
  style_name: string | null;
  description: string | null;
  designer: string | null;
  active: number | null;
  updated_at: number | null;
  brand_id: string | null;
  type_id: string | null;
  gender_id: string | null;
  country_id: string | null;
  style_color_ids: string;
}

interface StyleColorTable extends MirroredColumns {
  style_color_id: string;
  active: number | null;
  noos_type: string | null;
  color_id: string | null;
}

interface ColorTable extends MirroredColumns {
  color_id: string;
  name: string | null;
  code: string | null;
  active: number | null;
}

interface PdmBrandTable extends MirroredColumns {
  brand_id: string;
  name: string | null;
}

interface StyleTypeTable extends MirroredColumns {
  type_id: string;
  name: string | null;
}

interface GenderTable extends MirroredColumns {
  gender_id: string;
  name: string | null;
}

interface CountryTable extends MirroredColumns {
  country_id: string;
  name: string | null;
  code: string | null;
}

interface ErpCustomerTable extends MirroredColumns {
  account_no: string;
  credit_limit: number | null;
  balance: number | null;
  currency: string | null;
  overdue_days: number | null;
  blocked: number | null;
  as_of: number | null;
}

interface RefundTable extends MirroredColumns {
  order_refund_id: number;
  refund_no: string | null;
  order_id: number;
  reference: string | null;
  order_no: string | null;
  status: string;
  pending_refund_id: number | null;
  created_at: number | null;
  unread: string | null;
}

interface PendingRefundTable extends MirroredColumns {
  pending_refund_id: number;
  order_id: number;
  reference: string | null;
  status: string;
  comment: string | null;
  created_at: number | null;
  unread: string | null;
}

interface SeasonDeliveryTable {
  season_name: string;
  line_no: number;
  delivery_name: string;
}

interface RefundLineTable {
  order_refund_id: number;
  line_no: number;
  barcode: string | null;
  refunded_quantity: number | null;
  refunded_size_quantity: number | null;
  price: number | null;
  restock: number | null;
  refund_type: string | null;
  extra: string;
}

interface PendingRefundLineTable {
  pending_refund_id: number;
  line_no: number;
  barcode: string | null;
  quantity: number | null;
  price: number | null;
  restock: number | null;
  refund_type: string | null;
  extra: string;
}

interface ClaimTable {
  order_delivery_id: number;
  order_id: number;
  changed_at: number | null;
  due_at: number | null;
  decision_id: number | null;
  outcome: string | null;
  first_seen_at: number | null;
  packed_at: number | null;
  waits: number;
}

export interface MirrorTables {
  brand: BrandTable;
  claim: ClaimTable;
  claim_of: ClaimTable;
  color: ColorTable;
  country: CountryTable;
  delivery: DeliveryTable;
  delivery_line: DeliveryLineTable;
  erp_customer: ErpCustomerTable;
  freight_option: FreightOptionTable;
  gender: GenderTable;
  order_currency: OrderCurrencyTable;
  pdm_brand: PdmBrandTable;
  pending_refund: PendingRefundTable;
  pending_refund_line: PendingRefundLineTable;
  refund: RefundTable;
  refund_line: RefundLineTable;
  sales_order: SalesOrderTable;
  sales_order_line: SalesOrderLineTable;
  season: SeasonTable;
  season_delivery: SeasonDeliveryTable;
  season_variant: SeasonVariantTable;
  season_variant_row: SeasonVariantRowTable;
  shared_number: SharedNumberTable;
  stock_variant: StockVariantTable;
  stock_variant_row: StockVariantRowTable;
  style: StyleTable;
  style_color: StyleColorTable;
  style_type: StyleTypeTable;
  variant_extra: VariantExtraTable;
}
