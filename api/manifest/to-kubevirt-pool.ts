import { NOT_YET_RUN_ANNOTATION } from '../labels-and-annotations.ts';
import { isZero, type IntOrPercent } from '../lib/int-or-percent.ts';
import type {
  BasePolicy,
  LabelSelector,
  PoolSpec,
  ScaleInSelectionPolicy,
  ScaleInStrategy,
  UpdateStrategy,
} from '../pool/pool.ts';
import { DEFAULT_REPLICAS } from '../rules/pool-defaults.ts';
import type { KubeVirtPoolSpec, KubeVirtSelectionPolicy } from './kubevirt-pool-schema.ts';

/** The label of VMs in a KubeVirt pool whose template has none: KubeVirt's pools need a selector. */
const KUBEVIRT_POOL_LABEL = 'kubevirt.io/vmpool';

/** Fields that a KubeVirt pool lacks, and what it does instead. The types name each field of the schema once. */
type LeftOut<Fields, Kept extends keyof Fields> = Record<Exclude<keyof Fields, Kept>, string>;

const NOTHING_LIKE_IT = "KubeVirt's pools have nothing like it";

const OF_POOL: LeftOut<
  PoolSpec,
  | 'replicas'
  | 'template'
  | 'maxUnavailable'
  | 'nameGeneration'
  | 'updateStrategy'
  | 'scaleInStrategy'
  | 'autohealing'
  | 'paused'
  | 'selector'
> = {
  maxSurge: NOTHING_LIKE_IT,
  rollout: NOTHING_LIKE_IT,
  vmRolloutStrategy: NOTHING_LIKE_IT,
  revisionHistoryLimit: NOTHING_LIKE_IT,
  drain: 'evictions are for KubeVirt and the template alone',
  standby: NOTHING_LIKE_IT,
};

const OF_UPDATE: LeftOut<NonNullable<UpdateStrategy['proactive']>, 'selectionPolicy'> = {
  disruption: 'KubeVirt restarts, or replaces, what it has to',
  drift: 'KubeVirt keeps what users change in VMs',
  outdatedPods: 'KubeVirt leaves them as they are',
};

const OF_SCALE_IN: LeftOut<NonNullable<ScaleInStrategy['proactive']>, 'selectionPolicy' | 'statePreservation'> = {
  windows: 'KubeVirt removes VMs at any time',
};

const OF_SELECTION: LeftOut<ScaleInSelectionPolicy, 'basePolicy'> = {
  orderedPolicies: 'KubeVirt would never take other VMs',
  spread: 'KubeVirt does not look where VMs run',
};

const WITHOUT_IT = 'KubeVirt heals without it';
const OF_HEALING: LeftOut<
  NonNullable<PoolSpec['autohealing']>,
  'startupFailureThreshold' | 'minFailingToStartDuration'
> = {
  unhealthyAfter: WITHOUT_IT,
  backoff: WITHOUT_IT,
  maxAttempts: WITHOUT_IT,
  maxConcurrent: WITHOUT_IT,
  maxUnhealthy: WITHOUT_IT,
  preserveStorage: 'KubeVirt deletes the disks of every VM that it replaces',
};

function noteLeftOut(where: string, given: object, leftOut: Readonly<Record<string, string>>, notes: string[]): void {
  for (const [field, because] of Object.entries(leftOut))
    if (Object.hasOwn(given, field)) notes.push(`${where}.${field} is left out: ${because}`);
}

/** Returns drover's pool as KubeVirt would have it. The notes say what KubeVirt has no words for. */
export function toKubeVirtPool(name: string, spec: PoolSpec): { spec: KubeVirtPoolSpec; notes: string[] } {
  const notes: string[] = [];
  const { replicas = DEFAULT_REPLICAS, template, nameGeneration, autohealing, paused = false } = spec;
  const selector = selectorOf(name, spec);
  const labels = { ...template.metadata?.labels, ...selector.matchLabels };
  const { [NOT_YET_RUN_ANNOTATION]: _, ...annotations } = template.metadata?.annotations ?? {};
  const maxUnavailable = leastUnavailable(spec, notes);
  noteLeftOut('spec', spec, OF_POOL, notes);
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
  const { selectionPolicy, ...others } = strategy.proactive;
  noteLeftOut('spec.updateStrategy.proactive', others, OF_UPDATE, notes);
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
  const { selectionPolicy, statePreservation, ...others } = strategy.proactive;
  noteLeftOut('spec.scaleInStrategy.proactive', others, OF_SCALE_IN, notes);
  return {
    scaleInStrategy: {
      proactive: {
        ...(selectionPolicy && { selectionPolicy: policy(selectionPolicy, 'scaleInStrategy', notes) }),
        ...(statePreservation && { statePreservation }),
      },
    },
  };
}

function policy(
  { basePolicy, ...others }: ScaleInSelectionPolicy,
  where: string,
  notes: string[],
): KubeVirtSelectionPolicy {
  noteLeftOut(`spec.${where}.proactive.selectionPolicy`, others, OF_SELECTION, notes);
  return basePolicy === undefined ? {} : { sortPolicy: SORT_POLICIES[basePolicy] };
}

/** How KubeVirt calls drover's orders. */
export const SORT_POLICIES = {
  LowestNumber: 'AscendingOrder',
  HighestNumber: 'DescendingOrder',
  Newest: 'Newest',
  Oldest: 'Oldest',
  Random: 'Random',
} as const satisfies Record<BasePolicy, KubeVirtSelectionPolicy['sortPolicy']>;

function healing(
  { startupFailureThreshold, minFailingToStartDuration, ...others }: NonNullable<PoolSpec['autohealing']>,
  notes: string[],
): NonNullable<KubeVirtPoolSpec['autohealing']> {
  noteLeftOut('spec.autohealing', others, OF_HEALING, notes);
  if (others.preserveStorage === undefined) notes.push(`spec.autohealing: ${OF_HEALING.preserveStorage}`);
  return {
    ...(startupFailureThreshold === undefined ? {} : { startUpFailureThreshold: startupFailureThreshold }),
    ...(minFailingToStartDuration === undefined ? {} : { minFailingToStartDuration }),
  };
}
