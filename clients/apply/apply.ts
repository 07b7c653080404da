import { REPLICAS_MANAGER } from '../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../api/objects.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, isConflict, KubeError, KubeUnreachable } from '../../kubernetes/errors.ts';
import { Failure, sentenceOf, unknownKindOf } from '../cli/failure.ts';
import { isOwnerKind, Pools, type Kind, type OwnerKind } from '../cli/kinds.ts';
import type { Owner } from '../cli/owner.ts';
import { APPLY_MANAGER, outcomeOf, type Outcome } from '../fields/server-side-apply.ts';
import { requestedBy } from '../session/requester.ts';
import { checkMember } from './check-member.ts';
import {
  changesVms,
  newRequesterAnnotation,
  REQUESTER_FIELD,
  withRequester,
  requesterAnnotationOf,
} from './requester-annotation.ts';

/** An object that is about to be applied. */
export interface Planned {
  kind: Kind;
  object: KubeObject;
  /** Where it was read, for errors. */
  where: FieldLocations;
}

/** File and line of the field that a sentence names, in the object or in a VM of its template. */
export interface FieldLocations {
  about: (sentence: string) => string;
  aboutVm: (sentence: string) => string;
}

export interface ApplyOptions {
  kube: KubeClient;
  /** Takes over the fields that another client has set. */
  force: boolean;
  /** Has KubeVirt dry-run a VM of each new template. */
  checksVms: boolean;
}

type Specified = KubeObject & { spec: object };

interface Applied {
  outcome: Outcome;
  /** Whether the object is being deleted, so that what was applied is lost with it. */
  isGoing: boolean;
  /** The object as the server has it now; in a dry run, as it would be. */
  after: Stored<Specified>;
}

/** An object that the server accepts; a pool names who asks for it. */
export interface Accepted extends Planned, Applied {
  /** The requester of a change of VMs; undefined if the VMs stay as they are. */
  requestedBy: string | undefined;
  /** The object as it is. */
  before: Stored<Specified> | undefined;
  /**
   * Why KubeVirt could not be asked whether it accepts the template; undefined if it does, or did not have to be asked.
   */
  unchecked?: string;
}

/** The same of a pool or a set. */
interface AcceptedOwner extends Accepted {
  kind: OwnerKind;
  before: Stored<Owner> | undefined;
  after: Stored<Owner>;
}

export const isOfOwner = (accepted: Accepted): accepted is AcceptedOwner => isOwnerKind(accepted.kind);

const REPLICAS = '.spec.replicas';

/** Dry-runs every object on the server. Throws an `AggregateError` of everything that the server refuses. */
export async function dryRunAll(planned: Planned[], options: ApplyOptions): Promise<Accepted[]> {
  const tried = await Promise.allSettled(planned.map((each) => dryRunOne(each, options)));
  const refused = tried.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  const unreachable = refused.find((error) => error instanceof KubeUnreachable);
  if (unreachable !== undefined) throw unreachable;
  // Mostly the same cause (missing permissions, no drover) keeps all objects from being applied.
  const distinct = new Map(refused.map((error) => [sentenceOf(error), error]));
  if (distinct.size > 0) throw new AggregateError(distinct.values());
  return tried.map((result) => (result as PromiseFulfilledResult<Accepted>).value);
}

/** Dry-runs one object. Names a new requester only with a new template: no pool is written just for that. */
async function dryRunOne(planned: Planned, options: ApplyOptions): Promise<Accepted> {
  const before = await readBefore(planned, options);
  const kept = { ...planned, object: withRequester(planned.object, requesterAnnotationOf(before, APPLY_MANAGER)) };
  const after = await applyOver(kept, { ...options, dryRun: true });
  const accepted: Accepted = {
    ...kept,
    ...appliedTo(before, after),
    before,
    requestedBy: undefined,
  };
  if (!isOfOwner(accepted) || !changesVms(before, after)) return accepted;
  const unchecked = options.checksVms ? await checkTemplate(accepted, options.kube) : undefined;
  const checked = unchecked === undefined ? accepted : { ...accepted, unchecked };
  // Revisions show who asked for them, and sets have none.
  if (planned.kind !== Pools) return checked;
  const by = await requestedBy(async () => options.kube);
  return { ...checked, object: withRequester(kept.object, newRequesterAnnotation(by, after)), requestedBy: by };
}

