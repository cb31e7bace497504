/*
title: Stock against what is packed and not shipped
about: Barcodes of open orders whose packed pieces leave nothing of the stock, or fewer than "below".
params:
  below: { type: number, about: show what has fewer free pieces than this, default: 1 }
*/
SELECT barcode, style_no, style_name, color_name, size, in_stock, pending, accepted, free
FROM v_availability
WHERE free < :below
ORDER BY free, barcode;
