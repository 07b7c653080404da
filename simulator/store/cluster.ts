import type { KubeObject, Stored } from '../../api/objects.ts';
import {
  ConfigMaps,
  DataVolumes,
  KubeVirts,
  Nodes,
  PersistentVolumeClaims,
  Pods,
  Secrets,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstances,
  VirtualMachines,
} from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type {
  Claim,
  DataVolume,
  KubeVirt,
  Migration,
  Node,
  Pod,
  VirtualMachine,
  VirtualMachineInstance,
} from '../objects/kubevirt.ts';
import type { Log } from './log.ts';
import { Store } from './store.ts';

/** The client, and the caches of objects that the controllers share. */
export class Cluster {
  readonly client: KubeClient;
  readonly log: Log;
  readonly vms: Store<VirtualMachine>;
  readonly vmis: Store<VirtualMachineInstance>;
  readonly migrations: Store<Migration>;
  readonly dataVolumes: Store<DataVolume>;
  readonly claims: Store<Claim>;
  readonly secrets: Store<KubeObject>;
  readonly configMaps: Store<KubeObject>;
  readonly nodes: Store<Node>;
  readonly pods: Store<Pod>;
  readonly kubevirts: Store<KubeVirt>;

  constructor(client: KubeClient, log: Log) {
    this.client = client;
    this.log = log;
    this.vms = this.#store(VirtualMachines);
    this.vmis = this.#store(VirtualMachineInstances);
    this.migrations = this.#store(VirtualMachineInstanceMigrations);
    this.dataVolumes = this.#store(DataVolumes);
    this.claims = this.#store(PersistentVolumeClaims);
    this.secrets = this.#store(Secrets);
    this.configMaps = this.#store(ConfigMaps);
    this.nodes = this.#store(Nodes);
    this.pods = this.#store(Pods);
    this.kubevirts = this.#store(KubeVirts);
  }

  /** The cluster's only KubeVirt object, whose configuration applies. */
  get kubevirt(): Stored<KubeVirt> | undefined {
    return this.kubevirts.values().next().value;
  }

  get stores(): Store<never>[] {
    const { vms, vmis, migrations, dataVolumes, claims, secrets, configMaps, nodes, pods, kubevirts } = this;
    const all = [vms, vmis, migrations, dataVolumes, claims, secrets, configMaps, nodes, pods, kubevirts];
    return all as unknown as Store<never>[];
  }

  #store<T extends KubeObject>(resource: ConstructorParameters<typeof Store<T>>[1]): Store<T> {
    return new Store<T>(this.client, resource, (error) =>
      this.log.warn(`the watch of ${resource.plural} broke: ${error.message}`),
    );
  }
}
