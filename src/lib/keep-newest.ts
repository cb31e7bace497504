/** Forgets the oldest entries of a map beyond `max`: outsiders must not make it grow. */
export function keepNewest(map: Map<string, unknown>, max: number): void {
  for (const key of map.keys()) {
    if (map.size <= max) return;
    map.delete(key);
  }
}
