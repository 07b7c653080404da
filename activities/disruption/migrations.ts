import {
  EARLIER_MIGRATIONS_ANNOTATION,
  EVACUATION_LABEL,
  MIGRATED_VMI_LABEL,
  POOL_LABEL,
} from '../../api/labels-and-annotations.ts';
import { apiVersionOf, VirtualMachineInstanceMigrations, VirtualMachineInstances } from '../../api/resources.ts';
import type { Purpose } from '../../decisions/disruption-budget/any-vms/places.ts';
import { shouldBeginBy, whyMigrating } from '../../decisions/disruption/migration.ts';
import { triesInARow } from '../../decisions/drain/need.ts';
import {
  earlierMigrationsText,
  inFlightView,
  isInFlight,
  type VirtualMachineInstanceMigration,
} from '../../decisions/from-object/migration.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { attemptOf, migrationName, type MigrationPurpose } from '../../decisions/views/evacuation.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, isRefusal } from '../../kubernetes/errors.ts';
import { whileFresh, type LastCheck } from '../../kubernetes/retry.ts';
import { doWithClaim, NotAdmitted, type Claim } from '../disruption-budget/claim.ts';
import type { DisruptionClaims } from '../disruption-budget/disruption-claims.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { refuseChanged, refuseEnded } from './refuse-changed.ts';

interface MigrationsOptions {
  client: KubeClient;
  claims: DisruptionClaims;
  /** The VM's pool; null for a VM that is in none. */
  key: PoolKey | null;
}

/** What is to be migrated, as the caller has just read it. */
interface MigrationTarget extends Purpose {
  purpose: MigrationPurpose;
  vm: VmView;
  vmi: VmiView;
  /** Which migration of the VMI by drover it is, counted from 1. */
  attempt: number;
  /** Notes on the VM, under the claim, that it is about to be migrated; returns the VM as it is then. */
  note?: (claim: Claim) => Promise<VmView>;
}

/** Migrates VMs of one pool, or VMs that are in none, within their budgets. */
export class Migrations {
  readonly #in: MigrationsOptions;

  constructor(options: MigrationsOptions) {
    this.#in = options;
  }

  /**
   * Creates the migration, unless another one of the VMI is in flight or the budget has no room. Safe to call again:
   * its name says which one it is. Throws what the API server refuses.
   */
  async begin(target: MigrationTarget): Promise<NotAdmitted | ResourceVersions> {
    const { purpose, vm, vmi, attempt, note = () => Promise.resolve(vm), ...why } = target;
    const { claims, key } = this.#in;
    const migration = migrationOf(purpose, vmi, attempt, key);
    const other = await this.#otherInFlight(migration);
    if (other !== undefined) return other;
    const create = async (claim: Claim) => this.#create(migration, { vm: await note(claim), vmi }, claim);
    return doWithClaim(claims, { vm, vmi, migration: attempt, pool: key, ...why }, create).catch(
      async (error: unknown) => {
        const sooner = isRefusal(error) ? await this.#otherInFlight(migration) : undefined;
        if (sooner === undefined) throw error;
        return sooner;
      },
    );
  }

  /**
   * Deletes drover's migration of the VMI if KubeVirt should have begun it already, and still has not. Resolves to null
   * if there is nothing to delete. An earlier try whose answer was lost may have deleted it.
   */
  async cancel(vmi: VmiView, message: string): Promise<NotAdmitted | null> {
    const { client } = this.#in;
    if (vmi.migration !== null && (shouldBeginBy(vmi) ?? Infinity) > Date.now()) return null;
    const { namespace } = vmi;
    const own = (await this.#inFlight(vmi)).find(({ metadata }) => metadata.name === vmi.migration?.name);
    if (own !== undefined) {
      if (inFlightView(own)?.phase !== 'Pending' || attemptOf(vmi.uid, own.metadata.name) === null) return null;
      const { uid, resourceVersion } = own.metadata;
      const at = { namespace, name: own.metadata.name };
      await ignoreNotFound(client.delete(VirtualMachineInstanceMigrations, at, { uid, resourceVersion }));
    }
    return new NotAdmitted(message, 'NotBegun');
  }

  async #create(
    migration: VirtualMachineInstanceMigration,
    { vm, vmi }: Pick<MigrationTarget, 'vm' | 'vmi'>,
    claim: Claim,
  ): Promise<ResourceVersions> {
    const { client } = this.#in;
    const create = async (lastCheck: LastCheck) => {
      await Promise.all([refuseChanged(client, vm, claim), refuseEnded(client, vmi)]);
      return client.create(VirtualMachineInstanceMigrations, migration, { lastCheck });
    };
    const made = await whileFresh(create, claim.lastCheck).catch(async (error: unknown) => {
      // KubeVirt refuses a second migration in flight, before Kubernetes can say that it is this one.
      const { namespace, name } = migration.metadata;
      const at = { namespace: namespace!, name };
      const there = isRefusal(error)
        ? await ignoreNotFound(client.get(VirtualMachineInstanceMigrations, at))
        : undefined;
      if (there === undefined) throw error;
      return there;
    });
    return { migrations: made.metadata.resourceVersion, vms: vm.resourceVersion };
  }

  /** KubeVirt migrates a VMI once at a time, and refuses another migration of the VMI meanwhile. */
  async #otherInFlight(own: VirtualMachineInstanceMigration): Promise<NotAdmitted | undefined> {
    const vmi = { namespace: own.metadata.namespace!, name: own.spec.vmiName };
    const other = (await this.#inFlight(vmi)).find(({ metadata }) => metadata.name !== own.metadata.name);
    const view = other && inFlightView(other);
    return view == null ? undefined : new NotAdmitted(whyMigrating(view), 'OtherMigration');
  }

  /** Migrations of the VMI, of any client. */
  async #inFlight({ namespace, name }: Pick<VmiView, 'namespace' | 'name'>) {
    const { items } = await this.#in.client.list<VirtualMachineInstanceMigration>(VirtualMachineInstanceMigrations, {
      namespace,
      labelSelector: `${MIGRATED_VMI_LABEL}=${name}`,
    });
    return items.filter(isInFlight);
  }
}

function migrationOf(
  purpose: MigrationPurpose,
  vmi: VmiView,
  attempt: number,
  key: PoolKey | null,
): VirtualMachineInstanceMigration {
  const { namespace, name, uid } = vmi;
  const tried = triesInARow(vmi, Date.now());
  return {
    metadata: {
      namespace,
      name: migrationName(purpose, uid, attempt),
      labels: { ...(key === null ? {} : { [POOL_LABEL]: key.name }), [EVACUATION_LABEL]: uid },
      ...(tried === null ? {} : { annotations: { [EARLIER_MIGRATIONS_ANNOTATION]: earlierMigrationsText(tried) } }),
      ownerReferences: [
        { apiVersion: apiVersionOf(VirtualMachineInstances), kind: VirtualMachineInstances.kind, name, uid },
      ],
    },
    spec: { vmiName: name },
  };
}
