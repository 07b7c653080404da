import { cancellationSignal } from '@temporalio/activity';
import { askedByStamp } from '../../api/asked-by.ts';
import { ASKED_BY_ANNOTATION, CHANGE_CAUSE_ANNOTATION, MACHINE_TYPE_TRANSITION_ANNOTATION } from '../../api/names.ts';
import { field, isObject } from '../../decisions/json.ts';
import { poolStand, templateTypeOf } from '../../decisions/machine-types/pool-stand.ts';
import { recordOf } from '../../decisions/machine-types/record.ts';
import type { TransitionRecord } from '../../decisions/machine-types/transition.ts';
import { revisionOf } from '../../decisions/revision.ts';
import { later, type Seen } from '../../decisions/versions.ts';
import type { StoredPool } from '../../decisions/vm-from-template.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isNotFound, isTransient, KubeError } from '../../kubernetes/errors.ts';
import type { KubeObject } from '../../kubernetes/objects.ts';
import { VirtualMachinePools } from '../../kubernetes/resources.ts';
import { recordEvent } from '../events.ts';
import type { Fleet } from '../fleet.ts';
import type { Unpatched } from './patch-hand.ts';
import type { Scene } from './scene.ts';
import { POOL_MACHINE_TYPE, typePatch, type Operation } from './type-patch.ts';

export interface ChangedPools {
  /** Of the pools that were not changed, each as `pool namespace/name`. */
  outcomes: Unpatched[];
  seen: Seen;
}

/** Changes the machine type in the templates of these pools, each only where it still is what it was: the pools bring their VMs to it. */
export async function changePools(client: KubeClient, fleet: Fleet, { rules, picture }: Scene, keys: readonly string[]): Promise<ChangedPools> {
  const outcomes: Unpatched[] = [];
  let newest: string | undefined;
  for (const key of keys) {
    const pool = fleet.pools.get(key);
    const stand = pool && poolStand(rules, { pool, vms: () => fleet.ownedBy(pool.metadata.uid) }, picture);
    if (pool === undefined || stand?.stand !== 'change') continue;
    const from = templateTypeOf(pool);
    const record: TransitionRecord = { id: rules.ref.id, from: from ?? '', to: stand.to ?? '', guest: null, at: new Date().toISOString() };
    const { uid, annotations } = pool.metadata;
    const before = { uid, machineType: from, labelled: true, annotated: annotations !== undefined, mark: null, record: annotations?.[MACHINE_TYPE_TRANSITION_ANNOTATION] ?? null };
    try {
      const patch = [...typePatch(before, { machineType: stand.to, record }, POOL_MACHINE_TYPE), ...stamps(pool, stand.to, rules)];
      const written = await client.patch(VirtualMachinePools, pool.metadata, 'json', patch, { signal: cancellationSignal() });
      newest = later(newest, written.metadata.resourceVersion);
      await recordEvent(client, pool, eventOf(record, rules.transition.askedBy));
    } catch (error) {
      if (!(error instanceof KubeError) || isTransient(error)) throw error;
      const outcome = await outcomeOf(client, pool, record, error);
      if (outcome !== null) outcomes.push({ vm: `pool ${key}`, ...outcome });
    }
  }
  return { outcomes, seen: { pools: newest } };
}

/** What the rollout of the new template tells of it: who asked for it, and why. What stands there is of the template before. */
function stamps({ spec }: StoredPool, to: string | null, { ref: { id }, transition: { askedBy, reason } }: Scene['rules']): Operation[] {
  const template = structuredClone(spec.template);
  const machine = field(template, 'spec', 'template', 'spec', 'domain', 'machine');
  if (!isObject(machine)) return [];
  if (to === null) delete machine['type'];
  else machine['type'] = to;
  const cause = `machine type transition ${id}${reason === null ? '' : `: ${reason}`}`;
  const said = { [ASKED_BY_ANNOTATION]: askedByStamp(askedBy, revisionOf(template)), [CHANGE_CAUSE_ANNOTATION]: cause };
  return Object.entries(said).map(([key, value]) => ({ op: 'add', path: `/metadata/annotations/${key.replace('/', '~1')}`, value }));
}

/** Null where it is done, by an attempt that nobody has heard of, or there is nothing to do it to. */
async function outcomeOf(client: KubeClient, pool: StoredPool, { id, from }: TransitionRecord, error: KubeError): Promise<Omit<Unpatched, 'vm'> | null> {
  const live = (await orNothing(client.get<KubeObject>(VirtualMachinePools, pool.metadata, { signal: cancellationSignal() }))) as StoredPool | undefined;
  if (live === undefined || live.metadata.uid !== pool.metadata.uid || recordOf(live.metadata.annotations)?.id === id) return null;
  const isOther = (templateTypeOf(live) ?? '') !== from;
  return isOther ? { end: 'Changed', why: 'somebody has changed the type in its template meanwhile' } : { end: 'Failed', why: `its template could not be changed: ${error.message}` };
}

const orNothing = <T>(call: Promise<T>): Promise<T | undefined> =>
  call.catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });

const eventOf = ({ from, to }: TransitionRecord, askedBy: string) => ({
  type: 'Normal' as const,
  reason: 'MachineTypeChanged',
  action: 'ChangeMachineType',
  note: `Changed the machine type of the template from ${from || 'none'} to ${to || "the cluster's default"}, asked for by ${askedBy}`,
});
