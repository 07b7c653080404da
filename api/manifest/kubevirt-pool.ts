import { API_VERSION } from '../labels-and-annotations.ts';
import type { PoolSpec, ScaleInStrategy, SelectionPolicy, StatePreservation, UpdateStrategy } from '../pool/pool.ts';
import { BasePolicy } from '../pool/selection.ts';
import { LIVE_UPDATE_FEATURES } from '../pool/vm-template.ts';
import { check } from './check.ts';
import { withoutKeptByServer } from './kept-by-server.ts';
import { KubeVirtPool, type KubeVirtPoolSpec, type KubeVirtSelectionPolicy } from './kubevirt-pool-schema.ts';
import type { Reader } from './reader.ts';
import { healedDisksNote, templateNotes } from './template-notes.ts';
import { SORT_POLICIES } from './to-kubevirt-pool.ts';
import { withoutVmName } from './vm-name.ts';

/** Reads KubeVirt's own pool as a drover pool. Its notes say how drover's behaviour differs from KubeVirt's. */
export const readKubeVirtPool: Reader = (document, written) => {
  const { object, notes } = withoutKeptByServer(document);
  const nameless = withoutVmName(object, { field: 'virtualMachineTemplate', because: 'the pool names its VMs' }, notes);
  const findings = check(KubeVirtPool, nameless, { written, hint });
  if (findings.length > 0) return { findings };
  const { metadata, spec, apiVersion } = nameless as KubeVirtPool;
  notes.unshift(
    `${apiVersion} is read as ${API_VERSION}: a drover pool, in addition to any KubeVirt pool of that name and its VMs`,
    `VMs are named from ${metadata.name}-1 on; KubeVirt counts from 0`,
  );
  const pool = convert(spec, notes);
  notes.push(...templateNotes(pool.template, pool.replicas, 'pool'));
  return { object: { apiVersion: API_VERSION, kind: 'VirtualMachinePool', metadata, spec: pool }, notes };
};

/** Writes out every default of KubeVirt's that drover doesn't share, so that the pool keeps its behaviour. */
function convert(spec: KubeVirtPoolSpec, notes: string[]): PoolSpec {
  const { replicas, maxUnavailable, nameGeneration, updateStrategy, scaleInStrategy, autohealing, paused, selector } =
    spec;
  if (replicas === undefined) notes.push("spec.replicas: 1, KubeVirt's default, is written out");
  if (maxUnavailable === undefined)
    notes.push("spec.maxUnavailable: 100%, KubeVirt's default, is written out; drover's own is 25%");
  if (paused === true) notes.push('spec.paused: only updates pause; in KubeVirt scaling does too');
  if (autohealing !== undefined) {
    if (autohealing.minFailingToStartDuration === undefined) {
      notes.push(
        "spec.autohealing: VMs are healed by failed starts alone; KubeVirt's 5m of failing counts only if it is set",
      );
    } else {
      notes.push(
        'spec.autohealing: a VM that waits for a node, an image or a claim is not replaced, however long; in KubeVirt it is',
      );
    }
    notes.push(healedDisksNote('KubeVirt'));
  }
  if (spec.virtualMachineTemplate.spec.dataVolumeTemplates !== undefined) {
    notes.push(
      'spec.updateStrategy: a change of dataVolumeTemplates replaces VMs only under proactive.disruption: Replace; in KubeVirt always',
    );
  }
  return {
    replicas: replicas ?? 1,
    template: spec.virtualMachineTemplate,
    maxUnavailable: maxUnavailable ?? '100%',
    ...(nameGeneration && {
      nameGeneration: renamed(nameGeneration, {
        appendIndexToSecretRefs: 'appendPostfixToSecretReferences',
        appendIndexToConfigMapRefs: 'appendPostfixToConfigMapReferences',
      }),
    }),
    ...(updateStrategy && { updateStrategy: convertUpdate(updateStrategy, notes) }),
    ...(scaleInStrategy && { scaleInStrategy: convertScaleIn(scaleInStrategy, notes) }),
    ...(autohealing && { autohealing: renamed(autohealing, { startUpFailureThreshold: 'startupFailureThreshold' }) }),
    ...(paused !== undefined && { paused }),
    selector,
  };
}

