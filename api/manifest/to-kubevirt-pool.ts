import { NOT_YET_RUN_ANNOTATION } from '../labels-and-annotations.ts';
import { isZero, type IntOrPercent } from '../lib/int-or-percent.ts';
import type { LabelSelector, PoolSpec, SelectionPolicy } from '../pool/pool.ts';
import { DEFAULT_REPLICAS } from '../rules/pool-defaults.ts';
import type { KubeVirtPoolSpec, KubeVirtSelectionPolicy } from './kubevirt-pool-schema.ts';

/** The label of VMs in a KubeVirt pool whose template has none: KubeVirt's pools need a selector. */
const KUBEVIRT_POOL_LABEL = 'kubevirt.io/vmpool';

/** Returns drover's pool as KubeVirt would have it. The notes say what KubeVirt has no words for. */
export function toKubeVirtPool(name: string, spec: PoolSpec): { spec: KubeVirtPoolSpec; notes: string[] } {
  const notes: string[] = [];
  const { replicas = DEFAULT_REPLICAS, template, nameGeneration, autohealing, paused = false } = spec;
  const selector = selectorOf(name, spec);
  const labels = { ...template.metadata?.labels, ...selector.matchLabels };
  const { [NOT_YET_RUN_ANNOTATION]: _, ...annotations } = template.metadata?.annotations ?? {};
  const maxUnavailable = leastUnavailable(spec, notes);
  for (const field of ['maxSurge', 'rollout', 'vmRolloutStrategy', 'revisionHistoryLimit'] as const)
    if (spec[field] !== undefined) notes.push(`spec.${field} is left out: KubeVirt's pools have nothing like it`);
  return {
    spec: {
      replicas,
      selector,
      virtualMachineTemplate: { ...template, metadata: { ...template.metadata, labels, annotations } },
      maxUnavailable,
      paused,
      ...(nameGeneration && {
        nameGeneration: {
          appendIndexToSecretRefs: nameGeneration.appendPostfixToSecretReferences ?? false,
          appendIndexToConfigMapRefs: nameGeneration.appendPostfixToConfigMapReferences ?? false,
        },
      }),
      ...updateStrategy(spec, notes),
      ...scaleInStrategy(spec, notes),
      ...(autohealing && { autohealing: healing(autohealing, notes) }),
    },
    notes,
  };
}

/** Without extra VMs, at least one VM must go down. */
function leastUnavailable({ maxUnavailable = '25%' }: PoolSpec, notes: string[]): IntOrPercent {
  if (!isZero(maxUnavailable)) return maxUnavailable;
  notes.push("spec.maxUnavailable: 1, since KubeVirt's pools make no extra VMs");
  return 1;
}

function selectorOf(name: string, { selector, template }: PoolSpec): LabelSelector {
  if (selector !== undefined && Object.keys(selector).length > 0) return selector;
  const { labels = {} } = template.metadata ?? {};
  return { matchLabels: Object.keys(labels).length > 0 ? labels : { [KUBEVIRT_POOL_LABEL]: name } };
}

function updateStrategy({ updateStrategy: strategy }: PoolSpec, notes: string[]): Partial<KubeVirtPoolSpec> {
  if (strategy === undefined) return {};
  if (strategy.proactive === undefined)
    return { updateStrategy: strategy as KubeVirtPoolSpec['updateStrategy'] & object };
  const { selectionPolicy, disruption, drift } = strategy.proactive;
  if (disruption !== undefined)
    notes.push('spec.updateStrategy.proactive.disruption is left out: KubeVirt restarts, or replaces, what it has to');
  if (drift === 'Correct')
    notes.push('spec.updateStrategy.proactive.drift is left out: KubeVirt keeps what users change in VMs');
  return {
    updateStrategy: {
      proactive:
        selectionPolicy === undefined ? {} : { selectionPolicy: policy(selectionPolicy, 'updateStrategy', notes) },
    },
  };
}

function scaleInStrategy({ scaleInStrategy: strategy }: PoolSpec, notes: string[]): Partial<KubeVirtPoolSpec> {
  if (strategy === undefined) return {};
  if (strategy.proactive === undefined)
    return { scaleInStrategy: strategy as KubeVirtPoolSpec['scaleInStrategy'] & object };
  const { selectionPolicy, statePreservation } = strategy.proactive;
  return {
    scaleInStrategy: {
      proactive: {
        ...(selectionPolicy && { selectionPolicy: policy(selectionPolicy, 'scaleInStrategy', notes) }),
        ...(statePreservation && { statePreservation }),
      },
    },
  };
}

/** In KubeVirt a selector would keep all other VMs from ever being taken. */
function policy(
  { orderedPolicies, basePolicy }: SelectionPolicy,
  where: string,
  notes: string[],
): KubeVirtSelectionPolicy {
  if (orderedPolicies !== undefined && orderedPolicies.length > 0)
    notes.push(`spec.${where}: orderedPolicies are left out: KubeVirt would never take other VMs`);
  return basePolicy === undefined ? {} : { sortPolicy: basePolicy };
}

function healing(
  { startupFailureThreshold, minFailingToStartDuration, ...others }: NonNullable<PoolSpec['autohealing']>,
  notes: string[],
): NonNullable<KubeVirtPoolSpec['autohealing']> {
  const omitted = Object.keys(others).map((key) => `spec.autohealing.${key}`);
  if (omitted.length > 0) notes.push(`${omitted.join(', ')}: left out, KubeVirt heals without it`);
  notes.push('spec.autohealing: KubeVirt deletes the disks of every VM that it replaces');
  return {
    ...(startupFailureThreshold === undefined ? {} : { startUpFailureThreshold: startupFailureThreshold }),
    ...(minFailingToStartDuration === undefined ? {} : { minFailingToStartDuration }),
  };
}
