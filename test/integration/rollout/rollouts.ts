import type { WorkflowHandle } from '@temporalio/client';
import { expect, onTestFinished } from 'vitest';
import { REVISION_LABEL } from '../../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import type {
  Condition,
  HandledRequest,
  IntOrPercent,
  PoolSpec,
  PoolStatus,
  StepCheck,
  VmTemplate,
} from '../../../api/pool/pool.ts';
import { Events, VirtualMachineInstances, VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import { userOf } from '../../../clients/session/requester.ts';
import { answerTo } from '../../../decisions/owners/request.ts';
import type { HealingRequest } from '../../../decisions/pool/healing-request.ts';
import type { RolloutRequest } from '../../../decisions/rollout/state/rollout-request.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { ListWatch } from '../../../kubernetes/list-watch.ts';
import type { VirtualMachine, VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { poolIdOf, progress, type PoolProgress } from '../../../workflows/lib/messages.ts';
import { healingRequest, rolloutRequest, type Asking } from '../../requests.ts';
import { until, type PoolObject, type TestFleet } from '../fleet.ts';
import { ReadinessWatch } from '../readiness-watch.ts';
import { untilSeen } from '../until-seen.ts';

export type Vm = Stored<VirtualMachine & KubeObject>;
export type Vmi = Stored<VirtualMachineInstance & KubeObject>;

interface Shape {
  /** A change needs a restart. */
  cores?: number;
  sockets?: number;
  maxSockets?: number;
  memory?: string;
  /** Metadata of the VM; `labels` and `annotations` go to its VMI. */
  vmMetadata?: NonNullable<VmTemplate['metadata']>;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  /** Further fields of the VMI spec, added to those that all tests share. */
  vmi?: object;
  vm?: object;
}

/** A template of VMs that boot and stop at once; templates of equal shape have the same revision. */
export function templateOf({
  cores = 1,
  sockets,
  maxSockets,
  memory = '64Mi',
  vmMetadata,
  labels,
  annotations,
  vmi,
  vm,
}: Shape = {}): VmTemplate {
  const cpu = {
    cores,
    ...(sockets === undefined ? {} : { sockets }),
    ...(maxSockets === undefined ? {} : { maxSockets }),
  };
  return {
    ...(vmMetadata === undefined ? {} : { metadata: vmMetadata }),
    spec: {
      runStrategy: 'Always',
      ...vm,
      template: {
        metadata: {
          ...(labels === undefined ? {} : { labels }),
          annotations: { 'sim.drover.dev/boot-time': '100ms', 'sim.drover.dev/stop-time': '100ms', ...annotations },
        },
        spec: { domain: { cpu, devices: {}, memory: { guest: memory } }, ...vmi },
      },
    },
  };
}

/** A template whose VMIs run but never become ready. */
export const badTemplate = (cores: number): VmTemplate =>
  templateOf({ cores, annotations: { 'sim.drover.dev/never-ready': 'true' } });

type Steps = NonNullable<NonNullable<PoolSpec['rollout']>['steps']>;

// oxlint-disable-next-line unicorn/no-thenable
const step = (to: IntOrPercent, then: Steps[number]['then']): Steps[number] => ({ to, then });
export const approvalAt = (to: IntOrPercent): Steps[number] => step(to, { approval: {} });
export const checkAt = (to: IntOrPercent, check: StepCheck): Steps[number] => step(to, { check });
export const waitAt = (to: IntOrPercent, wait: string): Steps[number] => step(to, { wait });

const NAME = 'web';

/** A pool named `web` in a namespace of its own, with the queries and actions that tests need. */
export class TestPool {
  readonly fleet: TestFleet;
  readonly namespace: string;
  readonly workflow: WorkflowHandle;

  constructor(fleet: TestFleet, namespace: string) {
    this.fleet = fleet;
    this.namespace = namespace;
    this.workflow = fleet.temporal.client.workflow.getHandle(poolIdOf(this.ref));
  }

  /** Wraps an existing pool. */
  static of(fleet: TestFleet, namespace: string): TestPool {
    return new TestPool(fleet, namespace);
  }

  /** Resolves when all VMs of the pool run its template. */
  static async ready(fleet: TestFleet, spec: Partial<PoolSpec> = {}): Promise<TestPool> {
    const pool = TestPool.of(fleet, await fleet.namespace());
    const { replicas = 3, template = templateOf() } = spec;
    await fleet.createPool(pool.namespace, NAME, { ...spec, replicas, template });
    await pool.untilComplete(revisionOf(template));
    return pool;
  }

  get ref(): { cluster: string; namespace: string; name: string } {
    return { cluster: 'default', namespace: this.namespace, name: NAME };
  }

  async get(): Promise<Stored<PoolObject>> {
    return (await this.fleet.pool(this.namespace, NAME))!;
  }

  /** Asks something of the pool's rollout, as users do, and returns the answer. */
  async request(
    action: RolloutRequest['action'],
    asking: Omit<NonNullable<Parameters<typeof rolloutRequest>[2]>, 'by'> = {},
  ): Promise<HandledRequest> {
    const by = await userOf(this.fleet.kube);
    return this.#answer(
      rolloutRequest(await this.get(), action, { by, ...asking }),
      ({ rollout }) => rollout?.handledRequests,
    );
  }

  /** Asks something of the pool's healing, as users do, and returns the answer. */
  async heal(request: HealingRequest, asking: Omit<Asking, 'by'> = {}): Promise<HandledRequest> {
    const by = await userOf(this.fleet.kube);
    return this.#answer(healingRequest(request, { by, ...asking }), ({ healing }) => healing?.handledRequests);
  }

  async #answer(
    { annotations, digest }: ReturnType<typeof healingRequest>,
    handledIn: (status: PoolStatus) => readonly HandledRequest[] | undefined,
  ): Promise<HandledRequest> {
    await this.fleet.kube.patch(VirtualMachinePools, { namespace: this.namespace, name: NAME }, 'merge', {
      metadata: { annotations },
    });
    const answerIn = (status: PoolStatus): HandledRequest | undefined => answerTo(digest, handledIn(status));
    return answerIn(await this.seen((status) => expect(answerIn(status)).toBeDefined()))!;
  }

  /** Merge-patches the pool's spec: null removes a field. */
  patch(spec: object): Promise<Stored<PoolObject>> {
    return this.fleet.patchPool(this.namespace, NAME, spec);
  }

  /** Replaces the pool's whole template, and returns the new revision. */
  async change(template: VmTemplate, more: Partial<PoolSpec> = {}): Promise<string> {
    const { metadata } = await this.get();
    const patch = Object.entries({ ...more, template }).map(([name, value]) => ({
      op: 'add',
      path: `/spec/${name}`,
      value,
    }));
    await this.fleet.kube.patch(VirtualMachinePools, metadata, 'json', patch);
    return revisionOf(template);
  }

  async status(): Promise<PoolStatus> {
    return (await this.get()).status!;
  }

  async condition(type: string): Promise<Condition | undefined> {
    return (await this.status()).conditions?.find((condition) => condition.type === type);
  }

  /** Returns the first status from now on for which the assertions hold, however soon another one follows. */
  async seen(assertions: (status: PoolStatus, pool: Stored<PoolObject>) => void): Promise<PoolStatus> {
    const key = { namespace: this.namespace, name: NAME };
    const { status } = await untilSeen<PoolObject>(this.fleet.kube, VirtualMachinePools, key, (pool) =>
      assertions(pool.status!, pool),
    );
    return status!;
  }

  /**
   * Returns the first status from now on that has observed the newest spec, and has these fields, and conditions with
   * these reasons, by type.
   */
  until(wanted: object, reasons: Record<string, string> = {}): Promise<PoolStatus> {
    return this.seen((status, { metadata }) => {
      expect(status).toMatchObject({ observedGeneration: metadata.generation, ...wanted });
      const said = Object.fromEntries((status.conditions ?? []).map(({ type, reason }) => [type, reason]));
      expect(said).toMatchObject(reasons);
    });
  }

  /** Returns the first status from now on whose conditions have these reasons, by type, for the newest spec. */
  untilSaid(reasons: Record<string, string>): Promise<PoolStatus> {
    return this.until({}, reasons);
  }

  /** Waits until all VMs are ready at this revision and the pool reports its rollout as complete. */
  untilComplete(revision: string): Promise<PoolStatus> {
    return this.#untilUpdated(revision, { Progressing: 'Complete' });
  }

  /** Waits for the same, but for pods that lack what the next start or migration gives them. */
  untilPodsAreOutdated(revision: string): Promise<PoolStatus> {
    return this.#untilUpdated(revision, { Progressing: 'OutdatedPods', UpToDate: 'OutdatedPods' });
  }

  async #untilUpdated(revision: string, said: Record<string, string>): Promise<PoolStatus> {
    const { spec } = await this.get();
    const { replicas } = spec;
    const wanted = {
      readyReplicas: replicas,
      updatedReplicas: replicas,
      currentRevision: revision,
      updateRevision: revision,
    };
    return this.until(wanted, said);
  }

  async vms(): Promise<Map<string, Vm>> {
    const { items } = await this.fleet.kube.list<Vm>(VirtualMachines, { namespace: this.namespace });
    return new Map(items.map((vm) => [vm.metadata.name, vm]));
  }

  vm(name: string): Promise<Vm> {
    return this.fleet.kube.get<Vm>(VirtualMachines, { namespace: this.namespace, name });
  }

  vmi(name: string): Promise<Vmi> {
    return this.fleet.kube.get<Vmi>(VirtualMachineInstances, { namespace: this.namespace, name });
  }

  async vmis(): Promise<Map<string, Vmi>> {
    const { items } = await this.fleet.kube.list<Vmi>(VirtualMachineInstances, { namespace: this.namespace });
    return new Map(items.map((vmi) => [vmi.metadata.name, vmi]));
  }

  /** Returns the UIDs of the VMIs, by VM name. */
  async vmiUids(): Promise<Record<string, string>> {
    return Object.fromEntries([...(await this.vmis())].map(([name, vmi]) => [name, vmi.metadata.uid]));
  }

  /** Returns the revisions of each VM's spec and of its VMI, by VM name. */
  async revisions(): Promise<Record<string, [spec: string | undefined, vmi: string | undefined]>> {
    const [vms, vmis] = await Promise.all([this.vms(), this.vmis()]);
    return Object.fromEntries([...vms].map(([name, vm]) => [name, [revisionIn(vm), revisionIn(vmis.get(name))]]));
  }

  /** Returns the names of the VMs whose VMIs run this revision, sorted. */
  async running(revision: string): Promise<string[]> {
    return [...(await this.vmis())]
      .filter(([, vmi]) => revisionIn(vmi) === revision)
      .map(([name]) => name)
      .sort();
  }

  patchVm(name: string, patch: object): Promise<Vm> {
    return this.fleet.kube.patch<Vm>(VirtualMachines, { namespace: this.namespace, name }, 'merge', patch);
  }

  patchVmi(name: string, patch: object): Promise<Vmi> {
    return this.fleet.kube.patch<Vmi>(VirtualMachineInstances, { namespace: this.namespace, name }, 'merge', patch);
  }

  /** Starts, stops or restarts a VM the way virtctl does. */
  async power(name: string, verb: 'start' | 'stop' | 'restart'): Promise<void> {
    const path = `/apis/subresources.kubevirt.io/v1/namespaces/${this.namespace}/virtualmachines/${name}/${verb}`;
    await this.fleet.kube.request({ method: 'PUT', path, body: {} });
  }

  /** Ends a VM's VMI as a crash would, and waits for a running VMI with another UID. */
  async crash(name: string): Promise<void> {
    const before = await this.vmi(name);
    await this.patchVmi(name, {
      metadata: { annotations: { 'sim.drover.dev/run-time': '0s', 'sim.drover.dev/run-end': 'Failed' } },
    });
    await until(async () => {
      const { metadata, status } = await this.vmi(name);
      expect(metadata.uid).not.toBe(before.metadata.uid);
      expect(status?.phase).toBe('Running');
    });
  }

  progress(): Promise<PoolProgress> {
    return this.workflow.query(progress);
  }

  /** Returns the names of the VMs whose updates are in flight. */
  async inProgress(): Promise<string[]> {
    return (await this.progress()).updating.flatMap(({ vms }) => vms);
  }

  /** Waits for a batch to stop a VMI, however briefly it stops, and returns the VM's name. */
  async waitUntilUpdating(): Promise<string> {
    const taken = Promise.withResolvers<string>();
    const watch = new ListWatch<Stored, void>({
      client: this.fleet.kube,
      resource: VirtualMachineInstances,
      namespace: this.namespace,
      view: ({ metadata }) => {
        if (metadata.deletionTimestamp !== undefined) taken.resolve(metadata.name);
      },
    }).start();
    try {
      return await taken.promise;
    } finally {
      await watch.stop();
    }
  }

  /** Returns the batches' workflows in the order of their ids; Temporal's list lags a little. */
  async batches(): Promise<{ id: string; status: string; vms: { name: string; act: string }[] }[]> {
    const found: { id: string; status: string; vms: { name: string; act: string }[] }[] = [];
    const query = `WorkflowType = 'updateBatch' AND DroverNamespace = '${this.namespace}'`;
    for await (const { workflowId, status } of this.fleet.temporal.client.workflow.list({ query })) {
      const { events } = await this.fleet.temporal.client.workflow.getHandle(workflowId).fetchHistory();
      const data = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
      const { batch } = JSON.parse(Buffer.from(data!).toString()) as {
        batch: { vms: { name: string; act: string }[] };
      };
      found.push({ id: workflowId, status: status.name, vms: batch.vms });
    }
    return found.sort((a, b) => a.id.localeCompare(b.id, 'en', { numeric: true }));
  }

  /** Returns the reasons and notes of the Events about this pool, oldest first: the API server lists them by name. */
  async events(): Promise<{ reason: string; note: string }[]> {
    const { items } = await this.fleet.kube.list<
      KubeObject & { reason: string; note: string; eventTime: string; regarding: { name: string } }
    >(Events, { namespace: this.namespace });
    return items
      .filter(({ regarding }) => regarding.name === NAME)
      .sort((a, b) => a.eventTime.localeCompare(b.eventTime))
      .map(({ reason, note }) => ({ reason, note }));
  }

  /** Starts to watch and record the pool's VMs. */
  async watched(): Promise<ReadinessWatch> {
    const watch = await ReadinessWatch.start(this.fleet.kube, this.namespace);
    onTestFinished(() => watch.stop());
    await watch.startRecording();
    return watch;
  }
}

export const revisionIn = (object: { metadata: { labels?: Record<string, string> } } | undefined): string | undefined =>
  object?.metadata.labels?.[REVISION_LABEL];

/** Returns the VMs in the order of their first restarts. */
export function orderOfRestarts({ log }: ReadinessWatch): string[] {
  const firsts = log.names().flatMap((name) =>
    log
      .restartsOf(name)
      .slice(0, 1)
      .map(({ at }) => ({ name, at })),
  );
  return firsts.sort((a, b) => a.at - b.at).map(({ name }) => name);
}
