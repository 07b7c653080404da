import { REQUESTED_BY_ANNOTATION, CHANGE_CAUSE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { requesterAnnotation } from '../../api/requested-by.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import { field, isObject, type Json } from '../../decisions/lib/json.ts';
import { later, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { poolTransitionState, templateTypeOf } from '../../decisions/machine-types/pool-state.ts';
import { typePatch, type TypePatch } from '../../decisions/machine-types/type-patch.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import { recordOf, type TransitionRecord } from '../../decisions/views/annotations/transition-record.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict, isRefusal } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { recordEvent, type PoolEvent } from '../lib/events.ts';
import { livePool } from '../owners/live-owner.ts';
import type { TransitionContext } from './context.ts';
import { nameIn, type TypeChanges, type Unpatched } from './patch-vms.ts';

export interface ChangedPools {
  /** Outcomes of the pools that were not changed, each named as `pool namespace/name`. */
  outcomes: Unpatched[];
  /** What was changed, for `drover history`. */
  changes: TypeChanges[];
  minVersions: ResourceVersions;
}

/**
 * Changes the machine type in the templates of these pools, each only if it is still what it was. The pools then bring
 * their VMs to it.
 */
export async function patchPoolTemplates(
  client: KubeClient,
  cache: ClusterCache,
  context: TransitionContext,
  keys: readonly string[],
): Promise<ChangedPools> {
  const { authority, rules, snapshot } = context;
  const outcomes: Unpatched[] = [];
  const changes: TypeChanges[] = [];
  let newest: string | undefined;
  for (const key of keys) {
    const pool = cache.pools.get(key);
    const state =
      pool &&
      poolTransitionState(rules, { pool, vms: () => cache.vms.ownedBy('VirtualMachinePool', pool.metadata) }, snapshot);
    if (pool === undefined || state?.state !== 'change' || authority.whyNotNow() !== null) continue;
    const from = templateTypeOf(pool);
    const record: TransitionRecord = {
      id: rules.ref.id,
      ...nameIn(context),
      from: from ?? '',
      to: state.to ?? '',
      vmiType: null,
      at: new Date().toISOString(),
    };
    try {
      const patch = templatePatch(pool, state.to, record, context);
      const written = await client.patch(VirtualMachinePools, pool.metadata, 'merge', patch);
      newest = later(newest, written.metadata.resourceVersion);
      changes.push({ from, to: state.to, vms: [`pool ${key}`] });
      await recordEvent(client, pool.metadata, eventOf(record, rules.transition.requestedBy));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const live = await livePool(client, pool.metadata);
      newest = later(newest, live?.metadata.resourceVersion);
      const outcome = live === undefined ? null : outcomeOf(pool, live, { id: record.id, error });
      if (outcome !== null) outcomes.push({ vm: `pool ${key}`, ...outcome });
    }
  }
  return { outcomes, changes, minVersions: { pools: newest } };
}

/**
 * Returns the patch of the pool in the version that was read. Annotations tell the new template's rollout who asked for
 * it, and why: the existing ones are about the previous template.
 */
function templatePatch(
  { metadata, spec }: StoredPool,
  to: string | null,
  record: TransitionRecord,
  context: TransitionContext,
): TypePatch {
  const { spec: vm, metadata: changed } = typePatch(metadata, { machineType: to, record });
  const template = structuredClone(poolTemplate(spec));
  const domain = field(template, 'spec', 'template', 'spec', 'domain');
  const { type: _type, ...machine } = (field(domain, 'machine') ?? {}) as Json;
  if (isObject(domain)) domain['machine'] = to === null ? machine : { ...machine, type: to };
  const { requestedBy, reason } = context.rules.transition;
  const { by = context.rules.ref.id } = nameIn(context);
  const annotations = {
    ...changed.annotations,
    [REQUESTED_BY_ANNOTATION]: requesterAnnotation(requestedBy, revisionOf(template)),
    [CHANGE_CAUSE_ANNOTATION]: `machine type transition ${by}${reason === null ? '' : `: ${reason}`}`,
  };
  return { metadata: { ...changed, annotations }, spec: { template: { spec: vm } } };
}

/**
 * Returns null if an earlier attempt whose result was lost has done it, or if it is to be tried again because a
 * concurrent write did not touch the type.
 */
function outcomeOf(
  pool: StoredPool,
  live: StoredPool,
  { id, error }: { id: string; error: Error },
): Omit<Unpatched, 'vm'> | null {
  if (recordOf(live.metadata.annotations)?.id === id) return null;
  if (templateTypeOf(live) !== templateTypeOf(pool))
    return { end: 'Changed', message: 'the type in its template was changed meanwhile' };
  return isConflict(error) ? null : { end: 'Failed', message: `its template could not be changed: ${error.message}` };
}

const eventOf = ({ from, to }: TransitionRecord, requestedBy: string): PoolEvent => ({
  type: 'Normal',
  reason: 'MachineTypeChanged',
  action: 'ChangeMachineType',
  note: `Changed the machine type of the template from ${from || 'none'} to ${to || "the cluster's default"}, requested by ${requestedBy}`,
});
