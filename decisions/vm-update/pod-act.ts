import type { UpdateRules } from '../../api/rules/pool-defaults.ts';
import { canBeMigrated, type VmiView } from '../views/vmi.ts';
import { exceeds } from './disruption.ts';

/** How a VMI gets a new pod. */
export type PodAct = 'migrate' | 'restart';

/** Returns how a VMI whose pod lacks something gets a new one; null if the pool leaves that to others. */
export function podActOf(vmi: VmiView, rules: UpdateRules): PodAct | null {
  if (rules.kind !== 'proactive' || rules.outdatedPods === 'Report') return null;
  const { outdatedPods, disruption } = rules;
  if (outdatedPods !== 'Restart' && !exceeds('Live', disruption) && canBeMigrated(vmi)) return 'migrate';
  return outdatedPods !== 'Migrate' && !exceeds('Restart', disruption) ? 'restart' : null;
}

/** Completes a sentence on a pod that lacks something: why its pool, which gives VMs new pods, gives it none. */
export function whyPodStays(vmi: VmiView, rules: UpdateRules): string {
  if (rules.kind !== 'proactive' || rules.outdatedPods === 'Report' || podActOf(vmi, rules) !== null) return '';
  const mayMigrate = rules.outdatedPods !== 'Restart' && !exceeds('Live', rules.disruption);
  const cannot = mayMigrate && !canBeMigrated(vmi) ? 'KubeVirt cannot migrate it, and ' : '';
  return `: ${cannot}the pool allows no ${mayMigrate || rules.outdatedPods === 'Restart' ? 'restart' : 'migration'} for that`;
}
