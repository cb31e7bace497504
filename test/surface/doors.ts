/** The four doors of a house, through each of which every declared act goes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { actPath } from '../../src/console/surface/addresses.ts';
import { tryParseJson } from '../../src/lib/json.ts';
import { localFile } from '../../src/local-api/ask.ts';
import type { ActHead } from '../../src/surface/acts.ts';
import type { Given } from '../../src/surface/given.ts';
import type { Role } from '../../src/surface/roles.ts';
import type { CliHouse } from '../cli/house.ts';
import { type Caller, caller, program, signIn } from '../console/support.ts';

const DOORS = ['page', 'token', 'local', 'command'] as const;
export type Door = (typeof DOORS)[number];

interface Asked {
  readonly given: Given;
  readonly reason?: string;
  readonly dryRun?: boolean;
}

interface Answered {
  /** Code of the refusal; undefined: it was done. */
  readonly code: string | undefined;
  readonly value: unknown;
}

export interface Doors {
  ask(door: Door, act: ActHead, asked: Asked, role?: Role): Promise<Answered>;
}

const problem = z.looseObject({ code: z.string(), message: z.string(), status: z.int() });
const local = z.object({ url: z.string(), token: z.string() });

/** Refusal in an answer of HTTP; programs get problem details. */
function refusalIn(status: number, text: string): string | undefined {
  if (status < 400) return undefined;
  return problem.parse(tryParseJson(text)).code;
}

function dashed(name: string): string {
  return name.replaceAll(/[A-Z]/g, (one) => `-${one.toLowerCase()}`);
}

/** Members of the act in the body; the first of `args` stands in the address. */
function bodyOf(act: ActHead, { given, ...more }: Asked): Given {
  const [first = ''] = act.path.includes('{id}') ? act.args : [];
  const members = Object.entries(given).filter(([name]) => name !== first);
  return { ...Object.fromEntries(members), ...more };
}

function fieldsOf(body: Given): Record<string, string> {
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, String(value)]));
}

function wordsOf(act: ActHead, { given, reason, dryRun }: Asked): string[] {
  const words = (act.command ?? act.name.replace('.', ' ')).split(' ');
  const named = act.args.flatMap((name) =>
    given[name] === undefined ? [] : [String(given[name])],
  );
  const { choice, typed } = act;
  const isSure = typed?.again === true && given[typed.member] !== undefined;
  const elsewhere = new Set([...act.args, choice?.member, isSure ? typed.member : undefined]);
  const rest = Object.entries(given).filter(
    ([name]) => !elsewhere.has(name) && !(name in act.seen.shape),
  );
  const options = rest.flatMap(([name, value]) => {
    if (value === true) return [`--${dashed(name)}`];
    return value === false ? [] : [`--${dashed(name)}`, String(value)];
  });
  const follows = given[choice?.member ?? ''] ?? '';
  const value = choice && `${choice.value}${follows === '' ? '' : `:${follows}`}`;
  const chosen = choice && value !== undefined ? [`--${choice.option}`, value] : [];
  const sure = isSure ? ['--yes'] : [];
  const why = reason === undefined ? [] : ['--reason', reason];
  return [
    ...words,
    ...named,
    ...chosen,
    ...sure,
    ...options,
    ...why,
    ...(dryRun ? ['--dry-run'] : []),
  ];
}

const SESSION_ASKS = 100;

export async function openDoors(house: CliHouse, url: string): Promise<Doors> {
  const people = new Map<string, Caller>();
  const signedIn = { ...house, url };
  let asked = 0;
  /** Sessions are new after a while, because each may change only so much in a minute. */
  const personAt = async (door: 'page' | 'token', role: Role): Promise<Caller> => {
    if (asked % SESSION_ASKS === 0) people.clear();
    asked += 1;
    const key = `${door} ${role}`;
    const isPage = door === 'page';
    const who =
      people.get(key) ??
      (isPage ? await signIn(signedIn, `${role}-page`, role) : await program(signedIn, role));
    people.set(key, who);
    return who;
  };
  const own = local.parse(
    tryParseJson(readFileSync(localFile(join(house.folder, 'data')), 'utf8')),
  );
  const here = caller(own.url, { authorization: `Bearer ${own.token}` });
  const atConsole = async (door: 'page' | 'token', act: ActHead, asked: Asked, role: Role) => {
    const who = await personAt(door, role);
    const body = bodyOf(act, asked);
    const path = actPath(act, asked.given);
    const { status, text, json } =
      door === 'token' ? await who.json(path, body) : await who.form(path, fieldsOf(body));
    if (door === 'token') return { code: refusalIn(status, text), value: json };
    const shown = /<code id="code">([^<]*)<\/code>/.exec(text)?.[1];
    return { code: status < 400 ? undefined : (shown ?? `page.${status}`), value: json ?? text };
  };
  return {
    async ask(door, act, asked, role = 'approver') {
      if (door === 'page' || door === 'token') return atConsole(door, act, asked, role);
      if (door === 'local') {
        const { given, reason = '', dryRun = false } = asked;
        const body = { actor: 'tester', given, reason, dryRun };
        const { status, text, json } = await here.json(`/api/acts/${act.name}`, body);
        return { code: refusalIn(status, text), value: json };
      }
      const said = await house.call(...wordsOf(act, asked), '--json');
      const value = tryParseJson(said.stdout);
      if (said.code === 0) return { code: undefined, value };
      const refused = z.looseObject({ code: z.string() }).safeParse(value).data?.code;
      return { code: refused ?? `exit.${said.code}`, value: said };
    },
  };
}
