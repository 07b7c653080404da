import type { VmRolloutStrategy } from '../../api/pool/pool.ts';

/** What drover keeps of the cluster's KubeVirt object. */
export interface KubeVirtView {
  /** `spec.configuration.vmRolloutStrategy`; null if unset. */
  strategy: VmRolloutStrategy | null;
  /** Feature gates that it turns on and off. */
  gates: { on: readonly string[]; off: readonly string[] };
  /** Its `workloadUpdateMethods`. */
  methods: readonly string[];
  /** `status.observedKubeVirtVersion`, such as `v1.8.0`; null if KubeVirt has not reported it. */
  version: string | null;
  /** `spec.configuration.migrations.nodeDrainTaintKey`; null if unset. */
  drainTaint: string | null;
}
