import { HttpError } from './http.mjs';
import { document } from './v2document.mjs';
import { RESOURCES } from './v2resources.mjs';
import { byId } from './world.mjs';

const EMPTY = { include: [], fields: {} };
const isMap = (value) => value && typeof value === 'object' && !Array.isArray(value);

function dataOf(body, type) {
  const { data } = body;
  if (!isMap(data)) {
    throw new HttpError(400, 'The member data is missing.', { source: { pointer: '/data' } });
  }
  if (data.type !== type) {
    throw new HttpError(409, `The resource type must be ${type}.`, {
      code: 'type_mismatch',
      source: { pointer: '/data/type' },
    });
  }
  return data;
}

// Unknown members are passed over; known ones are checked one by one.
function read(app, type, data, required) {
  const def = RESOURCES[type];
  const values = {};
  const problems = [];
  for (const [name, rule] of Object.entries(def.writable)) {
    const isOne = String(rule).startsWith('one');
    const pointer = `/data/${isOne ? 'relationships' : 'attributes'}/${name}`;
    const given = isOne ? data.relationships?.[name]?.data : data.attributes?.[name];
    if (given === undefined) {
      if (required.includes(name)) problems.push(problem(pointer, name, 'required'));
      continue;
    }
    const wrong = isOne ? wrongRef(app, def.relationships[name], given, rule) : bad(rule, given);
    if (wrong) problems.push(problem(pointer, name, wrong));
    else values[isOne ? `${name}Id` : name] = isOne && given ? Number(given.id) : given;
  }
  if (problems.length > 0) throw new HttpError(422, 'Invalid', { problems });
  return values;
}

function problem(pointer, name, code) {
  const detail = {
    required: `The ${name} field is required.`,
    invalid: `The ${name} field is invalid.`,
    unknown: `The selected ${name} does not exist.`,
    taken: `The ${name} has already been taken.`,
  }[code];
  return { detail, code, source: { pointer } };
}

function bad(rule, given) {
  if (Array.isArray(rule)) return rule.includes(given) ? null : 'invalid';
  const optional = rule.endsWith('?');
  if (given === null) return optional ? null : 'required';
  const kind = rule.replace('?', '');
  if (kind === 'text') {
    if (typeof given !== 'string') return 'invalid';
    return given.trim() === '' && !optional ? 'required' : null;
  }
  return typeof given === kind ? null : 'invalid';
}

function wrongRef(app, rel, given, rule) {
  if (given === null) return rule === 'one?' ? null : 'required';
  if (!isMap(given) || given.type !== rel.type) return 'invalid';
  return byId(RESOURCES[rel.type].rows(app.state), given.id) ? null : 'unknown';
}

function unique(app, type, values, own) {
  if (type !== 'style' || values.styleNo === undefined) return;
  const taken = app.state.styles.some((s) => s.styleNo === values.styleNo && s !== own);
  if (!taken) return;
  const problems = [problem('/data/attributes/styleNo', 'styleNo', 'taken')];
  throw new HttpError(422, 'Invalid', { problems });
}

export function create({ app, body }, type) {
  const data = dataOf(body, type);
  if (data.id !== undefined) {
    throw new HttpError(403, 'Client-generated ids are not supported.', {
      code: 'client_id_forbidden',
      source: { pointer: '/data/id' },
    });
  }
  const values = read(app, type, data, RESOURCES[type].required);
  unique(app, type, values, null);
  app.state.counters.style += 1;
  const row = {
    description: null,
    designer: null,
    gender: null,
    weight: null,
    customsTariffNo: null,
    countryOfOrigin: null,
    typeId: null,
    seasonName: null,
    noos: false,
    category: null,
    quality: null,
    wash: null,
    tags: [],
    b2bHidden: false,
    ...values,
    id: app.state.counters.style,
    createdAt: app.now(),
    updatedAt: app.now(),
  };
  app.state.styles.push(row);
  const location = `${app.addresses.v2}/pdm/${RESOURCES[type].path}/${row.id}`;
  return { status: 201, content: document(app, type, row, EMPTY), headers: { location } };
}

export function change({ app, body }, type, row) {
  const data = dataOf(body, type);
  if (String(data.id) !== String(row.id)) {
    throw new HttpError(409, 'The id does not match the address.', {
      code: 'id_mismatch',
      source: { pointer: '/data/id' },
    });
  }
  const values = read(app, type, data, []);
  unique(app, type, values, row);
  Object.assign(row, values);
  if ('updatedAt' in row) row.updatedAt = app.now();
  return { content: document(app, type, row, EMPTY) };
}

// A style with colours has variants, stock and orders behind it and stays.
export function remove({ app }, _type, row) {
  if (app.state.styleColors.some((sc) => sc.styleId === row.id)) {
    throw new HttpError(409, 'The style has style colors.', { code: 'in_use' });
  }
  app.state.styles.splice(app.state.styles.indexOf(row), 1);
  return { status: 204 };
}
