/** Generates `docs/facts.md` from the fact table; a test keeps the page current. */
import {
  type FieldSpec,
  fieldsOf,
  isRecordName,
  type RecordName,
  ROOT_NAMES,
  ROOTS,
} from './table.ts';

const TYPE_WORDS: Readonly<Record<FieldSpec['type'], string>> = {
  string: 'text',
  bool: 'true/false',
  int: 'whole number',
  money: 'amount',
  percent: 'percent',
  decimal: 'number',
  duration: 'duration',
  timestamp: 'point in time',
  enum: 'one of',
  strings: 'list of texts',
  extra: 'group',
  record: 'group',
  records: 'list',
};

const HEAD = `# Facts

What a condition may ask about a delivery. Generated from the fact table of the rules; every name
here is checked when rules are loaded.

- A field marked **?** may be unknown. A condition that needs an unknown field is neither true nor
  false: an accept rule then does not accept, a hold or reject rule holds. Guard it with
  \`has(order.season) && …\` where "unknown" should mean "no". Of a field of a group that may be
  unknown ask for the group first: \`has(customer.credit) && has(customer.credit.limit) && …\`.
- An amount has a currency. Compared with a bare number it needs a condition such as
  \`order.currency == "DKK"\`, or a table with a row per currency:
  \`delivery.amount <= tables.limits[order.currency]\`.
- An assortment has one barcode for several pieces, and counts as one in \`quantity\`, in what was
  ordered and in stock. \`size_quantity\` counts the pieces that are in it.
- Durations are written \`days(3)\`, \`hours(36)\`, \`minutes(90)\`; points in time
  \`timestamp("2026-01-31T00:00:00Z")\`.
- In rule tests, amounts are written as decimals (\`1234.50\`), durations as \`3d\`, \`36h\`,
  \`90m\`, times as \`2026-01-31T08:00:00Z\`.
- \`lists.<name>\` and \`tables.<name>[key]\` come from \`settings.yaml\`.
`;

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function typeText(field: FieldSpec): string {
  const word = TYPE_WORDS[field.type];
  const values = field.values ? ` ${field.values.join(', ')}` : '';
  return `${word}${values}${field.unit ? ` (${field.unit})` : ''}`;
}

function rows(record: RecordName, prefix: string): readonly string[] {
  return Object.entries(fieldsOf(record)).map(([name, field]) => {
    const mark = field.optional ? ' **?**' : '';
    const path = `\`${prefix}.${name}\`${mark}`;
    return `| ${path} | ${cell(typeText(field))} | ${cell(field.about)} | ${cell(field.source)} |`;
  });
}

function section(title: string, record: RecordName, prefix: string, note: string): string {
  const head = ['| Fact | Kind | Meaning | From |', '|---|---|---|---|'];
  return [`## ${title}`, '', ...(note ? [note, ''] : []), ...head, ...rows(record, prefix)].join(
    '\n',
  );
}

function inner(record: RecordName, path: string): readonly string[] {
  return Object.entries(fieldsOf(record)).flatMap(([name, field]) => {
    if (!isRecordName(field.of)) return [];
    const list = field.type === 'records';
    const prefix = list ? field.of : `${path}.${name}`;
    const note = list
      ? `One item of \`${path}.${name}\`: \`${path}.${name}.all(${field.of}, …)\`, ` +
        `\`${path}.${name}.exists(${field.of}, …)\`.`
      : '';
    return [section(prefix, field.of, prefix, note)];
  });
}

export function factsMarkdown(): string {
  const sections = ROOT_NAMES.flatMap((root) => {
    const note = ROOTS[root].optional ? 'All of it may be unknown.' : '';
    return [section(root, root, root, note), ...inner(root, root)];
  });
  return `${[HEAD, ...sections].join('\n')}\n`
    .replaceAll('\n## ', '\n\n## ')
    .replace(/\n{3,}/g, '\n\n');
}