function convertUpdate(strategy: NonNullable<KubeVirtPoolSpec['updateStrategy']>, notes: string[]): UpdateStrategy {
  const { proactive } = strategy;
  if (proactive?.selectionPolicy === undefined) return strategy as UpdateStrategy;
  return { proactive: { selectionPolicy: convertSelection(proactive.selectionPolicy, 'spec.updateStrategy', notes) } };
}

function convertScaleIn(strategy: NonNullable<KubeVirtPoolSpec['scaleInStrategy']>, notes: string[]): ScaleInStrategy {
  const { opportunistic, proactive } = strategy;
  const preserved = (
    value: 'Disabled' | 'Offline' | 'Online' | undefined,
  ): { statePreservation?: StatePreservation } => {
    if (value === 'Online')
      notes.push('spec.scaleInStrategy: Online is read as Offline, which is how KubeVirt treats it');
    return value === undefined ? {} : { statePreservation: value === 'Online' ? 'Offline' : value };
  };
  if (opportunistic !== undefined) {
    notes.push(
      'spec.scaleInStrategy: opportunistic removes VMs that are halted; in KubeVirt it removes none by itself',
    );
    return { opportunistic: preserved(opportunistic.statePreservation) };
  }
  if (proactive === undefined) return strategy as ScaleInStrategy;
  const { selectionPolicy, statePreservation } = proactive;
  return {
    proactive: {
      ...(selectionPolicy && { selectionPolicy: convertSelection(selectionPolicy, 'spec.scaleInStrategy', notes) }),
      ...preserved(statePreservation),
    },
  };
}

function convertSelection(
  { sortPolicy, selectors }: KubeVirtSelectionPolicy,
  where: string,
  notes: string[],
): SelectionPolicy {
  const { labelSelector, nodeSelectorRequirementMatcher: matchExpressions } = selectors ?? {};
  const entry = {
    ...(labelSelector && { labelSelector }),
    ...(matchExpressions && { nodeSelector: { matchExpressions } }),
  };
  const hasSelectors = Object.keys(entry).length > 0;
  if (hasSelectors) notes.push(`${where}: VMs that match its selectors come first; KubeVirt never takes any others`);
  return {
    ...(hasSelectors && { orderedPolicies: [entry] }),
    ...(sortPolicy && { basePolicy: BasePolicy.options.find((policy) => SORT_POLICIES[policy] === sortPolicy)! }),
  };
}

function renamed<T extends object, N extends { [K in keyof T]?: string }>(object: T, names: N): Renamed<T, N> {
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => [names[key as keyof T] ?? key, value]),
  ) as Renamed<T, N>;
}
type Renamed<T, N> = { [K in keyof T as K extends keyof N ? N[K] & string : K]: T[K] };

const DROVER_FIELD_NAMES: Record<string, string> = {
  template: 'virtualMachineTemplate',
  appendPostfixToSecretReferences: 'appendIndexToSecretRefs',
  appendPostfixToConfigMapReferences: 'appendIndexToConfigMapRefs',
  basePolicy: 'sortPolicy',
  orderedPolicies: 'selectors',
};

function hint(path: readonly PropertyKey[]): string | undefined {
  const key = String(path.at(-1));
  if (key === 'liveUpdateFeatures') return LIVE_UPDATE_FEATURES;
  const kubeVirtName = Object.hasOwn(DROVER_FIELD_NAMES, key) ? DROVER_FIELD_NAMES[key] : undefined;
  return kubeVirtName === undefined
    ? undefined
    : `unknown field in pool.kubevirt.io, which calls it ${kubeVirtName}; or write apiVersion: ${API_VERSION}`;
}