/**
 * Returns why KubeVirt could not be asked; undefined if it accepts the template. Throws `Failure` if it refuses a VM of
 * it.
 */
async function checkTemplate(
  { kind, where, after: owner }: AcceptedOwner,
  kube: KubeClient,
): Promise<string | undefined> {
  const check = await checkMember(kube, kind, owner);
  if (check.result === 'right') return undefined;
  if (check.result === 'unchecked') return check.message;
  const message = `no ${kind.members.noun} can be created from spec.template of ${kind.noun} ${owner.metadata.name}: ${check.message}`;
  throw new Failure(`${where.aboutVm(check.message)}: ${message}`);
}

/**
 * Applies one object by server-side apply. Throws `Failure` with where the object was read for a conflict or refusal.
 */
export async function applyOne(accepted: Accepted, options: ApplyOptions): Promise<Applied> {
  const before = await readBefore(accepted, options);
  return appliedTo(before, await applyOver(accepted, { ...options, dryRun: false }));
}

const readBefore = (
  { kind, object: { metadata } }: Planned,
  { kube }: ApplyOptions,
): Promise<Stored<Specified> | undefined> =>
  ignoreNotFound(kube.get(kind.resource, { namespace: metadata.namespace, name: metadata.name }));

async function applyOver(planned: Planned, options: ApplyOptions & { dryRun: boolean }): Promise<Stored<Specified>> {
  const { where } = planned;
  try {
    return await serverSideApply(planned, options);
  } catch (error) {
    if (!isConflict(error))
      throw error instanceof KubeError && unknownKindOf(error) === undefined ? refusal(where, error) : error;
    const all = fieldsOf(error.message);
    const fields = all.filter((field) => field !== REQUESTER_FIELD);
    // The annotation of an earlier requester may be taken over without `force`.
    if (fields.length === 0 && all.length > 0) return applyOver(planned, { ...options, force: true });
    // So may a number that a worker has written because the manifest has none.
    const isDefault = fields.join() === REPLICAS && managersOf(error.message).includes(REPLICAS_MANAGER);
    if (isDefault) return applyOver(planned, { ...options, force: true });
    const message = formatConflict(planned, error.message, fields);
    throw new Failure(`${where.about(message)}: ${message}`, { cause: error });
  }
}

const refusal = (where: FieldLocations, cause: KubeError): Failure =>
  new Failure(`${where.about(cause.message)}: ${cause.message}`, { cause });

const appliedTo = (before: Stored | undefined, after: Stored<Specified>): Applied => ({
  outcome: outcomeOf(before, after),
  isGoing: after.metadata.deletionTimestamp !== undefined,
  after,
});

const serverSideApply = (
  { kind: { resource }, object }: Planned,
  { kube, force, dryRun }: ApplyOptions & { dryRun: boolean },
): Promise<Stored<Specified>> =>
  kube.patch(resource, object.metadata, 'apply', object, { force, dryRun, fieldManager: APPLY_MANAGER });

/** Returns the conflicting fields, which the API server names only in its message. */
const fieldsOf = (message: string): string[] => [...message.matchAll(/(?:: |\n- )(\.\S+)/g)].map(([, field]) => field!);

/** Returns the field managers that have set them. */
const managersOf = (message: string): string[] =>
  [...new Set([...message.matchAll(/"([^"]+)"/g)].map(([, manager]) => manager!))].filter(
    (manager) => manager !== 'scale',
  );

function formatConflict({ kind, object }: Planned, message: string, fields: readonly string[]): string {
  const owner = `${kind.noun} ${object.metadata.name}`;
  if (fields.length === 0) return `${owner}: ${message}`;
  const conflicts = `${fields.map((field) => field.slice(1)).join(', ')} set by ${managersOf(message).join(' and ')}`;
  return (
    `${owner}: ${conflicts}: leave this out of the manifest, or take it over with --force-conflicts ` +
    `(\`drover diff --force-conflicts\` shows what that would do)`
  );
}
