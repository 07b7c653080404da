import type { WorkflowHandle } from '@temporalio/client';
import { onTestFinished, expect } from 'vitest';
import { MACHINE_TYPE_RESTART_LABEL, MACHINE_TYPE_TRANSITION_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import type { OperationSpec } from '../../../api/operations/operation.ts';
import { Events, KubeVirts, VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import type { Transition, TransitionProgress, TransitionScope } from '../../../decisions/machine-types/transition.ts';
import type { TransitionRecord } from '../../../decisions/views/annotations/transition-record.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import type { VirtualMachine, VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { operationProgress } from '../../../workflows/lib/messages.ts';
import { scopeOf } from '../../decisions/machine-types/snapshots.ts';
import { specOf } from '../../decisions/machine-types/spec-of.ts';
import { until, type TestFleet } from '../fleet.ts';
import { TestOperation } from '../operations/operations.ts';

export const OLD = 'pc-q35-rhel8.6.0';
export const NEW = 'pc-q35-rhel9.6.0';
export const OLD_GLOB = '*rhel8.*';

type Vm = Stored<VirtualMachine & KubeObject>;
type Vmi = Stored<VirtualMachineInstance & KubeObject>;
type Event = KubeObject & { note: string; reason: string; regarding: { kind: string; name: string } };

export interface Shape {
  runStrategy?: string;
  /** Instead of a run strategy. */
  running?: boolean;
  type?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  /** Annotations of its VMI template, which control the simulator. */
  simulation?: Record<string, string>;
}

/** VMs of several machine types in a namespace of their own, and what tests do to them. */
export class TypedVms {
  readonly fleet: TestFleet;
  readonly namespace: string;

  private constructor(fleet: TestFleet, namespace: string) {
    this.fleet = fleet;
    this.namespace = namespace;
  }

  static async empty(fleet: TestFleet): Promise<TypedVms> {
    return new TypedVms(fleet, await fleet.namespace());
  }

  /** Resolves when the VMs that are meant to run are ready. */
  static async of(fleet: TestFleet, shapes: Record<string, Shape>): Promise<TypedVms> {
    const typedVms = await TypedVms.empty(fleet);
    for (const [name, shape] of Object.entries(shapes)) await typedVms.add(name, shape);
    await typedVms.ready(
      Object.keys(shapes).filter((name) => shapes[name]!.runStrategy !== 'Halted' && shapes[name]!.running !== false),
    );
    return typedVms;
  }

  async add(
    name: string,
    { running, runStrategy = 'Always', type = OLD, labels = {}, annotations = {}, simulation = {} }: Shape = {},
  ): Promise<void> {
    const { namespace } = this;
    const asked = { 'sim.drover.dev/boot-time': '200ms', 'sim.drover.dev/stop-time': '100ms', ...simulation };
    const spec = {
      ...(running === undefined ? { runStrategy } : { running }),
      template: {
        metadata: { annotations: asked },
        spec: { domain: { machine: { type }, devices: {}, memory: { guest: '64Mi' } } },
      },
    };
    await this.fleet.kube.create(VirtualMachines, { metadata: { namespace, name, labels, annotations }, spec });
    if (runStrategy === 'Manual') await this.power(name, 'start');
  }

  async ready(names: string[]): Promise<void> {
    await until(async () => {
      const { items } = await this.fleet.kube.list<Vm>(VirtualMachines, { namespace: this.namespace });
      expect(items.filter(({ status }) => status?.ready).map(({ metadata }) => metadata.name)).toEqual(
        expect.arrayContaining(names),
      );
    });
  }

  vm(name: string): Promise<Vm> {
    return this.fleet.kube.get<Vm>(VirtualMachines, { namespace: this.namespace, name });
  }

  vmi(name: string): Promise<Vmi | undefined> {
    return ignoreNotFound(this.fleet.kube.get<Vmi>(VirtualMachineInstances, { namespace: this.namespace, name }));
  }

  /** Returns the UIDs of the VMIs, by VM name. */
  async vmis(): Promise<Record<string, string>> {
    const { items } = await this.fleet.kube.list<Vmi>(VirtualMachineInstances, { namespace: this.namespace });
    return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.uid]));
  }

  async type(name: string): Promise<string | undefined> {
    return (await this.vm(name)).spec.template.spec.domain.machine?.type;
  }

  async mark(name: string): Promise<string | undefined> {
    return (await this.vm(name)).metadata.labels?.[MACHINE_TYPE_RESTART_LABEL];
  }

  async record(name: string): Promise<TransitionRecord | undefined> {
    const text = (await this.vm(name)).metadata.annotations?.[MACHINE_TYPE_TRANSITION_ANNOTATION];
    return text === undefined ? undefined : (JSON.parse(text) as TransitionRecord);
  }

  /** Returns the notes of the Events with this reason, by VM name. */
  async events(reason: string): Promise<Record<string, string[]>> {
    const { items } = await this.fleet.kube.list<Event>(Events, { namespace: this.namespace });
    const notes: Record<string, string[]> = {};
    for (const event of items) if (event.reason === reason) (notes[event.regarding.name] ??= []).push(event.note);
    return notes;
  }

  async patch(name: string, patch: object): Promise<void> {
    await this.fleet.kube.patch(VirtualMachines, { namespace: this.namespace, name }, 'merge', patch);
  }

  async setType(name: string, type: string): Promise<void> {
    await this.patch(name, { spec: { template: { spec: { domain: { machine: { type } } } } } });
  }

  async power(name: string, verb: 'start' | 'stop' | 'restart'): Promise<void> {
    const path = `/apis/subresources.kubevirt.io/v1/namespaces/${this.namespace}/virtualmachines/${name}/${verb}`;
    await this.fleet.kube.request({ method: 'PUT', path, body: {} });
  }

  async vmiPower(name: string, verb: 'pause' | 'unpause'): Promise<void> {
    const path = `/apis/subresources.kubevirt.io/v1/namespaces/${this.namespace}/virtualmachineinstances/${name}/${verb}`;
    await this.fleet.kube.request({ method: 'PUT', path, body: {} });
  }

  /** Deletes the VM, and waits until it and its VMI no longer exist. */
  async remove(name: string): Promise<void> {
    const key = { namespace: this.namespace, name };
    await this.fleet.kube.delete(VirtualMachines, key);
    await until(async () =>
      expect([await ignoreNotFound(this.vm(name)), await this.vmi(name)]).toEqual([undefined, undefined]),
    );
  }

  key(name: string): string {
    return `${this.namespace}/${name}`;
  }

  /** Starts a transition of the old VMs in this namespace. */
  change(options: ChangeOptions = {}): Promise<TestTransition> {
    return TestTransition.start(this.fleet, options, this.namespace);
  }
}

