import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { changeMembers, type MembersChanged } from '../../../activities/membership/change-members.ts';
import { KUBEVIRT_REVISION_LABEL, POOL_FINALIZER } from '../../../api/labels-and-annotations.ts';
import { controllerOf, type KubeObject, type OwnerReference, type Stored } from '../../../api/objects.ts';
import {
  ControllerRevisions,
  KubeVirtPools,
  VirtualMachinePools,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import { changeAnnotation, type MembersReport } from '../../../decisions/membership/change.ts';
import type { KubeVirtPool } from '../../../decisions/membership/kubevirt-pool.ts';
import { membershipRequestOf, type MembershipRequest } from '../../../decisions/membership/membership-request.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { DeleteOptions, KubeClient, ListOptions, ObjectKey, WriteOptions } from '../../../kubernetes/client.ts';
import { ServerClock } from '../../../kubernetes/server-clock.ts';
import { templateOf } from '../../clients/rollout/pools.ts';
import { ApiServer, mergePatch } from '../../model/world/api-server.ts';
import { membershipRequest } from '../../requests.ts';

export const namespace = 'default';
/** Of the pools in it. */
export const key = { namespace, name: 'web' };
interface Call {
  verb: string;
  resource: Resource;
  name: string;
  subresource?: string | undefined;
}

/** An API server with a virtual machine controller that pauses pools at once. `before` is called before each call. */
export class Cluster {
  readonly server = new ApiServer(() => Date.parse('2026-01-02T03:04:05Z'));
  calls = 0;
  /** Without it, nobody confirms that a KubeVirt pool is paused. */
  hasVirtController = true;
  before: (call: Call) => Promise<void> = async () => {};
  /** Called with a VM that has changed. */
  onVm: (after: Stored) => void = () => {};

  constructor() {
    this.server.onWrite = ({ resource, after }) => {
      if (resource.plural === 'virtualmachines' && after !== undefined) this.onVm(after);
      if (resource.group === KubeVirtPools.group && this.hasVirtController) this.#pause();
    };
  }

  /** Creates the pool `web`, and its VMs. */
  pool(...vms: string[]): Stored {
    const pool = this.server.create(VirtualMachinePools, {
      metadata: { namespace, name: 'web', finalizers: [POOL_FINALIZER] },
      spec: { replicas: vms.length, template: templateOf(1) },
    });
    for (const name of vms) this.vm(name, pool);
    return pool;
  }

  /** Creates KubeVirt's pool `web`, and its VMs. */
  kubeVirtPool(...vms: string[]): Stored {
    const virtualMachineTemplate = { metadata: { labels: { app: 'web' } }, ...templateOf(1) };
    const pool = this.server.create(KubeVirtPools, {
      metadata: { namespace, name: 'web' },
      spec: { replicas: vms.length, selector: { matchLabels: { app: 'web' } }, virtualMachineTemplate },
    });
    const revision = { namespace, name: 'web-1', ownerReferences: [referenceTo(pool)] };
    this.server.create(ControllerRevisions, { metadata: revision, revision: 1, data: pool['spec'] });
    for (const name of vms) this.vm(name, pool, { [KUBEVIRT_REVISION_LABEL]: 'web-1' });
    return pool;
  }

  /** Creates a VM as the template makes it, of this owner or of none. */
  vm(name: string, owner?: Stored, labels: Record<string, string> = {}): Stored {
    const ownerReferences = owner === undefined ? [] : [referenceTo(owner)];
    const metadata = { namespace, name, labels: { app: 'web', ...labels }, ownerReferences };
    return this.server.create(VirtualMachines, { spec: structuredClone(templateOf(1).spec), metadata });
  }

  find<T extends KubeObject = KubeObject>(resource: Resource, name = 'web'): Stored<T> | undefined {
    return this.server.find<T>(resource, { namespace, name });
  }

  /** The names of VMs that the pool controls. */
  membersOf({ metadata: { uid } }: Stored): string[] {
    return this.server
      .all(VirtualMachines)
      .filter((vm) => controllerOf(vm)?.uid === uid)
      .map(({ metadata }) => metadata.name);
  }

  /** Has the pool be taken over, as the command and a worker do. Throws what is refused. */
  async takeOver(): Promise<MembersReport | undefined> {
    const theirs = this.find<KubeVirtPool>(KubeVirtPools);
    if (theirs !== undefined && this.find(VirtualMachinePools) === undefined) {
      const { replicas, virtualMachineTemplate } = theirs.spec;
      const annotations = changeAnnotation({ kind: 'takeover', by: 'ada', at: '2026-01-02T03:04:05Z' });
      const spec = { replicas, template: virtualMachineTemplate };
      this.server.create(VirtualMachinePools, { metadata: { ...key, annotations }, spec });
    }
    const { uid, generation } = theirs?.metadata ?? {};
    return this.ask(
      theirs === undefined ? { action: 'takeover' } : { action: 'takeover', uid: uid!, generation: generation! },
    );
  }

  release(): Promise<MembersReport | undefined> {
    return this.ask({ action: 'release' });
  }

  /** Writes a request on drover's pool, which a worker has looked at, and has a worker carry it out. */
  ask(request: MembershipRequest): Promise<MembersReport | undefined> {
    const { annotations, digest } = membershipRequest(request);
    this.server.write(VirtualMachinePools, key, (before) => ({ ...before, status: { rollout: {} } }), 'status');
    this.server.write(VirtualMachinePools, key, ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
    }));
    return this.work(digest);
  }

  /** Has a worker carry out the request on the pool, to its answer; undefined if that is another by then. */
  async work(digest: string): Promise<MembersReport | undefined> {
    const environment = new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') });
    for (;;) {
      const pool = this.find(VirtualMachinePools) as (Stored & StoredPool) | undefined;
      if (pool === undefined || membershipRequestOf(pool)?.digest !== digest) return undefined;
      const ref = { namespace, name: 'web', uid: pool.metadata.uid };
      const carriedOut = (): Promise<MembersChanged> => changeMembers(this.client(), ref, 1);
      const { report } = (await environment.run(carriedOut)) as MembersChanged;
      if (report === null) continue;
      if (report.refused !== undefined) throw new Error(report.refused);
      const answer = { digest, id: '', action: '', by: '', at: '', outcome: 'Done', message: '' };
      const status = { rollout: {}, membership: { handledRequests: [answer] } };
      this.server.write(VirtualMachinePools, key, (before) => ({ ...before, status }), 'status');
      return report;
    }
  }

  client(): KubeClient {
    const call = async <T>(
      verb: string,
      resource: Resource,
      name: string,
      act: () => unknown,
      subresource?: string,
    ): Promise<T> => {
      this.calls++;
      await this.before({ verb, resource, name, subresource });
      return structuredClone(act()) as T;
    };
    const { server } = this;
    const list = (resource: Resource, { labelSelector = '' }: ListOptions = {}) =>
      call('list', resource, '', () => {
        const [label = '', value] = labelSelector.split('=');
        const items = server.all(resource).filter(({ metadata }) => label === '' || metadata.labels?.[label] === value);
        return { metadata: { resourceVersion: server.version }, items };
      });
    const client = {
      list,
      get: (resource: Resource, key: ObjectKey) => call('get', resource, key.name, () => server.get(resource, key)),
      create: (resource: Resource, object: KubeObject) =>
        call('create', resource, object.metadata.name, () => server.create(resource, object)),
      patch: (
        resource: Resource,
        key: ObjectKey,
        type: string,
        patch: KubeObject,
        { subresource }: WriteOptions = {},
      ) =>
        call(
          'patch',
          resource,
          key.name,
          () =>
            type === 'apply' && server.find(resource, key) === undefined
              ? server.create(resource, patch)
              : server.write(resource, key, (before) => patched(before, patch), subresource),
          subresource,
        ),
      delete: (resource: Resource, key: ObjectKey, options: DeleteOptions) =>
        call('delete', resource, key.name, () => {
          server.delete(resource, key, options);
          // The garbage collector orphans what there is.
          if (options.propagationPolicy === 'Orphan' && server.find(resource, key) !== undefined)
            server.write(resource, key, ({ metadata, ...rest }) => ({
              ...rest,
              metadata: { ...metadata, finalizers: [] },
            }));
        }),
      clock: new ServerClock(),
      request: () => Promise.resolve({ preferredVersion: { version: KubeVirtPools.version } }),
    };
    return client as unknown as KubeClient;
  }

  /** As virt-controller does: the status of each pool of KubeVirt says whether it is paused. */
  #pause(): void {
    for (const pool of this.server.all(KubeVirtPools)) {
      const { paused } = pool['spec'] as { paused?: boolean };
      const conditions = paused === true ? [{ type: 'ReplicaPaused', status: 'True' }] : [];
      this.server.write(KubeVirtPools, pool.metadata, (before) => ({ ...before, status: { conditions } }), 'status');
    }
  }
}

function patched(before: Stored, patch: KubeObject): KubeObject {
  // Preconditions that the patch does not name are not checked.
  const { uid: _uid, resourceVersion: _version, ...metadata } = before.metadata;
  return mergePatch({ ...before, metadata }, patch) as KubeObject;
}

export const referenceTo = ({ apiVersion = '', kind = '', metadata: { name, uid } }: Stored): OwnerReference => ({
  apiVersion,
  kind,
  name,
  uid,
  controller: true,
});
