import type { VmRolloutStrategy } from '../api/pool.ts';

export type { VmRolloutStrategy };

/** What drover keeps of the cluster's KubeVirt object. */
export interface KubeVirtView {
  /** `spec.configuration.vmRolloutStrategy`; null where it is not set. */
  strategy: VmRolloutStrategy | null;
  /** `status.observedKubeVirtVersion`, such as `v1.8.0`; null where KubeVirt has not said it. */
  version: string | null;
}

/** The strategy that holds: what the cluster says, else what its version of KubeVirt does by itself (LiveUpdate since v1.6.0). */
export function strategyOf(kubevirt: KubeVirtView | undefined): VmRolloutStrategy {
  if (kubevirt?.strategy) return kubevirt.strategy;
  const [, major, minor] = /^v?(\d+)\.(\d+)\./.exec(kubevirt?.version ?? '') ?? [];
  if (major === undefined || minor === undefined) return 'LiveUpdate';
  return Number(major) > 1 || (Number(major) === 1 && Number(minor) >= 6) ? 'LiveUpdate' : 'Stage';
}
