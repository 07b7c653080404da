import { standbyRules } from '../../api/rules/pool-defaults.ts';
import { vmView } from '../../decisions/from-object/vm.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { unannounced, withRolesOf, type Made } from '../../decisions/membership/roles.ts';
import { creationBlockedBy } from '../../decisions/scaling/removal-check.ts';
import { standbyFrom } from '../../decisions/scaling/standby/new-standby.ts';
import { neededReferences, waitingForMissing } from '../../decisions/template/needed-references.ts';
import { requiredReferences, type OwnReference } from '../../decisions/template/references.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate, type PoolTemplate } from '../../decisions/template/template.ts';
import { vmFromTemplate } from '../../decisions/template/vm-from-template.ts';
import { vmName } from '../../decisions/template/vm-names.ts';
import { memberOfAnnotation } from '../../decisions/views/annotations/member-of.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { ActRefused } from '../../kubernetes/errors.ts';
import type { ActivityOptions } from '../cache/access.ts';
import { References } from '../configuration/references.ts';
import { SpecWriter } from '../disks/spec-writer.ts';
import { sharedCall } from '../lib/shared-call.ts';
import { createEach } from '../members/create-members.ts';
import { RoleRecord } from '../membership/role-record.ts';
import { nothingDone, retryRefused, type Done, type CreateOptions } from '../owners/done.ts';
import { knownPool } from '../owners/live-owner.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import type { Revisions } from '../rollout/revisions.ts';

/** A pool may have many thousands of VMs. */
const MOST_NUMBERS = 1_000;

interface CreationOptions extends ActivityOptions {
  revisions: Revisions;
}

/** Creates the activity that creates the VMs of a pool. */
export function createCreationActivities({ client, cache, revisions, concurrency }: CreationOptions) {
  return {
    /**
     * Creates the pool's VMs with these numbers from the template of `revision`. A VM that already exists and is the
     * pool's counts as done. Starts slowly, so that only one call hits a full quota, unless the pool's last creations
     * went well (`skipSlowStart`). VMs with numbers in `halted` are created halted, whatever the template says. Each VM
     * is created only while the pool still wants it. What is refused is tried again `retryUntil`.
     */
    createVms: async (
      key: PoolKey,
      numbers: number[],
      revision: string,
      minVersions: ResourceVersions,
      options: CreateOptions,
    ): Promise<Done> => {
      const { generation, skipSlowStart = false, halted = [], role = null, most } = options;
      await cache.catchUp({ pools: minVersions.pools, vms: minVersions.vms }, key);
      const items = numbers.map((number) => ({ number, name: vmName(key.name, number) }));
      const target = await creationTargetOf(key, revision);
      if (target === undefined) return { ...nothingDone, notWanted: items.map(({ name }) => name) };
      const { pool, template } = target;
      const references = new References(client);
      const missingOfAll = sharedCall(() => {
        const needed = neededReferences(pool, template, numbersWithoutVm(pool, numbers));
        return references.missingAmong(key.namespace, needed);
      });
      const record = new RoleRecord(client, key);
      // The live record is asked right before each creation.
      if (role !== null || items.some(({ name }) => unannounced(pool, name, role) !== null))
        await record.announce(
          items.map(({ name }) => name),
          role,
        );
      const made: Made[] = [];
      const done = await createEach({
        client,
        key,
        pool,
        writer: new SpecWriter(client, cache),
        items,
        concurrency,
        skipSlowStart,
        holders: (owner) =>
          cache.vms
            .ownedBy('VirtualMachinePool', key)
            .map(withRolesOf(owner as StoredPool | undefined))
            .filter((vm) => vm.role === role),
        creationBlockedBy: ({ name }, owner, others) =>
          unannounced(owner as StoredPool | undefined, name, role) ??
          creationBlockedBy({ generation, owner, others, role, most }),
        vmOf: async ({ number }) => {
          const vm = vmFromTemplate(pool, template, number, role);
          const missing = await references.missing(key.namespace, requiredReferences(vm.spec));
          if (missing !== null) throw referenceMissing(missing, await missingOfAll());
          vm.metadata.annotations = {
            ...vm.metadata.annotations,
            ...memberOfAnnotation(key.uid, vm.metadata.name, client.clock.now()),
          };
          if (role === 'Standby') return standbyFrom(vm, standbyRules(pool.spec).state);
          if (halted.includes(number)) vm.spec = { ...vm.spec, running: undefined, runStrategy: 'Halted' };
          return vm;
        },
        onMade: (vm, isNew) => made.push({ vm: vmView(vm), isNew }),
      });
      if (role !== null) await record.identify(made, role);
      retryRefused(done, options, Date.now());
      return { ...done, minVersions: maxVersions(done.minVersions, record.minVersions) };
    },
  };

  /** The numbers that the pool's missing VMs have, as far as a message can list them. */
  function numbersWithoutVm({ metadata: { namespace, name }, spec }: StoredPool, planned: readonly number[]): number[] {
    const upTo = Math.min(spec.replicas, MOST_NUMBERS);
    const numbers = new Set([...planned, ...Array.from({ length: upTo }, (_, index) => index + 1)]);
    return [...numbers].filter((number) => cache.vms.get(`${namespace}/${vmName(name, number)}`) === undefined);
  }

  /** Returns the pool and its template of this revision; undefined if nothing is to be made from it any more. */
  async function creationTargetOf(
    key: PoolKey,
    revision: string,
  ): Promise<{ pool: StoredPool; template: PoolTemplate } | undefined> {
    const pool = await knownPool(client, cache, key);
    if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return undefined;
    // Kept before the first VM is created from it, so that a later update knows what that VM was created from.
    if (revisionOf(poolTemplate(pool.spec)) === revision && !(await revisions.keep(pool))) return undefined;
    const template = await revisions.find(key, revision);
    return template && { pool, template };
  }
}

/** The same words for all VMs of a pool, so that its status does not change from one try to the next. */
const referenceMissing = (missing: string, ofAll: readonly OwnReference[]): ActRefused =>
  new ActRefused('ReferenceMissing', ofAll.length === 0 ? missing : waitingForMissing(ofAll));
