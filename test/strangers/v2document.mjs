import { HttpError } from './http.mjs';
import { mapOf } from './php.mjs';
import { RESOURCES } from './v2resources.mjs';

// Names come from the address line; `constructor` must not count as a known one.
const own = (table, name) => (Object.hasOwn(table, name) ? table[name] : undefined);

const bad = (name, detail) =>
  new HttpError(400, detail, {
    code: 'invalid_parameter',
    source: { parameter: name },
  });

// A parameter nobody knows is refused: JSON:API asks for a 400.
export function readQuery(url, type, isList) {
  const query = { include: [], fields: {}, filters: [], page: {} };
  for (const [name, value] of url.searchParams) {
    const filter = /^filter\[(\w+)\]$/.exec(name);
    const page = /^page\[(limit|token|offset)\]$/.exec(name);
    if (name === 'include') query.include = includes(type, value);
    else if (name.startsWith('fields_')) query.fields[fieldType(name)] = split(value);
    else if (isList && filter) query.filters.push(filterOf(type, filter[1], value, name));
    else if (isList && page) query.page[page[1]] = value;
    else throw bad(name, `Unknown query parameter ${name}.`);
  }
  return query;
}

const split = (text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);

function fieldType(name) {
  const type = name.slice('fields_'.length);
  if (!own(RESOURCES, type)) throw bad(name, `Unknown resource type ${type}.`);
  return type;
}

function includes(type, value) {
  return split(value).map((path) => {
    let at = type;
    const steps = path.split('.');
    for (const step of steps) {
      const rel = own(RESOURCES[at].relationships, step);
      if (!rel) throw bad('include', `${at} has no relationship ${step}.`);
      at = rel.type;
    }
    return steps;
  });
}

function filterOf(type, field, value, name) {
  const rule = own(RESOURCES[type].filters, field);
  if (!rule) throw bad(name, `Filter ${field} is not supported.`);
  if (rule !== 'boolean') return (row) => rule(row, value);
  if (!['true', 'false', '1', '0'].includes(value)) throw bad(name, `${name} is a boolean.`);
  return (row) => row[field] === ['true', '1'].includes(value);
}

export function resource(app, type, row, fields) {
  const def = RESOURCES[type];
  const wanted = (name) => !fields[type] || fields[type].includes(name);
  const attributes = Object.entries(def.attributes(row)).filter(([name]) => wanted(name));
  const relationships = Object.entries(def.relationships)
    .filter(([name]) => wanted(name))
    .map(([name, rel]) => [name, { data: linkage(app, rel, row) }]);
  return {
    type,
    id: String(row.id),
    attributes: mapOf(Object.fromEntries(attributes), app.opts.php),
    relationships: mapOf(Object.fromEntries(relationships), app.opts.php),
  };
}

function linkage(app, rel, row) {
  const ids = rel.ids(row, app.state);
  if (rel.many) return ids.map((id) => ({ type: rel.type, id: String(id) }));
  return ids === null || ids === undefined ? null : { type: rel.type, id: String(ids) };
}

// `included` is keyed by type and id. Ids are texts of digits, so a PHP array keyed by them
// stays an object only as long as they do not count from 0; they never do here.
function gather(app, type, rows, query) {
  const included = {};
  for (const steps of query.include) {
    let at = type;
    let level = rows;
    for (const step of steps) {
      const rel = RESOURCES[at].relationships[step];
      const ids = new Set(level.flatMap((row) => rel.ids(row, app.state)).map(String));
      level = RESOURCES[rel.type].rows(app.state).filter((row) => ids.has(String(row.id)));
      at = rel.type;
      for (const row of level) {
        included[at] ??= {};
        included[at][String(row.id)] = resource(app, at, row, query.fields);
      }
    }
  }
  return mapOf(included, app.opts.php);
}

export function document(app, type, found, query, { links, meta } = {}) {
  const rows = [found].flat();
  const shown = rows.map((row) => resource(app, type, row, query.fields));
  const content = {};
  if (links) content.links = links;
  content.data = Array.isArray(found) ? shown : shown[0];
  if (meta) content.meta = meta;
  if (query.include.length > 0) content.included = gather(app, type, rows, query);
  return content;
}
