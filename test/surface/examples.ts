/** What each act can be done with, in the house of the contract test. */
import type { Reference } from '../../src/reference/reference.ts';
import type { Given } from '../../src/surface/given.ts';
import type { CliHouse } from '../cli/house.ts';
import type { Door } from './doors.ts';

export interface ContractHouse extends CliHouse {
  readonly reference: Reference;
}

export interface Example {
  /** Members with which the act can be done now; asked for anew before each door. */
  given(house: ContractHouse, door: Door): Promise<Given>;
  /** Given that names nothing, and the code of the refusal; left out: the act names no thing. */
  readonly nothing?: { readonly given: Given; readonly code: string };
  /** Code of the refusal when the same is asked again; left out: it is done again. */
  readonly again?: string;
  /** Doors that cannot do it, each with the reason. */
  readonly without?: Partial<Readonly<Record<Door, string>>>;
}

export type Examples = Readonly<Record<string, Example>>;
