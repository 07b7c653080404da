import type { VmRolloutStrategy } from '../../api/pool/pool.ts';

export type { VmRolloutStrategy };

/** What drover keeps of the cluster's KubeVirt object. */
export interface KubeVirtView {
  /** `spec.configuration.vmRolloutStrategy`; null if unset. */
  strategy: VmRolloutStrategy | null;
  /** Whether its feature gates include `VMLiveUpdateFeatures`. */
  liveUpdateGate: boolean;
  /** `status.observedKubeVirtVersion`, such as `v1.8.0`; null if KubeVirt has not reported it. */
  version: string | null;
}

/**
 * Returns the effective strategy: the cluster's, or else the default of its KubeVirt version (LiveUpdate since v1.6.0).
 * Before v1.5.0 KubeVirt changes nothing in a running VMI without its feature gate, and before v1.2.0 it has no such
 * strategy.
 */
export function strategyOf(kubevirt: KubeVirtView | undefined): VmRolloutStrategy {
  const [, major, minor] = /^v?(\d+)\.(\d+)\./.exec(kubevirt?.version ?? '') ?? [];
  const isBefore = (version: number): boolean =>
    major !== undefined && minor !== undefined && Number(major) * 1_000 + Number(minor) < version;
  if (isBefore(1_002) || (isBefore(1_005) && kubevirt?.liveUpdateGate !== true)) return 'Stage';
  return kubevirt?.strategy ?? (isBefore(1_006) ? 'Stage' : 'LiveUpdate');
}
