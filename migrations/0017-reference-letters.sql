-- An order is looked for by its reference whatever its letters, before each sending.
CREATE INDEX sales_order_reference_letters ON sales_order (reference COLLATE NOCASE);
