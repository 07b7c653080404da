import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { onTestFinished, vi } from 'vitest';
import { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { digestsOf } from '../../../activities/operations/chosen-vms.ts';
import type { OwnerKey } from '../../../activities/owners/owner-key.ts';
import {
  API_VERSION,
  DISKS_FINALIZER,
  MACHINE_TYPE_RESTART_LABEL,
  MACHINE_TYPE_TRANSITION_ANNOTATION,
  POOL_FINALIZER,
  POD_REVISION_ANNOTATION,
  POOL_LABEL,
  REPLICA_SET_FINALIZER,
  REVISION_LABEL,
} from '../../../api/labels-and-annotations.ts';
import type { KubeObject, OwnerReference, Stored } from '../../../api/objects.ts';
import type { OperationSpec } from '../../../api/operations/operation.ts';
import type { SetKind } from '../../../api/owner-kinds.ts';
import type { PoolSpec, VmTemplate } from '../../../api/pool/pool.ts';
import {
  ClusterVirtualMachineOperations,
  ControllerRevisions,
  DataVolumes,
  Nodes,
  PersistentVolumeClaims,
  VirtualMachineInstanceReplicaSets,
  VirtualMachineInstances,
  VirtualMachineOperations,
  VirtualMachineOperationSchedules,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachines,
} from '../../../api/resources.ts';
import type { ScheduleSpec } from '../../../api/schedules/schedule.ts';
import { field } from '../../../decisions/lib/json.ts';
import type { OperationRef } from '../../../decisions/operations/ref.ts';
import type { PowerAction } from '../../../decisions/power/action.ts';
import { isAboutVmi, targetOfVmi } from '../../../decisions/power/target.ts';
import { planSchedule } from '../../../decisions/schedules/plan.ts';
import { keptDiskMetadata } from '../../../decisions/template/kept-disk.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import { vmFromTemplate, memberFromTemplate } from '../../../decisions/template/vm-from-template.ts';
import type { StoredSet } from '../../../decisions/views/owner.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { StoredSchedule } from '../../../decisions/views/stored-schedule.ts';
import type { MemberRole } from '../../../decisions/views/vm.ts';
import { createActivities } from '../../../workers/activities.ts';
import { createMetrics } from '../../../workers/metrics/metrics.ts';
import { operationIdOf } from '../../../workflows/lib/messages.ts';
import { aTemplate } from '../../model/pools.ts';
import { ApiServer } from '../../model/world/api-server.ts';
import { StillClient } from './still-client.ts';

export type Activities = ReturnType<typeof createActivities>;
export type ActivityName = keyof Activities['working'] | keyof Activities['waiting'] | keyof Activities['watching'];

/** What a VM is, and its metadata. */
type VmChange = Partial<KubeObject['metadata']> & { role?: MemberRole | null };

export const SHOP = 'shop';
const CLUSTER = 'default';
export const OLD_TYPE = 'pc-q35-rhel8.6.0';
export const NEW_TYPE = 'pc-q35-rhel9.4.0';
/** Another user's namespace. */
export const BANK = 'bank';

/** A write of the status of an operation. */
const STATUS = /^patch \w*virtualmachineoperations /;

/** A worker has looked at the pool, and its batch 1 is in flight. */
const ROLLING = {
  revision: 'r',
  startedAt: new Date(0).toISOString(),
  batches: 1,
  lastBatch: 1,
  inFlight: [1],
  step: 0,
  failures: [],
};

/** A cluster as it was when a worker's caches were filled, and the activities of that worker. */
export class World {
  #ahead = 0;
  readonly server = new ApiServer(() => Date.now() + this.#ahead);
  readonly client = new StillClient(this.server);
  readonly cache = new ClusterCache({ client: this.client.asClient });
  readonly stopping = new AbortController();
  #activities: object = {};

  constructor() {
    const conditions = [{ type: 'Ready', status: 'True' }];
    const labels = { 'kubevirt.io/schedulable': 'true' };
    for (const name of ['node-1', 'node-2'])
      this.server.create(Nodes, { metadata: { name, labels }, status: { conditions } });
  }

  /** Fills the worker's caches. */
  async start(): Promise<this> {
    await this.cache.start();
    const limits = { burst: 250, concurrency: 8, connections: 8, checkAddresses: [] };
    const config = { cluster: CLUSTER, ...limits } as unknown as Parameters<typeof createActivities>[0]['config'];
    const { working, waiting, watching } = createActivities({
      config,
      client: this.client.asClient,
      cache: this.cache,
      metrics: createMetrics('default'),
      stopping: this.stopping.signal,
    });
    this.#activities = { ...working, ...waiting, ...watching };
    this.client.writes.length = 0;
    onTestFinished(() => this.cache.stop());
    return this;
  }

  get names(): string[] {
    return Object.keys(this.#activities);
  }

  /**
   * Calls an activity with whatever a caller sends, and returns what it has written, but for statuses of operations,
   * which say what their workflows say; its answer does not matter.
   */
  async written(
    name: string,
    args: readonly unknown[],
    workflowId = this.#workflowOf(args),
    isLocal = false,
  ): Promise<string[]> {
    const before = this.client.writes.length;
    const info = { isLocal, workflowExecution: { workflowId, runId: 'run' } };
    // The others do without Temporal.
    const temporal = name === 'changePower' ? { client: this.#temporal(args[0]) } : {};
    const environment = new MockActivityEnvironment(info, { logger: new DefaultLogger('ERROR'), ...temporal });
    const activity = (this.#activities as Record<string, (...args: never[]) => Promise<unknown>>)[name]!;
    const ended = environment
      .run(() => activity(...(args as never[])))
      .catch((error: unknown) => void (this.failure = error));
    this.answer = await (vi.isFakeTimers() ? hurried(ended) : ended);
    return this.client.writes.slice(before).filter((one) => !STATUS.test(one));
  }

  /** The workflow that calls if nobody says otherwise: that of the operation that the input names. */
  #workflowOf([input]: readonly unknown[]): string {
    const operation = (field(input, 'operation') ?? { namespace: SHOP, name: '', uid: '' }) as OperationRef;
    return operationIdOf({ cluster: CLUSTER, ...operation });
  }

  /** As it answers when an activity asks for what its run was started with: all VMs that there are. */
  #temporal(request: unknown): Client {
    const action = field(request, 'action') as PowerAction;
    const chosen: Record<string, Record<string, string>> = {};
    for (const { metadata, status } of this.server.all(
      isAboutVmi(action) ? VirtualMachineInstances : VirtualMachines,
    )) {
      const [pod = null] = Object.keys((status as { activePods?: object } | undefined)?.activePods ?? {});
      (chosen[metadata.namespace!] ??= {})[metadata.name] = targetOfVmi(action, { uid: metadata.uid, pod });
    }
    const vms = new Map(
      this.server.all(VirtualMachines).map(({ metadata }) => [`${metadata.namespace}/${metadata.name}`, metadata]),
    );
    const run = { input: { chosen: digestsOf(vms, chosen) } };
    const input = { payloads: [defaultPayloadConverter.toPayload({}), defaultPayloadConverter.toPayload(run)] };
    const history = { events: [{ workflowExecutionStartedEventAttributes: { input } }] };
    return {
      withAbortSignal: (_signal: AbortSignal, work: () => unknown) => work(),
      activity: { heartbeat: () => Promise.resolve() },
      workflowService: { getWorkflowExecutionHistory: () => Promise.resolve({ history }) },
      options: {
        namespace: 'default',
        loadedDataConverter: { payloadCodecs: [], payloadConverter: defaultPayloadConverter },
      },
    } as unknown as Client;
  }

  /** The VMI of this name runs in a pod of this UID, and can be migrated. */
  inPod(key: { namespace?: string; name: string }, pod: string): void {
    const conditions = ['Ready', 'LiveMigratable'].map((type) => ({ type, status: 'True' }));
    this.server.write(VirtualMachineInstances, key, ({ status, ...vmi }) => ({
      ...vmi,
      status: { ...(status as object), conditions, activePods: { [pod]: 'node-1' } },
    }));
  }

  /** An operation on VMs of the shop, a restart if `spec` does not say otherwise; younger than all that there is. */
  operation(
    names: string[],
    spec: Partial<OperationSpec> = {},
    name = (spec.action ?? 'Restart').toLowerCase(),
  ): Stored {
    this.#ahead += 2_000;
    return this.server.create(VirtualMachineOperations, {
      metadata: { namespace: SHOP, name },
      spec: { action: 'Restart', vms: { names }, ...spec },
    });
  }

  /** The same for VMs of these namespaces. */
  clusterOperation(namespaces: string[]): Stored {
    this.#ahead += 2_000;
    return this.server.create(ClusterVirtualMachineOperations, {
      metadata: { name: 'restart' },
      spec: { action: 'Restart', vms: { selector: {} }, namespaces },
    });
  }

  /** A schedule that has been there for an hour, and of which a worker has told all that there is to tell. */
  schedule(spec: Partial<ScheduleSpec>): Stored {
    const template = { spec: { action: 'Stop', vms: { names: ['db'] } } } as const;
    const made = this.server.create(VirtualMachineOperationSchedules, {
      metadata: { namespace: SHOP, name: 'night' },
      spec: { schedule: '0 0 1 1 *', operationTemplate: template, ...spec },
    });
    const now = Date.now();
    const status = { observedGeneration: 1, effectiveSince: new Date(now - 3_600_000).toISOString() };
    const schedule = { ...made, status } as unknown as StoredSchedule;
    const plan = planSchedule({ schedule, operations: [], ranUntil: null, refusal: null, now });
    return this.server.write(
      VirtualMachineOperationSchedules,
      made.metadata,
      (before) => ({ ...before, status: plan.status }),
      'status',
    );
  }

  /** An operation that takes an old machine type away from VMs of the shop. */
  typesOperation(vms: object): Stored {
    return this.server.create(VirtualMachineOperations, {
      metadata: { namespace: SHOP, name: 'types' },
      spec: {
        action: 'MachineType',
        vms,
        machineType: { from: OLD_TYPE, to: NEW_TYPE, restart: true },
      },
    });
  }

  /** The same, which has changed this VM and waits for its restart. */
  typesOperationOf(name: string): Stored {
    const operation = this.typesOperation({ names: [name] });
    const { uid: id } = operation.metadata;
    const record = { id, from: OLD_TYPE, to: NEW_TYPE, vmiType: OLD_TYPE, at: new Date(0).toISOString() };
    const vm = this.typed(SHOP, name, {
      labels: { [MACHINE_TYPE_RESTART_LABEL]: id },
      annotations: { [MACHINE_TYPE_TRANSITION_ANNOTATION]: JSON.stringify(record) },
    });
    const { spec } = aTemplate({ machineType: NEW_TYPE });
    this.server.write(VirtualMachines, vm.metadata, (before) => ({ ...before, spec }));
    return operation;
  }

  /** A VM of nobody that has the old machine type, and runs. */
  typed(namespace: string, name: string, change: object = {}): Stored {
    const template = aTemplate({ machineType: OLD_TYPE });
    return this.running(
      { metadata: { namespace, name, ownerReferences: [], ...change }, spec: template.spec },
      OLD_TYPE,
    );
  }

  /** What the last call came to. */
  answer: unknown;
  failure: unknown;

  pool(name: string, spec: Partial<PoolSpec> = {}, metadata: object = {}): Stored & StoredPool {
    return this.server.create(VirtualMachinePools, {
      metadata: { namespace: SHOP, name, finalizers: [POOL_FINALIZER], ...metadata },
      spec: { replicas: 3, template: aTemplate({ disk: 'root' }), ...spec },
      status: { replicas: 3, writes: 1, rollout: ROLLING },
    }) as Stored & StoredPool;
  }

  set(kind: SetKind, name: string, metadata: object = {}): Stored & StoredSet {
    const labels = { app: name };
    const resource =
      kind === 'VirtualMachineReplicaSet' ? VirtualMachineReplicaSets : VirtualMachineInstanceReplicaSets;
    const template = kind === 'VirtualMachineReplicaSet' ? aTemplate() : { spec: { domain: { devices: {} } } };
    return this.server.create(resource, {
      metadata: { namespace: SHOP, name, finalizers: [REPLICA_SET_FINALIZER], ...metadata },
      spec: { replicas: 1, selector: { matchLabels: labels }, template: { ...template, metadata: { labels } } },
    }) as Stored & StoredSet;
  }

  member(kind: SetKind, set: StoredSet, name: string, change: object = {}): Stored {
    const made = memberFromTemplate(kind, set, name);
    const resource = kind === 'VirtualMachineReplicaSet' ? VirtualMachines : VirtualMachineInstances;
    return this.server.create(resource, { ...made, metadata: { ...made.metadata, ...change } });
  }

  /** A VM of the pool with its disk, which runs and is ready. */
  vm(pool: StoredPool, number: number, { role = null, ...change }: VmChange = {}): Stored {
    const made = vmFromTemplate(pool, pool.spec.template, number, role);
    return this.#recorded(pool, this.running({ ...made, metadata: { ...made.metadata, ...change } }), role);
  }

  /** Records what the VM is in its pool. */
  #recorded(pool: StoredPool, vm: Stored, role: MemberRole | null): Stored {
    if (role === null) return vm;
    const { name, uid, creationTimestamp: at } = vm.metadata;
    this.server.write(
      VirtualMachinePools,
      pool.metadata,
      (before) => {
        const { status } = before as Stored & StoredPool;
        return { ...before, status: { ...status, roles: [...(status?.roles ?? []), { vm: name, role, uid, at }] } };
      },
      'status',
    );
    return vm;
  }

  /** A VM of another owner, or of none, which runs and is ready. */
  other(namespace: string, name: string, owner?: Omit<OwnerReference, 'controller'>, change: object = {}): Stored {
    const ownerReferences = owner === undefined ? [] : [{ ...owner, controller: true }];
    return this.running({
      metadata: { namespace, name, ownerReferences, ...change },
      spec: structuredClone(aTemplate().spec),
    });
  }

  running(vm: KubeObject, machineType?: string): Stored {
    const stored = this.server.create(VirtualMachines, {
      ...vm,
      status: { created: true, ready: true, printableStatus: 'Running' },
    });
    const { namespace, name, uid, labels = {} } = stored.metadata;
    const owner = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name, uid, controller: true };
    this.server.create(VirtualMachineInstances, {
      metadata: { namespace: namespace!, name, labels, ownerReferences: [owner] },
      spec: {
        // No KubeVirt ends it: an activity that waits for that is late at once.
        terminationGracePeriodSeconds: 0,
        domain: { devices: {}, ...(machineType === undefined ? {} : { machine: { type: machineType } }) },
      },
      status: {
        ...(machineType === undefined ? {} : { machine: { type: machineType } }),
        phase: 'Running',
        nodeName: 'node-1',
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    });
    return stored;
  }

  /** A halted VM of the pool. */
  halted(pool: StoredPool, number: number, change: VmChange = {}): Stored {
    const { role = null, ...metadata } = change;
    const made = vmFromTemplate(pool, pool.spec.template, number, role);
    const stored = this.server.create(VirtualMachines, {
      ...made,
      metadata: { ...made.metadata, ...metadata },
      spec: { ...made.spec, runStrategy: 'Halted' },
      status: { created: false, ready: false, printableStatus: 'Stopped' },
    });
    return this.#recorded(pool, stored, role);
  }

  /** A VM that a user is deleting, held until its disks are let go. */
  held(vm: Stored): Stored {
    this.server.write(VirtualMachines, vm.metadata, (before) => ({
      ...before,
      metadata: { ...before.metadata, finalizers: [DISKS_FINALIZER] },
    }));
    return this.server.delete(VirtualMachines, vm.metadata);
  }

  keptDisk(pool: StoredPool, number: number, keptBy: 'scale-in' | 'healing' = 'scale-in', owner?: Stored): Stored {
    const { namespace, name, uid } = pool.metadata;
    const mark = keptDiskMetadata({
      pool: name,
      poolUid: uid,
      number,
      disk: 'root',
      volume: null,
      revision: null,
      template: null,
      firmware: {},
      keptBy,
      keptAt: new Date().toISOString(),
    });
    const at = { namespace, name: `root-${number}` };
    const { uid: of } = owner?.metadata ?? {};
    const holder = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name: `${name}-${number}`, uid: of! };
    if (owner !== undefined)
      this.server.create(DataVolumes, { metadata: { ...at, ownerReferences: [{ ...holder, controller: true }] } });
    return this.server.create(PersistentVolumeClaims, { metadata: { ...at, ...mark } });
  }

  /** A pool whose template has another disk than its VMs, which it replaces if its spec does not say otherwise. */
  outdated(
    spec: Partial<PoolSpec> = {},
    count = 1,
  ): { pool: Stored & StoredPool; vms: Stored[]; to: string; from: string } {
    const old = aTemplate({ disk: 'root' });
    const template = structuredClone(old);
    const [disk] = template.spec.dataVolumeTemplates!;
    disk!['spec'] = { ...(disk!['spec'] as object), source: { http: { url: 'https://images.example/2' } } };
    const replaces = { updateStrategy: { proactive: { disruption: 'Replace' } } } as const;
    const pool = this.pool('web', { replicas: count, template, ...replaces, ...spec });
    this.revision(pool, 1, old);
    const to = revisionOf(poolTemplate(pool.spec));
    this.revision(pool, 2, template);
    const vms = Array.from({ length: count }, (_, index) =>
      this.vm({ ...pool, spec: { ...pool.spec, template: old } }, index + 1),
    );
    return { pool, vms, to, from: revisionOf(old) };
  }

  /** A pool that migrates VMs whose pods lack something, and its VM, whose pod lacks a label. */
  withOldPod(spec: Partial<PoolSpec> = {}): { pool: Stored & StoredPool; vm: Stored; vmi: Stored; to: string } {
    const old = aTemplate();
    const template = structuredClone(old);
    (template.spec.template as { metadata?: object }).metadata = { labels: { tier: 'gold' } };
    const migrates = { updateStrategy: { proactive: { outdatedPods: 'Migrate' } } } as const;
    const pool = this.pool('web', { replicas: 1, template, ...migrates, ...spec });
    this.revision(pool, 1, old);
    this.revision(pool, 2, template);
    const vm = this.vm(pool, 1);
    const to = revisionOf(poolTemplate(pool.spec));
    const vmi = this.server.write(VirtualMachineInstances, vm.metadata, (before) => ({
      ...before,
      metadata: {
        ...before.metadata,
        labels: { ...before.metadata.labels, [REVISION_LABEL]: to },
        annotations: { [POD_REVISION_ANNOTATION]: `${revisionOf(old)}@node-1` },
      },
      status: {
        ...(before as { status?: object }).status,
        conditions: ['Ready', 'LiveMigratable'].map((type) => ({ type, status: 'True' })),
      },
    }));
    return { pool, vm, vmi, to };
  }

  revision(pool: StoredPool, number: number, given: VmTemplate | number): Stored {
    const template = typeof given === 'number' ? aTemplate({ disk: 'root', version: given }) : given;
    const hash = revisionOf(template);
    return this.server.create(ControllerRevisions, {
      metadata: {
        namespace: SHOP,
        name: `${pool.metadata.name}-${hash}`,
        labels: { [POOL_LABEL]: pool.metadata.name, [REVISION_LABEL]: hash },
        ownerReferences: [referenceTo(pool)],
      },
      revision: number,
      data: { template },
    });
  }
}

export const referenceTo = ({ metadata: { name, uid } }: StoredPool, version = API_VERSION) => ({
  apiVersion: version,
  kind: 'VirtualMachinePool',
  name,
  uid,
  controller: true,
});

export const keyOf = (
  owner: { metadata: { namespace?: string; name: string; uid: string } },
  kind?: SetKind,
): OwnerKey => ({
  namespace: owner.metadata.namespace!,
  name: owner.metadata.name,
  uid: owner.metadata.uid,
  ...(kind === undefined ? {} : { kind }),
});

export const targetOf = ({ metadata: { name, uid, resourceVersion } }: Stored) => ({ name, uid, resourceVersion });

/** Has a test's activities wait in virtual time: a VM is late only half a minute after its grace period. */
export const virtualTime = (): void => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });

const STEP_MS = 200;

/** Lets time pass until the activity has ended. */
async function hurried<T>(ended: Promise<T>): Promise<T> {
  let isOver = false;
  const over = ended.finally(() => (isOver = true));
  while (!isOver) {
    await vi.advanceTimersByTimeAsync(STEP_MS);
    await new Promise(setImmediate);
  }
  return over;
}
