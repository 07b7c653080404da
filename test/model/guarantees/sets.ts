import { controllerOf, type Stored } from '../../../api/objects.ts';
import { OWNER_KINDS, type SetKind } from '../../../api/owner-kinds.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { matchesLabels } from '../../../api/rules/label-selector.ts';
import { wantedReplicas } from '../../../api/rules/wanted-replicas.ts';
import type { VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { activityNow, isByWorker, isGoing } from '../facts.ts';
import { CALL_MS, KNOWN_AFTER_MS, Readings, STALE_MS, type Watched } from '../readings.ts';
import type { SetSpec } from '../sets.ts';
import type { Write } from '../world/api-server.ts';
import type { Call } from '../world/model-client.ts';
import { Check } from './check.ts';

const STRICT: SetKind = 'VirtualMachineReplicaSet';
const EAGER: SetKind = 'VirtualMachineInstanceReplicaSet';

type ReplicaSet = Stored & { spec: SetSpec };

/** Whether the set is of a kind of drover's. */
export const isSetKind = (kind: string | undefined): kind is SetKind => kind === STRICT || kind === EAGER;

/** Checks each write of a worker to members of replica sets against the guarantees. */
export class SetGuarantees extends Check<Watched> {
  readonly #readings: Readings;
  /** The set that each member was made for, by UID. */
  readonly #madeFor = new Map<string, string>();
  /** Members whose labels or owners users have changed: they may be more than a set wants. */
  readonly #touched = new Set<string>();
  /** How many members each set wanted, the newest last. */
  readonly #wanted = new Map<string, { at: number; replicas: number }[]>();
  /** When users last changed members of each set, by the set's UID. */
  readonly #meddled = new Map<string, number>();

  constructor(world: Watched, off: readonly string[]) {
    super(world, off);
    this.#readings = new Readings(world);
  }

  onCall(call: Call): void {
    this.#readings.note(call);
  }

  onWrite({ resource, before, after }: Write, call: Call | null): void {
    if (isSetKind(resource.kind) && after !== undefined) this.#setWritten(before, after as ReplicaSet);
    if (resource !== VirtualMachines && resource !== VirtualMachineInstances) return;
    const isWorker = isByWorker(call);
    if (call?.process.name === 'people' && before !== undefined) this.#changedByPeople(before, after);
    if (isWorker && before === undefined) this.#made(after!);
    if (isWorker && before !== undefined) this.#changedByWorker(before, after);
  }

  #setWritten(before: Stored | undefined, set: ReplicaSet): void {
    const { uid } = set.metadata;
    const replicas = wantedReplicas(set);
    if (before !== undefined && wantedReplicas(before as ReplicaSet) === replicas) return;
    this.#wanted.set(uid, [...(this.#wanted.get(uid) ?? []), { at: this.now, replicas }]);
  }

  #changedByPeople(before: Stored, after: Stored | undefined): void {
    const owner = controllerOf(before);
    if (owner !== undefined) this.#meddled.set(owner.uid, this.now);
    const isSame = after !== undefined && membership(before) === membership(after);
    if (!isSame) this.#touched.add(before.metadata.uid);
  }

  /** The set that controls the member. */
  #setOf(member: Stored): { kind: SetKind; set: ReplicaSet } | undefined {
    const owner = controllerOf(member);
    if (owner === undefined || !isSetKind(owner.kind)) return undefined;
    const set = this.world.owner(owner.kind, owner.name) as ReplicaSet | undefined;
    return set?.metadata.uid === owner.uid ? { kind: owner.kind, set } : undefined;
  }

  /** Checks that a new member is not one too many: the promise of the strict kind, at each moment. */
  #made(member: Stored): void {
    const of = this.#setOf(member);
    if (of === undefined) return;
    const { kind, set } = of;
    const { uid } = set.metadata;
    this.#madeFor.set(member.metadata.uid, uid);
    const holding = this.world
      .membersOf(kind, uid)
      .filter((one) => this.#madeFor.get(one.metadata.uid) === uid && !this.#touched.has(one.metadata.uid))
      .filter((one) => kind === STRICT || isActiveVmi(one));
    const since = (this.#readings.of(uid) ?? this.now) - CALL_MS;
    const all = this.#wanted.get(uid) ?? [];
    const lately = all.filter((_wanted, index) => (all[index + 1]?.at ?? Infinity) >= since);
    const wanted = Math.max(...lately.map(({ replicas }) => replicas));
    if (holding.length > wanted)
      this.broken(
        kind === STRICT ? 'G18' : 'G19',
        `${member.metadata.name} is made, and set ${set.metadata.name} has ${holding.length} ${OWNER_KINDS[kind].members.noun}s then and wants ${wanted}`,
      );
  }

  #changedByWorker(before: Stored, after: Stored | undefined): void {
    const of = this.#setOf(before);
    if (of === undefined || isGoing(before) || isGoing(of.set)) return;
    if (after === undefined || isGoing(after)) this.#deleted(before, of);
    else if (controllerOf(after) === undefined && matchesLabels(of.set.spec.selector, before.metadata.labels ?? {}))
      this.broken('G4', `${before.metadata.name} is released by ${activityNow()}, and matches its set`);
  }

  /** Checks that a member is deleted only if it has ended, or while there are more than the set wants. */
  #deleted(member: Stored, { kind, set }: { kind: SetKind; set: ReplicaSet }): void {
    const { name } = member.metadata;
    const { uid } = set.metadata;
    if (kind === EAGER && !isActiveVmi(member)) return;
    const staying = this.world
      .membersOf(kind, uid)
      .filter((one) => one.metadata.name !== name && (kind === STRICT ? !isGoing(one) : isActiveVmi(one)))
      .filter(({ metadata }) => matchesLabels(set.spec.selector, metadata.labels ?? {}));
    if (staying.length >= wantedReplicas(set)) return;
    const read = this.#readings.of(uid);
    const hasChangedSince = (this.#wanted.get(uid)?.at(-1)?.at ?? 0) >= (read ?? Infinity);
    const isExcused =
      read !== undefined &&
      read > this.now - STALE_MS &&
      (hasChangedSince || (this.#meddled.get(uid) ?? 0) >= read - KNOWN_AFTER_MS);
    if (!isExcused)
      this.broken(
        'G1',
        `${name} is deleted: ${staying.length} stay, and set ${set.metadata.name} wants ${set.spec.replicas}`,
      );
  }
}

/** All that says whose member it is. */
const membership = ({ metadata: { labels, ownerReferences } }: Stored): string =>
  JSON.stringify([labels, ownerReferences]);

const isActiveVmi = (vmi: Stored): boolean => {
  const { status } = vmi as Stored<VirtualMachineInstance>;
  return !isGoing(vmi) && status?.phase !== 'Failed' && status?.phase !== 'Succeeded';
};
