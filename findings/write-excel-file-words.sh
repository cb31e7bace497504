#!/usr/bin/env bash
# write-excel-file 4.1.1: a text that looks like an escape of OOXML, _x0041_, is written as it is, so
# that a reader who knows the format (exceljs 4.4.0) gives the letter A; and a vertical tab, the soft
# line break of text programs, leaves without a trace, so that two words become one.
# Seen: "A" and "navyblue". Needs node and npm.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --ignore-scripts write-excel-file@4.1.1 exceljs@4.4.0
cat >run.mjs <<'JS'
import exceljs from 'exceljs';
import writeWorkbook from 'write-excel-file/node';
const texts = ['_x0041_', 'navy\vblue'];
const rows = texts.map((value) => [{ value, type: String }]);
const buffer = await writeWorkbook(rows, { sheet: 'texts' }).toBuffer();
const book = new exceljs.Workbook();
await book.xlsx.load(buffer);
const sheet = book.getWorksheet('texts');
for (const at of texts.keys()) {
  const { value } = sheet.getCell(at + 1, 1);
  console.log(JSON.stringify(texts[at]), 'is read as', JSON.stringify(value));
}
JS
node run.mjs | tee seen
grep -qF '"_x0041_" is read as "A"' seen
grep -qF '"navy\u000bblue" is read as "navyblue"' seen
