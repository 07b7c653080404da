import { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { snapshotOf } from '../../../activities/cache/snapshot.ts';
import { DisruptionClaims } from '../../../activities/disruption-budget/places.ts';
import { createDrainActivities } from '../../../activities/drain/evacuate.ts';
import { createAwaitRemovalActivities } from '../../../activities/healing/await-removal.ts';
import { createHealActivities } from '../../../activities/healing/replace-vm.ts';
import { ensureCurrentAttempt } from '../../../activities/lib/attempt.ts';
import { withFailures } from '../../../activities/lib/temporal-failure.ts';
import { createMachineTypeActivities } from '../../../activities/machine-types/machine-types.ts';
import type { Planned, PlanRequest } from '../../../activities/owners/types.ts';
import { createPoolActivities } from '../../../activities/pool/pool.ts';
import { ChosenUids } from '../../../activities/power/chosen-uids.ts';
import { createPowerActivities } from '../../../activities/power/power.ts';
import { createReplicaSetActivities } from '../../../activities/replica-sets/replica-sets.ts';
import { createAwaitActivities } from '../../../activities/rollout/await-vms.ts';
import { Revisions } from '../../../activities/rollout/revisions.ts';
import { createUpdateActivities } from '../../../activities/rollout/update-vms.ts';
import { createWatchActivities } from '../../../activities/watch/watch.ts';
import { controllerOf, type KubeObject, type Stored } from '../../../api/objects.ts';
import { OWNER_KINDS, type VmOwnerKind } from '../../../api/owner-kinds.ts';
import type { PoolSpec, VmRolloutStrategy } from '../../../api/pool/pool.ts';
import {
  CustomResourceDefinitions,
  KubeVirts,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstances,
  VirtualMachines,
} from '../../../api/resources.ts';
import type { Transition } from '../../../decisions/machine-types/transition.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import type { HttpRequest } from '../../../kubernetes/transport.ts';
import { admitMigration, admitVmi, admitVm, Denied } from '../../../simulator/api/admission.ts';
import { perform } from '../../../simulator/api/subresources.ts';
import { DataVolumeController } from '../../../simulator/controllers/data-volume-controller.ts';
import { EvictionController } from '../../../simulator/controllers/eviction-controller.ts';
import { GarbageCollector } from '../../../simulator/controllers/garbage-collector.ts';
import { MigrationController } from '../../../simulator/controllers/migration-controller.ts';
import { NodeController } from '../../../simulator/controllers/node-controller.ts';
import { ClaimController } from '../../../simulator/controllers/pvc-controller.ts';
import { VmController } from '../../../simulator/controllers/vm-controller.ts';
import { VmiController } from '../../../simulator/controllers/vmi-controller.ts';
import { WorkloadUpdates } from '../../../simulator/controllers/workload-updates.ts';
import { Cluster } from '../../../simulator/store/cluster.ts';
import { OwnedKinds } from '../../../simulator/store/owned-kinds.ts';
import type { Migration, VirtualMachineInstance } from '../../../simulator/types.ts';
import { Refusal } from '../../../simulator/vm/power.ts';
import { isOver } from '../../../simulator/vmi/migration.ts';
import { signalsOf } from '../../../workers/watch/signal-owner.ts';
import * as workflows from '../../../workflows/index.ts';
import type { MachineTypeTransitionInput } from '../../../workflows/machine-types/machine-type-transition.ts';
import { poolIdOf, transitionIdOf, watchIdOf, type PoolRef } from '../../../workflows/messages.ts';
import { isByWorker, type Pool } from '../facts.ts';
import { aTemplate } from '../pools.ts';
import { ApiServer, jsonPatch, type JsonPatch, type Write } from './api-server.ts';
import { ModelClient, type Call } from './model-client.ts';
import { serve } from './temporal-workflow.ts';
import { Temporal, type ModelWorker, type Run } from './temporal.ts';
import { Process, processNow, runAs, VirtualTime } from './virtual-time.ts';

export const NAMESPACE = 'shop';
const CLUSTER = 'model';
const BEGINNING = Date.UTC(2026, 0, 1);

export interface WorldOptions {
  seed: number;
  /** Greatest delay of watches, in milliseconds. */
  lag?: number;
  workers?: number;
  burst?: number;
  /** Milliseconds before an activity begins, by activity type. */
  delays?: Record<string, number>;
  /** Number of events after which a workflow continues as new. */
  longHistory?: number;
  /** Kinds of owners that there may be; pools alone if left out. */
  owners?: readonly VmOwnerKind[];
  /** How KubeVirt applies changes to VMIs that run; its default if left out. */
  vmRolloutStrategy?: VmRolloutStrategy;
}

/** Notified of writes and calls at the moment in which they happen. */
export interface Onlooker {
  onWrite?: (write: Write, by: Call | null) => void;
  onCall?: (call: Call) => void;
  /** A call of a worker was refused, by `World.refuse`. */
  onRefused?: (call: Call) => void;
  /** `inputOf`: what the plan was made from; undefined if the worker's cache does not know the pool. */
  onPlan?: (planned: Planned, inputOf: () => PoolPlanInput | undefined) => void;
  /** A workflow begins. */
  onBegin?: (run: Run) => void;
  /** A workflow signals another. */
  onSignal?: (from: Run, name: string, args: unknown[]) => void;
}

export interface Worker extends ModelWorker {
  cache: ClusterCache;
  stopping: AbortController;
}

/**
 * A whole installation in one process and in virtual time. Everything of drover's is the real code, and so are the
 * simulator's controllers. The API server, Temporal, the connections between them and the people are models.
 */
export class World {
  readonly time: VirtualTime;
  readonly server: ApiServer;
  readonly temporal: Temporal;
  readonly workers: Worker[] = [];
  readonly onlookers: Onlooker[] = [];
  readonly trail: string[] = [];
  /** What went wrong, the first fault first. */
  readonly broken: string[] = [];
  /** Returns why the API server refuses a call of a worker that would change something; null if it does not. */
  refuse: (call: Call) => KubeError | null = () => null;
  readonly #options: Required<WorldOptions>;
  readonly #kubevirt = new Process('kubevirt');
  readonly #people = new Process('people');
  readonly #client: ModelClient;
  #cluster!: Cluster;
  #call: Call | null = null;
  #workers = 0;
  #transitions = 0;

  constructor(options: WorldOptions) {
    this.#options = {
      lag: 20,
      workers: 2,
      burst: 250,
      delays: {},
      longHistory: 400,
      owners: ['VirtualMachinePool'],
      vmRolloutStrategy: 'LiveUpdate',
      ...options,
    };
    this.time = new VirtualTime(BEGINNING, options.seed);
    this.server = new ApiServer(() => this.time.now);
    this.temporal = new Temporal(
      workflows,
      { delayOf: (activity) => this.#options.delays[activity] ?? 0 },
      this.#options.longHistory,
    );
    this.temporal.onBegin = (run) => {
      for (const onlooker of this.onlookers) onlooker.onBegin?.(run);
    };
    this.temporal.onSignal = (from, name, args) => {
      for (const onlooker of this.onlookers) onlooker.onSignal?.(from, name, args);
    };
    this.time.afterEach = this.temporal.checkConditions;
    this.server.onWrite = (write) => {
      for (const onlooker of this.onlookers) onlooker.onWrite?.(write, this.#call);
    };
    this.server.admit = (resource, object, before) => this.#admit(resource.plural, object, before);
    this.#client = this.clientOf(this.#people, 0);
  }

  /**
   * Runs the world until `live` has ended, but for at most so many milliseconds of virtual time. Throws `Broken` for a
   * fault.
   */
  async run(ms: number, live: (world: World) => Promise<void>): Promise<void> {
    serve(this.temporal);
    let hasEnded = false;
    let failure: unknown;
    const begin = (): void => {
      runAs(this.#people, () => {
        this.#begin()
          .then(() => live(this))
          .catch((error: unknown) => (failure = error))
          .finally(() => (hasEnded = true));
      });
    };
    const end = BEGINNING + ms;
    await this.time.simulate(
      begin,
      () => hasEnded || this.time.now > end || this.broken.length > 0 || this.temporal.stuck !== null,
    );
    const { stuck } = this.temporal;
    if (stuck !== null)
      this.broken.push(`workflow ${stuck.run.id} is stuck: ${(stuck.error as Error).stack ?? String(stuck.error)}`);
    if (failure !== undefined && this.broken.length === 0) throw failure;
    if (!hasEnded && this.broken.length === 0) this.broken.push('it does not end');
    if (this.broken.length > 0)
      throw new Broken(
        `${this.broken.join('\n')}\n${this.trail.slice(-(Number(process.env['MODEL_TELLS'] ?? 0) || 60)).join('\n')}`,
      );
  }

  /** Seconds since the beginning of the world, rounded. */
  get seconds(): number {
    return this.secondsAt(this.time.now);
  }

  secondsAt(time: number): number {
    return Math.round((time - BEGINNING) / 1_000);
  }

  say(words: string): void {
    this.trail.push(`${((this.time.now - BEGINNING) / 1000).toFixed(3)} ${words}`);
  }

  break(words: string): void {
    this.say(`!! ${words}`);
    this.broken.push(words);
  }

  /** Lets the people wait. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.time.later(ms, this.#people, resolve));
  }

  /** Waits until `isSo`. Resolves to false if that takes longer than `ms`. */
  async until(isSo: () => boolean, ms: number): Promise<boolean> {
    const end = this.time.now + ms;
    for (let ms = 200; !isSo(); ms = Math.min(ms * 1.1, 10_000)) {
      if (this.time.now >= end) return false;
      await this.wait(ms);
    }
    return true;
  }

  clientOf(process: Process, lag = this.#options.lag, beforeWrite?: () => Promise<void>): ModelClient {
    return new ModelClient({
      server: this.server,
      process,
      lag,
      ...(beforeWrite === undefined ? {} : { beforeWrite }),
      onCall: (call, act) => {
        for (const onlooker of this.onlookers) onlooker.onCall?.(call);
        this.#call = call;
        try {
          this.#checkAllowed(call);
          return act();
        } finally {
          this.#call = null;
        }
      },
      request: (request) => this.#request(request),
    });
  }

  #checkAllowed(call: Call): void {
    if (call.verb === 'get' || call.verb === 'list' || !isByWorker(call)) return;
    const refusal = this.refuse(call);
    if (refusal === null) return;
    for (const onlooker of this.onlookers) onlooker.onRefused?.(call);
    throw refusal;
  }

  // Workers.

  async addWorker(): Promise<Worker> {
    const process = new Process(`worker-${++this.#workers}`);
    const client = this.clientOf(process, this.#options.lag, ensureCurrentAttempt).asClient;
    const worker = runAs(process, (): Worker => {
      const cache = new ClusterCache({ client });
      const revisions = new Revisions({ client, cache });
      const stopping = new AbortController();
      const common = {
        client,
        cache,
        places: new DisruptionClaims(client, cache),
        revisions,
        concurrency: 3,
        stopping: stopping.signal,
      };
      const pools = createPoolActivities({
        ...common,
        burst: this.#options.burst,
        onPlanFailed: ({ name }) => this.break(`no plan can be made for pool ${name}`),
      });
      const activities = withFailures({
        ...pools,
        plan: async (request: PlanRequest) => {
          const planned = await pools.plan(request);
          const inputOf = (): PoolPlanInput | undefined => {
            const pool = cache.pools.get(`${request.namespace}/${request.name}`);
            return pool && { ...snapshotOf(cache, pool), ...request, burst: this.#options.burst };
          };
          for (const onlooker of this.onlookers) onlooker.onPlan?.(planned, inputOf);
          return planned;
        },
        ...createReplicaSetActivities({ ...common, burst: this.#options.burst }),
        ...createUpdateActivities(common),
        ...createDrainActivities(common),
        ...createHealActivities(common),
        ...createPowerActivities({ ...common, chosenUids: new ChosenUids() }),
        ...createMachineTypeActivities({ ...common, patchConcurrency: 3 }),
        ...createAwaitActivities(common),
        ...createAwaitRemovalActivities(common),
        ...createWatchActivities({
          cache,
          burst: this.#options.burst,
          signalsOf,
          stopping: stopping.signal,
        }),
      });
      return { process, activities: activities, cache, stopping };
    });
    this.workers.push(worker);
    await runAs(process, () => worker.cache.start());
    this.temporal.workers.add(worker);
    this.temporal.workersChanged();
    return worker;
  }

  kill(worker: Worker): void {
    this.say(`-- ${worker.process.name} is killed`);
    worker.process.state = 'dead';
    this.temporal.workers.delete(worker);
    this.temporal.workersChanged();
  }

  freeze(worker: Worker): void {
    this.say(`-- ${worker.process.name} is frozen`);
    this.time.freeze(worker.process);
    this.temporal.workersChanged();
  }

  thaw(worker: Worker): void {
    this.say(`-- ${worker.process.name} goes on`);
    this.time.thaw(worker.process);
    this.temporal.workersChanged();
  }

  /** Cuts the worker off from the API server, but not from Temporal, or reconnects it. */
  cutOff(worker: Worker, isCutOff: boolean): void {
    this.say(`-- ${worker.process.name} is ${isCutOff ? 'cut off' : 'back'}`);
    worker.process.isCutOff = isCutOff;
  }

  // What people do.

  get client() {
    return this.#client;
  }

  refOf(name: string): PoolRef {
    return { cluster: CLUSTER, namespace: NAMESPACE, name };
  }

  createPool(name: string, spec: PoolSpec): Promise<Stored> {
    return this.createOwner('VirtualMachinePool', name, spec);
  }

  changePool(name: string, spec: Partial<PoolSpec>): Promise<void> {
    return this.changeOwner('VirtualMachinePool', name, spec);
  }

  deletePool(name: string, isOrphaned = false): Promise<void> {
    return this.deleteOwner('VirtualMachinePool', name, isOrphaned);
  }

  /** Creates a pool or a set. */
  createOwner(kind: VmOwnerKind, name: string, spec: { replicas: number }): Promise<Stored> {
    const { resource, noun } = OWNER_KINDS[kind];
    this.say(`-- ${noun} ${name} with ${spec.replicas}`);
    return this.#client.create<KubeObject>(resource, { metadata: { name, namespace: NAMESPACE }, spec: { ...spec } });
  }

  async changeOwner(kind: VmOwnerKind, name: string, spec: object): Promise<void> {
    const { resource, noun } = OWNER_KINDS[kind];
    this.say(`-- ${noun} ${name}: ${JSON.stringify(spec).slice(0, 200)}`);
    // Replaces each field as a whole: a merge would keep parts of its old value.
    const patch = Object.entries(spec).map(([field, value]) => ({ op: 'add', path: `/spec/${field}`, value }));
    await this.#client.patch(resource, { namespace: NAMESPACE, name }, 'json', patch);
  }

  async deleteOwner(kind: VmOwnerKind, name: string, isOrphaned: boolean): Promise<void> {
    const { resource, noun, members } = OWNER_KINDS[kind];
    this.say(`-- ${noun} ${name} is deleted${isOrphaned ? ` without its ${members.noun}s` : ''}`);
    const propagationPolicy = isOrphaned ? 'Orphan' : 'Background';
    await this.#client.delete(resource, { namespace: NAMESPACE, name }, { propagationPolicy });
  }

  /** A VM that no pool owns. */
  async createVm(name: string, machineType: string): Promise<void> {
    this.say(`-- VM ${name} of ${machineType}`);
    await this.#client.create(VirtualMachines, {
      metadata: { name, namespace: NAMESPACE },
      spec: aTemplate({ machineType }).spec,
    });
  }

  startTransition(transition: Transition): void {
    const id = (++this.#transitions).toString(16).padStart(8, '0');
    this.say(
      `-- machine types ${transition.scope.glob} are to be ${transition.to}, transition ${id}, ${JSON.stringify(transition).slice(0, 200)}`,
    );
    const input: MachineTypeTransitionInput = { ref: { cluster: CLUSTER, id }, transition };
    this.temporal.start('machineTypeTransition', transitionIdOf(CLUSTER, id), [input]);
  }

  deleteVm(name: string): Promise<void> {
    return this.deleteMember('VirtualMachinePool', name);
  }

  /** Deletes a VM or VMI, of a pool or a set of this kind. */
  async deleteMember(kind: VmOwnerKind, name: string): Promise<void> {
    this.say(`-- ${name} is deleted by a person`);
    await this.#client.delete(OWNER_KINDS[kind].members.resource, { namespace: NAMESPACE, name }).catch(ignored);
  }

  /** Changes the label by which a set knows its members. */
  async relabel(kind: VmOwnerKind, name: string, app: string): Promise<void> {
    this.say(`-- ${name} gets the label ${app}`);
    await this.#client
      .patch(OWNER_KINDS[kind].members.resource, { namespace: NAMESPACE, name }, 'merge', {
        metadata: { labels: { app } },
      })
      .catch(ignored);
  }

  /** Takes the VM out of its pool. */
  async detach(name: string): Promise<void> {
    this.say(`-- ${name} is detached`);
    await this.#client
      .patch(VirtualMachines, { namespace: NAMESPACE, name }, 'merge', { metadata: { ownerReferences: null } })
      .catch(ignored);
  }

  /** Puts a detached VM back into its pool. */
  async adopt(name: string, poolName: string): Promise<void> {
    const pool = this.pool(poolName);
    const vm = this.vm(name);
    if (pool === undefined || vm === undefined || vm.metadata.ownerReferences !== undefined) return;
    this.say(`-- ${name} is adopted`);
    const owner = {
      apiVersion: 'drover.dev/v1alpha1',
      kind: 'VirtualMachinePool',
      name: poolName,
      uid: pool.metadata.uid,
      controller: true,
      blockOwnerDeletion: true,
    };
    await this.#client
      .patch(VirtualMachines, { namespace: NAMESPACE, name }, 'merge', { metadata: { ownerReferences: [owner] } })
      .catch(ignored);
  }

  /** By virtctl. */
  async power(name: string, action: 'start' | 'stop' | 'restart' | 'migrate'): Promise<void> {
    this.say(`-- ${name}: ${action}`);
    await this.#client
      .request({
        method: 'PUT',
        path: `/apis/subresources.kubevirt.io/v1/namespaces/${NAMESPACE}/virtualmachines/${name}/${action}`,
        body: {},
      })
      .catch(ignored);
  }

  /** By virtctl. */
  async pauseVmi(name: string, isPaused: boolean): Promise<void> {
    const action = isPaused ? 'pause' : 'unpause';
    this.say(`-- ${name}: ${action}`);
    const path = `/apis/subresources.kubevirt.io/v1/namespaces/${NAMESPACE}/virtualmachineinstances/${name}/${action}`;
    await this.#client.request({ method: 'PUT', path, body: {} }).catch(ignored);
  }

  /** Ends the VM's VMI as a crash does, or who shuts it down from within. */
  crash(name: string, end: 'Failed' | 'Succeeded' = 'Failed'): void {
    if (this.vmi(name)?.status?.phase !== 'Running') return;
    this.say(`-- ${name} ${end === 'Failed' ? 'crashes' : 'shuts down'}`);
    this.server.write(VirtualMachineInstances, { namespace: NAMESPACE, name }, (vmi) => ({
      ...vmi,
      metadata: {
        ...vmi.metadata,
        annotations: {
          ...vmi.metadata.annotations,
          'sim.drover.dev/run-time': '0s',
          'sim.drover.dev/run-end': end,
        },
      },
    }));
  }

  /** Has the pod of the VM's VMI evicted, as a drain of its node does. */
  evict(name: string, fails: boolean): void {
    const node = this.vmi(name)?.status?.nodeName;
    if (node === undefined) return;
    this.say(`-- ${name} is evicted from ${node}${fails ? ', and can not be migrated away' : ''}`);
    this.server.write(VirtualMachineInstances, { namespace: NAMESPACE, name }, (vmi) => ({
      ...vmi,
      metadata: {
        ...vmi.metadata,
        annotations: {
          ...vmi.metadata.annotations,
          'sim.drover.dev/evict-from': node,
          'sim.drover.dev/migration-fails': String(fails),
        },
      },
    }));
  }

  /** Has KubeVirt say on which node the pod of the VMI is that has not come up: the simulator makes no pods. */
  placePod(name: string, node: string): void {
    this.say(`-- the pod of ${name} is on ${node}`);
    runAs(this.#kubevirt, () =>
      this.server.write(VirtualMachineInstances, { namespace: NAMESPACE, name }, (vmi) => ({
        ...vmi,
        status: { ...(vmi['status'] as object), activePods: { 'uid-of-pod': node } },
      })),
    );
  }

  /** Deletes the migration of the VM that has not ended, as virtctl aborts it. */
  async abortMigration(name: string): Promise<void> {
    const all = this.server.all<Migration>(VirtualMachineInstanceMigrations);
    const found = all.find((one) => one.spec.vmiName === name && !isOver(one));
    if (found === undefined) return;
    this.say(`-- ${found.metadata.name}, a migration of ${name}, is aborted`);
    const at = { namespace: NAMESPACE, name: found.metadata.name };
    await this.#client.delete(VirtualMachineInstanceMigrations, at).catch(ignored);
  }

  signal(name: string, signal: string, ...args: unknown[]): void {
    this.say(`-- ${name}: ${signal} ${JSON.stringify(args)}`);
    this.temporal.signal(poolIdOf(this.refOf(name)), signal, args);
  }

  // What there is.

  pool(name: string): Pool | undefined {
    return this.owner('VirtualMachinePool', name) as Pool | undefined;
  }

  /** The pool or set of this name. */
  owner(kind: VmOwnerKind, name: string): Stored | undefined {
    return this.server.find(OWNER_KINDS[kind].resource, { namespace: NAMESPACE, name });
  }

  vm(name: string): Stored | undefined {
    return this.server.find(VirtualMachines, { namespace: NAMESPACE, name });
  }

  vmi(name: string): Stored<VirtualMachineInstance> | undefined {
    return this.server.find<VirtualMachineInstance>(VirtualMachineInstances, { namespace: NAMESPACE, name });
  }

  vmsOf(uid: string): Stored[] {
    return this.membersOf('VirtualMachinePool', uid);
  }

  /** Returns the VMs or VMIs that the pool or set with this UID controls; with null, those that nothing controls. */
  membersOf(kind: VmOwnerKind, uid: string | null): Stored[] {
    const all = this.server.all(OWNER_KINDS[kind].members.resource);
    return all.filter((member) => (controllerOf(member)?.uid ?? null) === uid);
  }

  // The cluster.

  async #begin(): Promise<void> {
    for (const owner of this.#options.owners) {
      const { group, version, plural, kind } = OWNER_KINDS[owner].resource;
      this.server.create(CustomResourceDefinitions, {
        metadata: { name: `${plural}.${group}` },
        spec: {
          group,
          scope: 'Namespaced',
          names: { plural, kind },
          versions: [{ name: version, served: true, storage: true }],
        },
        status: { conditions: [{ type: 'Established', status: 'True' }] },
      });
    }
    this.server.create(KubeVirts, {
      metadata: { name: 'kubevirt', namespace: 'kubevirt' },
      spec: {
        configuration: { vmRolloutStrategy: this.#options.vmRolloutStrategy },
        workloadUpdateStrategy: { workloadUpdateMethods: ['LiveMigrate'] },
      },
    });
    await runAs(this.#kubevirt, () => this.#beginKubeVirt());
    for (let n = 0; n < this.#options.workers; n++) await this.addWorker();
    this.temporal.start('watch', watchIdOf(CLUSTER), [{ cluster: CLUSTER }]);
  }

  async #beginKubeVirt(): Promise<void> {
    const client = this.clientOf(this.#kubevirt, 0).asClient;
    const cluster = new Cluster(client, { info() {}, warn: (words: string) => this.say(`kubevirt: ${words}`) });
    this.#cluster = cluster;
    const kinds = new OwnedKinds(cluster);
    const nodes = new NodeController(cluster);
    const controllers = [
      new GarbageCollector(cluster, kinds, 8),
      new VmController(cluster, 8),
      new VmiController(cluster, 8),
      new DataVolumeController(cluster, 8),
      new MigrationController(cluster, 8),
      new EvictionController(cluster, 8),
      new WorkloadUpdates(cluster),
      new ClaimController(cluster, 8),
      nodes,
    ];
    await nodes.create(2);
    await Promise.all([...cluster.stores.map((store) => store.start()), kinds.start()]);
    for (const controller of controllers) controller.start();
  }

  /** Admission by KubeVirt and Kubernetes. */
  #admit(plural: string, object: KubeObject, before: Stored | undefined): KubeObject {
    const isKubeVirt = processNow() === this.#kubevirt;
    const request = {
      uid: object.metadata.uid!,
      operation: before === undefined ? 'CREATE' : 'UPDATE',
      object,
      oldObject: before,
    };
    if (plural === 'virtualmachines' && !isKubeVirt)
      return jsonPatch(object, admitVm({ request }, undefined) as JsonPatch);
    if (plural === 'virtualmachineinstances' && before !== undefined && !isKubeVirt)
      return jsonPatch(object, admitVmi({ request }) as JsonPatch);
    if (plural === 'virtualmachineinstancemigrations' && before === undefined && !isKubeVirt) {
      const { vmiName } = (object as Migration).spec;
      const all = this.server.all<Migration>(VirtualMachineInstanceMigrations);
      const other = all.find((one) => one.spec.vmiName === vmiName && !isOver(one));
      try {
        return jsonPatch(object, admitMigration({ request }, other) as JsonPatch);
      } catch (error) {
        if (!(error instanceof Denied)) throw error;
        throw new KubeError(400, 'BadRequest', `admission webhook "virt-api" denied the request: ${error.message}`);
      }
    }
    if (plural === 'persistentvolumeclaims' && before === undefined)
      return {
        ...object,
        metadata: {
          ...object.metadata,
          finalizers: [...(object.metadata.finalizers ?? []), 'kubernetes.io/pvc-protection'],
        },
      };
    return object;
  }

  async #request({ path, body }: HttpRequest): Promise<unknown> {
    const found =
      /^\/apis\/subresources\.kubevirt\.io\/v1\/namespaces\/([^/]+)\/(virtualmachines|virtualmachineinstances)\/([^/]+)\/(\w+)$/.exec(
        path,
      );
    if (found === null) return {};
    const [, namespace = '', resource, name = '', action = ''] = found;
    try {
      await runAs(this.#kubevirt, () =>
        perform(this.#cluster, {
          resource: resource as 'virtualmachines',
          action,
          namespace,
          name,
          body: (body ?? {}) as Record<string, unknown>,
        }),
      );
    } catch (error) {
      if (error instanceof Refusal) throw new KubeError(error.code, error.reason, error.message);
      throw error;
    }
    return {};
  }
}

/** drover did what it must never do. */
export class Broken extends Error {}

const ignored = (error: unknown): void => {
  if (!(error instanceof KubeError)) throw error;
};
