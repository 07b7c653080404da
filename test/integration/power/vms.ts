import type { WorkflowHandle } from '@temporalio/client';
import { expect, onTestFinished } from 'vitest';
import { digestsOf } from '../../../activities/operations/chosen-vms.ts';
import { EVENT_REPORTER } from '../../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import type { OperationSpec } from '../../../api/operations/operation.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import {
  Events,
  Pods,
  VirtualMachineInstances,
  VirtualMachineOperations,
  VirtualMachines,
} from '../../../api/resources.ts';
import { pick } from '../../../decisions/lib/json.ts';
import type { PowerRunInput } from '../../../decisions/operations/run-input.ts';
import type { PowerAction } from '../../../decisions/power/action.ts';
import type { PowerProgress } from '../../../decisions/power/progress.ts';
import type { VirtualMachine, VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { operationIdOf, operationProgress, taskQueueOf } from '../../../workflows/lib/messages.ts';
import type { PowerState } from '../../../workflows/power/power-run.ts';
import { givenCluster } from '../../cluster/given/given.ts';
import { skip } from '../../cluster/given/skip.ts';
import { namesUpTo, runningTemplate, until, type TestFleet } from '../fleet.ts';
import { ReadinessWatch } from '../readiness-watch.ts';

type Event = KubeObject & { note: string; reportingController: string; regarding: { kind: string; name: string } };
type Vm = Stored<VirtualMachine & KubeObject>;
type Vmi = Stored<VirtualMachineInstance & KubeObject>;
type Pod = Stored<KubeObject & { spec: { containers: { name: string }[] } }>;

interface RunOptions extends Partial<Omit<PowerRunInput, 'operation' | 'chosen'>> {
  /** See `chooseVms`. */
  chosen?: Record<string, Record<string, string>>;
  /** What an earlier run of the workflow has handed on. */
  carried?: PowerState | null;
}

export interface Shape {
  runStrategy?: string;
  vm?: Record<string, string>;
  vmi?: Record<string, string>;
  /** It has a disk of this name. */
  disk?: string;
}

/** VMs in a namespace of their own, an independent watch of them, and what tests do to them. */
export class TestVms {
  readonly namespace: string;
  readonly watch: ReadinessWatch;
  readonly #fleet: TestFleet;

  private constructor(fleet: TestFleet, namespace: string, watch: ReadinessWatch) {
    this.#fleet = fleet;
    this.namespace = namespace;
    this.watch = watch;
  }

  static async empty(fleet: TestFleet): Promise<TestVms> {
    return TestVms.in(fleet, await fleet.namespace());
  }

  /** The VMs that are there already. */
  static async in(fleet: TestFleet, namespace: string): Promise<TestVms> {
    const watch = await ReadinessWatch.start(fleet.kube, namespace);
    onTestFinished(() => watch.stop());
    return new TestVms(fleet, namespace, watch);
  }

  /** Creates VMs without an owner; resolves when those that are meant to run are ready. */
  static async of(fleet: TestFleet, shapes: Record<string, Shape>): Promise<TestVms> {
    const vms = await TestVms.empty(fleet);
    for (const [name, shape] of Object.entries(shapes)) await vms.add(name, shape);
    await vms.ready(Object.keys(shapes).filter((name) => shapes[name]!.runStrategy !== 'Halted'));
    await vms.watch.startRecording();
    return vms;
  }

  /** Creates a pool named `web`; resolves when its VMs are ready. */
  static async ofPool(fleet: TestFleet, spec: Partial<PoolSpec>): Promise<TestVms> {
    const vms = await TestVms.empty(fleet);
    const { replicas = 3 } = spec;
    await fleet.createPool(vms.namespace, 'web', { template: runningTemplate, ...spec, replicas });
    await vms.ready(namesUpTo('web', replicas));
    await until(async () => {
      const { status } = (await fleet.pool(vms.namespace, 'web'))!;
      expect(status?.conditions?.find(({ type }) => type === 'Progressing')?.reason).toBe('Complete');
    });
    await vms.watch.startRecording();
    return vms;
  }

  /** Creates a VM without an owner. */
  async add(name: string, { runStrategy = 'Always', vm = {}, vmi = {}, disk }: Shape = {}): Promise<void> {
    const annotations = { 'sim.drover.dev/boot-time': '300ms', 'sim.drover.dev/stop-time': '100ms', ...vmi };
    const names = disk === undefined ? [] : [disk];
    const devices = { disks: names.map((name) => ({ name, disk: { bus: 'virtio' } })) };
    const volumes = names.map((name) => ({ name, containerDisk: { image: 'disk' } }));
    const template = {
      metadata: { annotations },
      spec: { domain: { devices, memory: { guest: '64Mi' } }, volumes },
    };
    const metadata = { namespace: this.namespace, name, annotations: vm };
    await this.#fleet.kube.create(VirtualMachines, { metadata, spec: { runStrategy, template } });
    if (runStrategy === 'Manual') await this.virtctl(name, 'start');
  }

  async ready(names: string[]): Promise<void> {
    await until(async () => {
      const { items } = await this.#fleet.kube.list<Vm>(VirtualMachines, { namespace: this.namespace });
      expect(items.filter(({ status }) => status?.ready).map(({ metadata }) => metadata.name)).toEqual(
        expect.arrayContaining(names),
      );
    });
  }

  vm(name: string): Promise<Vm> {
    return this.#fleet.kube.get<Vm>(VirtualMachines, { namespace: this.namespace, name });
  }

  async vmis(): Promise<Record<string, string>> {
    const { items } = await this.#fleet.kube.list<Vmi>(VirtualMachineInstances, { namespace: this.namespace });
    return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.uid]));
  }

  /** As a user does it with `virtctl`. */
  async virtctl(name: string, verb: 'start' | 'stop'): Promise<void> {
    const path = `/apis/subresources.kubevirt.io/v1/namespaces/${this.namespace}/virtualmachines/${name}/${verb}`;
    await this.#fleet.kube.request({ method: 'PUT', path, body: {} });
  }

  /**
   * Has these VMs run in pods of an earlier KubeVirt, as after an upgrade of it: KubeVirt sees that by the image, and
   * labels their VMIs.
   */
  async outdate(names: string[]): Promise<void> {
    const { namespace } = this;
    const { kube } = this.#fleet;
    const labels = { 'kubevirt.io/outdatedLauncherImage': '' };
    const given = givenCluster();
    if (given?.hasStandIn === false) skip('it puts VMs into pods of an earlier KubeVirt');
    const pods = given === undefined ? [] : (await kube.list<Pod>(Pods, { namespace })).items;
    for (const name of names) {
      const pod = pods.find(({ metadata }) => metadata.annotations?.['kubevirt.io/domain'] === name);
      if (pod === undefined) {
        await kube.patch(VirtualMachineInstances, { namespace, name }, 'merge', { metadata: { labels } });
        continue;
      }
      const index = pod.spec.containers.findIndex((container) => container.name === 'compute');
      const path = `/spec/containers/${index}/image`;
      await kube.patch(Pods, pod.metadata, 'json', [{ op: 'replace', path, value: 'launcher:earlier' }]);
    }
    await until(async () => {
      const { items } = await kube.list<Vmi>(VirtualMachineInstances, { namespace });
      const outdated = items.filter(({ metadata }) => metadata.labels?.['kubevirt.io/outdatedLauncherImage'] === '');
      expect(outdated.map(({ metadata }) => metadata.name)).toEqual(names.toSorted());
    });
  }

  key(name: string): string {
    return `${this.namespace}/${name}`;
  }

  /** Starts a restart of all existing VMIs. `before` is awaited with the UID of its operation. */
  async restart(options: RunOptions = {}, before?: (uid: string) => Promise<unknown>): Promise<TestRun> {
    return this.run('Restart', { chosen: { [this.namespace]: await this.vmis() }, ...options }, before);
  }

  /** Starts a start or a stop of these VMs. */
  async power(action: 'Start' | 'Stop', names: string[], options: RunOptions = {}): Promise<TestRun> {
    const uids = await Promise.all(names.map(async (name) => [name, (await this.vm(name)).metadata.uid] as const));
    return this.run(action, { chosen: { [this.namespace]: Object.fromEntries(uids) }, ...options });
  }

  /** Makes an operation, and starts its workflow as if it had chosen by just this input. */
  async run(
    action: PowerAction,
    { carried: state = null, ...options }: RunOptions,
    before?: (uid: string) => Promise<unknown>,
  ): Promise<TestRun> {
    const input = {
      action,
      chosen: {} as Record<string, Record<string, string>>,
      atOnce: 1,
      maxFailures: 0,
      deadlineMs: 60_000,
      requestedBy: 'ada',
      reason: null,
      ...options,
    };
    await this.#aged();
    const { kube, temporal } = this.#fleet;
    const { items } = await kube.list<Stored>(VirtualMachines, { namespace: this.namespace });
    const vms = new Map(items.map(({ metadata: vm }) => [`${this.namespace}/${vm.name}`, vm]));
    const { metadata } = await kube.create(VirtualMachineOperations, {
      metadata: { namespace: this.namespace, name: `t${Math.random().toString(36).slice(2, 9)}` },
      spec: {
        action,
        vms: { names: Object.keys(input.chosen[this.namespace]!) },
        ...pick(input, ['atOnce', 'maxFailures']),
        deadline: `${input.deadlineMs}ms`,
        paused: true,
      },
    });
    const operation = { namespace: this.namespace, name: metadata.name, uid: metadata.uid };
    await before?.(operation.uid);
    const key = { cluster: 'default', ...operation };
    const handle = await temporal.client.workflow.start('operation', {
      workflowId: operationIdOf(key),
      // A worker may have started it, and waits until it is no longer paused.
      workflowIdConflictPolicy: 'TERMINATE_EXISTING',
      taskQueue: taskQueueOf('default'),
      args: [key, { input: { ...input, chosen: digestsOf(vms, input.chosen), ended: '', asOf: {}, operation }, state }],
    });
    const run = new TestRun(handle, (spec) => kube.patch(VirtualMachineOperations, operation, 'merge', { spec }));
    await run.set({ paused: false });
    return run;
  }

  /** Resolves when an operation that is made now is younger than all VMs and VMIs: times have whole seconds. */
  async #aged(): Promise<void> {
    const { namespace } = this;
    const { kube } = this.#fleet;
    const lists = await Promise.all(
      [VirtualMachines, VirtualMachineInstances].map((resource) => kube.list<Stored>(resource, { namespace })),
    );
    const times = lists.flatMap(({ items }) => items.map(({ metadata }) => Date.parse(metadata.creationTimestamp)));
    await until(() => Promise.resolve(expect(Date.now()).toBeGreaterThan(Math.max(...times) + 1_000)));
  }

  /** What drover has told of these VMs. */
  async events(): Promise<string[]> {
    const { items } = await this.#fleet.kube.list<Event>(Events, { namespace: this.namespace });
    return items
      .filter(({ reportingController, regarding }) => {
        return reportingController === EVENT_REPORTER && regarding.kind !== VirtualMachineOperations.kind;
      })
      .map(({ note, regarding: { kind, name } }) => `${kind} ${name}: ${note}`)
      .sort();
  }

  async strategies(names: string[]): Promise<(string | undefined)[]> {
    return (await Promise.all(names.map((name) => this.vm(name)))).map(({ spec }) => spec.runStrategy);
  }

  /** Returns how often each VM was restarted, by name. */
  async restarts(): Promise<Record<string, number>> {
    await this.watch.caughtUp();
    expect(this.watch.gaps).toEqual([]);
    return Object.fromEntries(this.watch.log.names().map((name) => [name, this.watch.log.restartsOf(name).length]));
  }
}

class TestRun {
  readonly handle: WorkflowHandle;
  /** Pauses, resumes or aborts it. */
  readonly set: (spec: Pick<OperationSpec, 'paused' | 'aborted'>) => Promise<unknown>;

  constructor(handle: WorkflowHandle, set: TestRun['set']) {
    this.handle = handle;
    this.set = set;
  }

  result(): Promise<PowerProgress> {
    return this.handle.result() as Promise<PowerProgress>;
  }

  progress(): Promise<PowerProgress> {
    return this.handle.query(operationProgress) as Promise<PowerProgress>;
  }

  async until(wanted: object): Promise<void> {
    await until(async () => expect(await this.progress()).toMatchObject(wanted));
  }
}

export const each = <T>(names: string[], value: T): Record<string, T> =>
  Object.fromEntries(names.map((name) => [name, value]));
