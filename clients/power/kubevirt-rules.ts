import { KubeVirts } from '../../api/resources.ts';
import { kubevirtView, type KubeVirt } from '../../decisions/views/from-object/kubevirt.ts';
import { PLUGS_ALL } from '../../decisions/vm-update/disruption.ts';
import { plugsOf, strategyOf } from '../../decisions/vm-update/vm-rollout-strategy.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';

/** Returns what KubeVirt does to VMs that run; its defaults if the user may not read that. */
export async function kubevirtRules(kube: KubeClient) {
  try {
    const [kubevirt] = (await kube.list<KubeVirt>(KubeVirts)).items;
    const view = kubevirt && kubevirtView(kubevirt);
    return { strategy: strategyOf(view), plugs: plugsOf(view) };
  } catch (error) {
    if (error instanceof KubeError) return { strategy: strategyOf(undefined), plugs: PLUGS_ALL };
    throw error;
  }
}
