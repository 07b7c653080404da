import type { KubeObject } from '../../../api/objects.ts';
import type { VmRolloutStrategy } from '../../../api/pool/pool.ts';
import type { KubeVirtView } from '../../vm-update/vm-rollout-strategy.ts';

/** The fields of the KubeVirt object, which holds the cluster's configuration, that drover reads. */
export interface KubeVirt extends KubeObject {
  spec?: {
    configuration?: {
      vmRolloutStrategy?: VmRolloutStrategy | null;
      evictionStrategy?: string;
      developerConfiguration?: { featureGates?: string[] | null };
    };
  };
  status?: { observedKubeVirtVersion?: string };
}

export const kubevirtView = ({ spec, status }: KubeVirt): KubeVirtView => ({
  strategy: spec?.configuration?.vmRolloutStrategy ?? null,
  liveUpdateGate: spec?.configuration?.developerConfiguration?.featureGates?.includes('VMLiveUpdateFeatures') ?? false,
  version: status?.observedKubeVirtVersion ?? null,
});
