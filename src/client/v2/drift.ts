/** A drift meter for each V2 resource type, with the values that the contract lists. */
import { createDriftMeter, type DriftMeter } from '../drift.ts';
import { type ResourceType, resourceSchemas } from './resources.ts';

export function v2DriftMeter(type: ResourceType): DriftMeter {
  const values = type === 'styleColor' ? { 'attributes.noosType': ['none', 'noos'] } : {};
  return createDriftMeter(resourceSchemas[type], values);
}
