import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal, log } from '@temporalio/activity';
import { EVENT_REPORTER, NOT_YET_RUN_ANNOTATION, REMOVING_ANNOTATION, REMOVING_TO_HEAL } from '../../api/names.ts';
import type { KubeObject, Stored } from '../../api/objects.ts';
import { withDefaults, type HealingRules } from '../../api/pool-defaults.ts';
import { Events, PersistentVolumeClaims, VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import type { RunNote } from '../../decisions/healing/plan.ts';
import { proofOf } from '../../decisions/healing/proof.ts';
import { healthOf, isLeftAlone } from '../../decisions/healing/sickness.ts';
import type { SickVm } from '../../decisions/healing/state.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { vmView, type VirtualMachine } from '../../decisions/views/vm-from-object.ts';
import { vmiView, type VirtualMachineInstance } from '../../decisions/views/vmi-from-object.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict, isNotFound, isRefusal, KubeError, ignoreNotFound } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { recordEvent, type PoolEvent } from '../lib/events.ts';
import { withHeartbeat } from '../lib/heartbeat.ts';
import { slowStart } from '../lib/slow-start.ts';
import { whileOurs } from '../lib/while-ours.ts';
import { knownPool } from '../pool/live-pool.ts';
import type { PoolKey } from '../pool/types.ts';

/**
 * KubeVirt writes to a VM that fails again and again: this many deletions may meet a VM that has changed since it was
 * read.
 */
const TRIES = 10;
const EVENTS_TOLD = 5;
/** How long a worker waits to learn that a VMI has ended, and how often it checks. */
const BEHIND_MS = 2_000;
const LOOK_AGAIN_MS = 50;

export type Removal =
  /** The VM is terminating or deleted. `events`: what Kubernetes last reported about it, oldest first. */
  | { end: 'Removed'; events: string[]; keptDisks: boolean }
  /** The VM should no longer be replaced. */
  | { end: 'Kept'; why: string }
  /** The API server refuses: because of a policy, a protection, a permission. */
  | { end: 'Refused'; why: string };

export interface HealActivityOptions {
  client: KubeClient;
  cache: ClusterCache;
  /** Concurrent calls to the API server, for one activity. */
  concurrency: number;
  /** Called when a sick VM of this pool is being removed, to be created again. */
  onReplaced?: (pool: PoolKey) => void;
}

export function createHealActivities({ client, cache, concurrency, onReplaced }: HealActivityOptions) {
  return {
    /**
     * Deletes a VM of the pool with its disks, if it is still sick by the pool's current rules; owners are deleted
     * after what they own, so the VM's deletion implies that of its disks. If its disks are to be kept, the VM is
     * halted and marked as leaving instead, and the pool deletes it once its VMI has stopped. `at`: when the removal
     * was asked for, in milliseconds since the epoch.
     */
    removeSickVm: (key: PoolKey, sick: SickVm, at: number): Promise<Removal> =>
      withHeartbeat(() => removeSickVm(key, sick, at)),

    /**
     * Notes on VMs of the pool that they have run well, or which of their starts have failed. A refusal for one VM does
     * not hold up the others.
     */
    async noteRuns(key: PoolKey, notes: RunNote[]): Promise<void> {
      const note = async ({ start, ...vm }: RunNote): Promise<void> => {
        const address = { namespace: key.namespace, name: vm.name };
        const write = async (resourceVersion: string): Promise<void> => {
          const patch = { metadata: { resourceVersion, annotations: { [NOT_YET_RUN_ANNOTATION]: start } } };
          await ignoreNotFound(
            client.patch(VirtualMachines, address, 'merge', patch, { signal: cancellationSignal() }),
          );
        };
        try {
          await whileOurs(client, key, vm, write, { isWanted: () => Promise.resolve(true) });
        } catch (error) {
          if (!isRefusal(error)) throw error;
          log.warn('it could not be noted on a VM whether it has run', {
            vm: `${key.namespace}/${vm.name}`,
            error: error.message,
          });
        }
      };
      await withHeartbeat(() => slowStart(notes, note, { most: concurrency, signal: cancellationSignal() }));
    },

    /** Records the progress of healing as an Event on the pool. */
    async recordHealing(key: PoolKey, event: Omit<PoolEvent, 'action'>): Promise<void> {
      const pool = await poolOf(key);
      if (pool !== undefined) await recordEvent(client, pool, { ...event, action: 'Heal' });
    },
  };

  async function removeSickVm(key: PoolKey, sick: SickVm, at: number): Promise<Removal> {
    const { name, uid } = sick;
    const address = { namespace: key.namespace, name };
    for (let tries = 1; ; tries++) {
      const vm = await ignoreNotFound(
        client.get<VirtualMachine>(VirtualMachines, address, { signal: cancellationSignal() }),
      );
      if (vm === undefined || vm.metadata.uid !== uid) return { end: 'Removed', events: [], keptDisks: false };
      const pool = await poolOf(key);
      const judged = await judge(vm, pool, key, sick, at);
      if (judged.do === 'keep') return { end: 'Kept', why: judged.why };
      if (judged.do === 'nothing')
        return { end: 'Removed', events: await lastEvents(vm), keptDisks: vmView(vm).removing };
      const keepDisks =
        judged.rules.preserveStorage ??
        (sick.holdsData || !(await hasNeverRun(vm, judged)) || (await holdsSomething(vm)));
      try {
        if (!(await isAsJudged(address, judged)) || !(await isDone(() => remove(vm, keepDisks)))) {
          if (tries < TRIES) continue;
          throw new Error(`${name} changes too often to be deleted as it was seen`);
        }
      } catch (error) {
        if (!isRefusal(error)) throw error;
        return { end: 'Refused', why: error.message };
      }
      onReplaced?.(key);
      const note = `Replaces ${name} ${keepDisks ? 'and keeps' : 'with'} its disks (replacement ${sick.attempt}): ${sick.why}`;
      await recordEvent(client, pool!, { type: 'Warning', reason: 'Healing', action: 'Heal', note });
      return { end: 'Removed', events: await lastEvents(vm), keptDisks: keepDisks };
    }
  }

  function poolOf(key: PoolKey): Promise<StoredPool | undefined> {
    return knownPool(client, cache, key, cancellationSignal());
  }

  /** Checks again right before acting: the plan may be old. */
  async function judge(
    vm: Stored<VirtualMachine>,
    pool: StoredPool | undefined,
    key: PoolKey,
    sick: SickVm,
    at: number,
  ): Promise<Judgement> {
    const view = vmView(vm);
    if (view.owner?.uid !== key.uid) return { do: 'keep', why: 'it has left the pool' };
    if (view.deleting || view.removing) return { do: 'nothing' };
    const spec = pool === undefined || pool.metadata.deletionTimestamp !== undefined ? null : withDefaults(pool.spec);
    const rules = spec?.autohealing ?? null;
    if (spec === null || rules === null) return { do: 'keep', why: 'the pool heals no more' };
    const stored = await ignoreNotFound(
      client.get<VirtualMachineInstance>(VirtualMachineInstances, view, { signal: cancellationSignal() }),
    );
    const live = stored && vmiView(stored);
    const vmi = live?.vmUid === view.uid ? { ...live, nodeLost: cache.isLost(live.node) } : undefined;
    if (isLeftAlone(view, vmi)) return { do: 'keep', why: 'it is not to be touched now' };
    // Not before the removal was asked for, whatever this machine's clock says.
    const now = Math.max(Date.now(), at);
    const health = healthOf({
      vm: view,
      vmi,
      earlyEnds: sick.earlyEnds,
      failingSince: sick.failingSince ?? null,
      hasRun: view.notYetRun === null || sick.attempt > 1,
      rules,
      now,
    });
    return health.sick
      ? {
          do: 'remove',
          rules,
          vmi,
          vmiVersion: stored?.metadata.resourceVersion,
          minReadyMs: spec.rollout.minReadySeconds * 1000,
        }
      : { do: 'keep', why: 'it is no longer sick' };
  }

  /**
   * Reports whether the VMI is unchanged since `judge`. Finding out whether the disks hold data may take seconds, in
   * which a VMI can become ready before its VM says so.
   */
  async function isAsJudged(address: { namespace: string; name: string }, { vmiVersion }: Doomed): Promise<boolean> {
    const live = await ignoreNotFound(client.get(VirtualMachineInstances, address, { signal: cancellationSignal() }));
    return live?.metadata.resourceVersion === vmiVersion;
  }

  async function remove(
    { metadata: { namespace, name, uid, resourceVersion } }: Stored<VirtualMachine>,
    keepDisks: boolean,
  ): Promise<unknown> {
    const options = { signal: cancellationSignal() };
    if (!keepDisks)
      return client.delete(
        VirtualMachines,
        { namespace, name },
        { uid, resourceVersion, propagationPolicy: 'Foreground', ...options },
      );
    const patch = {
      metadata: { resourceVersion, annotations: { [REMOVING_ANNOTATION]: REMOVING_TO_HEAL } },
      spec: { running: null, runStrategy: 'Halted' },
    };
    return client.patch(VirtualMachines, { namespace, name }, 'merge', patch, options);
  }

  /**
   * Resolves to true if this worker is certain of it. Waits a moment if KubeVirt reports a failed VMI that this worker
   * has not seen end yet.
   */
  async function hasNeverRun(vm: Stored<VirtualMachine>, { vmi, minReadyMs }: Doomed): Promise<boolean> {
    const view = vmView(vm);
    for (let waited = 0; ; waited += LOOK_AGAIN_MS) {
      const proof = proofOf({ vm: view, vmi, witness: cache.witnessOf(view.uid), minReadyMs, now: Date.now() });
      if (proof !== 'behind' || waited >= BEHIND_MS) return proof === 'proven';
      await sleep(LOOK_AGAIN_MS, undefined, { signal: cancellationSignal() });
    }
  }

  /** Resolves to true if a disk is older than the VM itself: an earlier VM of the same name has left it. */
  async function holdsSomething({
    metadata: { namespace, creationTimestamp },
    spec,
  }: Stored<VirtualMachine>): Promise<boolean> {
    for (const { metadata } of spec?.dataVolumeTemplates ?? []) {
      if (metadata?.name === undefined) continue;
      const claim = await ignoreNotFound(
        client.get<KubeObject>(
          PersistentVolumeClaims,
          { namespace, name: metadata.name },
          { signal: cancellationSignal() },
        ),
      );
      if (claim !== undefined && Date.parse(claim.metadata.creationTimestamp) < Date.parse(creationTimestamp))
        return true;
    }
    return false;
  }

  /** Returns what Kubernetes last reported about the VM and its VMI, without drover's own Events. */
  async function lastEvents({ metadata: { namespace, name } }: Stored<VirtualMachine>): Promise<string[]> {
    try {
      const { items } = await client.list<KubernetesEvent>(Events, {
        namespace,
        fieldSelector: `regarding.name=${name}`,
        signal: cancellationSignal(),
      });
      return items
        .filter((event) => event.reportingController !== EVENT_REPORTER)
        .map((event) => ({
          time: timeOf(event),
          words: `${event.regarding?.kind} ${event.type} ${event.reason}: ${event.note ?? ''}`.slice(0, 512),
        }))
        .toSorted((one, other) => (one.time < other.time ? -1 : 1))
        .slice(-EVENTS_TOLD)
        .map(({ time, words }) => `${time} ${words}`);
    } catch (error) {
      log.warn('the Events of a sick VM could not be read', { vm: name, error: (error as Error).message });
      return [];
    }
  }
}

type Judgement = Doomed | { do: 'keep'; why: string } /** It is already being removed. */ | { do: 'nothing' };

/** The VM is to be removed, by these rules. */
interface Doomed {
  do: 'remove';
  rules: HealingRules;
  vmi: VmiView | undefined;
  /** Resource version of the VMI with the VM's name, whoever owns it. */
  vmiVersion: string | undefined;
  minReadyMs: number;
}

/** The fields of `events.k8s.io/v1` that drover reads. */
interface KubernetesEvent extends KubeObject {
  reportingController?: string;
  regarding?: { kind?: string };
  type?: string;
  reason?: string;
  note?: string;
  eventTime?: string | null;
  series?: { lastObservedTime?: string };
  deprecatedLastTimestamp?: string;
}

const timeOf = ({ series, deprecatedLastTimestamp, eventTime, metadata }: Stored<KubernetesEvent>): string =>
  series?.lastObservedTime ?? deprecatedLastTimestamp ?? eventTime ?? metadata.creationTimestamp;

export type HealActivities = ReturnType<typeof createHealActivities>;

/** Resolves to false if the VM is deleted, has been replaced, or has changed. */
const isDone = (call: () => Promise<unknown>): Promise<boolean> =>
  call().then(
    () => true,
    (error: unknown) => {
      const isOther =
        isConflict(error) ||
        (error instanceof KubeError && error.status === 422 && /metadata[./]uid/.test(error.message));
      if (!isNotFound(error) && !isOther) throw error;
      return false;
    },
  );
