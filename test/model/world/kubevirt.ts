import { REVISION_LABEL } from '../../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import type { VmRolloutStrategy } from '../../../api/pool/pool.ts';
import {
  KubeVirtPools,
  KubeVirts,
  Nodes,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstances,
} from '../../../api/resources.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
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
import type { Migration, Node, VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { Cluster } from '../../../simulator/store/cluster.ts';
import { OwnedKinds } from '../../../simulator/store/owned-kinds.ts';
import { Refusal } from '../../../simulator/vm/start-stop-restart.ts';
import { isOver } from '../../../simulator/vmi/migration.ts';
import { jsonPatch, type ApiServer, type JsonPatch } from './api-server.ts';
import { NAMESPACE } from './names.ts';
import { Process, processNow, runAs } from './virtual-time.ts';

/** Who has pods evicted: a drain, the descheduler, or a user who calls the API. */
export type Evictor = 'drain' | 'descheduler' | 'somebody';

const DRAIN = { key: 'kubevirt.io/drain', effect: 'NoSchedule' };

/** KubeVirt's and Kubernetes' part of the world: the simulator's controllers, admission, and what befalls VMIs. */
export class KubeVirt {
  readonly process = new Process('kubevirt');
  /** What an admission policy of users' makes of the label by which a VMI says its revision; null: nothing. */
  relabelTo: string | null = null;
  readonly #server: ApiServer;
  readonly #say: (words: string) => void;
  #cluster!: Cluster;

  constructor(server: ApiServer, say: (words: string) => void) {
    this.#server = server;
    this.#say = say;
  }

  /** Starts the controllers. `vmRolloutStrategy`: how KubeVirt applies changes to VMIs that run. */
  async start(client: KubeClient, vmRolloutStrategy: VmRolloutStrategy): Promise<void> {
    this.#server.create(KubeVirts, {
      metadata: { name: 'kubevirt', namespace: 'kubevirt' },
      spec: {
        configuration: { vmRolloutStrategy },
        workloadUpdateStrategy: { workloadUpdateMethods: ['LiveMigrate'] },
      },
    });
    const cluster = new Cluster(client, { warn: (words: string) => this.#say(`kubevirt: ${words}`) });
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
  admit(plural: string, object: KubeObject, before: Stored | undefined): KubeObject {
    const isKubeVirt = processNow() === this.process;
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
      const all = this.#server.all<Migration>(VirtualMachineInstanceMigrations);
      const other = all.find((one) => one.spec.vmiName === vmiName && !isOver(one));
      const vmi = this.#server
        .all<VirtualMachineInstance>(VirtualMachineInstances)
        .find(({ metadata: { namespace, name } }) => namespace === object.metadata.namespace && name === vmiName);
      try {
        return jsonPatch(object, admitMigration({ request }, vmi, other) as JsonPatch);
      } catch (error) {
        if (!(error instanceof Denied)) throw error;
        throw new KubeError(400, 'BadRequest', `admission webhook "virt-api" denied the request: ${error.message}`);
      }
    }
    if (plural === 'virtualmachineinstances' && before === undefined && this.relabelTo !== null) {
      const labels = { ...object.metadata.labels, [REVISION_LABEL]: this.relabelTo };
      return { ...object, metadata: { ...object.metadata, labels } };
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

  /** Performs a request to a subresource; any other is answered by nothing. */
  async request({ path, body }: HttpRequest): Promise<unknown> {
    if (path === `/apis/${KubeVirtPools.group}`) return { preferredVersion: { version: KubeVirtPools.version } };
    const found =
      /^\/apis\/subresources\.kubevirt\.io\/v1\/namespaces\/([^/]+)\/(virtualmachines|virtualmachineinstances)\/([^/]+)\/(\w+)$/.exec(
        path,
      );
    if (found === null) return {};
    const [, namespace = '', resource, name = '', action = ''] = found;
    try {
      await runAs(this.process, () =>
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

  /** Ends the VM's VMI as a crash does, or a shutdown from within. */
  crash(name: string, end: 'Failed' | 'Succeeded' = 'Failed'): void {
    if (this.#vmi(name)?.status?.phase !== 'Running') return;
    this.#say(`-- ${name} ${end === 'Failed' ? 'crashes' : 'shuts down'}`);
    this.#annotate(name, { 'sim.drover.dev/run-time': '0s', 'sim.drover.dev/run-end': end });
  }

  /** Has the disk of the VM's VMI fail, or no longer. */
  failDisk(name: string, fails: boolean): void {
    if (this.#vmi(name) === undefined) return;
    this.#say(`-- the disk of ${name} ${fails ? 'fails' : 'is mended'}`);
    this.#annotate(name, { 'sim.drover.dev/io-error': String(fails) });
  }

  #annotate(name: string, annotations: Record<string, string>): void {
    this.#server.write(VirtualMachineInstances, { namespace: NAMESPACE, name }, (vmi) => ({
      ...vmi,
      metadata: { ...vmi.metadata, annotations: { ...vmi.metadata.annotations, ...annotations } },
    }));
  }

  /** Has the pod of the VM's VMI evicted, by a drain of its node, or by a user who does not drain it. */
  evict(name: string, fails: boolean, by: Evictor = 'drain'): void {
    const node = this.#vmi(name)?.status?.nodeName;
    if (node === undefined) return;
    this.#say(`-- ${name} is evicted from ${node} (${by})${fails ? ', and can not be migrated away' : ''}`);
    if (by === 'drain') this.drain(node, true);
    this.#annotate(name, {
      'sim.drover.dev/evict-from': node,
      'sim.drover.dev/evicted-by': by,
      'sim.drover.dev/migration-fails': String(fails),
    });
  }

  /** Has a node be drained, or not any more: by a taint, for VMs still must find a node. The marks of VMIs stay. */
  drain(node: string, isOn: boolean): void {
    this.#server.write(Nodes, { name: node }, (it) => ({ ...it, spec: isOn ? { taints: [DRAIN] } : {} }));
  }

  /** Has all evictions taken back that wait for nothing any more, as users do who drain no node. */
  takeBackEvictions(): void {
    for (const { metadata, status } of this.#server.all<VirtualMachineInstance>(VirtualMachineInstances)) {
      if (status?.evacuationNodeName === undefined || this.isDrained(status.nodeName)) continue;
      this.#say(`-- the eviction of ${metadata.name} is taken back`);
      runAs(this.process, () =>
        this.#server.write(VirtualMachineInstances, metadata, (vmi) => {
          const { 'sim.drover.dev/evict-from': _from, ...annotations } = vmi.metadata.annotations ?? {};
          const { evacuationNodeName: _node, ...left } = vmi['status'] as NonNullable<VirtualMachineInstance['status']>;
          return { ...vmi, metadata: { ...vmi.metadata, annotations }, status: left };
        }),
      );
    }
  }

  /** Reports whether that node is drained. */
  isDrained(node: string | undefined): boolean {
    const found = node === undefined ? undefined : this.#server.find<Node>(Nodes, { name: node });
    return found?.spec?.unschedulable === true || (found?.spec?.taints ?? []).length > 0;
  }

  /** Has KubeVirt say on which node the pod of the VMI is that has not come up: the simulator makes no pods. */
  placePod(name: string, node: string): void {
    this.#say(`-- the pod of ${name} is on ${node}`);
    runAs(this.process, () =>
      this.#server.write(VirtualMachineInstances, { namespace: NAMESPACE, name }, (vmi) => ({
        ...vmi,
        status: { ...(vmi['status'] as object), activePods: { 'uid-of-pod': node } },
      })),
    );
  }

  /** Has a pod of an earlier migration of the VMI run on. KubeVirt names it as it does those that have ended. */
  leavePod(name: string, node: string): void {
    this.#say(`-- a pod of ${name} is left on ${node}`);
    runAs(this.process, () =>
      this.#server.write(VirtualMachineInstances, { namespace: NAMESPACE, name }, (vmi) => {
        const status = vmi['status'] as NonNullable<VirtualMachineInstance['status']>;
        const annotations = { ...vmi.metadata.annotations, 'sim.drover.dev/pod-left': 'true' };
        const activePods = { own: status.nodeName!, left: node };
        return { ...vmi, metadata: { ...vmi.metadata, annotations }, status: { ...status, activePods } };
      }),
    );
  }

  #vmi(name: string): Stored<VirtualMachineInstance> | undefined {
    return this.#server.find<VirtualMachineInstance>(VirtualMachineInstances, { namespace: NAMESPACE, name });
  }
}
