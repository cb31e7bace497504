/** The members of a variant that the plain script and the shell's tools write. */
export const MEMBERS: readonly string[] = [
  'barcode',
  'quantity',
  'variantType',
  'seasonName',
  'colorCode',
  'b2cSalePrice',
  'priceOriginal',
  'wspPrice',
  'careLabelWash',
  'careLabelIron',
  'careLabelDry',
];

export const DETAILS: readonly string[] = [
  'styleNo',
  'brandName',
  'styleName',
  'colorName',
  'size',
  'price',
  'currency',
  'designer',
  'category',
  'quality',
  'type',
  'gender',
];