export type ChangeOptions = Partial<Omit<Transition, 'scope'>> & { scope?: Partial<TransitionScope> };

/** An operation that changes machine types, and its workflow. */
export class TestTransition {
  readonly operation: TestOperation;
  readonly handle: WorkflowHandle;

  private constructor(operation: TestOperation, handle: WorkflowHandle) {
    this.operation = operation;
    this.handle = handle;
  }

  /** UID of the operation, by which its VMs are marked. */
  get id(): string {
    return this.operation.key.uid;
  }

  /** Resolves when the operation is carried out, or has ended without that. */
  static async start(
    { kube, temporal }: TestFleet,
    { scope = {}, ...options }: ChangeOptions,
    namespace: string,
  ): Promise<TestTransition> {
    const transition: Transition = {
      scope: scopeOf({ glob: OLD_GLOB, ...scope }),
      to: null,
      restartNow: false,
      maxRestarts: 1,
      maxFailures: 0,
      deadlineMs: 60_000,
      windows: [],
      force: false,
      requestedBy: 'unknown',
      reason: null,
      ...options,
    };
    const name = `types-${++made}`;
    const spec = specOf(transition);
    const operation = await TestOperation.make(kube, namespace, spec, { name });
    const handle = temporal.client.workflow.getHandle(operation.workflowId);
    // A transition that waits for ever would disturb later tests.
    onTestFinished(async () => {
      await operation.delete().catch(() => undefined);
      await handle.terminate().catch(() => undefined);
    });
    await until(async () => {
      if ((await operation.read())?.status?.completionTime === undefined) await handle.describe();
    });
    return new TestTransition(operation, handle);
  }

  /** Pauses, resumes or aborts it. */
  set(spec: Pick<OperationSpec, 'paused' | 'aborted'>): Promise<void> {
    return this.operation.set(spec);
  }

  result(): Promise<TransitionProgress> {
    return this.handle.result() as Promise<TransitionProgress>;
  }

  /** Returns why the operation has failed. */
  async refusal(): Promise<string> {
    await until(async () => expect((await this.operation.read())?.status?.conditions?.some(isFailed)).toBe(true));
    return (await this.operation.read())!.status!.conditions!.find(isFailed)!.message!;
  }

  progress(): Promise<TransitionProgress> {
    return this.handle.query(operationProgress) as Promise<TransitionProgress>;
  }

  async until(wanted: object): Promise<void> {
    await until(async () => expect(await this.progress()).toMatchObject(wanted));
  }
}

const isFailed = (one: { type: string }): boolean => one.type === 'Failed';
let made = 0;

/**
 * Simulates an upgrade of the hypervisor: sets the type that the alias `q35` resolves to when a VMI boots. Resolves
 * when a VMI has booted with it.
 */
export async function setAlias(fleet: TestFleet, type: string): Promise<void> {
  const annotations = { 'sim.drover.dev/q35': type };
  const kubevirt = { namespace: 'kubevirt', name: 'kubevirt' };
  const before = await fleet.kube.get(KubeVirts, kubevirt);
  const after = await fleet.kube.patch(KubeVirts, kubevirt, 'merge', { metadata: { annotations } });
  // Nothing was changed, and every VMI that boots has this type.
  if (after.metadata.resourceVersion === before.metadata.resourceVersion) return;
  const typedVms = await TypedVms.empty(fleet);
  await until(async () => {
    await typedVms.add('probe', { type: 'q35' });
    await typedVms.ready(['probe']);
    const { status } = (await typedVms.vmi('probe'))!;
    await typedVms.remove('probe');
    expect(status?.machine?.type).toBe(type);
  });
}
