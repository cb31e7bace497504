/** Drift meter per V2 resource type, with the values that the contract lists. */
import { createDriftMeter, type DriftMeter } from '../drift.ts';
import type { Included } from './document.ts';
import { type ResourceType, resourceSchemas } from './resources.ts';

export function v2DriftMeter(type: ResourceType): DriftMeter {
  const values = type === 'styleColor' ? { 'attributes.noosType': ['none', 'noos'] } : {};
  return createDriftMeter(resourceSchemas[type], values);
}

/** Drift of a page's `included`: name → occurrences. */
export function driftOfIncluded({ wasArray, unknownTypes }: Included): ReadonlyMap<string, number> {
  const types = [...unknownTypes].map(([type, count]) => [`included.${type}`, count] as const);
  return new Map([...(wasArray ? [['included=array', 1] as const] : []), ...types]);
}
