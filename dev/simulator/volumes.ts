import type { InstanceSpec } from './types.ts';

/** Names of the claims that a guest's volumes need, a DataVolume's claim having its name. */
export function claimsOf(spec: InstanceSpec): string[] {
  const names: string[] = [];
  for (const { persistentVolumeClaim, dataVolume } of spec.volumes ?? []) {
    if (persistentVolumeClaim !== undefined) names.push(persistentVolumeClaim.claimName);
    if (dataVolume !== undefined) names.push(dataVolume.name);
  }
  return names;
}

export const dataVolumesOf = (spec: InstanceSpec): string[] =>
  (spec.volumes ?? []).flatMap(({ dataVolume }) => dataVolume?.name ?? []);
