/** Adds, changes and removes resources of V2, and answers with the resource as it is afterwards. */
import type { z } from 'zod';
import type { NamedType, Pdm, StyleInput } from './pdm/pdm.ts';
import type { ResourceType } from './pdm/resources.ts';
import { badMember, ProblemError } from './problem.ts';
import { notFound } from './reads.ts';
import { nameCreateBody, namePatchBody, styleCreateBody, stylePatchBody } from './schemas.ts';

export function parseBody<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new ProblemError(
    ...parsed.error.issues.map(({ path, message }) =>
      badMember(path.map((step) => `/${String(step)}`).join(''), message),
    ),
  );
}

function requireSameId(id: string, bodyId: string): void {
  if (id === bodyId) return;
  const detail = `The address names ${id}, the body ${bodyId}`;
  const source = { pointer: '/data/id' };
  throw new ProblemError({ status: 409, code: 'id_mismatch', detail, source });
}

type Relations = Partial<
  Record<'brand' | 'type' | 'gender' | 'countryOfOrigin', { data: { id: string } } | undefined>
>;

/** Ids that relationships point to; each must exist. */
function referencesOf(pdm: Pdm, relations: Relations): Partial<StyleInput> {
  const found: Partial<Record<keyof Relations, string>> = {};
  const lookUp = (name: keyof Relations, type: ResourceType): void => {
    const id = relations[name]?.data.id;
    if (id === undefined) return;
    const pointer = `/data/relationships/${name}`;
    if (!pdm.get(type, id)) {
      throw new ProblemError(badMember(pointer, `${type} ${id} does not exist`));
    }
    found[name] = id;
  };
  lookUp('brand', 'brand');
  lookUp('type', 'type');
  lookUp('gender', 'gender');
  lookUp('countryOfOrigin', 'country');
  return found;
}

function given<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> };
function given(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/**
 * Adds a style and returns its id. Members that are left out are empty, or the first of their kind.
 */
export function createStyle(pdm: Pdm, body: unknown): string {
  const { data } = parseBody(styleCreateBody, body);
  const { attributes, relationships } = data;
  return pdm.addStyle({
    description: '',
    designer: '',
    active: true,
    type: '1',
    gender: '1',
    countryOfOrigin: 'PT',
    brand: relationships.brand.data.id,
    styleNo: attributes.styleNo,
    styleName: attributes.styleName,
    ...given(attributes),
    ...referencesOf(pdm, relationships),
  });
}

export function patchStyle(pdm: Pdm, id: string, body: unknown): void {
  if (!pdm.style(id)) throw notFound('style', id);
  const { data } = parseBody(stylePatchBody, body);
  requireSameId(id, data.id);
  pdm.changeStyle(id, {
    ...given(data.attributes ?? {}),
    ...referencesOf(pdm, data.relationships ?? {}),
  });
}

export function createName(pdm: Pdm, type: NamedType, body: unknown): string {
  return pdm.addName(type, parseBody(nameCreateBody(type), body).data.attributes.name);
}

export function patchName(pdm: Pdm, type: NamedType, id: string, body: unknown): void {
  if (!pdm.get(type, id)) throw notFound(type, id);
  const { data } = parseBody(namePatchBody(type), body);
  requireSameId(id, data.id);
  if (data.attributes?.name !== undefined) pdm.changeName(type, id, data.attributes.name);
}

export function removeName(pdm: Pdm, type: NamedType, id: string): void {
  if (!pdm.get(type, id)) throw notFound(type, id);
  pdm.removeName(type, id);
}
