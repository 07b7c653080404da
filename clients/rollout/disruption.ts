import { updateRules } from '../../api/pool-defaults.ts';
import type { VmRolloutStrategy, VmTemplate, Disruption } from '../../api/pool/pool.ts';
import { KubeVirts } from '../../api/resources.ts';
import { kubevirtView, type KubeVirt } from '../../decisions/views/from-object/kubevirt.ts';
import { disruptionBetween, exceeds, startsOrStops } from '../../decisions/vm-update/disruption.ts';
import { strategyOf } from '../../decisions/vm-update/vm-rollout-strategy.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import type { Pool } from '../pool/objects.ts';

const MEANINGS: Record<Disruption, string> = {
  None: 'no VMI is touched',
  Live: 'VMIs take it while they run',
  Restart: 'VMIs are restarted',
  Replace: 'VMs are replaced, and their disks with them',
};

/** The pool's vmRolloutStrategy, or else the cluster's; null if that can't be read. */
export async function rolloutStrategyOf(kube: KubeClient, { spec }: Pool): Promise<VmRolloutStrategy | null> {
  if (spec.vmRolloutStrategy !== undefined) return spec.vmRolloutStrategy;
  try {
    const [kubevirt] = (await kube.list<KubeVirt>(KubeVirts)).items;
    return strategyOf(kubevirt && kubevirtView(kubevirt));
  } catch (error) {
    if (error instanceof KubeError) return null;
    throw error;
  }
}

/** Says in one line how disruptive the change from one template to the other is, and whether the pool allows that. */
export function formatDisruption(
  pool: Pool,
  from: VmTemplate,
  to: VmTemplate,
  strategy: VmRolloutStrategy | null,
): string {
  const power = startsOrStops(from, to) ? '; KubeVirt starts or stops VMs for it' : '';
  const disruptions = (strategy === null ? (['LiveUpdate', 'Stage'] as const) : [strategy]).map((one) =>
    disruptionBetween(from, to, one),
  );
  const [disruption, otherwise] = disruptions;
  if (otherwise === undefined || otherwise === disruption) return `${meaningOf(pool, disruption!)}${power}`;
  return `${meaningOf(pool, disruption!)}, or under vmRolloutStrategy Stage ${meaningOf(pool, otherwise)}${power}`;
}

function meaningOf({ spec }: Pool, disruption: Disruption): string {
  const rules = updateRules(spec.updateStrategy);
  const meaning = `${disruption}: ${MEANINGS[disruption]}`;
  if (rules.kind === 'unmanaged') return `${meaning}, by people, as updateStrategy says`;
  if (rules.kind === 'opportunistic') return `${meaning}, once they stop by themselves, as updateStrategy says`;
  return exceeds(disruption, rules.disruption)
    ? `${meaning}, but the pool allows no more than ${rules.disruption}`
    : meaning;
}
