import type { AttemptEnd, AttemptId, Removed } from '../../decisions/healing/attempt.ts';
import { field } from '../../decisions/lib/json.ts';
import {
  flag,
  listOf,
  name,
  object,
  oneOf,
  optional,
  taggedBy,
  text,
  time,
  whole,
  type Reader,
} from '../../decisions/lib/payload-reader.ts';
import { isVersion, VERSIONED, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { UpdateOutcome } from '../../decisions/owners/batch.ts';

export interface BatchEnd {
  n: number;
  /** UID of its pool. */
  pool?: string;
  /** Of those of its VMs that have ended since it last said so. */
  outcomes: UpdateOutcome[];
  /** Others of its VMs are still to come; absent if it has ended. */
  goesOn?: boolean;
  /** The resource versions that a later plan must have seen. */
  minVersions: ResourceVersions;
}

/** What signals from users may carry. All optional, since Temporal's Web UI may send nothing. */
export interface RequestPayload {
  /** Who asks. */
  by?: string;
  reason?: string;
}

/** `minVersions`: the resource versions that a later plan must have seen. */
export type AttemptWaits = AttemptId & Removed & { minVersions: ResourceVersions };
export type AttemptEnded = AttemptId & { outcome: AttemptEnd; minVersions: ResourceVersions };

/** More VMs than a pool may have. */
const MAX_VMS = 100_000;

/** Accepts any payload, since the signal carries no state: invalid versions are left out. */
export const minVersions: Reader<ResourceVersions> = (value) => {
  const versions = VERSIONED.flatMap((kind) => {
    const version = field(value, kind);
    return isVersion(version) ? [[kind, version] as const] : [];
  });
  return Object.fromEntries(versions);
};

/**
 * What a look must have seen. `shards`: into how many the cluster is divided now, if the workflow may run on another
 * task queue than that of its shard.
 */
export type Look = ResourceVersions & { shards?: number };

export const look: Reader<Look> = (value, what) => {
  const shards = field(value, 'shards');
  return {
    ...minVersions(value, what),
    ...(Number.isInteger(shards) && Number(shards) >= 1 && Number(shards) < 100 ? { shards: Number(shards) } : {}),
  };
};

/**
 * Accepts whatever users type in Temporal's Web UI, since the signal alone says enough: nothing, `null`, or a bare
 * word, which is the reason.
 */
export const requestPayload: Reader<RequestPayload> = (value) => {
  if (typeof value === 'string') return value === '' ? {} : { reason: text(value, '') };
  const by = field(value, 'by');
  const reason = field(value, 'reason');
  return {
    ...(typeof by === 'string' ? { by: text(by, '') } : {}),
    ...(typeof reason === 'string' ? { reason: text(reason, '') } : {}),
  };
};

export const nothing: Reader<void> = () => {};

const updateOutcome = object<UpdateOutcome>({
  vm: name,
  end: oneOf<UpdateOutcome['end']>({
    Updated: true,
    Failed: true,
    Deferred: true,
    NotBegun: true,
    RestartRequired: true,
    Gone: true,
    Superseded: true,
  }),
  message: optional(text),
  isOwn: optional(flag),
  wasDown: optional(flag),
});

export const batchEnd: Reader<BatchEnd> = object<BatchEnd>({
  n: whole,
  pool: optional(name),
  outcomes: listOf(updateOutcome, MAX_VMS),
  goesOn: optional(flag),
  minVersions,
});

/** A batch or an attempt that has ended without a word. */
export interface ChildEnd {
  workflowId: string;
  /** Milliseconds since the epoch. */
  endedAt: number;
}
export const childEnd: Reader<ChildEnd> = object<ChildEnd>({ workflowId: text, endedAt: whole });

const attempt = { vm: name, uid: name, attempt: whole, startedAt: time };
const removed = { keptDisks: flag, nextAt: time };

export const attemptWaits: Reader<AttemptWaits> = object<AttemptWaits>({ ...attempt, ...removed, minVersions });

export const attemptEnd: Reader<AttemptEnded> = object<AttemptEnded>({
  ...attempt,
  outcome: taggedBy<'end', AttemptEnd>('end', {
    Removed: removed,
    Kept: { message: text },
    Refused: { message: text },
    Cancelled: { isRemoved: flag },
  }),
  minVersions,
});
