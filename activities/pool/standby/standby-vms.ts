import { log } from '@temporalio/activity';
import { ROLE_LABEL, STANDBY_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import { standbyRules } from '../../../api/rules/pool-defaults.ts';
import { vmView, type VirtualMachine } from '../../../decisions/from-object/vm.ts';
import { roleIn, withRolesOf } from '../../../decisions/membership/roles.ts';
import type { SettleAct, Target } from '../../../decisions/owners/steps.ts';
import { creationBlockedBy, planOutdated } from '../../../decisions/scaling/removal-check.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { powerOf } from '../../../decisions/views/power.ts';
import { isRegular, type VmView } from '../../../decisions/views/vm.ts';
import type { LastCheck } from '../../../kubernetes/retry.ts';
import type { ClusterAccess } from '../../cache/access.ts';
import { requestPause } from '../../lib/pause.ts';
import { patchKept, type ObjectPatch } from '../../lib/refuse-unkept.ts';
import { RoleRecord } from '../../membership/role-record.ts';
import { ifOwned } from '../../owners/if-owned.ts';
import { livePool } from '../../owners/live-owner.ts';
import { liveVmWithVmi } from '../../owners/live-vm.ts';
import type { PoolKey } from '../../owners/owner-key.ts';
import { Tally } from '../../owners/tally.ts';
import type { Acted } from '../../owners/try-each.ts';
import type { Revisions } from '../../rollout/revisions.ts';

export interface StandbyOptions extends ClusterAccess {
  revisions: Revisions;
}

/** A VM and its pool, as they are right before the act. */
interface Now {
  pool: StoredPool;
  vm: Stored<VirtualMachine>;
  lastCheck: LastCheck;
}

/** Standby VMs of a pool on which one activity acts, one by one. */
export class StandbyVms extends Tally {
  readonly #in: StandbyOptions;
  readonly #generation: number;
  readonly #record: RoleRecord;
  /** Names of VMs that are being promoted. */
  readonly #promoting = new Set<string>();
  /** UIDs of VMs that have become replicas. */
  readonly #promoted: string[] = [];

  /** `generation`: of the spec that this was planned for. */
  constructor(options: StandbyOptions, key: PoolKey, generation: number) {
    super(options.client, key);
    this.#in = options;
    this.#generation = generation;
    this.#record = new RoleRecord(options.client, key);
  }

  /**
   * Makes the VM a replica: the write that takes the mark off also has the VM run. A paused VMI continues before that,
   * so that a worker that dies in between leaves a standby VM that runs, which is promoted first. The same holds if it
   * dies before `endPromotion`.
   */
  promote(target: Target): Promise<Acted> {
    return this.#onEach(target, this.#whyNotPromote, async ({ pool, vm, lastCheck }) => {
      await this.#resume(vm.metadata.name);
      const unlabelled = { labels: { [ROLE_LABEL]: null }, annotations: { [STANDBY_ANNOTATION]: null } };
      await this.#write(vm, { metadata: unlabelled, spec: await this.#startOf(pool, vm) }, lastCheck);
      this.#promoted.push(vm.metadata.uid);
    });
  }

  /** Removes VMs that have become replicas from the record of the pool's standby VMs. */
  async endPromotion(): Promise<void> {
    await this.#record.forget(this.#promoted);
    this.saw(this.#record.minVersions);
  }

  settle(target: Target, act: SettleAct): Promise<Acted> {
    return this.#onEach(target, this.#whyNotSettle, async ({ pool, vm, lastCheck }) => {
      if (act === 'pause') return this.#pause(vm.metadata.name);
      const annotations = { [STANDBY_ANNOTATION]: standbyRules(pool.spec).state };
      const power = act === 'stop' ? { running: null, runStrategy: 'Halted' } : await this.#startOf(pool, vm);
      await this.#write(vm, { metadata: { annotations }, spec: power }, lastCheck);
    });
  }

  /** The VM is wanted only while replicas are missing: as this worker knows, and without VMs that are promoted here. */
  readonly #whyNotPromote = (pool: StoredPool | undefined, name: string): string | null => {
    const members = this.#in.cache.vms.ownedBy('VirtualMachinePool', this.key);
    const replicas = members.map(withRolesOf(pool)).filter((vm) => isRegular(vm) && vm.name !== name);
    const others = new Set([...replicas.map((vm) => vm.name), ...this.#promoting, ...this.acted]).size;
    const message = creationBlockedBy({ generation: this.#generation, owner: pool, others });
    // No pause between the two: VMs that are promoted at once count each other.
    if (message === null) this.#promoting.add(name);
    return message;
  };

  readonly #whyNotSettle = (pool: StoredPool | undefined): string | null => planOutdated(pool, this.#generation);

  async #onEach(
    { name, uid }: Target,
    whyNot: (pool: StoredPool | undefined, name: string) => string | null,
    act: (now: Now) => Promise<void>,
  ): Promise<Acted> {
    const { client } = this.#in;
    let pool: StoredPool | undefined;
    let vm: Stored<VirtualMachine>;
    const acted = await ifOwned(
      client,
      this.key,
      { name, uid },
      (_, lastCheck) => act({ pool: pool!, vm, lastCheck }),
      {
        isWanted: async ({ stored, resourceVersion }) => {
          pool = (await this.ownerNow()) as StoredPool | undefined;
          vm = stored as Stored<VirtualMachine>;
          this.saw({ vms: resourceVersion });
          const message = isStandbyNow(pool, vmView(vm)) ? whyNot(pool, name) : 'it is not a standby VM';
          if (message !== null) log.info('a standby VM is left as it is', { name, reason: message });
          return message === null;
        },
      },
    );
    this.#promoting.delete(name);
    if (acted === 'done') this.acted.push(name);
    else if (acted === 'notWanted') this.notWanted.push(name);
    else this.saw({ vms: acted.skippedAt });
    return acted === 'done' ? 'done' : 'skipped';
  }

  /** The fields of a spec with which a VM runs as its template says; none if a user has started it already. */
  async #startOf(pool: StoredPool, vm: Stored<VirtualMachine>): Promise<object> {
    const { revision, runStrategy } = vmView(vm);
    if (runStrategy !== 'Halted') return {};
    const own = revision === null ? undefined : await this.#in.revisions.find(this.key, revision);
    return { running: null, runStrategy: powerOf((own ?? poolTemplate(pool.spec)).spec) ?? 'Always' };
  }

  async #write(vm: Stored, { metadata, spec }: ObjectPatch, lastCheck: LastCheck): Promise<void> {
    const { namespace, name, uid, resourceVersion } = vm.metadata;
    const patch = { metadata: { uid, resourceVersion, ...metadata }, ...(spec && { spec }) };
    const at = { namespace: namespace!, name };
    const written = await patchKept(this.client, VirtualMachines, at, patch, { lastCheck });
    this.saw({ vms: written.metadata.resourceVersion });
  }

  async #resume(name: string): Promise<void> {
    const at = { namespace: this.key.namespace, name };
    const live = await liveVmWithVmi(this.#in, at);
    if (live?.vmi?.pause != null) await requestPause(this.client, at, 'unpause');
  }

  /** KubeVirt's pause takes no precondition: if the VM has become a replica meanwhile, its VMI is unpaused again. */
  async #pause(name: string): Promise<void> {
    const { client } = this.#in;
    const at = { namespace: this.key.namespace, name };
    const { vmi } = (await liveVmWithVmi(this.#in, at)) ?? {};
    if (vmi === undefined || vmi.pause !== null || !vmi.ready || vmi.deleting) return;
    await requestPause(client, at, 'pause');
    const after = await liveVmWithVmi(this.#in, at);
    const isStandby = after === undefined || isStandbyNow(await livePool(client, this.key), after.vm);
    if (!isStandby) await requestPause(client, at, 'unpause');
    this.saw({ vms: after?.vm.resourceVersion, vmis: after?.vmi?.resourceVersion });
  }
}

const isStandbyNow = (pool: StoredPool | undefined, vm: VmView): boolean =>
  roleIn(pool, vm) === 'Standby' && !vm.deleting && !vm.removing;
