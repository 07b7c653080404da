import type { KubeObject } from '../../api/objects.ts';
import type { VmRolloutStrategy } from '../../api/pool/pool.ts';
import type { KubeVirtView } from '../views/kubevirt.ts';

/** The fields of the KubeVirt object, which holds the cluster's configuration, that drover reads. */
export interface KubeVirt extends KubeObject {
  spec?: {
    configuration?: {
      vmRolloutStrategy?: VmRolloutStrategy | null;
      evictionStrategy?: string;
      migrations?: { nodeDrainTaintKey?: string | null };
      developerConfiguration?: { featureGates?: string[] | null; disabledFeatureGates?: string[] | null };
    };
    workloadUpdateStrategy?: { workloadUpdateMethods?: string[] | null };
  };
  status?: { observedKubeVirtVersion?: string };
}

export function kubevirtView({ spec, status }: KubeVirt): KubeVirtView {
  const { vmRolloutStrategy, developerConfiguration: { featureGates, disabledFeatureGates } = {} } =
    spec?.configuration ?? {};
  return {
    strategy: vmRolloutStrategy ?? null,
    gates: { on: featureGates ?? [], off: disabledFeatureGates ?? [] },
    methods: spec?.workloadUpdateStrategy?.workloadUpdateMethods ?? [],
    version: status?.observedKubeVirtVersion ?? null,
    drainTaint: spec?.configuration?.migrations?.nodeDrainTaintKey ?? null,
  };
}
