import { DO_NOT_DISRUPT_ANNOTATION, PROTECT_ANNOTATION, ROLE_LABEL } from '../../../api/labels-and-annotations.ts';
import { controllerOf, type KubeObject, type Stored } from '../../../api/objects.ts';
import { OWNER_KINDS, type VmOwnerKind } from '../../../api/owner-kinds.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import {
  DataVolumes,
  VirtualMachineInstanceMigrations,
  VirtualMachineOperations,
  VirtualMachinePools,
  VirtualMachines,
} from '../../../api/resources.ts';
import { orderCorrection } from '../../../clients/drift/correct-drift.ts';
import { nameForAdoption } from '../../../clients/membership/adopt.ts';
import { nameVms, removeVms } from '../../../clients/scaling/remove-vms.ts';
import type { Transition } from '../../../decisions/machine-types/transition.ts';
import type { MembershipRequest } from '../../../decisions/membership/membership-request.ts';
import type { Vm } from '../../../decisions/membership/moves.ts';
import type { TransitionRunInput } from '../../../decisions/operations/run-input.ts';
import { transitionOf } from '../../../decisions/operations/transition.ts';
import type { HealingRequest } from '../../../decisions/pool/healing-request.ts';
import { volumesOf } from '../../../decisions/template/references.ts';
import { disksOf } from '../../../decisions/template/used-disks.ts';
import type { MemberRole } from '../../../decisions/views/vm.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import type { Migration } from '../../../simulator/objects/kubevirt.ts';
import { isOver } from '../../../simulator/vmi/migration.ts';
import { operationIdOf, poolIdOf } from '../../../workflows/lib/messages.ts';
import { protect } from '../../clients/scaling/protect.ts';
import { specOf } from '../../decisions/machine-types/spec-of.ts';
import { healingRequest, membershipRequest, rolloutRequest } from '../../requests.ts';
import type { Pool } from '../facts.ts';
import { aTemplate, type Shape } from '../pools.ts';
import type { ApiServer } from './api-server.ts';
import type { ModelClient } from './model-client.ts';
import { NAMESPACE, refOf } from './names.ts';
import type { Temporal } from './temporal/temporal.ts';
import { Process } from './virtual-time.ts';

/** What users see of the world, and act on. */
interface Surroundings {
  server: ApiServer;
  temporal: Temporal;
  say: (words: string) => void;
  pool: (name: string) => Pool | undefined;
  owner: (kind: VmOwnerKind, name: string) => Stored | undefined;
  vm: (name: string) => Stored | undefined;
}

type OfRollout = Parameters<typeof rolloutRequest> extends [unknown, ...infer Rest extends unknown[]] ? Rest : never;

/** What users do, by kubectl, virtctl and drover. Most of it may be refused, and users leave it at that. */
export class People {
  readonly process = new Process('people');
  readonly client: ModelClient;
  readonly #world: Surroundings;
  #transitions = 0;
  #requests = 0;

  constructor(world: Surroundings, clientOf: (process: Process) => ModelClient) {
    this.#world = world;
    this.client = clientOf(this.process);
  }

  createPool(name: string, spec: PoolSpec): Promise<Stored> {
    return this.createOwner('VirtualMachinePool', name, spec);
  }

  changePool(name: string, spec: { [K in keyof PoolSpec]?: PoolSpec[K] | undefined }): Promise<void> {
    return this.changeOwner('VirtualMachinePool', name, spec);
  }

  deletePool(name: string, isOrphaned = false): Promise<void> {
    return this.deleteOwner('VirtualMachinePool', name, isOrphaned);
  }

  /** Creates a pool or a set. */
  createOwner(kind: VmOwnerKind, name: string, spec: { replicas?: number }): Promise<Stored> {
    const { resource, noun } = OWNER_KINDS[kind];
    this.#world.say(`-- ${noun} ${name} with ${spec.replicas ?? 'no number'}`);
    return this.client.create<KubeObject>(resource, { metadata: { name, namespace: NAMESPACE }, spec: { ...spec } });
  }

