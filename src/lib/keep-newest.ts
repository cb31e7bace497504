/** Drops the oldest entries of a map beyond `max`, so that outsiders cannot make it grow. */
export function keepNewest(map: Map<string, unknown>, max: number): void {
  for (const key of map.keys()) {
    if (map.size <= max) return;
    map.delete(key);
  }
}
