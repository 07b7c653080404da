import { listed } from '../../api/lib/listed.ts';
import type { Stored } from '../../api/objects.ts';
import type { Disruption, OutdatedPods, VmRolloutStrategy, VmTemplate } from '../../api/pool/pool.ts';
import { KubeVirts } from '../../api/resources.ts';
import { updateRules } from '../../api/rules/pool-defaults.ts';
import { kubevirtView, type KubeVirt } from '../../decisions/from-object/kubevirt.ts';
import { refers } from '../../decisions/template/references.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import {
  disruptionBetween,
  exceeds,
  PLUGS_ALL,
  startsOrStops,
  type KubeVirtPlugs,
} from '../../decisions/vm-update/disruption.ts';
import { POD_PARTS, podPartsBetween } from '../../decisions/vm-update/pod-part.ts';
import { plugsOf, strategyOf } from '../../decisions/vm-update/vm-rollout-strategy.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreKubeError } from '../../kubernetes/errors.ts';
import { expandVmSpec } from '../../kubernetes/expand-vm-spec.ts';

const MEANINGS: Record<Disruption, string> = {
  None: 'no VMI is touched',
  Live: 'VMIs take it while they run',
  Restart: 'VMIs are restarted',
  Replace: 'VMs are replaced, and their disks with them',
};

/** What KubeVirt makes of a change of a pool's template while VMs run. */
export interface LiveRules {
  /** The pool's vmRolloutStrategy, or else the cluster's; null if that can't be read. */
  strategy: VmRolloutStrategy | null;
  plugs: KubeVirtPlugs;
}

/** Returns what KubeVirt does to VMs that run; its defaults if the user may not read that. */
export async function kubevirtRules(kube: KubeClient): Promise<LiveRules> {
  const listed = await ignoreKubeError(kube.list<KubeVirt>(KubeVirts));
  if (listed === undefined) return { strategy: null, plugs: PLUGS_ALL };
  const [kubevirt] = listed.items;
  const view = kubevirt && kubevirtView(kubevirt);
  return { strategy: strategyOf(view), plugs: plugsOf(view) };
}

/** Returns the rules of a pool, which may have its own. */
async function liveRulesOf(kube: KubeClient, { spec }: Pool): Promise<LiveRules> {
  if (spec.vmRolloutStrategy === 'Stage') return { strategy: 'Stage', plugs: PLUGS_ALL };
  const rules = await kubevirtRules(kube);
  return { ...rules, strategy: spec.vmRolloutStrategy ?? rules.strategy };
}

/** Says in one line how disruptive a change of a pool's template is, and whether the pool allows that. */
export async function disruptionOf(
  kube: KubeClient,
  pool: Stored<Pool>,
  from: VmTemplate,
  to: VmTemplate,
): Promise<string> {
  const { namespace } = pool.metadata;
  const all = [from, to].map((template) => expanded(kube, namespace!, template));
  const [rules, before, after] = await Promise.all([liveRulesOf(kube, pool), ...all]);
  return formatDisruption(pool, before ?? from, after ?? to, rules);
}

/**
 * The template with what its instance type and preference stand for; undefined if it has none, or KubeVirt does not
 * tell.
 */
async function expanded(kube: KubeClient, namespace: string, template: VmTemplate): Promise<VmTemplate | undefined> {
  if (!refers(template)) return undefined;
  const spec = await ignoreKubeError(expandVmSpec(kube, namespace, template.spec));
  return spec && { ...template, spec: spec as VmTemplate['spec'] };
}

/** Says in one line how disruptive the change from one template to the other is, and whether the pool allows that. */
export function formatDisruption(pool: Pool, from: VmTemplate, to: VmTemplate, { strategy, plugs }: LiveRules): string {
  const power = startsOrStops(from, to) ? '; KubeVirt starts or stops VMs for it' : '';
  const disruptions = (strategy === null ? (['LiveUpdate', 'Stage'] as const) : [strategy]).map((one) =>
    disruptionBetween(from, to, one, plugs),
  );
  const [disruption, otherwise] = disruptions;
  const pods = exceeds(disruption!, 'Live') ? '' : formatLater(pool, from, to);
  if (otherwise === undefined || otherwise === disruption) return `${meaningOf(pool, disruption!)}${power}${pods}`;
  return `${meaningOf(pool, disruption!)}, or under vmRolloutStrategy Stage ${meaningOf(pool, otherwise)}${power}${pods}`;
}

/** What a VMI that runs has in its pod only from its next start or migration on. */
function formatLater({ spec }: Pool, from: VmTemplate, to: VmTemplate): string {
  const parts = podPartsBetween(from, to).map((part) => POD_PARTS[part]);
  if (parts.length === 0) return '';
  const rules = updateRules(spec.updateStrategy);
  const how = rules.kind === 'proactive' ? NEW_PODS[rules.outdatedPods] : undefined;
  const isLater = how === undefined || rules.kind !== 'proactive' || exceeds(how.disruption, rules.disruption);
  return `; pods get the ${listed(parts)} ${isLater ? 'at their next start or migration' : how.text}`;
}

/** How pods are made again, and the least that this does to a VM. */
const NEW_PODS: Partial<Record<OutdatedPods, { text: string; disruption: Disruption }>> = {
  Migrate: { text: 'by a migration of each VM', disruption: 'Live' },
  MigrateOrRestart: { text: 'by a migration of each VM, or a restart', disruption: 'Live' },
  Restart: { text: 'by a restart of each VM', disruption: 'Restart' },
};

function meaningOf({ spec }: Pool, disruption: Disruption): string {
  const rules = updateRules(spec.updateStrategy);
  const meaning = `${disruption}: ${MEANINGS[disruption]}`;
  if (rules.kind === 'unmanaged') return `${meaning}, by users, as updateStrategy says`;
  if (rules.kind === 'opportunistic') return `${meaning}, once they stop by themselves, as updateStrategy says`;
  return exceeds(disruption, rules.disruption)
    ? `${meaning}, but the pool allows no more than ${rules.disruption}`
    : meaning;
}
