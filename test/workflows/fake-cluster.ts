import { Context } from '@temporalio/activity';
import type { AwaitRemovalActivities } from '../../activities/healing/await-removal.ts';
import type { HealActivities } from '../../activities/healing/heal-vm.ts';
import { retryRefused, type Done } from '../../activities/owners/done.ts';
import type { PlanRequest } from '../../activities/owners/plan-request.ts';
import { changesRecord } from '../../activities/owners/status.ts';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import { BatchCache } from '../../activities/rollout/batch-cache.ts';
import type { UpdateActivities } from '../../activities/rollout/update-vms.ts';
import type { PoolSpec, PoolStatus, VmTemplate } from '../../api/pool/pool.ts';
import { containedPlan } from '../../decisions/pool/contained-plan.ts';
import { unrecorded } from '../../decisions/pool/on-record.ts';
import type { PoolPlan } from '../../decisions/pool/plan.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { vmName } from '../../decisions/template/vm-names.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { aPool, aVm, aVmi, given, quiet } from '../decisions/fixtures/fleets.ts';

/** A call by drover that changes something. */
export interface Act {
  /** By the workflows' clock, in milliseconds since the epoch. */
  at: number;
  act: 'create' | 'delete' | 'update';
  vms: string[];
}

const BURST = 250;

/** The activities that the workflows of a pool call. */
type Activities = PoolActivities & UpdateActivities & AwaitRemovalActivities & Partial<HealActivities>;

/**
 * An in-memory pool with its VMs, on which every request takes effect immediately. Plans are made by drover's own
 * decisions. Only the workflows take time.
 */
export class FakeCluster {
  pool: StoredPool;
  readonly vms = new Map<string, VmView>();
  readonly vmis = new Map<string, VmiView>();
  /** In the order of the requests. */
  readonly acts: Act[] = [];
  /** How many plans were made. */
  plans = 0;
  /** The API server's error message for every VM that is to be created; null if it accepts them. */
  refusal: string | null = null;
  /** What an update of VMs awaits before it does anything; null if nothing holds it up. */
  inTheWay: Promise<void> | null = null;
  /**
   * Called when something has changed, as by a watch. It is awaited within the activity that made the change:
   * otherwise, time would pass in between.
   */
  onChange: () => Promise<void> = () => Promise.resolve();
  /** Whether a status can't be written. */
  isReadOnly: (status: PoolStatus) => boolean = () => false;
  readonly #templates = new Map<string, VmTemplate>();
  #uids = 0;

  /** Creates a pool whose VMs all exist. */
  constructor(spec: Partial<PoolSpec>, now: number) {
    this.pool = aPool(spec);
    this.#keep();
    for (let number = 1; number <= this.pool.spec.replicas; number++)
      this.#create(vmName(this.pool.metadata.name, number), revisionOf(this.pool.spec.template), now);
  }

  /** Changes fields of the pool's spec, as a user does. */
  change(spec: Partial<PoolSpec>): void {
    const { metadata } = this.pool;
    this.pool = {
      ...this.pool,
      metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
      spec: { ...this.pool.spec, ...spec },
    };
  }

