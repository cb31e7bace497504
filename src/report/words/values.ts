/** Words for values of columns that are names of states, kinds and lists. */
export const VALUES = {
  outcome: {
    accept: 'Accept',
    hold: 'Hold',
    reject: 'Reject',
    release: 'Left to the rules',
    no_rule: 'No rule applies',
  },
  status: {},
  state: { queued: 'Waiting', in_doubt: 'Outcome unknown', dead: 'Given up' },
  figure: {
    'in stock': 'On hand',
    'pre-orders': 'Pre-orders',
    'cover %': 'Cover (%)',
  },
  op: { insert: 'New', update: 'Changed', delete: 'Gone', restore: 'Back again' },
  entity: {
    stock_variant: 'Stock list',
    season_variant: 'Season list',
    sales_order: 'Order',
    pdm_brand: 'Brand (V2)',
    freight_option: 'Freight',
    erp_customer: 'Customer of the ERP',
  },
  stream: {
    ordersOpen: 'Open orders',
    ordersFull: 'All orders',
    season: 'Season lists',
    stock: 'Stock list',
  },
  incident: {},
  reason: { '(none)': 'Not told' },
  yes: { 0: 'No', 1: 'Yes' },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;
