/** The records of the fact table that come from the ERP: see `table.ts` for what a field is. */

export const customer = {
  account_no: {
    type: 'string',
    optional: true,
    about: 'Account number in the ERP.',
    source: 'erp_customer',
  },
  blocked: {
    type: 'bool',
    optional: true,
    about: 'The ERP has blocked the customer.',
    source: 'erp_customer.blocked',
  },
  credit: {
    type: 'record',
    of: 'credit',
    optional: true,
    about: 'What the ERP says of the customer’s credit; absent when it says nothing.',
    source: 'erp_customer',
  },
  extra: {
    type: 'extra',
    optional: true,
    about: 'More fields of the ERP, declared under customer_fields in settings.yaml.',
    source: 'erp_customer.extra',
  },
} as const;

export const credit = {
  limit: {
    type: 'money',
    optional: true,
    unit: 'customer.credit.currency',
    about: 'Credit limit.',
    source: 'erp_customer.credit_limit',
  },
  balance: {
    type: 'money',
    optional: true,
    unit: 'customer.credit.currency',
    about: 'What the customer owes, without deliveries that are not accepted yet.',
    source: 'erp_customer.balance',
  },
  reserved: {
    type: 'money',
    optional: true,
    unit: 'customer.credit.currency',
    about: 'What was accepted since the figures were taken; absent when it cannot be summed up.',
    source: 'other deliveries of the account, accepted since as_of',
  },
  headroom: {
    type: 'money',
    optional: true,
    derived: true,
    unit: 'customer.credit.currency',
    about: 'Credit left, after what was accepted here since the ERP’s figures were taken.',
    source: 'limit - balance - reserved',
  },
  overdue_days: {
    type: 'int',
    optional: true,
    unit: 'days',
    min: 0,
    about: 'Age of the oldest unpaid invoice beyond its due date; 0 when none is.',
    source: 'erp_customer.overdue_days',
  },
  currency: {
    type: 'string',
    code: 'currency',
    optional: true,
    about: 'Currency of the credit figures (ISO code such as DKK).',
    source: 'erp_customer.currency',
  },
  as_of: {
    type: 'timestamp',
    optional: true,
    about: 'When the ERP took the figures.',
    source: 'erp_customer.as_of',
  },
  age: {
    type: 'duration',
    optional: true,
    derived: true,
    min: 0,
    about: 'How old the figures are.',
    source: 'clock.now - customer.credit.as_of',
  },
} as const;
