import type { Client } from '@temporalio/client';
import { ensureCurrentAttempt } from '../../../activities/lib/current-attempt.ts';
import { controllerOf, type Stored } from '../../../api/objects.ts';
import { OWNER_KINDS, type VmOwnerKind } from '../../../api/owner-kinds.ts';
import type { VmRolloutStrategy } from '../../../api/pool/pool.ts';
import {
  CustomResourceDefinitions,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import { portionsOf, type Portion } from '../../../decisions/shards/portion.ts';
import type { KubeError } from '../../../kubernetes/errors.ts';
import type { VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { busyElsewhere, FormerQueues } from '../../../workers/former-queues.ts';
import { refuseDelegated } from '../../../workers/refuse-delegated.ts';
import * as workflows from '../../../workflows/index.ts';
import { taskQueueOf, watchIdOf } from '../../../workflows/lib/messages.ts';
import { isByWorker, type Pool } from '../facts.ts';
import { ApiServer } from './api-server.ts';
import { KubeVirt } from './kubevirt.ts';
import { ModelClient, type Call, type ModelClientOptions } from './model-client.ts';
import { CLUSTER, NAMESPACE } from './names.ts';
import type { Onlooker } from './onlooker.ts';
import { People } from './people.ts';
import { doubleOf } from './strangers.ts';
import { Temporal } from './temporal/temporal.ts';
import { serve } from './temporal/workflow-api.ts';
import { Process, runAs, VirtualTime } from './virtual-time.ts';
import { createWorker, type Worker } from './worker.ts';

const BEGINNING = Date.UTC(2026, 0, 1);
/** How often each worker looks whether the watch runs: a cancelled watch ends only once a worker runs. */
const LOOK_AT_WATCH_MS = 15_000;

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
  /**
   * Whether workers see a second namespace, whose objects say that they belong to the first one's. `silent`: they
   * don't, but all happens at the same moments as if they did.
   */
  strangers?: boolean | 'silent';
  /** Whether operations are carried out by their own workflows, and there are namespaces, and claims of these. */
  operations?: boolean;
  /** Whether there are disruption budgets. */
  budgets?: boolean;
  /** Into how many shards the cluster is divided at first. */
  shards?: number;
  /** How KubeVirt applies changes to VMIs that run; its default if left out. */
  vmRolloutStrategy?: VmRolloutStrategy;
}

/**
 * A whole installation in one process and in virtual time. Everything of drover's is the real code, and so are the
 * simulator's controllers. The API server, Temporal, the connections between them and the users are models.
 */
export class World {
  readonly time: VirtualTime;
  readonly server: ApiServer;
  readonly temporal: Temporal;
  readonly workers: Worker[] = [];
  readonly people: People;
  readonly kubevirt: KubeVirt;
  readonly onlookers: Onlooker[] = [];
  readonly trail: string[] = [];
  /** What went wrong, the first fault first. */
  readonly broken: string[] = [];
  /** Returns why the API server refuses a call of a worker that would change something; null if it does not. */
  refuse: (call: Call) => KubeError | null = () => null;
  readonly #options: Required<WorldOptions>;
  /** What the Prometheus answers that checks of rollouts ask; by default 1, and 0 for a minute of each five. */
  prometheus: () => string = () => (Math.floor(this.time.now / 60_000) % 5 === 3 ? '0' : '1');
  #call: Call | null = null;
  #shards: number;
  #wasDivided: boolean;
  #workers = 0;

  constructor(options: WorldOptions) {
    this.#options = {
      lag: 20,
      workers: 2,
      burst: 250,
      delays: {},
      longHistory: 400,
      owners: ['VirtualMachinePool'],
      strangers: false,
      operations: false,
      budgets: false,
      shards: 1,
      vmRolloutStrategy: 'LiveUpdate',
      ...options,
    };
    this.#shards = this.#options.shards;
    this.#wasDivided = this.#shards > 1;
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
    this.temporal.onAsked = (id, name) => {
      for (const onlooker of this.onlookers) onlooker.onAsked?.(id, name);
    };
    this.time.afterEach = this.temporal.checkConditions;
    this.server.onWrite = (write) => {
      for (const onlooker of this.onlookers) onlooker.onWrite?.(write, this.#call);
    };
    this.kubevirt = new KubeVirt(this.server, (words) => this.say(words));
    this.server.admit = (resource, object, before) => this.kubevirt.admit(resource.plural, object, before);
    this.people = new People(this, (process) => this.clientOf(process, 0));
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
      runAs(this.people.process, () => {
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

  get hasStrangers(): boolean {
    return this.#options.strangers !== false;
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

  /** Lets the users wait. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.time.later(ms, this.people.process, resolve));
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

  clientOf(process: Process, lag = this.#options.lag, beforeWrite?: (path: string) => Promise<void>): ModelClient {
    return new ModelClient({
      server: this.server,
      process,
      lag,
      ...(beforeWrite === undefined ? {} : { beforeWrite }),
      ...(this.#options.strangers !== false && process.name.startsWith('worker') ? { doubles: this.#doubles } : {}),
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
      request: (request) => this.kubevirt.request(request),
    });
  }

  get #doubles(): NonNullable<ModelClientOptions['doubles']> {
    const pools = (): Stored[] => this.server.all(VirtualMachinePools);
    return {
      doubleOf: (resource, object) => doubleOf(resource, object, pools),
      isSilent: this.#options.strangers === 'silent',
    };
  }

  #checkAllowed(call: Call): void {
    if (call.verb === 'get' || call.verb === 'list' || !isByWorker(call)) return;
    const refusal = this.refuse(call);
    if (refusal === null) return;
    for (const onlooker of this.onlookers) onlooker.onRefused?.(call);
    throw refusal;
  }

  // Workers.

  /** `portions`: what it takes of the cluster, by default all. `keepsAll`: it knows what is in the others as well. */
  async addWorker(portions = portionsOf(this.#shards), keepsAll = false): Promise<Worker> {
    const process = new Process(`worker-${++this.#workers}`);
    const { burst, lag, operations: withOperations, budgets: withBudgets } = this.#options;
    const client = this.clientOf(process, lag, (path) => {
      refuseDelegated(worker.cache, path);
      return ensureCurrentAttempt();
    }).asClient;
    const worker: Worker = runAs(process, () =>
      createWorker({
        process,
        client,
        burst,
        portions,
        keepsAll,
        withOperations,
        withBudgets,
        prometheus: () => this.prometheus(),
        onLook: (pool, look) => {
          for (const onlooker of this.onlookers) onlooker.onLook?.(pool, look);
        },
        onPlan: (planned, inputOf) => {
          for (const onlooker of this.onlookers) onlooker.onPlan?.(planned, inputOf);
        },
        onPlanFailed: (pool) => this.break(`no plan can be made for pool ${pool}`),
      }),
    );
    this.workers.push(worker);
    await runAs(process, () => worker.cache.start());
    this.temporal.workers.add(worker);
    this.temporal.workersChanged();
    runAs(process, () => setInterval(() => this.#keepWatch(), LOOK_AT_WATCH_MS));
    if (this.#wasDivided) void runAs(process, () => this.#followFormer(worker, portions));
    return worker;
  }

  /** As a worker does that takes what is in no namespace. */
  async #followFormer({ queues, stopping }: Worker, portions: readonly Portion[]): Promise<void> {
    if (!portions.some(({ shard }) => shard === undefined)) return;
    const all = portionsOf(portions[0]!.shards);
    const serve = (portion: Portion) => {
      const queue = taskQueueOf(CLUSTER, portion);
      const ended = Promise.withResolvers<void>();
      queues.add(queue);
      const end = (): void => {
        queues.delete(queue);
        ended.resolve();
      };
      return { run: () => ended.promise, drain: end, end };
    };
    await new FormerQueues({
      find: () => busyElsewhere(this.temporal.client as unknown as Client, CLUSTER, all),
      serve,
      stop: stopping.signal,
      onError: (error) => this.break(`former queues are not found: ${error.message}`),
    }).run();
  }

  /** As `drover setup --shards` does. */
  divide(shards: number): void {
    this.say(`-- the cluster is divided into ${shards}`);
    this.#shards = shards;
    this.#wasDivided ||= shards > 1;
    this.temporal.terminate(watchIdOf(CLUSTER));
    this.#keepWatch();
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

  /** All VMs, by name. */
  get vms(): Stored[] {
    return this.server.all(VirtualMachines).toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
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

  /** Has the API server know a kind. */
  define({ group, version, plural, kind }: Resource): void {
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

  async #begin(): Promise<void> {
    for (const owner of this.#options.owners) this.define(OWNER_KINDS[owner].resource);
    const { kubevirt } = this;
    const client = this.clientOf(kubevirt.process, 0).asClient;
    await runAs(kubevirt.process, () => kubevirt.start(client, this.#options.vmRolloutStrategy));
    for (let n = 0; n < this.#options.workers; n++) await this.addWorker();
    this.#keepWatch();
  }

  /** Starts the watch unless it runs, as each worker does. */
  #keepWatch(): void {
    if (this.temporal.runs.get(watchIdOf(CLUSTER))?.isOpen !== true)
      this.temporal.start('watch', watchIdOf(CLUSTER), [
        { cluster: CLUSTER, ...(this.#shards > 1 && { shards: this.#shards }) },
      ]);
  }
}

/** drover did what it must never do. */
export class Broken extends Error {}