  async changeOwner(kind: VmOwnerKind, name: string, spec: object): Promise<void> {
    const { resource, noun } = OWNER_KINDS[kind];
    this.#world.say(`-- ${noun} ${name}: ${JSON.stringify(spec).slice(0, 200)}`);
    // Replaces each field as a whole: a merge would keep parts of its old value.
    const before = Object.keys(this.#world.owner(kind, name)?.['spec'] ?? {});
    const patch = Object.entries(spec)
      .filter(([field, value]) => value !== undefined || before.includes(field))
      .map(([field, value]) =>
        value === undefined ? { op: 'remove', path: `/spec/${field}` } : { op: 'add', path: `/spec/${field}`, value },
      );
    await this.client.patch(resource, { namespace: NAMESPACE, name }, 'json', patch);
  }

  async deleteOwner(kind: VmOwnerKind, name: string, isOrphaned: boolean): Promise<void> {
    const { resource, noun, members } = OWNER_KINDS[kind];
    this.#world.say(`-- ${noun} ${name} is deleted${isOrphaned ? ` without its ${members.noun}s` : ''}`);
    const propagationPolicy = isOrphaned ? 'Orphan' : 'Background';
    await this.client.delete(resource, { namespace: NAMESPACE, name }, { propagationPolicy });
  }

  /** A VM that no pool owns. */
  async createVm(name: string, shape: Shape, namespace = NAMESPACE): Promise<void> {
    this.#world.say(`-- VM ${name} ${JSON.stringify(shape)}`);
    await this.client.create(VirtualMachines, {
      metadata: { name, namespace },
      spec: aTemplate(shape).spec,
    });
  }

  /** Creates a VM that looks into a disk. `takes`: it has a disk template for it, so KubeVirt makes it the VM's. */
  async rescue(name: string, disk: string, takes = false): Promise<void> {
    this.#world.say(`-- VM ${name} ${takes ? 'takes' : 'looks into'} ${disk}`);
    const { spec } = aTemplate({ disk });
    await this.client.create<KubeObject>(VirtualMachines, {
      metadata: { namespace: NAMESPACE, name },
      spec: takes ? spec : { ...spec, dataVolumeTemplates: undefined },
    });
  }

  /**
   * Makes an operation, as `drover machine-types update` does, and starts its workflow. Returns the id of that, and the
   * operation's UID.
   */
  startTransition(asked: Transition): { run: string; uid: string } {
    const { requestedBy, reason } = asked;
    const name = `types-${++this.#transitions}`;
    const spec = specOf(asked);
    this.#world.say(`-- machine types: operation ${name} ${JSON.stringify(spec).slice(0, 200)}`);
    const made = this.#world.server.create(VirtualMachineOperations, {
      metadata: { namespace: NAMESPACE, name },
      spec,
    });
    const { uid, resourceVersion } = made.metadata;
    const operation = { namespace: NAMESPACE, name, uid };
    const asOf = { vms: resourceVersion, vmis: resourceVersion, pools: resourceVersion };
    const transition = transitionOf({ metadata: made.metadata, spec });
    const run = this.runTransition({ operation, action: 'MachineType', transition, requestedBy, reason, asOf });
    return { run, uid };
  }

  /** As a watch does, also once Temporal has lost the workflow. Returns its id. */
  runTransition(input: TransitionRunInput): string {
    const { name, uid } = input.operation;
    const key = { ...refOf(name), uid };
    const id = operationIdOf(key);
    this.#world.temporal.start('operation', id, [key, { input, state: null }]);
    return id;
  }

  deleteVm(name: string): Promise<void> {
    return this.deleteMember('VirtualMachinePool', name);
  }

  /** Deletes a VM or VMI, of a pool or a set of this kind. */
  async deleteMember(kind: VmOwnerKind, name: string): Promise<void> {
    this.#world.say(`-- ${name} is deleted by a person`);
    await this.client.delete(OWNER_KINDS[kind].members.resource, { namespace: NAMESPACE, name }).catch(ignored);
  }

  /** Changes the label by which a set knows its members. */
  async relabel(kind: VmOwnerKind, name: string, app: string): Promise<void> {
    this.#world.say(`-- ${name} gets the label ${app}`);
    await this.client
      .patch(OWNER_KINDS[kind].members.resource, { namespace: NAMESPACE, name }, 'merge', {
        metadata: { labels: { app } },
      })
      .catch(ignored);
  }

  /** Takes the VM out of its pool. */
  async detach(name: string): Promise<void> {
    this.#world.say(`-- ${name} is detached`);
    await this.client
      .patch(VirtualMachines, { namespace: NAMESPACE, name }, 'merge', { metadata: { ownerReferences: null } })
      .catch(ignored);
  }

  /** Puts a detached VM back into its pool. */
  async adopt(name: string, poolName: string): Promise<void> {
    const pool = this.#world.pool(poolName);
    const vm = this.#world.vm(name);
    if (pool === undefined || vm === undefined || vm.metadata.ownerReferences !== undefined) return;
    this.#world.say(`-- ${name} is adopted`);
    const owner = {
      apiVersion: 'drover.dev/v1alpha1',
      kind: 'VirtualMachinePool',
      name: poolName,
      uid: pool.metadata.uid,
      controller: true,
      blockOwnerDeletion: true,
    };
    await this.client
      .patch(VirtualMachines, { namespace: NAMESPACE, name }, 'merge', { metadata: { ownerReferences: [owner] } })
      .catch(ignored);
  }

  /** By virtctl. */
  async power(name: string, action: 'start' | 'stop' | 'restart' | 'migrate'): Promise<void> {
    this.#world.say(`-- ${name}: ${action}`);
    await this.client
      .request({
        method: 'PUT',
        path: `/apis/subresources.kubevirt.io/v1/namespaces/${NAMESPACE}/virtualmachines/${name}/${action}`,
        body: {},
      })
      .catch(ignored);
  }

  /** By virtctl. */
  async pauseVmi(name: string, isPaused: boolean): Promise<void> {
    const action = isPaused ? 'pause' : 'unpause';
    this.#world.say(`-- ${name}: ${action}`);
    const path = `/apis/subresources.kubevirt.io/v1/namespaces/${NAMESPACE}/virtualmachineinstances/${name}/${action}`;
    await this.client.request({ method: 'PUT', path, body: {} }).catch(ignored);
  }

  /** Deletes the migration of the VM that has not ended, as virtctl aborts it. */
  async abortMigration(name: string): Promise<void> {
    const all = this.#world.server.all<Migration>(VirtualMachineInstanceMigrations);
    const found = all.find((one) => one.spec.vmiName === name && !isOver(one));
    if (found === undefined) return;
    this.#world.say(`-- ${found.metadata.name}, a migration of ${name}, is aborted`);
    const at = { namespace: NAMESPACE, name: found.metadata.name };
    await this.client.delete(VirtualMachineInstanceMigrations, at).catch(ignored);
  }

  signal(name: string, signal: string, ...args: unknown[]): void {
    this.#world.say(`-- ${name}: ${signal} ${JSON.stringify(args)}`);
    this.#world.temporal.signal(poolIdOf(refOf(name)), signal, args);
  }

  /** Asks something of the rollout of a pool, or of its healing: on its object, which the API server may refuse. */
  async request(pool: string, ask: (pool: Pool) => ReturnType<typeof healingRequest>): Promise<void> {
    const stored = this.#world.pool(pool);
    if (stored === undefined) return;
    const { annotations } = ask(stored);
    const [text = ''] = Object.values(annotations);
    await this.#tried(`${pool}: ${text}`, () =>
      this.client.patch(VirtualMachinePools, { namespace: NAMESPACE, name: pool }, 'merge', {
        metadata: { annotations },
      }),
    );
  }

  rollout(pool: string, ...[action, asking]: OfRollout): Promise<void> {
    return this.request(pool, (stored) => rolloutRequest(stored, action, { by: 'ann', id: this.#nextId(), ...asking }));
  }

  heal(pool: string, request: HealingRequest): Promise<void> {
    return this.request(pool, () => healingRequest(request, { by: 'ann', id: this.#nextId() }));
  }

  /** Asks for all VMs of the pool, or of a KubeVirt pool, as the commands do. */
  move(pool: string, request: MembershipRequest): Promise<void> {
    return this.request(pool, () => membershipRequest(request, { by: 'ann', id: this.#nextId() }));
  }

  /** Has a pool adopt VMs, as `drover adopt` does. */
  take(pool: string, names: string[]): Promise<void> {
    return this.#tried(`drover adopt pool ${pool} ${names.join(' ')}`, async () => {
      const vms = names.map((name) => this.#world.vm(name)).filter((vm) => vm !== undefined) as Vm[];
      await nameForAdoption(this.client.asClient, { namespace: NAMESPACE, name: pool }, vms, { dryRun: 'none' });
    });
  }

  /** Has a pool let go of its VMs, as `drover detach` does. `isCounted`: it wants as many VMs less. */
  async letGo(names: string[], isCounted: boolean): Promise<void> {
    const vm = this.#world.vm(names[0]!);
    const owner = vm === undefined ? undefined : controllerOf(vm);
    if (owner === undefined) return;
    await this.#tried(`drover detach ${names.join(' ')}${isCounted ? ' --decrement' : ''}`, async () => {
      const how = { names, keep: true, isCounted, dryRun: 'none' } as const;
      await nameVms(this.client.asClient, { namespace: NAMESPACE, name: owner.name }, how);
    });
  }

  #nextId = (): string => `ann-${++this.#requests}`;

  /** Has an update, healing and drains leave the VM alone, or not any more. */
  async optOut(name: string, isOut = true): Promise<void> {
    if (isOut) this.#world.say(`-- ${name} is not to be disrupted`);
    await this.client
      .patch(VirtualMachines, { namespace: NAMESPACE, name }, 'merge', {
        metadata: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: isOut ? 'yes' : null } },
      })
      .catch(ignored);
  }

  /** As a user who may do no more than change VMs. */
  async label(name: string, role: MemberRole | null): Promise<void> {
    this.#world.say(`-- a stranger labels ${name} as ${role ?? 'nothing'}`);
    const metadata = { labels: { [ROLE_LABEL]: role } };
    await this.client.patch(VirtualMachines, { namespace: NAMESPACE, name }, 'merge', { metadata }).catch(ignored);
  }

  /** Makes VMs that boot from the disk fail to start, or start again. */
  async corruptDisk(name: string, isCorrupt = true): Promise<void> {
    if (isCorrupt) this.#world.say(`-- disk ${name} is corrupt`);
    await this.client
      .patch(DataVolumes, { namespace: NAMESPACE, name }, 'merge', {
        metadata: { annotations: { 'sim.drover.dev/corrupt': isCorrupt ? 'true' : null } },
      })
      .catch(ignored);
  }

  edit(name: string, cores: number): Promise<void> {
    return this.#tried(`${name} gets ${cores} cores`, async () => {
      const spec = { template: { spec: { domain: { cpu: { cores } } } } };
      await this.client.patch(VirtualMachines, { namespace: NAMESPACE, name }, 'merge', { spec });
    });
  }

  /**
   * Restores the VM in place from its first snapshot: its spec is as it was made, its metadata stays. `onto`: its disks
   * get other names, which begin so.
   */
  restoreInPlace(name: string, onto?: { prefix: string }): Promise<void> {
    return this.#tried(`${name} is restored from a snapshot`, async () => {
      const vm = this.#world.vm(name)!;
      const { events } = this.#world.server.kind(VirtualMachines);
      const first = events.find(({ object }) => object.metadata.uid === vm.metadata.uid)?.object['spec'] as object;
      const { runStrategy } = vm['spec'] as { runStrategy: string };
      const spec = onto === undefined ? first : onOtherDisks(first, onto.prefix);
      const patch = [{ op: 'replace', path: '/spec', value: { ...spec, runStrategy } }];
      await this.client.patch(VirtualMachines, { namespace: NAMESPACE, name }, 'json', patch);
      if (onto === undefined) return;
      for (const disk of disksOf(first))
        await this.client.delete(DataVolumes, { namespace: NAMESPACE, name: disk }).catch(ignored);
    });
  }

  protect(name: string, isProtected: boolean): Promise<void> {
    return this.#tried(`kubectl annotate vm ${name} ${PROTECT_ANNOTATION}${isProtected ? '=true' : '-'}`, async () => {
      await protect(this.client.asClient, NAMESPACE, name, isProtected);
    });
  }

  correctDrift(pool: string): Promise<void> {
    return this.#tried(`drover rollout restart pool ${pool} --drifted`, async () => {
      const stored = this.#world.pool(pool);
      if (stored !== undefined) await orderCorrection(this.client.asClient, stored, { by: 'ann', dryRun: 'none' });
    });
  }

  /** Has the VM removed from its pool by name. */
  async removeByName(name: string): Promise<void> {
    const vm = this.#world.vm(name);
    const owner = vm === undefined ? undefined : controllerOf(vm);
    if (owner === undefined) return;
    await this.#tried(`drover scale pool ${owner.name} --remove ${name}`, async () => {
      const key = { namespace: NAMESPACE, name: owner.name };
      await removeVms(this.client.asClient, key, { remove: [name], dryRun: 'none' });
    });
  }

  /** Tries what a user does by a command, which may be refused, as some requests are here. */
  async #tried(words: string, command: () => Promise<unknown>): Promise<void> {
    try {
      await command();
      this.#world.say(`-- ${words}`);
    } catch (error) {
      this.#world.say(`-- ${words}: ${String(error)}`);
    }
  }
}

const ignored = (error: unknown): void => {
  if (!(error instanceof KubeError)) throw error;
};

/** The spec with disks of other names, as KubeVirt's restores give them: of a prefix and the name of the volume. */
function onOtherDisks(spec: object, prefix: string): object {
  const text = volumesOf(spec).reduce((all, { name, dataVolume }) => {
    const disk = JSON.stringify((dataVolume as { name: string }).name);
    return all.replaceAll(`"name":${disk}`, `"name":"${prefix}${String(name)}"`);
  }, JSON.stringify(spec));
  return JSON.parse(text) as object;
}
