/** The members of a pool or a set, by what they do. */
export interface OwnerCounts {
  wanted: number;
  present: number;
  ready: number;
  /** By KubeVirt's printable status. */
  byState: Record<string, number>;
}

export function byState(vms: readonly { state: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { state } of vms) counts[state || 'New'] = (counts[state || 'New'] ?? 0) + 1;
  return counts;
}
