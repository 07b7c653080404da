import type { VmRolloutStrategy } from '../../api/pool/pool.ts';
import type { KubeVirtView } from '../views/kubevirt.ts';
import { PLUGS_ALL, type KubeVirtPlugs } from './disruption.ts';

/**
 * Returns the effective strategy: the cluster's, or else the default of its KubeVirt version (LiveUpdate since v1.6.0).
 * Before v1.5.0 KubeVirt changes nothing in a running VMI without its feature gate, and before v1.2.0 it has no such
 * strategy.
 */
export function strategyOf(kubevirt: KubeVirtView | undefined): VmRolloutStrategy {
  const hasGate = kubevirt?.gates.on.includes('VMLiveUpdateFeatures') === true;
  if (isBefore(kubevirt, 1_002) || (isBefore(kubevirt, 1_005) && !hasGate)) return 'Stage';
  return kubevirt?.strategy ?? (isBefore(kubevirt, 1_006) ? 'Stage' : 'LiveUpdate');
}

/**
 * Returns what KubeVirt does to VMIs that run. It migrates them only if its `workloadUpdateMethods` say `LiveMigrate`,
 * and plugs volumes by its feature gate `DeclarativeHotplugVolumes`, on by default since v1.9.0, unless the older
 * `HotplugVolumes` is on. Of a cluster without a KubeVirt object nothing is known, and all is assumed.
 */
export function plugsOf(kubevirt: KubeVirtView | undefined): KubeVirtPlugs {
  if (kubevirt === undefined) return PLUGS_ALL;
  const { gates, methods } = kubevirt;
  const isOn = gates.on.includes(VOLUMES) || (!gates.off.includes(VOLUMES) && !isBefore(kubevirt, 1_009));
  return { migrates: methods.includes('LiveMigrate'), volumes: isOn && !gates.on.includes('HotplugVolumes') };
}

const VOLUMES = 'DeclarativeHotplugVolumes';

/** Reports whether KubeVirt is older; `version` is its major times 1,000, plus its minor. An unknown one is not. */
function isBefore(kubevirt: KubeVirtView | undefined, version: number): boolean {
  const [, major, minor] = /^v?(\d+)\.(\d+)\./.exec(kubevirt?.version ?? '') ?? [];
  return major !== undefined && minor !== undefined && Number(major) * 1_000 + Number(minor) < version;
}