  /** Sets annotations of the pool, as a user does. */
  annotate(annotations: Record<string, string>): void {
    const { metadata } = this.pool;
    this.pool = { ...this.pool, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } };
  }

  /** The times of drover's calls of this kind, by the workflows' clock. */
  times(act: Act['act']): number[] {
    return this.acts.filter((one) => one.act === act).map(({ at }) => at);
  }

  /** What the worker was told of batches; another one would know nothing. */
  told = new BatchCache();
  /** How many VMs of batches the plans were told in all. */
  vmsTold = 0;

  readonly activities: Activities = {
    plan: async ({ namespace, name, minVersions, ...asked }) => {
      this.plans++;
      this.vmsTold += asked.batches.flatMap(({ vms = [] }) => vms).length;
      const batches = this.told.of(Context.current().info.workflowExecution!.runId, asked.batches);
      if (batches === null) return { incomplete: true };
      const { pool, vms, vmis } = this;
      const revisions = [...this.#templates].map(([revision, template], index) => ({
        name: `${name}-${revision}`,
        revision,
        number: index + 1,
        template,
      }));
      const found = { pool, vms: [...vms.values()], vmiOf: (vm: VmView) => vmis.get(vm.name), revisions, burst: BURST };
      const { plan } = containedPlan({ ...given({ ...quiet, ...found }), ...asked, batches });
      const written = this.#written(plan, asked);
      return {
        gone: false,
        key: { namespace, name, uid: pool.metadata.uid },
        generation: pool.metadata.generation ?? 0,
        minVersions,
        ...written,
        ...(written.isRecorded ? plan : unrecorded(plan)),
      };
    },
    setRoles: async () => ({}),
    createVms: async (key, numbers, revision, _minVersions, how) => {
      const names = numbers.map((number) => vmName(key.name, number));
      this.#act('create', names);
      if (this.refusal !== null) {
        const done = { ...nothing, refused: { reason: 'Forbidden', message: this.refusal } };
        retryRefused(done, how, now());
        return done;
      }
      if (revisionOf(this.pool.spec.template) === revision) this.#keep();
      for (const name of names) this.#create(name, revision, now());
      await this.onChange();
      return { ...nothing, count: names.length };
    },
    deleteVms: async (_, vms) => {
      this.#act(
        'delete',
        vms.map(({ name }) => name),
      );
      for (const { name } of vms) this.#delete(name);
      await this.onChange();
      return { ...nothing, count: vms.length };
    },
    deleteKeptDisks: async () => nothing,
    unlabelKeptDisks: async () => 'done' as const,
    labelVms: async () => 'done' as const,
    unlabelVms: async () => 'done' as const,
    removeDiskFinalizers: async () => 'done' as const,
    changeMembers: async () => ({ report: null, minVersions: {} }),
    updateVms: async ({ revision, vms }) => {
      this.#act(
        'update',
        vms.map(({ name }) => name),
      );
      if (this.inTheWay !== null) await Promise.race([this.inTheWay, Context.current().cancelled]);
      this.#keep();
      for (const { name } of vms) this.#start({ ...this.vms.get(name)!, revision }, now());
      await this.onChange();
      return { outcomes: vms.map(({ name: vm }) => ({ vm, end: 'Updated' })), begun: [], minVersions: {} };
    },
    clearNamedRemovals: async () => ({}),
    annotateRuns: async (_, notes) => {
      for (const { name, start } of notes) this.vms.set(name, { ...this.vms.get(name)!, notYetRun: start });
    },
    createRevision: async () => this.#keep(),
    deleteRevisions: async () => {},
    setFinalizer: async () => nothing,
    keepReplicas: async () => ({}),
    recordUid: async () => nothing,
    adoptNamedVms: () => Promise.reject(new Error('no test asks for it')),
    adoptReturnedVms: () => Promise.reject(new Error('no test asks for it')),
    haltVms: () => Promise.reject(new Error('no test asks for it')),
    releaseVms: () => Promise.reject(new Error('no test asks for it')),
    promoteStandbyVms: () => Promise.reject(new Error('no test asks for it')),
    setStandbyState: () => Promise.reject(new Error('no test asks for it')),
    removeVms: async ({ vms }) => {
      for (const { name } of vms) this.#delete(name);
      return { outcomes: [], minVersions: {} };
    },
    awaitRemoval: async () => ({}),
  };

  /** Writes the status that a plan has found. */
  #written({ status }: PoolPlan, { holdsStatus }: Pick<PlanRequest, 'holdsStatus'>) {
    const { status: before } = this.pool;
    const isRecorded = status === null || !changesRecord(before ?? {}, status);
    const writes = before?.writes ?? 0;
    if (status === null || holdsStatus === 'All' || (holdsStatus === 'Reports' && isRecorded))
      return { writes, written: {}, isRecorded };
    if (this.isReadOnly(status)) return { writes, written: { failed: 'the API server is away' }, isRecorded };
    this.pool = { ...this.pool, status };
    return { writes: status.writes!, written: { isWritten: true as const }, isRecorded: true };
  }

  #act(act: Act['act'], vms: string[]): void {
    this.acts.push({ at: now(), act, vms });
  }

  #keep(): void {
    const { template } = this.pool.spec;
    this.#templates.set(revisionOf(template), template);
  }

  #create(name: string, revision: string, at: number): void {
    if (!this.vms.has(name)) this.#start(aVm(name, { uid: `vm-${++this.#uids}`, createdAt: at, revision }), at);
  }

  /** Starts a VMI from the VM's current state. */
  #start(vm: VmView, at: number): void {
    this.vms.set(vm.name, vm);
    this.vmis.set(vm.name, aVmi(vm, { uid: `vmi-${++this.#uids}`, createdAt: at }));
  }

  #delete(name: string): void {
    this.vms.delete(name);
    this.vmis.delete(name);
  }
}

const nothing: Done = { count: 0, nameConflicts: [], notWanted: [], refused: null, minVersions: {} };

/** When the current attempt of the activity was scheduled, by the server's clock. */
const now = (): number => Context.current().info.currentAttemptScheduledTimestampMs;
