/** Facts on delivery windows: their first and last days, from the settings of the rules. */
import { nameKey } from '../../lib/strings.ts';
import type { RuleSet } from '../../rules/rule.ts';
import { daysBetween } from '../calendar.ts';

type Settings = RuleSet['settings'];

interface Bounds {
  readonly from: number;
  readonly to: number;
}

/**
 * Bounds of delivery windows by season and window name; the empty name stands for all windows of
 * the season that are not named.
 */
const known = new WeakMap<Settings, ReadonlyMap<string, Bounds>>();

function keyOf(season: string, delivery: string): string {
  return JSON.stringify([nameKey(season), nameKey(delivery)]);
}

function boundsOf(settings: Settings): ReadonlyMap<string, Bounds> {
  const made =
    known.get(settings) ??
    new Map(
      settings.season_windows.map((window) => [
        keyOf(window.season, window.delivery ?? ''),
        daysBetween(window, settings),
      ]),
    );
  known.set(settings, made);
  return made;
}

/** Beginning and end of a line's delivery window; null if the settings do not name the window. */
export function windowFacts(
  season: string | null,
  delivery: string | null,
  settings: Settings,
): { readonly window_from: number | null; readonly window_to: number | null } {
  const bounds = boundsOf(settings);
  const window =
    season === null
      ? undefined
      : (bounds.get(keyOf(season, delivery ?? '')) ?? bounds.get(keyOf(season, '')));
  return { window_from: window?.from ?? null, window_to: window?.to ?? null };
}
