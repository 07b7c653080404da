import { vi } from 'vitest';
import { KUBEVIRT_REVISION_LABEL, POOL_FINALIZER } from '../../../api/names.ts';
import { controllerOf, type KubeObject, type OwnerReference, type Stored } from '../../../api/objects.ts';
import {
  ControllerRevisions,
  KubeVirtPools,
  SelfSubjectAccessReviews,
  VirtualMachinePools,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import type { Pool } from '../../../clients/cli/objects.ts';
import type { Session } from '../../../clients/session/session.ts';
import { membershipChangeOf } from '../../../decisions/membership/change.ts';
import { reasonOf } from '../../../decisions/membership/condition.ts';
import { countedIn } from '../../../decisions/pool/counted.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { DeleteOptions, KubeClient, ListOptions, ObjectKey, WriteOptions } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { ServerClock } from '../../../kubernetes/server-clock.ts';
import { right } from '../../deploy/rights.ts';
import { ApiServer, mergePatch } from '../../model/world/api-server.ts';
import { templateOf } from '../rollout/pools.ts';

export const namespace = 'default';
/** Of the pools in it. */
export const key = { namespace, name: 'web' };
/** Of commands. */
export const options = { timeout: 2_000, dryRun: 'none' } as const;

/** What the commands have remarked in this test. */
export let remarks: string[] = [];

/** Keeps what the commands print off the terminal. */
export const silence = (): void => {
  remarks = [];
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    remarks.push(String(text));
    return true;
  });
};

interface Call {
  verb: string;
  resource: Resource;
  name: string;
  subresource?: string | undefined;
}

/**
 * An API server with a worker that counts VMs and a virtual machine controller that pauses pools, all at once. `before`
 * is called before each call of a command.
 */
export class Cluster {
  readonly server = new ApiServer(() => Date.parse('2026-01-02T03:04:05Z'));
  calls = 0;
  /** Without it, nobody confirms that a pool of KubeVirt is paused. */
  hasVirtController = true;
  before: (call: Call) => Promise<void> = async () => {};
  /** A right that the person lacks who runs the command, as `rightsOf` writes it. */
  lacks = '';
  /** Called with a VM that has changed. */
  onVm: (after: Stored) => void = () => {};

  constructor() {
    this.server.onWrite = ({ resource, after }) => {
      if (resource.plural === 'virtualmachines' && after !== undefined) this.onVm(after);
      if (resource.group === KubeVirtPools.group && this.hasVirtController) this.#pause();
      this.#count();
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

  session(): Session {
    const kube = this.#client();
    return { kube: async () => kube, knowsTemporal: async () => false } as unknown as Session;
  }

  #client(): KubeClient {
    const call = async <T>(
      verb: string,
      resource: Resource,
      name: string,
      act: () => unknown,
      subresource?: string,
    ): Promise<T> => {
      this.calls++;
      await this.before({ verb, resource, name, subresource });
      if (right(verb, resource.group, resource.plural, subresource) === this.lacks)
        throw new KubeError(403, 'Forbidden', `${this.lacks} is forbidden`);
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
        call('create', resource, object.metadata.name, () =>
          resource === SelfSubjectAccessReviews ? this.#review(object) : server.create(resource, object),
        ),
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
      async *pages(resource: Resource, given: ListOptions) {
        yield await list(resource, given);
      },
      async *watch() {},
    };
    return client as unknown as KubeClient;
  }

  #review({ spec }: KubeObject): object {
    const { verb, group, resource } = (spec as { resourceAttributes: Record<'verb' | 'group' | 'resource', string> })
      .resourceAttributes;
    return { status: { allowed: right(verb, group, resource) !== this.lacks } };
  }

  /** As a worker does: the status of each pool counts its VMs, and says what the pool is held by. */
  #count(): void {
    for (const pool of this.server.all<Pool>(VirtualMachinePools)) {
      const change = membershipChangeOf(pool);
      const { generation, uid } = pool.metadata;
      const vms = this.server.all(VirtualMachines).filter((vm) => controllerOf(vm)?.uid === uid);
      const conditions =
        change === null || change === 'unreadable'
          ? []
          : [{ type: 'MembershipChanging', status: 'True', reason: reasonOf(change.kind) }];
      const status = {
        observedGeneration: generation,
        replicas: vms.filter(countedIn(pool as unknown as StoredPool)).length,
        conditions,
      };
      this.server.write(VirtualMachinePools, pool.metadata, (before) => ({ ...before, status }), 'status');
    }
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
