/** Surroundings of a declared read, which the console, a command and a test each have. */
import type { Db } from '../store/store.ts';

export interface Reading {
  readonly db: Db;
  /** Epoch ms when the answer is read. */
  readonly now: number;
}
