// The habits of a PHP/Laravel back end, kept in one place so that --php off can remove them.

// An empty PHP array has no kind: json_encode() writes what was meant as an object as [].
export function mapOf(value, php) {
  const empty = !value || Object.keys(value).length === 0;
  if (!empty) return value;
  return php ? [] : {};
}

// DECIMAL columns come out of PDO as text; only computed amounts are numbers.
export function money(value, php) {
  if (value === null || value === undefined) return null;
  return php ? value.toFixed(2) : round2(value);
}

export function flag(value, php) {
  return php ? Number(Boolean(value)) : Boolean(value);
}

export function round2(value) {
  return Math.round((value + Number.EPSILON) * 100) / 100;
}

// json_encode() without options escapes slashes and everything outside ASCII.
export function encode(value, php) {
  const text = JSON.stringify(value);
  if (!php) return text;
  return text
    .replaceAll('/', '\\/')
    .replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

// Laravel's global middleware: trims every text and turns empty ones into null.
export function normalise(value) {
  if (typeof value === 'string') return value.trim() === '' ? null : value.trim();
  if (Array.isArray(value)) return value.map(normalise);
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, normalise(v)]));
  }
  return value;
}

// $request->boolean()
export function truthy(text) {
  return ['1', 'true', 'on', 'yes'].includes(String(text ?? '').toLowerCase());
}

// 'Y-m-d H:i:s' in the zone of the back office, without an offset.
export function localTime(ms, zone) {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'medium',
  });
  return format.format(new Date(ms));
}

// Carbon::toIso8601String() in UTC.
export function isoTime(ms) {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, '+00:00');
}

export const says = {
  required: (field) => `The ${field} field is required.`,
  integer: (field) => `The ${field} field must be an integer.`,
  numeric: (field) => `The ${field} field must be a number.`,
  string: (field) => `The ${field} field must be a string.`,
  array: (field) => `The ${field} field must be an array.`,
  min: (field, n) => `The ${field} field must be at least ${n}.`,
  maxText: (field, n) => `The ${field} field must not be greater than ${n} characters.`,
  selected: (field) => `The selected ${field} is invalid.`,
};

// The rule `integer` accepts digits in a text too; anything else gives NaN.
export function intOf(value) {
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  if (typeof value === 'string' && /^-?\d+$/.test(value)) return Number(value);
  return NaN;
}

export function numberOf(value) {
  if (typeof value === 'number') return value;
  if (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  return NaN;
}
