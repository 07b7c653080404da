import type { KubeObject, ObjectMeta, Stored } from '../../api/objects.ts';
import {
  DataVolumes,
  KubeVirts,
  PersistentVolumeClaims,
  VirtualMachineInstances,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import type { Stack } from '../../dev/embedded-stack.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { isNotFound, KubeError } from '../../kubernetes/errors.ts';
import type {
  DataVolume,
  Claim,
  KubeVirt,
  VirtualMachine,
  VirtualMachineInstance,
} from '../../simulator/objects/kubevirt.ts';
import { LeasedStack } from '../stacks/leased-stack.ts';
import { waitFor } from '../wait-for.ts';

const FAST = { 'sim.drover.dev/boot-time': '50ms', 'sim.drover.dev/stop-time': '50ms' };

export interface Wanted {
  spec?: Partial<VirtualMachine['spec']>;
  metadata?: Partial<ObjectMeta>;
  annotations?: Record<string, string>;
  vmi?: Record<string, unknown>;
}

/** A stack with the simulator, and what a user of KubeVirt would do there. */
export class SimulatedCluster {
  readonly stack: Stack;
  readonly kube: KubeClient;

  private constructor(stack: Stack) {
    this.stack = stack;
    this.kube = new KubeClient(loadKubeConfig({ kubeconfig: stack.kubeconfig }), { fieldManager: 'test' });
  }

  static async lease(wanted: { kubevirtCrds?: boolean } = {}): Promise<SimulatedCluster> {
    return new SimulatedCluster(await LeasedStack.lease({ temporal: false, simulator: true, ...wanted }));
  }

  async end(): Promise<void> {
    await this.kube.close();
    await this.stack.stop();
  }

  /** Creates a VM that always runs, and boots and stops at once, unless `wanted` says otherwise. */
  createMachine(name: string, { spec, metadata, annotations, vmi }: Wanted = {}): Promise<Stored<VirtualMachine>> {
    const domain = { devices: {}, cpu: { sockets: 1 }, memory: { guest: '2Gi' } };
    const template = {
      metadata: { labels: { vm: name }, annotations: { ...FAST, ...annotations } },
      spec: { domain, ...vmi },
    };
    return this.kube.create<VirtualMachine>(VirtualMachines, {
      metadata: { name, namespace: 'default', ...metadata },
      spec: { ...(spec?.running === undefined ? { runStrategy: 'Always' } : {}), template, ...spec },
    });
  }

  vm = (name: string): Promise<Stored<VirtualMachine>> =>
    this.kube.get<VirtualMachine>(VirtualMachines, { namespace: 'default', name });
  vmi = (name: string): Promise<Stored<VirtualMachineInstance>> =>
    this.kube.get<VirtualMachineInstance>(VirtualMachineInstances, { namespace: 'default', name });
  dataVolume = (name: string): Promise<Stored<DataVolume>> =>
    this.kube.get<DataVolume>(DataVolumes, { namespace: 'default', name });
  claim = (name: string): Promise<Stored<Claim>> =>
    this.kube.get<Claim>(PersistentVolumeClaims, { namespace: 'default', name });

  /** Resolves with the VM when it shows the status. */
  shows(name: string, printableStatus: string): Promise<Stored<VirtualMachine>> {
    return eventually(async () => {
      const vm = await this.vm(name);
      const { status } = vm;
      if (status?.printableStatus !== printableStatus)
        throw new Error(`${name} is ${JSON.stringify(status)}, not ${printableStatus}`);
      return vm;
    });
  }

  /** Creates a VM, and resolves with it and its VMI when it runs. */
  async running(
    name: string,
    wanted: Wanted = {},
  ): Promise<{ vm: Stored<VirtualMachine>; vmi: Stored<VirtualMachineInstance> }> {
    await this.createMachine(name, wanted);
    const vm = await this.shows(name, 'Running');
    return { vm, vmi: await this.vmi(name) };
  }

  patch<T extends KubeObject>(
    resource: Resource,
    name: string,
    patch: object,
    namespace = 'default',
  ): Promise<Stored<T>> {
    return this.kube.patch<T>(resource, { namespace, name }, 'merge', patch);
  }

  changeVmi = (name: string, spec: object): Promise<Stored<VirtualMachine>> =>
    this.patch<VirtualMachine>(VirtualMachines, name, { spec: { template: { spec } } });

  configure = (patch: object): Promise<Stored<KubeVirt>> =>
    this.patch<KubeVirt>(KubeVirts, 'kubevirt', patch, 'kubevirt');

  delete = (
    resource: Resource,
    name: string,
    propagationPolicy: 'Background' | 'Foreground' | 'Orphan' = 'Background',
  ): Promise<Stored> => this.kube.delete(resource, { namespace: 'default', name }, { propagationPolicy });

  /** Resolves when the object no longer exists. */
  gone(resource: Resource, name: string): Promise<void> {
    return eventually(async () => {
      try {
        const left = await this.kube.get(resource, { namespace: 'default', name });
        throw new Error(`${name} is still there: ${JSON.stringify(left.metadata)}`);
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    });
  }

  /** Calls a subresource as virtctl does; returns `ok`, or the code and message of the refusal. */
  async call(path: string, body: object = {}): Promise<string> {
    try {
      await this.kube.request({
        method: 'PUT',
        path: `/apis/subresources.kubevirt.io/v1/namespaces/default/${path}`,
        body,
      });
      return 'ok';
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      return `${error.status} ${error.reason}: ${error.message}`;
    }
  }
}

export const eventually = <T>(check: () => Promise<T>): Promise<T> => waitFor(check, 60_000);
